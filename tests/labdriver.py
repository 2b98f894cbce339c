"""Drive JupyterLab or Notebook 7 in a real browser, as a student's hand would.

``Lab`` is a server on a copy of the course, so that no test can change the tree; the fixtures
``lab``, ``start_lab`` and ``page`` are in conftest.py.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("notebooks", "utils", "data", "requirements.txt", "pyproject.toml")
PATIENCE = 120  # seconds: two cores may be busy with another test
CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def chromium() -> str | None:
    """Path of a Chromium or Chrome; ``COURSE_CHROMIUM`` names one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = (shutil.which(name) for name in names)
    return os.environ.get("COURSE_CHROMIUM") or next(filter(None, found), None)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(page, found, complaint: str):
    """What ``found()`` returns, as soon as it is true; after two minutes an error."""
    end = time.monotonic() + PATIENCE
    while not (result := found()):
        if time.monotonic() > end:
            raise AssertionError(complaint)
        page.wait_for_timeout(500)
    return result


def pixels(page, image) -> str:
    """What an ``<img>`` shows, as a data address, once it is decoded: an empty box is no picture.

    Its own address says less: a widget gives an image a new one whatever is in it.
    """
    read = """image => {
        if (!image.complete || !image.naturalWidth) return "";
        const {naturalWidth: width, naturalHeight: height} = image;
        const canvas = Object.assign(document.createElement("canvas"), {width, height});
        canvas.getContext("2d").drawImage(image, 0, 0);
        return canvas.toDataURL();
    }"""
    return until(page, lambda: image.evaluate(read), "the picture was never decoded")


class Lab:
    """A JupyterLab server whose files are a copy of the course in ``folder``.

    ``app="notebook"`` starts Notebook 7 instead, ``python`` is another environment's interpreter.
    """

    def __init__(self, folder: Path, app: str = "jupyterlab", python: str = sys.executable):
        self.root, self.app = folder / "course", app
        self.root.mkdir()
        for part in filter(lambda part: (ROOT / part).exists(), PARTS):
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, self.root / part)
        self.url = f"http://127.0.0.1:{free_port()}"
        own = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
        own |= {f"JUPYTERLAB_{kind}_DIR": str(folder / kind) for kind in ("SETTINGS", "WORKSPACES")}
        own |= {"IPYTHONDIR": str(folder / "ipython"), "OMP_NUM_THREADS": "1"}
        quiet = folder / "SETTINGS" / "@jupyterlab" / "apputils-extension"
        quiet.mkdir(parents=True)  # no question about news over the screenshots
        (quiet / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
        with open(folder / "lab.log", "w") as log:
            self._server = subprocess.Popen(
                [python, "-m", app, "--no-browser", "--allow-root"]
                + ["--ip=127.0.0.1", f"--port={self.url.rsplit(':')[-1]}"]
                + ["--ServerApp.port_retries=0", "--IdentityProvider.token="]
                + ["--ServerApp.disable_check_xsrf=True"]  # for `end_sessions`, which has no cookie
                + [f"--ServerApp.root_dir={self.root}", "--expose-app-in-browser"]
                + ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
                env={**os.environ, **own},
                stdout=log,
                stderr=log,
            )
        self._wait(folder / "lab.log")

    def _wait(self, log: Path) -> None:
        for _ in range(480):
            try:
                urllib.request.urlopen(f"{self.url}/api", timeout=1).close()
                return
            except (urllib.error.URLError, OSError):
                if self._server.poll() is not None:
                    break
                time.sleep(0.25)
        self.stop()
        raise RuntimeError(f"{self.app} did not start:\n" + log.read_text()[-2000:])

    def stop(self) -> None:
        self._server.terminate()
        try:
            self._server.wait(timeout=20)
        except subprocess.TimeoutExpired:  # a loaded machine: leave no server behind
            self._server.kill()
            self._server.wait()

    def open(self, page, path: str, *, kernel: bool = True) -> None:
        """Show the notebook ``path`` alone; wait for its kernel, or start none."""
        place = "doc/tree" if self.app == "jupyterlab" else "notebooks"
        page.goto(f"{self.url}/{place}/{path}?reset")
        page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.context?.isReady")
        page.wait_for_function("document.querySelectorAll('.jp-Notebook .jp-Cell').length > 1")
        if kernel:
            self.wait_idle(page)

    def wait_idle(self, page) -> None:
        """Wait until the kernel has nothing to do."""
        page.wait_for_function(
            "jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'"
        )

    def run(self, page, cell: int) -> None:
        """Run one cell (counted from 0) to its end."""
        page.evaluate(
            """async cell => {
                jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
                await jupyterapp.commands.execute('notebook:run-cell');
            }""",
            cell,
        )

    def run_all(self, page) -> None:
        page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        page.wait_for_function(
            """() => [...jupyterapp.shell.currentWidget.model.cells]
                .filter(cell => cell.type === 'code')
                .every(cell => cell.executionCount !== null && cell.executionState !== 'running')
                && jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"""
        )

    def output_of(self, page, words: str):
        """The output of the first cell whose source holds ``words``, scrolled into view."""
        cell = page.evaluate(
            """async words => {
                const cells = [...jupyterapp.shell.currentWidget.model.cells];
                const place = cells.findIndex(cell => cell.sharedModel.source.includes(words));
                if (place >= 0)
                    await jupyterapp.shell.currentWidget.content.scrollToItem(place, 'center');
                return place;
            }""",
            words,
        )
        if cell < 0:
            raise ValueError(f"no cell holds {words!r}")
        return page.locator(f".jp-Cell[data-windowed-list-index='{cell}'] .jp-OutputArea").first

    def errors(self, page) -> list[str]:
        """The error outputs of the notebook that is open."""
        return page.evaluate(
            """() => [...jupyterapp.shell.currentWidget.model.cells]
                .filter(cell => cell.type === 'code')
                .flatMap(cell => cell.outputs.toJSON())
                .filter(output => output.output_type === 'error')
                .map(output => output.ename + ': ' + output.evalue)"""
        )

    def close(self, page) -> None:
        """Stop the kernel of the notebook that is open."""
        page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    def end_sessions(self) -> None:
        """Stop every kernel, whatever a page that failed has left."""
        with urllib.request.urlopen(f"{self.url}/api/sessions", timeout=PATIENCE) as answer:
            sessions = json.load(answer)
        for session in sessions:
            address = f"{self.url}/api/sessions/{session['id']}"
            request = urllib.request.Request(address, method="DELETE")
            urllib.request.urlopen(request, timeout=PATIENCE).close()
