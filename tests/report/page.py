#!/usr/bin/env python3
"""`ktrace report` in a browser: the page has no errors and asks for nothing, its numbers are those of `ktrace summary`, it zooms,
moves and changes launches, with 10 waves and with 100,000. Exits with 77 where there is no Chromium.

    page.py --ktrace build/release/bin/ktrace --make-trace build/release/tests/report/make_trace [--screenshots FOLDER]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from browser import Browser, find_browser

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
HOSTILE = "</script><b>x</b><img src=x onerror=alert(1)><!--<script>"
MOST_BYTES = 15 << 20


def duration(ns: float | None) -> str:
    """As in src/table.c."""
    if ns is None:
        return ""
    size, unit = next((pair for pair in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if abs(ns) >= pair[0] * 0.99995), (1, "ns"))
    value = ns / size
    return f"{value:.{2 if abs(value) < 99.995 else 1}f} {unit}"


def close(text: str, expected: str) -> bool:
    """Equal, or apart by one in the last digit: a half can be rounded either way."""
    if text == expected:
        return True
    (number, unit), (wanted, wanted_unit) = text.split(), expected.split()
    step = 10.0 ** -len(wanted.partition(".")[2])
    return unit == wanted_unit and abs(float(number) - float(wanted)) < 1.01 * step


class Page:
    def __init__(self, browser: Browser, ktrace: pathlib.Path, trace: pathlib.Path, folder: pathlib.Path):
        self.browser, self.path = browser, folder / f"{trace.stem}.html"
        done = subprocess.run([ktrace, "report", trace, "-o", self.path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        again = subprocess.run([ktrace, "report", trace, "-o", "-"], capture_output=True, timeout=60)
        assert again.stdout == self.path.read_bytes(), "not deterministic"
        assert len(again.stdout) < MOST_BYTES, f"{len(again.stdout)} bytes"
        summary = subprocess.run([ktrace, "summary", "--json", trace], capture_output=True, text=True, timeout=60)
        self.summary = json.loads(summary.stdout)
        browser.open(self.path)

    def rows(self, selector: str) -> list[list[str]]:
        script = f"[...document.querySelectorAll({json.dumps(selector)})].map(row => [...row.cells].map(cell => cell.innerText.trim()))"
        return self.browser.evaluate(script)

    def text(self, id: str) -> str:
        return self.browser.evaluate(f"document.getElementById({json.dumps(id)}).innerText")

    def view(self) -> dict[str, float]:
        data = self.browser.evaluate("({...document.getElementById('timeline').dataset})")
        return {key: float(value) for key, value in data.items()}

    def click(self, id: str) -> None:
        self.browser.evaluate(f"document.getElementById({json.dumps(id)}).click()")

    def choose(self, id: str, value: str) -> None:
        self.browser.evaluate(
            f"(choice => {{ choice.value = {json.dumps(value)}; choice.dispatchEvent(new Event('change')); }})"
            f"(document.getElementById({json.dumps(id)}))"
        )

    def box(self) -> tuple[float, float, float, float]:
        """The part of the canvas that has waves, as it lies in the window."""
        self.browser.evaluate("document.getElementById('timeline').scrollIntoView({block: 'center'})")
        x, y, width, height = self.browser.evaluate(
            "(box => [box.x, box.y, box.width, box.height])(document.getElementById('timeline').getBoundingClientRect())"
        )
        labels, axis = self.browser.evaluate("[timeline.LABELS, timeline.AXIS]")
        return x + labels, y + axis, width - labels, height - axis


def check_numbers(page: Page) -> None:
    """What is on the page is what `ktrace summary` says."""
    info, phases, launches = (page.summary[key] for key in ("info", "phases", "launches"))
    rows = page.rows("#phases tbody tr")
    assert len(rows) == len(phases), (rows, phases)
    keys = ("total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
    for row, phase in zip(rows, phases):
        assert row[:3] == [phase["name"].strip(), phase["kernel"], phase["kind"]], (row, phase)
        assert row[3] == f"{phase['count']:,}", (row, phase)
        for shown, key in zip(row[4:11], keys):
            assert close(shown, duration(phase[key])), (key, row, phase)
        assert row[11] == (f"{phase['unclosed']:,}" if phase["unclosed"] else ""), row
    rows = page.rows("#launches tbody tr")
    assert len(rows) == min(len(launches), 200)
    for row, launch in zip(rows, launches) if len(launches) <= 200 else ():
        several = info.get("devices", 1) > 1
        shown = row[:2] + row[3 if several else 2 :]
        assert shown[1:4] == [launch["kernel"], *(" x ".join(map(str, launch[key])) for key in ("grid", "block"))], row
        assert close(shown[5], duration((launch["end_ps"] - launch["begin_ps"]) / 1000)), (row, launch)
        assert shown[6:9] == [f"{launch[key]:,}" for key in ("waves", "waves_launched", "events")], (row, launch)
    facts = page.text("facts")
    for key in ("launches", "waves", "events"):
        assert f"{info[key]:,}" in facts.split("\n"), (key, facts)


def colours(page: Page) -> list[str]:
    """Of the canvas, those of phases, where waves are."""
    return page.browser.evaluate(
        """(() => {
            const canvas = timeline.canvas, context = canvas.getContext("2d"), found = new Map();
            const data = context.getImageData(timeline.LABELS, timeline.AXIS, canvas.width - timeline.LABELS, canvas.height - timeline.AXIS).data;
            for (let i = 0; i < data.length; i += 4) {
                const color = "#" + [0, 1, 2].map(k => data[i + k].toString(16).padStart(2, "0")).join("");
                found.set(color, (found.get(color) ?? 0) + 1);
            }
            return PALETTE.filter(color => (found.get(color) ?? 0) > 20);
        })()"""
    )


def check_timeline(page: Page) -> None:
    """Zooming and moving by buttons, wheel, mouse and keys."""
    browser = page.browser
    whole = page.view()
    launch = page.summary["launches"][int(whole["launch"])]
    length = (launch["end_ps"] - launch["begin_ps"]) / 1000
    assert whole["beginNs"] == 0 and abs(whole["endNs"] - length) < 0.01 * length + 1, (whole, launch)
    assert whole["lastRow"] == min(launch["waves"], 200000), (whole, launch)
    ranges = [i for i, phase in enumerate(page.summary["phases"]) if phase["kind"] != "mark" and phase["count"]]
    assert len(colours(page)) >= min(3, len(ranges)), colours(page)

    page.click("zoom-in")
    near = page.view()
    assert abs((near["endNs"] - near["beginNs"]) / length - 0.5) < 0.02, near
    page.click("rows-in")
    assert page.view()["lastRow"] - page.view()["firstRow"] < 0.51 * whole["lastRow"] + 1
    page.click("fit")
    assert page.view() == whole

    # The wheel keeps what lies under it.
    x, y, width, height = page.box()
    browser.mouse("mouseWheel", x + width / 4, y + height / 2, deltaX=0, deltaY=-240)
    browser.frame()
    near = page.view()
    shorter = near["endNs"] - near["beginNs"]
    assert shorter < 0.8 * length, near
    assert abs(near["beginNs"] + shorter / 4 - length / 4) < 0.01 * length + 1, near
    # A drag moves by as much as the mouse.
    browser.mouse("mousePressed", x + 200, y + 50, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", x + 100, y + 50, button="left", buttons=1)
    browser.frame()
    browser.mouse("mouseReleased", x + 100, y + 50, button="left", clickCount=1)
    moved = page.view()
    assert abs(moved["beginNs"] - near["beginNs"] - 100 / width * shorter) < 0.02 * shorter + 1, (near, moved, width)
    # Keys.
    browser.evaluate("timeline.canvas.focus()")
    browser.press("ArrowLeft")
    assert page.view()["beginNs"] < moved["beginNs"]
    browser.press("+")
    assert page.view()["endNs"] - page.view()["beginNs"] < 0.9 * shorter
    browser.press("0")
    assert page.view() == whole

    # Pointing at the longest wave names it.
    page.browser.evaluate("document.querySelector('#longest button').click()")
    name = page.browser.evaluate("document.querySelector('#longest button').innerText")
    x, y, width, height = page.box()
    shown = page.view()
    row = page.browser.evaluate(
        "timeline.rows.indexOf(timeline.launch.first_wave + timeline.launch.longest[0])"
    )
    middle = y + (row + 0.4 - shown["firstRow"]) / (shown["lastRow"] - shown["firstRow"]) * height
    browser.mouse("mouseMoved", x + width / 2, middle)
    browser.frame()
    assert name in page.text("pointed"), (name, page.text("pointed"))
    page.click("fit")
    for order in ("begin", "end", "duration", "place"):
        page.choose("order-choice", order)
        ordered = page.browser.evaluate(
            """(order => {
                const key = { begin: w => columns.wave_begin[w], end: w => columns.wave_end[w], place: w => w,
                    duration: w => -(columns.wave_end[w] - columns.wave_begin[w]) }[order];
                return timeline.rows.every((wave, i) => i === 0 || key(timeline.rows[i - 1]) <= key(wave));
            })(%s)"""
            % json.dumps(order)
        )
        assert ordered, order


def check_launch(page: Page, index: int) -> None:
    """One of the launches, chosen: imbalance and heat map are its own."""
    page.choose("launch-choice", str(index))
    launch = page.summary["launches"][index]
    assert page.view()["launch"] == index
    assert f"#{index} {launch['kernel']}" in page.text("timeline-title"), page.text("timeline-title")
    selected = page.browser.evaluate(
        "[...document.querySelectorAll('#launches tbody tr')].findIndex(row => row.getAttribute('aria-current') === 'true')"
    )
    assert selected == index
    page.choose("heat-choice", "waves")
    values = page.browser.evaluate("[...document.querySelectorAll('#heat rect')].map(box => box.dataset.value)")
    assert sum(int(value) for value in values if value) == launch["waves"], (values, launch)
    page.choose("heat-choice", "busy")
    length_ns = (launch["end_ps"] - launch["begin_ps"]) / 1000
    values = page.browser.evaluate("[...document.querySelectorAll('#heat rect')].map(box => box.dataset.value)")
    assert all(0 <= float(value) <= length_ns * 1.001 for value in values if value), values
    longest = page.rows("#longest tbody tr")
    assert len(longest) == min(10, launch["waves"]) and len(page.rows("#last tbody tr")) == len(longest)
    most = page.browser.evaluate("timeline.launch.wave_max_ps / 1000")
    assert close(longest[0][2], duration(most)), (longest[0], most)
    in_page = page.browser.evaluate(
        "(l => Math.max(...Array.from({length: l.waves_here}, (_, i) => columns.wave_end[l.first_wave + i] -"
        " columns.wave_begin[l.first_wave + i])) * l.tick_ps / 1000)(timeline.launch)"
    )
    critical = page.browser.evaluate(
        "[...timeline.launch.longest, ...timeline.launch.last].every(number =>"
        " !(columns.wave_flags[timeline.launch.first_wave + number] & WAVE_WITHOUT))"
    )
    assert critical
    assert abs(in_page - most) <= max(1, most * 1e-6), (in_page, most)


def check_page(page: Page) -> None:
    check_numbers(page)
    check_timeline(page)
    for index in range(min(3, len(page.summary["launches"]))):
        check_launch(page, index)
    for width in (1366, 1024):  # a wide table scrolls in itself, not the page
        page.browser.resize(width, 900)
        widths = page.browser.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths == [width, width], widths
    page.browser.resize(1366, 900)
    assert not page.browser.problems, page.browser.problems


def check(ktrace: pathlib.Path, make_trace: pathlib.Path, browser: Browser, folder: pathlib.Path, pictures) -> None:
    def synthetic(name: str, *arguments: object) -> pathlib.Path:
        trace = folder / f"{name}.ktrace"
        subprocess.run([make_trace, trace, *map(str, arguments)], check=True, timeout=60)
        return trace

    def look(page: Page, name: str) -> None:
        if pictures:
            browser.screenshot(pictures / f"{name}.png")

    page = Page(browser, ktrace, synthetic("ten_waves", 10, 2), folder)
    check_page(page)
    look(page, "ten_waves")
    # Of the last workgroup two warps never ran.
    assert "2 waves that were launched did not record" in page.text("warnings"), page.text("warnings")
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.frame()
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    look(page, "ten_waves_dark")
    browser.call("Emulation.setEmulatedMedia", features=[])

    page = Page(browser, ktrace, synthetic("many_waves", 100000, 3), folder)
    check_page(page)
    assert "Nothing is missing" in page.text("warnings"), page.text("warnings")
    assert "without their ranges" in page.text("left-out"), page.text("left-out")
    look(page, "many_waves")

    page = Page(browser, ktrace, synthetic("more_launches", 3000, 250), folder)
    check_numbers(page)
    assert "200 longest of 250 launches" in browser.evaluate("document.body.innerText")

    page = Page(browser, ktrace, synthetic("hostile", 10, 1, 0, 1, HOSTILE), folder)
    check_page(page)
    assert page.rows("#launches tbody tr")[0][1] == HOSTILE
    assert browser.evaluate("document.querySelectorAll('b, img').length") == 0
    assert browser.evaluate("document.scripts.length") == 2

    # Recorded ones: of an H200, of the simulator, of two devices, unfinished, empty of waves.
    for trace in ("h200/gemm", "h200/peek/peek_into_open_ranges", "sim/example_divergence", "format/two_devices", "format/ranks", "format/v1"):
        page = Page(browser, ktrace, DATA / f"{trace}.ktrace", folder)
        check_page(page)
        look(page, trace.replace("/", "_"))
        simulated = page.summary["info"].get("simulated", 0) != 0
        assert ("simulated time" in page.text("subtitle")) == simulated
    assert "3 waves were dropped: the buffer was full" in page.text("warnings"), page.text("warnings")
    assert "1 wave is unfinished" in page.text("warnings")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ktrace", type=pathlib.Path, required=True)
    parser.add_argument("--make-trace", type=pathlib.Path, required=True)
    parser.add_argument("--screenshots", type=pathlib.Path, help="where to put pictures of the pages")
    arguments = parser.parse_args()
    executable = find_browser()
    if not executable:
        print("skipped: there is no Chromium; on Debian: apt-get install chromium")
        return 77
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ktrace-report-") as folder, Browser(executable, (1366, 900)) as browser:
        check(
            arguments.ktrace.resolve(), arguments.make_trace.resolve(), browser, pathlib.Path(folder), arguments.screenshots
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
