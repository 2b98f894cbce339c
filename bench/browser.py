"""Chromium over its own protocol, for the bench only.

Playwright has every web socket frame sent to itself, as text.  A viewer that sends 100 MB would pay
for that in time and memory, and 250 MB end Playwright's driver: so the bench speaks to the browser
itself, asks for no frames, and has the page count its bytes.  `Page` has those of Playwright's
methods that ``tests.labdriver.Lab`` uses.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlparse

import psutil
import websocket

from tests.labdriver import CHROMIUM_ARGS, chromium

# The page adds up what arrives over its web sockets; the text of a message is ASCII nearly always.
# By itself it remembers 250 requests; JupyterLab makes more, and `outside` would miss the last.
COUNTER = """
    performance.setResourceTimingBufferSize(1e5);
    window.benchReceived = 0;
    window.WebSocket = class extends WebSocket {
        constructor(...all) {
            super(...all);
            this.addEventListener("message", ({data}) => {
                window.benchReceived += data.byteLength ?? data.size ?? data.length;
            });
        }
    };
"""


class Failed(RuntimeError):
    """The browser said no, crashed, or was too slow."""


class Page:
    """A browser of its own with one page.  ``answers``: scripts by file name, for other hosts."""

    def __init__(self, answers: dict[str, str], patience: float, width=1400, height=1000) -> None:
        self.patience, self._answers, self._numbers = patience, answers, itertools.count(1)
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._chromium = subprocess.Popen(
            [chromium(), "--headless=new", "--remote-debugging-port=0", "--no-first-run"]
            + ["--remote-allow-origins=*", f"--user-data-dir={self._folder.name}"]
            + [f"--window-size={width},{height}", "--disable-background-networking"]
            + ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
            + [*CHROMIUM_ARGS, "about:blank"],
            env={**os.environ, "TMPDIR": self._folder.name},  # it leaves things lying there
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._socket = websocket.create_connection(
                self._address(), timeout=60, suppress_origin=True, skip_utf8_validation=True
            )
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.send("Emulation.setDeviceMetricsOverride", **size)
            # JupyterLab's current notebook is the one that has the focus.
            self.send("Emulation.setFocusEmulationEnabled", enabled=True)
            self.send("Page.enable")
            self.send("Inspector.enable")
            self.send("Page.addScriptToEvaluateOnNewDocument", source=COUNTER)
            if answers:
                patterns = [{"urlPattern": f"*/{name}*"} for name in answers]
                self.send("Fetch.enable", patterns=patterns)
        except BaseException:
            self.close()
            raise

    def _address(self) -> str:
        """Where the page listens: Chromium writes its port into a file."""
        port = Path(self._folder.name) / "DevToolsActivePort"
        for _ in range(600):
            if port.exists() and (lines := port.read_text().split()):
                listing = f"http://127.0.0.1:{lines[0]}/json/list"
                with urllib.request.urlopen(listing, timeout=30) as answer:
                    pages = [entry for entry in json.load(answer) if entry["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            if self._chromium.poll() is not None:
                break
            time.sleep(0.1)
        raise Failed("Chromium did not start")

    # --- the protocol

    def send(self, method: str, **parameters) -> dict:
        """One command and its answer; requests of the page are answered while we wait."""
        number = self._post(method, **parameters)
        end = time.monotonic() + self.patience
        while True:
            self._socket.settimeout(max(0.1, end - time.monotonic()))
            try:
                message = json.loads(self._socket.recv())
            except websocket.WebSocketTimeoutException:
                raise Failed(f"no answer within {self.patience:.0f} s") from None
            except (websocket.WebSocketException, OSError, ValueError) as error:
                raise Failed(f"the browser is gone ({error})") from None
            if message.get("method") == "Fetch.requestPaused":
                self._answer(message["params"])
            elif message.get("method") == "Inspector.targetCrashed":
                raise Failed("the page crashed: out of memory?")
            elif message.get("id") == number:
                if "error" in message:
                    raise Failed(message["error"]["message"])
                return message["result"]

    def _post(self, method: str, **parameters) -> int:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        return number

    def _answer(self, request: dict) -> None:
        """A CDN's scripts come from here; no other address outside this machine is found."""
        number, address = request["requestId"], urlparse(request["request"]["url"])
        script = self._answers.get(address.path.rsplit("/", 1)[-1])
        if script is None or address.hostname in ("127.0.0.1", "localhost"):
            self._post("Fetch.continueRequest", requestId=number)
            return
        headers = {"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}
        self._post(
            "Fetch.fulfillRequest",
            requestId=number,
            responseCode=200,
            responseHeaders=[{"name": name, "value": value} for name, value in headers.items()],
            body=base64.b64encode(script.encode()).decode(),
        )

    # --- as in Playwright

    def goto(self, address: str) -> None:
        self.send("Page.navigate", url=address)
        self.wait_for_function("document.readyState === 'complete'")

    def evaluate(self, code: str, argument=None):
        """The value of an expression, or of a function of one argument; promises are awaited."""
        if re.match(r"\s*(async\s+)?(\([^)]*\)|\w+)\s*=>", code):
            code = f"({code})({json.dumps(argument)})"
        result = self.send(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            about = result["exceptionDetails"]
            raise Failed(about.get("exception", {}).get("description", about["text"]))
        return result["result"].get("value")

    def wait_for_function(self, code: str) -> None:
        end = time.monotonic() + self.patience
        while not self._true(code):
            if time.monotonic() > end:
                raise Failed(f"waited {self.patience:.0f} s for {code[:60]}")
            time.sleep(0.1)

    def _true(self, code: str) -> bool:
        try:
            return self.evaluate(f"!!({code})")
        except Failed as error:  # between two pages there is nothing to ask
            if "context" in str(error) or "navigat" in str(error):
                return False
            raise

    # --- what is measured

    def received(self) -> int:
        """Bytes that came over web sockets since the page was opened."""
        return self.evaluate("window.benchReceived")

    def outside(self) -> int:
        """How often the page asked another machine, answered or not."""
        return self.evaluate(
            """performance.getEntriesByType("resource").map(entry => new URL(entry.name))
                .filter(url => /^http/.test(url.protocol) && url.host !== location.host).length"""
        )

    def memory(self) -> float:
        """MB that only the page's process holds, after a garbage collection.

        Chromium keeps another process ready for the next page: the page's own is the largest.
        """
        for _ in range(3):
            self.send("HeapProfiler.collectGarbage")
        time.sleep(0.3)
        processes = psutil.Process(self._chromium.pid).children(recursive=True)
        pages = [one for one in processes if "--type=renderer" in one.cmdline()]
        return max(one.memory_full_info().uss for one in pages) / 1e6

    def close(self) -> None:
        try:
            family = psutil.Process(self._chromium.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        self._chromium.terminate()
        try:
            self._chromium.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._chromium.kill()
            self._chromium.wait()
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
        self._folder.cleanup()
