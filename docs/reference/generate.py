#!/usr/bin/env python3
"""generate.py [--ktrace COMMAND] [--check]

Makes the pages of this folder: host.md, annotations.md and record.md of the comments in include/ktrace/*.h, command.md of what
`COMMAND --help` and `COMMAND NAME --help` print. `ninja update_reference` runs it, and the test docs.reference with --check, which writes
nothing and says what is not as it would be written.

In a header, a comment that a declaration follows is its contract; declarations right below each other share one. A comment that a
blank line follows is about all that comes. `---- Name ----` begins a chapter. In comments, lines that are indented are code, or a
table where they are a term, two blanks or more, and what it means.
"""

import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "docs", "reference")
NAME = r"\b(?:ktrace|KTRACE)_\w+(?:=\w+|\(\))?"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# ---- Headers ----------------------------------------------------------------------------------------------------


class Entry:
    """Declarations under one contract, or prose (no code)."""

    def __init__(self, comment, code=()):
        self.comment, self.code = comment, list(code)
        self.names = [name for text in self.code for name in names_of(text)]

    def title(self):
        return ", ".join(self.names)


def names_of(code):
    """What a declaration declares, but for members and constants of an enum."""
    for form in (r"^#define (\w+)", r"^(?:struct|enum) (\w+)(?: \{|;)", r"^typedef .*?(\w+);", r"(ktrace_\w+)\("):
        match = re.search(form, code, re.MULTILINE)
        if match:
            return [match.group(1)]
    return []


class Header:
    def __init__(self, path):
        self.path = path
        text = read(path)
        self.top, text = self.cut_top(text)
        self.chapters = [("", [])]
        self.parse(text.splitlines())

    @staticmethod
    def cut_top(text):
        """The comment that the file begins with, without the line that says what the file is."""
        end = text.index("*/")
        lines = comment_lines(text[: end + 2])
        return lines, text[end + 2 :]

    def parse(self, lines):
        at, comment = 0, None
        while at < len(lines):
            line = lines[at]
            chapter = re.match(r"/\* -{3,} (.+?) -{3,} \*/", line)
            if chapter:
                comment = self.close(comment)
                self.chapters.append((chapter.group(1), []))
                at += 1
            elif line.startswith("/*"):
                comment = self.close(comment)
                end = at
                while "*/" not in lines[end]:
                    end += 1
                comment = comment_lines("\n".join(lines[at : end + 1]))
                at = end + 1
            elif not line.strip():
                comment = self.close(comment)
                at += 1
            elif re.match(r'extern "C" \{|\}$', line):
                at += 1
            else:
                at, code = self.declaration(lines, at)
                code = "" if self.path.endswith("device.h") or code.startswith("typedef") else code  # defaults; integers of any compiler
                if code:
                    comment = self.add(comment, code)
        self.close(comment)

    @staticmethod
    def declaration(lines, at):
        """The line behind it, and its text; no text for what is of no interest."""
        first = lines[at]
        end = at
        if first.startswith("#"):
            while lines[end].endswith("\\"):
                end += 1
            text = "\n".join(lines[at : end + 1])
            shown = re.match(r"#define KTRACE_(?!.*_H$)", first) and not re.match(r"#define KTRACE_(API|STATIC_ASSERT)\b", first)
            return end + 1, text if shown else ""
        depth = 0
        while True:
            line = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", lines[end])
            depth += line.count("{") - line.count("}")
            if depth <= 0 and re.search(r"[;}]\s*(/\*.*)?$", line) and balanced(lines[at : end + 1]):
                break
            end += 1
            if end == len(lines):
                raise SystemExit(f"a declaration without an end: {first}")
        text = "\n".join(lines[at : end + 1])
        shown = not first.startswith("KTRACE_STATIC_ASSERT")
        if text.startswith("KTRACE_API "):
            text = re.sub(r"^ {11}", "", text.removeprefix("KTRACE_API "), flags=re.MULTILINE)
        return end + 1, text if shown else ""

    def add(self, comment, code):
        """Under the comment that stands before, or of the declaration right above."""
        entries = self.chapters[-1][1]
        if comment is None and entries and entries[-1].code and self.joined:
            entries[-1].code.append(code)
            entries[-1].names += names_of(code)
        else:
            entries.append(Entry(comment or [], [code]))
        self.joined = True
        return None

    def close(self, comment):
        """A comment without a declaration."""
        self.joined = False
        if comment is not None:
            self.chapters[-1][1].append(Entry(comment))
        return None


def balanced(lines):
    text = "\n".join(lines)
    return text.count("(") == text.count(")") and text.count("/*") == text.count("*/")


def comment_lines(text):
    text = re.sub(r"^/\*+ ?|\s*\*+/$", "", text.strip())
    return [re.sub(r"^ ?\* ?", "", line).rstrip() if i else line for i, line in enumerate(text.split("\n"))]


# ---- Markdown ---------------------------------------------------------------------------------------------------


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


class Writer:
    def __init__(self, page, targets):
        self.page, self.targets = page, targets  # name -> (page, title)

    def inline(self, text):
        """Prose with links to what it names; what is in backquotes stays."""
        parts = re.split(r"(`[^`]*`)", text)
        return "".join(part if part.startswith("`") and i % 2 else self.plain(part) for i, part in enumerate(parts))

    def plain(self, text):
        text = re.sub(r"([\\*<>\[\]|])", r"\\\1", text)
        text = re.sub(r"\bdocs/(\w+)\.md\b", r"[docs/\1.md](../\1.md)", text)
        return re.sub(rf"{NAME}|#\w+|\b__\w+|\b[a-z]+(?:_[a-z]+)+\b", self.name, text)

    def name(self, match):
        word = match.group(0)
        if word.removesuffix("()") in self.targets:
            page, title = self.targets[word.removesuffix("()")]
            return f"[`{word}`]({'' if page == self.page else page}#{anchor(title)})"
        return f"`{word}`"

    def prose(self, lines):
        """Paragraphs, lists and indented lines of a comment."""
        out, at = [], 0
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                at += 1
                continue
            end = at + 1
            if re.match(r" +- ", line):
                while end < len(lines) and lines[end].startswith(" "):
                    end += 1
                items = re.split(r"\n +- ", "\n" + "\n".join(lines[at:end]))[1:]
                out.append("\n".join("* " + self.inline(" ".join(item.split())) for item in items))
            elif line.startswith(" "):
                while end < len(lines) and (lines[end].startswith(" ") or (not lines[end].strip() and lines[end + 1 : end + 2] and
                                                                           lines[end + 1].startswith("    "))):
                    end += 1
                out.append(self.table_or_code(lines[at:end]))
            else:
                while end < len(lines) and lines[end].strip() and not lines[end].startswith(" "):
                    end += 1
                out.append(self.inline(" ".join(lines[at:end])))
            at = end
        return "\n\n".join(out)

    def table_or_code(self, lines):
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        rows = []
        for line in (line[indent:] for line in lines):
            row = re.match(r"(\S.*?)(?: {2,}(\S.*))?$", line)
            if row and (row.group(2) or line.startswith("KTRACE")):
                rows.append([row.group(1), row.group(2) or ""])
            elif rows and line.startswith("  "):
                rows[-1][1] = (rows[-1][1] + " " + line.strip()).strip()
            else:
                rows = None
                break
        if rows and not any(";" in term for term, _ in rows):
            body = "\n".join(f"| {' '.join(f'`{t}`' for t in [term.strip()])} | {self.inline(text)} |" for term, text in rows)
            return "| | |\n|---|---|\n" + body
        return "```c\n" + "\n".join(line[indent:] for line in lines) + "\n```"

    def entry(self, entry):
        if not entry.code:
            return self.prose(entry.comment)
        parts = [f"### {entry.title()}"] if entry.names else []
        parts.append("```c\n" + "\n".join(entry.code) + "\n```")
        if entry.comment:
            parts.append(self.prose(entry.comment))
        return "\n\n".join(parts)


# ---- Pages ------------------------------------------------------------------------------------------------------

GENERATED = "<!-- generated by: docs/reference/generate.py -->"
HEADERS = {
    "host.md": ("include/ktrace/ktrace.h", "The host library"),
    "annotations.md": ("include/ktrace/device.h", "Annotations"),
    "record.md": ("include/ktrace/record.h", "The wire format's declarations"),
}
BEHIND = {
    "host.md": "How they go together: [captures](../captures.md), [settings](../settings.md), [programs](../programs.md).",
    "annotations.md": "How to use them well, what they cost, and what compilers say: [annotating a kernel](../annotating.md).",
    "record.md": "[format.md](../format.md) is normative, and says what is in files.",
}


def contents(header):
    """A list of the chapters with what is in them."""
    lines = []
    for title, entries in header.chapters:
        names = [f"[`{name}`](#{anchor(entry.title())})" for entry in entries for name in entry.names]
        if names:
            lines.append(f"* [{title}](#{anchor(title)}): {', '.join(names)}" if title else f"* {', '.join(names)}")
    return "\n".join(lines)


def header_page(page, header, title, targets):
    writer = Writer(page, targets)
    # "ktrace/ktrace.h - the host library: ..."
    about = re.sub(r"^\S+ - ", "", header.top[0])
    parts = [f"# {title}", f"{GENERATED}\nOf [`{header.path}`](../../{header.path}): {writer.inline(about)} {BEHIND[page]}",
             writer.prose(header.top[1:]), contents(header)]
    for name, entries in header.chapters:
        shown = [writer.entry(entry) for entry in entries if entry.code or name]
        if name and shown:
            parts.append(f"## {name}")
        parts += shown
    return "\n\n".join(part for part in parts if part) + "\n"


def header_pages():
    headers = {page: Header(path) for page, (path, _) in HEADERS.items()}
    targets = {}
    for page, header in headers.items():
        for _, entries in header.chapters:
            for entry in entries:
                for name in set(entry.names) - {"KTRACE_ENABLE"}:  # which is the environment's, too
                    targets.setdefault(name, (page, entry.title()))
                for text in entry.code:  # constants lead to their enum
                    if text.startswith("enum"):
                        for name in re.findall(r"^\s*(KTRACE_\w+) =", text, re.MULTILINE) + re.findall(r"[{,] (KTRACE_\w+) =", text):
                            targets.setdefault(name, (page, entry.title()))
    for path, _ in HEADERS.values():  # a page that lacks something says nothing of it
        declared = re.findall(r"^KTRACE_API .*?(ktrace_\w+)\(|^(?:struct|enum) (ktrace_\w+) \{", read(path), re.MULTILINE)
        lost = {function or kind for function, kind in declared} - set(targets)
        if lost:
            raise SystemExit(f"{path}: {', '.join(sorted(lost))}: on no page")
    return {page: header_page(page, header, HEADERS[page][1], targets) for page, header in headers.items()}


def help_of(command, *name):
    done = subprocess.run([command, *name, "--help"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"})
    if done.returncode:
        raise SystemExit(f"{command} {' '.join(name)} --help: {done.returncode}: {done.stderr}")
    return done.stdout.rstrip("\n")


def command_page(command):
    text = help_of(command)
    names = sorted(set(re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)) - {"help"})
    if len(names) < 5:
        raise SystemExit(f"{command} --help names only {names}")
    parts = ["# The command", f"{GENERATED}\nWhat `ktrace --help` and `ktrace NAME --help` print. With examples on real traces: "
             "[looking at traces](../command.md).", ", ".join(f"[{name}](#ktrace-{name})" for name in names), "```text\n" + text + "\n```"]
    for name in names:
        parts += [f"## ktrace {name}", "```text\n" + help_of(command, name) + "\n```"]
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Makes the pages of docs/reference.")
    parser.add_argument("--ktrace", metavar="COMMAND")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    pages = header_pages()
    if arguments.ktrace:
        pages["command.md"] = command_page(arguments.ktrace)
    stale = []
    for page, text in pages.items():
        path = os.path.join(HERE, page)
        if not os.path.exists(path) or read(path) != text:
            stale.append(page)
            if not arguments.check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    for page in stale:
        print(f"docs/reference/{page} " + ("is not what the headers or the command say now: run ninja update_reference"
                                           if arguments.check else "is written"))
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
