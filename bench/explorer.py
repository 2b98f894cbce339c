"""The explorer and BertViz in JupyterLab: payload, time until drawn, click to redraw, memory.

Every measurement has a browser and a notebook of its own.  The viewers take turns, so that a busy
machine is unfair to all of them alike; the tables give medians.

* payload: bytes that arrive over the notebook's web socket while the cell runs and is drawn
* drawn: from running the cell until everything is on the screen
* click: from choosing another head or layer until that is on the screen (median of 15)
* memory: what Chromium's page processes hold more than before the cell ran, after a collection
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlparse

import nbformat
import psutil
from playwright.sync_api import Error, sync_playwright

from bench import bertviz
from bench.viewers import SET_UP, VIEWERS, Viewer
from tests.labdriver import CHROMIUM_ARGS, Lab, chromium

CLICKS = 15
# More tokens than these take BertViz gigabytes and minutes, or it does not come at all.
LARGEST = {"BertViz head_view": 197, "BertViz model_view": 64}
# Run the cell, look at each frame whether all is drawn, and let that frame reach the screen.
RUN = """async ([drawn, patience]) => {
    const ready = new Function(`return !!(${drawn})`), start = performance.now();
    jupyterapp.shell.currentWidget.content.activeCellIndex = 1;
    const run = jupyterapp.commands.execute('notebook:run-cell');
    while (!ready()) {
        if (performance.now() - start > patience * 1000) return null;
        await new Promise(requestAnimationFrame);
    }
    await PAINTED;
    const seconds = (performance.now() - start) / 1000;
    await run;
    return seconds;
}"""
CLICK = """async ([click, changed, clicks]) => {
    const act = new Function('i', click), done = new Function(`return !!(${changed})`), times = [];
    for (let i = 0; i < clicks; i++) {
        await new Promise(resolve => setTimeout(resolve, 50));
        const start = performance.now();
        act(i);
        do await new Promise(requestAnimationFrame); while (!done());
        await PAINTED;
        times.push(performance.now() - start);
    }
    return times;
}"""
# A message posted inside a frame is delivered after that frame has been painted.
PAINTED = """new Promise(resolve => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
}))"""
# For clicks we are already inside the frame that paints: no further frame is waited for.
PAINTED_NOW = PAINTED.replace("requestAnimationFrame(() => {", "(() => {").replace("}))", "})())")


def main(sizes: list[int], repeats: int, patience: int, only: list[str] | None, out: str | None):
    """Run everything and print the tables."""
    if chromium() is None:
        sys.exit("The bench needs Chromium: `apt-get install chromium` brings it.")
    viewers = [viewer for viewer in VIEWERS if only is None or viewer.name in only]
    results: dict[tuple[int, str], list[dict]] = {}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        paths, scripts = [".."], {}
        if any(viewer.bertviz for viewer in viewers):
            try:
                path, scripts = bertviz.fetch(folder)
                paths.append(str(path))
            except RuntimeError as error:
                print(f"BertViz is not to be had here ({error}): measuring the explorer alone.")
                viewers = [viewer for viewer in viewers if not viewer.bertviz]
        # The server's default limits would cut BertViz's message off.
        (folder / "CONFIG").mkdir()
        limits = {"iopub_data_rate_limit": 1e12, "iopub_msg_rate_limit": 1e9}
        config = {"ZMQChannelsWebsocketConnection": limits}
        (folder / "CONFIG" / "jupyter_server_config.json").write_text(json.dumps(config))
        lab = Lab(folder)
        try:
            for repeat in range(repeats):
                for size in sizes:
                    turn = viewers[repeat % len(viewers) :] + viewers[: repeat % len(viewers)]
                    for viewer in turn:
                        if size > LARGEST.get(viewer.name, size):
                            continue
                        found = measure(playwright, lab, viewer, size, paths, scripts, patience)
                        results.setdefault((size, viewer.name), []).append(found)
                        print(
                            f"{repeat + 1}/{repeats} {size} tokens, {viewer.name}: {found}",
                            flush=True,
                        )
        except KeyboardInterrupt:
            print("Stopped: the tables hold what was measured until now.")
        finally:
            lab.stop()
    report(results, sizes, [viewer.name for viewer in viewers])
    if out:
        rows = [{"tokens": s, "viewer": n, "runs": r} for (s, n), r in results.items()]
        Path(out).write_text(json.dumps(rows, indent=1) + "\n")


def measure(playwright, lab: Lab, viewer: Viewer, size: int, paths, scripts, patience) -> dict:
    """One viewer at one size, in a browser of its own."""
    fill = {"TOKENS": str(size), "PATHS": repr(paths)}
    set_up, show, drawn = (_filled(text, fill) for text in (SET_UP, viewer.show, viewer.drawn))
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in (set_up, show)],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    nbformat.write(notebook, lab.root / "notebooks" / "bench.ipynb")
    browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
    found: dict = {}
    try:
        page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        page.set_default_timeout(1000 * (patience + 60))
        received, outside = [0], []
        page.on("websocket", lambda ws: ws.on("framereceived", lambda f: _count(received, f)))

        def answer(route, request):
            address = urlparse(request.url)
            if address.hostname in (None, "127.0.0.1", "localhost"):
                return route.continue_()
            outside.append(request.url)
            script = scripts.get(address.path.rsplit("/", 1)[-1])
            return (
                route.fulfill(body=script, content_type="text/javascript")
                if script
                else route.abort()
            )

        page.route("**/*", answer)
        lab.open(page, "notebooks/bench.ipynb")
        lab.run(page, 0)
        before, received[0] = _memory(page), 0
        found["drawn s"] = page.evaluate(RUN.replace("PAINTED", PAINTED), [drawn, patience])
        found["payload MB"] = received[0] / 1e6
        if found["drawn s"] is not None:
            click = CLICK.replace("PAINTED", PAINTED_NOW)
            times = page.evaluate(
                click, [viewer.click, viewer.changed, CLICKS if size < 128 else 7]
            )
            found["click ms"] = statistics.median(times)
            found["memory MB"] = _memory(page) - before
        found["outside requests"] = len(outside)
        lab.close(page)
    except Error as error:  # the page crashed, or took too long
        found["failed"] = str(error).splitlines()[0][:100]
    finally:
        browser.close()
    return {name: round(v, 4) if isinstance(v, float) else v for name, v in found.items()}


def _filled(text: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(name, value)
    return text


def _count(received: list[int], frame: str | bytes) -> None:
    received[0] += len(frame.encode() if isinstance(frame, str) else frame)


def _memory(page) -> float:
    """MB that only the browser's page processes hold, after a garbage collection."""
    session = page.context.new_cdp_session(page)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    session.detach()
    page.wait_for_timeout(300)
    total = 0
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if "--type=renderer" in command and _is_ours(process):
            total += process.memory_full_info().uss
    return total / 1e6


def _is_ours(process: psutil.Process) -> bool:
    """Started by this run: other tests may have a browser open too."""
    return psutil.Process().pid in [parent.pid for parent in process.parents()]


def report(results: dict, sizes: list[int], names: list[str]) -> None:
    """Medians, and how many times better than each BertViz view."""
    for what in ("payload MB", "drawn s", "click ms", "memory MB", "outside requests"):
        print(f"\n{what}, median\n| tokens | " + " | ".join(names) + " |")
        print("|---" * (len(names) + 1) + "|")
        for size in sizes:
            cells = []
            for name in names:
                runs = [run.get(what) for run in results.get((size, name), [])]
                good = [value for value in runs if value is not None]
                cells.append(f"{statistics.median(good):.3g}" if good else "–")
            print(f"| {size} | " + " | ".join(cells) + " |")
