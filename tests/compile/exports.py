#!/usr/bin/env python3
"""exports.py HEADER LIBRARY: the shared library exports what the public header declares, and nothing else."""

import re
import subprocess
import sys

header, library = sys.argv[1:]

with open(header) as file:
    text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
# KTRACE_API, a type, the function's name and its parameters
declared = set(re.findall(r"^KTRACE_API\s[^;(]*?\b(\w+)\(", text, flags=re.M))
listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}

if not declared:
    sys.exit(f"{header} declares nothing with KTRACE_API: is this script up to date?")
for name in sorted(declared - exported):
    print(f"declared in {header}, but not exported: {name}")
for name in sorted(exported - declared):
    print(f"exported, but not declared in {header}: {name}")
if declared == exported:
    print(f"{len(declared)} functions")
sys.exit(declared != exported)
