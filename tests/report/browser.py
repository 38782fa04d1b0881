"""Chromium without a window, through the DevTools protocol over a pipe: no web socket, no package.

    with Browser(executable, size=(1280, 900)) as browser:
        browser.open(pathlib.Path("report.html").resolve().as_uri())
        assert browser.evaluate("document.title") == "..."
        assert not browser.problems
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIMIT_S = 60


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, executable: str, size: tuple[int, int] = (1280, 900)):
        self.profile = tempfile.mkdtemp(prefix="ktrace-browser-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4. Copies above both first: they may lie there already.
        high_read, high_write = os.dup(to_read), os.dup(to_write)
        os.close(to_read), os.close(to_write)
        # A shell's redirections need not know descriptors of two digits.
        script = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                script,
                str(high_read),
                str(high_write),
                executable,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",  # as root, and in containers, it has none
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--hide-scrollbars",
                "--force-device-scale-factor=1",
                f"--user-data-dir={self.profile}",
                f"--window-size={size[0]},{size[1]}",
                "about:blank",
            ],
            pass_fds=(high_read, high_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(high_read), os.close(high_write)
        self.buffer, self.number, self.events = b"", 0, []
        self.problems: list[str] = []  # errors on the console, exceptions, requests beyond the page itself
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*size)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.to_browser)  # the end of the pipe ends the browser
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, until: float) -> dict:
        while b"\0" not in self.buffer:
            if not select.select([self.from_browser], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError(f"the browser did not answer within {LIMIT_S} s")
            part = os.read(self.from_browser, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, event: dict) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {parameters['args']}")
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent" and parameters["request"]["url"] != self.page:
            self.problems.append(f"request: {parameters['request']['url'][:200]}")
        self.events.append(method)

    def call(self, method: str, **parameters: object) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + LIMIT_S
        while True:
            answer = self.receive(until)
            if answer.get("id") != self.number:
                self.note(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def open(self, path: pathlib.Path) -> None:
        self.page, self.events = path.resolve().as_uri(), []
        self.call("Page.navigate", url=self.page)
        until = time.monotonic() + LIMIT_S
        while "Page.loadEventFired" not in self.events:
            self.note(self.receive(until))

    def evaluate(self, expression: str) -> object:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def press(self, key: str) -> None:
        more = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def frame(self) -> None:
        """Until what was asked for is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, path: pathlib.Path) -> None:
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(picture))
