#!/usr/bin/env python3
"""check_completion.py --ktrace COMMAND SHELL

What the completion for bash or fish offers at the ends of lines; of each command exactly the options of its help, which it
accepts. In zsh, which completes on a terminal only, that it offers as much.
"""

import argparse
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 20

# Loads the script, and completes the words of its arguments as bash does: the last one is being written.
BASH = """
eval "$(ktrace completion bash)"
complete -p ktrace > /dev/null || exit 1
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_ktrace
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Shell:
    def __init__(self, name, ktrace, folder):
        self.name, self.folder = name, folder
        os.makedirs(f"{folder}/bin")
        os.symlink(ktrace, f"{folder}/bin/ktrace")
        self.environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": folder, "LC_ALL": "C"}

    def run(self, *command):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def complete(self, words):
        if self.name == "bash":
            status, out, error = self.run("bash", "--norc", "--noprofile", "-c", BASH, "bash", *words)
        else:
            line = " ".join(words)
            status, out, error = self.run("fish", "--no-config", "-c", f"ktrace completion fish | source; complete -C '{line}'")
        if status != 0 or error:
            sys.exit(f"{words}: {error or 'failed'}")
        return sorted({line.split("\t")[0] for line in out.splitlines() if line})


def help_of(shell, command):
    status, out, error = shell.run("ktrace", command, "--help")
    assert status == 0 and not error, error
    return out


def options_of(text):
    """And --color, which is every command's, and only in the help of all."""
    return sorted({"--color", *re.findall(r"^(?:  -\w, |      )(--[\w-]+)", text, re.MULTILINE)})


def check(shell):
    faults = []

    def expect(words, expected):
        found = shell.complete(words)
        if found != sorted(expected):
            faults.append(f"{words}: {found}, not {sorted(expected)}")

    status, out, _ = shell.run("ktrace", "--help")
    commands = re.findall(r"^  (\w+) ", out.split("Options:")[0], re.MULTILINE)
    if len(commands) < 9:
        faults.append(f"only {commands} are commands")
    expect(["ktrace", ""], commands + ["help"])
    expect(["ktrace", "su"], ["summary"])
    expect(["ktrace", "--v"], ["--version"])
    expect(["ktrace", "--c"], ["--color"])
    expect(["ktrace", "--color", ""], ["always", "auto", "never"])
    expect(["ktrace", "summary", "--color", "a"], ["always", "auto"])
    expect(["ktrace", "help", "e"], ["events", "export"])
    for command in commands:
        options = options_of(help_of(shell, command))
        expect(["ktrace", command, "--"], options)
        for option in [*options, "--nonsense"]:
            _, _, error = shell.run("ktrace", command, option, "x", "--help")  # x: its argument, or an operand
            if ("unknown option" in error) != (option == "--nonsense"):
                faults.append(f"{command} does not know {option}, which is in its help")
    expect(["ktrace", "summary", "--by", "k"], ["kernel"])
    expect(["ktrace", "export", "-f", ""], ["chrome", "csv", "html", "json", "perfetto"])
    expect(["ktrace", "completion", ""], ["bash", "fish", "zsh"])
    expect(["ktrace", "summary", "a"], ["a folder/", "a trace.ktrace"] if shell.name == "fish" else ["a folder", "a trace.ktrace"])
    expect(["ktrace", "demo", "b"], [])
    if shell.name == "bash":  # which takes --option=value for three words
        expect(["ktrace", "--color", "=", "n"], ["never"])
        expect(["ktrace", "--color", "=", "never", "su"], ["summary"])
        expect(["ktrace", "--color", "never", "su"], ["summary"])
        expect(["ktrace", "--color", "never", "summary", "--by", "k"], ["kernel"])
        expect(["ktrace", "summary", "--by", "=", "ke"], ["kernel"])
        expect(["ktrace", "summary", "--by", "="], "phase kernel launch device sm cu workgroup wave".split())
        expect(["ktrace", "summary", "--by", "phase,k"], ["phase,kernel"])
        expect(["ktrace", "export", "-o", "b"], ["b.txt", "bin"])
    return faults


class Terminal:
    """zsh on a terminal of its own."""

    def __init__(self, shell):
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(shell.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], shell.environment | {"TERM": "dumb", "COLUMNS": "200"})
        self.write("autoload -U compinit; compinit -u; eval \"$(ktrace completion zsh)\"; PS1='ready>'; LISTMAX=1000\n")

    def write(self, text):
        os.write(self.descriptor, text.encode())

    def missing(self, words):
        """Those that do not appear before PATIENCE_S."""
        seen, end = "", time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if select.select([self.descriptor], [], [], 0.1)[0]:
                seen += os.read(self.descriptor, 65536).decode(errors="replace")
            if not [word for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", seen)]:
                return []
        return [word for word in words if word not in seen] or words

    def close(self):
        os.close(self.descriptor)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def check_zsh(shell):
    faults, terminal = [], Terminal(shell)
    _, out, _ = shell.run("ktrace", "--help")
    commands = re.findall(r"^  (\w+) ", out.split("Options:")[0], re.MULTILINE)
    lines = {
        "ktrace ": commands,
        "ktrace summary --by ": "phase kernel launch device sm cu workgroup wave".split(),
        "ktrace export -f ": ["chrome", "csv", "perfetto"],
        "ktrace sites a": ["trace.ktrace"],
        "ktrace --color ": ["always", "auto", "never"],
        "ktrace --color never su": ["summary"],
        "ktrace --color=never summary --by ke": ["kernel"],
    }
    lines |= {f"ktrace {command} --": options_of(help_of(shell, command)) for command in commands}
    try:
        if terminal.missing(["ready"]):
            return ["no prompt"]
        for line, words in lines.items():
            terminal.write(line + "\t\t")
            missing = terminal.missing(words)
            if missing:
                faults.append(f"{line!r}: {missing} are not offered")
            terminal.write("\x15\n")  # the line is forgotten
    finally:
        terminal.close()
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=pathlib.Path, required=True)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    arguments = parser.parse_args()
    if not shutil.which(arguments.shell):
        print(f"skip: there is no {arguments.shell} here")
        return 77
    with tempfile.TemporaryDirectory(prefix="ktrace-completion-") as folder:
        shell = Shell(arguments.shell, arguments.ktrace.resolve(strict=True), folder)
        for name in ("a trace.ktrace", "b.txt"):
            pathlib.Path(folder, name).touch()
        os.makedirs(f"{folder}/a folder")
        if arguments.shell == "zsh":
            faults = check_zsh(shell)
        else:
            faults = check(shell)
    print("\n".join(faults) or "correct")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
