"""One shell for all commands of a page, and what they print compared with what the page shows."""

import contextlib
import json
import os
import re
import signal
import subprocess

# Where a block begins, the variables that the page has set, and the folder it is in: what a machine with a GPU needs to go on there.
STATE = 'pwd; declare -p | grep -Ev "^declare -[a-zA-Z-]*(r|A|a)[a-zA-Z-]* "'
NOT_OF_THE_PAGE = re.compile(r"BASH\w*|_|PPID|SHLVL|PWD|OLDPWD|LINENO|RANDOM|SECONDS|EPOCH\w+|PIPESTATUS|FUNCNAME|failed_\w*|SRANDOM|OPTIND")

QUANTITY = re.compile(r"-?\d[\d,]*(?:\.\d+)? ?(?:(?:ns|us|ms|s|TB/s|MHz|GHz|ticks|cycles)\b|%)|-?\b\d+\.\d{3}\b")  # or a number of ns in a table
BARS = re.compile(r"[#▏▎▍▌▋▊▉█]+")


class Step:
    """Commands that run together, the output shown for them, and how it is compared."""

    def __init__(self, at, commands, shown, exits=0, gpu=False, loose=False, needs=()):
        self.at, self.commands, self.shown, self.needs = at, commands, shown, list(needs)
        self.exits, self.gpu, self.loose = exits, gpu, loose
        self.set_up = ""  # before the commands, and no part of the page
        self.folder, self.variables, self.printed, self.status, self.failed = ".", {}, None, None, []

    def kept(self):
        return {name: getattr(self, name) for name in ("at", "commands", "shown", "exits", "needs", "folder", "variables")}


def script(steps, out):
    """Each step's output goes to a file, its status to another; the last command of a step may fail where that is expected."""
    yield "cd_page=$PWD"
    yield f"{{ {STATE}; }} >{out}/start"
    for i, step in enumerate(steps):
        yield f"{{ {STATE}; }} >{out}/{i}.state"
        if step.gpu:
            continue
        # A trap and not -e, which would end the shell, or be ignored where the status is looked at.
        yield f"failed_log={out}/{i}.failed; trap 'echo \"$BASH_COMMAND\" >>\"$failed_log\"' ERR"
        yield f". {out}/{i}.sh >{out}/{i}.out 2>&1 </dev/null"
        yield f"echo $? >{out}/{i}.status; trap - ERR"


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


def state(text):
    folder, _, rest = text.partition("\n")
    variables = dict(re.findall(r'^declare -[a-zA-Z-]+ (\w+)="(.*)"$', rest, re.MULTILINE))
    return folder, {name: value for name, value in variables.items() if not NOT_OF_THE_PAGE.fullmatch(name)}


def shell(text, folder, environment, timeout):
    """What it says itself on standard error. What runs in its background ends with it."""
    process = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        return process.communicate(text, timeout=timeout)[1]
    except subprocess.TimeoutExpired:
        return f"not over after {timeout} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(steps, folder, out, environment, timeout):
    """Fills in what the steps printed and returned. A step that has no status was not reached."""
    os.makedirs(out)
    for i, step in enumerate(steps):
        with open(f"{out}/{i}.sh", "w", encoding="utf-8") as file:
            file.write(step.set_up + step.commands)
    said = shell("\n".join(script(steps, out)) + "\n", folder, environment, timeout)
    _, before = state(read(f"{out}/start") or "")
    for i, step in enumerate(steps):
        step.printed = read(f"{out}/{i}.out")
        status = read(f"{out}/{i}.status")
        step.status = int(status) if status else None
        step.failed = (read(f"{out}/{i}.failed") or "").splitlines()
        at, variables = state(read(f"{out}/{i}.state") or "")
        step.folder = os.path.relpath(at, folder) if at else "."
        step.variables = {name: value for name, value in variables.items() if before.get(name) != value}
    return said


def loosened(line):
    """Without what another run would measure otherwise, and the widths of columns that come of it."""
    return " ".join(BARS.sub("", QUANTITY.sub("~", line)).split())


def matches(shown, printed, loose):
    if loose:
        shown, printed = loosened(shown), loosened(printed)
    if "..." in shown:
        return re.fullmatch(".*".join(re.escape(part) for part in shown.split("...")), printed) is not None
    return shown == printed


def first_missing(step):
    """The first line that is shown and not printed behind those before it. Lines may be left out."""
    printed, at = [line.rstrip() for line in step.printed.splitlines()], 0
    for line in step.shown:
        if not line.strip() or line.strip() == "...":
            continue
        while at < len(printed) and not matches(line.rstrip(), printed[at], step.loose):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None


def problem(step):
    if step.status is None:
        return "was not reached: what is before it has ended the shell, or is not understood by it"
    if step.status != step.exits:
        return f"exit status {step.status} and not {step.exits}"
    if step.exits == 0 and step.failed:
        return f"failed: {step.failed[0]}"
    line = first_missing(step)
    return None if line is None else f"does not print {line!r}"


def save(steps, site, path):
    """For another machine, where the site lies elsewhere."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"site": site, "steps": [step.kept() for step in steps]}, file, indent=1)
