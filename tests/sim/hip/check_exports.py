"""check_exports.py LIBRARY MAP HEADER...: the library exports what the headers declare, the map lists the same, and nothing else."""
import re
import subprocess
import sys

library, version_map, *headers = sys.argv[1:]
names = r"\b((?:__hip|hip|hsa_|ktrace_)\w+)"
declared = set()
for header in headers:
    with open(header) as file:
        declared |= set(re.findall(rf"^[a-z][\w \*]*{names}\(", file.read(), re.MULTILINE))
with open(version_map) as file:
    listed = set(re.findall(rf"^\s+{names};", file.read(), re.MULTILINE))
output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1] for line in output.splitlines()}

failed = len(declared) < 100
for what, found in (("the map lists", listed), ("the library exports", exported)):
    for name in sorted(declared ^ found):
        print(f"{name}: {'declared only' if name in declared else what + ' it, not declared'}")
        failed = True
sys.exit(failed)
