"""A page of documentation as what the tests do with it: blocks of code and of commands, with the comments that stand before them.

README.md beside this says how pages are written.
"""

import os
import re

COMMANDS = {"sh", "bash", "console"}
TEXT = {"text", "diff", "mermaid"}
KEYS = {"file", "not run", "sketch", "needs", "exits", "output", "folder", "run by", "text", "instead"}
# Comments that stand alone, anywhere on the page.
OF_THE_PAGE = {"folder", "run by"}


class Mistake(Exception):
    """The page is not written as README.md says."""


class Block:
    """`kind`: "commands", "code", "output" of the commands before, or "text"."""

    def __init__(self, page, line, language, lines, comments):
        self.page, self.line, self.language, self.comments = page, line, language, comments
        indent = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
        self.indent = indent
        self.text = "".join(text[indent:].rstrip() + "\n" for text in lines)
        self.kind = self.kind_of(language.split()[0] if language else "")

    def kind_of(self, language):
        if "text" in self.comments or language in TEXT:
            return "text"
        if language in COMMANDS or self.language is None:
            return "commands"
        return "code" if language else "output"

    def at(self):
        return f"{self.page}:{self.line}"

    def commands(self):
        """(commands, output that is shown), one for each `$ `; without any, all lines are commands."""
        lines = self.text.splitlines()
        if not any(line.startswith("$ ") for line in lines):
            return [(self.text, [])]
        found, continues = [], False
        for line in lines:
            if line.startswith("$ "):
                found.append(([line[2:]], []))
            elif not found:
                raise Mistake(f"{self.at()}: what begins with '$ ' has no output before the first command: {line!r}")
            elif continues:
                found[-1][0].append(line)
            else:
                found[-1][1].append(line)
            continues = (line.startswith("$ ") or continues) and line.endswith("\\")
        return [("\n".join(command) + "\n", shown) for command, shown in found]


class Page:
    def __init__(self, root, path):
        self.path, self.blocks, self.files, self.comments = path, [], [], {}
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        self.parse()

    def parse(self):
        at, comments = 0, {}
        while at < len(self.lines):
            line = self.lines[at]
            comment = re.fullmatch(r"\s*<!-- ([a-z ]+?)(?:: (.*?))? -->", line)
            fence = re.match(r"( *)```(.*)", line)
            if comment:
                self.take_comment(at + 1, comment.group(1), comment.group(2) or "", comments)
                at += 1
                continue
            if fence:
                end = next((i for i in range(at + 1, len(self.lines)) if self.lines[i].strip() == "```"), None)
                if end is None:
                    raise Mistake(f"{self.path}:{at + 1}: a block without an end")
                self.take_block(at + 1, fence.group(2).strip(), self.lines[at + 1 : end], comments)
                comments, at = {}, end + 1
            elif line.startswith("    ") and (at == 0 or not self.lines[at - 1].strip()) and not self.in_list(at):
                end = at
                while end < len(self.lines) and (self.lines[end].startswith("    ") or not self.lines[end].strip()):
                    end += 1
                while not self.lines[end - 1].strip():
                    end -= 1
                self.take_block(at + 1, None, self.lines[at:end], comments)
                comments, at = {}, end
            else:
                if line.strip() and comments:
                    comments = self.stand_alone(at + 1, comments)
                at += 1
        self.stand_alone(len(self.lines), comments)

    def in_list(self, at):
        before = next((line for line in reversed(self.lines[:at]) if line.strip() and not line.startswith("    ")), "")
        return re.match(r" *([*-]|\d+\.) ", before) is not None

    def take_comment(self, line, key, value, comments):
        if key not in KEYS:
            raise Mistake(f"{self.path}:{line}: there is no '{key}': {', '.join(sorted(KEYS))}")
        if key in OF_THE_PAGE:
            self.comments[key] = value
        elif key == "file" and "file" in comments:
            self.stand_alone(line, {"file": comments["file"]})
            comments[key] = value
        elif key in comments:
            raise Mistake(f"{self.path}:{line}: two times '{key}'")
        elif key in ("sketch", "not run") and not value:
            raise Mistake(f"{self.path}:{line}: '{key}' says why")
        else:
            comments[key] = value

    def stand_alone(self, line, comments):
        """Comments that no block follows: a file of the repository that commands find in their folder."""
        for key, value in comments.items():
            if key != "file" or "=" not in value:
                raise Mistake(f"{self.path}:{line}: no block follows '{key}: {value}'")
            self.files.append(tuple(part.strip() for part in value.split("=")))
        return {}

    def take_block(self, line, language, lines, comments):
        block = Block(self.path, line, language, lines, comments)
        allowed = {
            "commands": {"not run", "instead", "needs", "exits", "output"},
            "code": {"file", "sketch"},
            "output": set(),
            "text": {"text"},
        }[block.kind]
        # A file of the repository may stand right before the commands that want it.
        if block.kind != "code" and "=" in comments.get("file", ""):
            self.files.append(tuple(part.strip() for part in comments.pop("file").split("=")))
        for key in comments:
            if key not in allowed:
                raise Mistake(f"{block.at()}: '{key}' is nothing for {block.kind}")
        self.blocks.append(block)
