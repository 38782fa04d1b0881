#!/usr/bin/env python3
"""export_and_check.py EXPORTER [ARGUMENT...] OUT -- [CHECK ARGUMENT...]

Run the exporter, whose last argument is the file that it writes, then check_pftrace.py on that file."""

import os
import subprocess
import sys

try:
    import google.protobuf
    import perfetto.protos
except ImportError as error:
    print(f"skip: {error}: ./run test installs the packages of tests/perfetto/requirements.txt")
    sys.exit(77)

here = os.path.dirname(os.path.abspath(__file__))
split = sys.argv.index("--")
export, check = sys.argv[1:split], sys.argv[split + 1 :]
out = export[-1]
if os.path.exists(out):
    os.remove(out)
subprocess.run(export, check=True)
sys.exit(subprocess.run([sys.executable, os.path.join(here, "check_pftrace.py"), *check, out]).returncode)
