"""The code on a page, which is run from top to bottom. Blocks marked `python cuda` want an NVIDIA GPU."""

import re


def blocks(path, language):
    """Compiled code of the blocks marked so, in their order; errors in them name the page and the line."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for block in re.finditer(r"^```([^\n]+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if block.group(1) == language:
            lines_before = page.count("\n", 0, block.start(2))
            yield compile("\n" * lines_before + block.group(2), path, "exec")
