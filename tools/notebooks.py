"""Run the notebooks in order and store their outputs.  `make notebooks`, or one: NB=03.

What is stored depends on the notebook alone: no time, no machine, no version of Python.  A notebook
that fails is left as it was.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.minutes import run_seconds
from tools.project import ROOT, notebook_paths
from tools.stamp import stamp_notebook

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}
# What a cell may say about itself; the rest (timings, editor states) is a trace of a machine.
CELL_METADATA = {"tags", "cellView", "jupyter", "slideshow"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
PROGRESS_BAR = re.compile(r"\d+%\|.*\| \d+/\d+ \[")  # as tqdm writes it


def execute(notebook: NotebookNode, folder: str, timeout: int = 600) -> None:
    """Run all cells in ``folder``, as nobody has; the outputs are put into ``notebook``."""
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": folder}},
    )
    with tempfile.TemporaryDirectory() as empty:
        progress = {"COURSE_PROGRESS": os.path.join(empty, "progress.json")}
        client.execute(env={"OMP_NUM_THREADS": "1"} | os.environ | progress)


def normalise(notebook: NotebookNode) -> None:
    """Keep what a reader sees, in one form; drop what differs from run to run."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, start=1):
        cell.setdefault("id", f"cell-{number}")
        cell.metadata = NotebookNode(
            {key: value for key, value in cell.metadata.items() if key in CELL_METADATA}
        )
        if cell.cell_type == "code":
            cell.outputs = _joined_streams(cell.outputs)
            for output in cell.outputs:
                # A view of a widget lives with its kernel.  Stored, it would be an identifier that
                # changes with every run and means nothing to the next reader.
                output.get("data", {}).pop(WIDGET_VIEW, None)
            # Of a progress bar its first text is left, which looks like a training broken off.
            cell.outputs = [output for output in cell.outputs if not _is_progress_bar(output)]


def _is_progress_bar(output: NotebookNode) -> bool:
    data = output.get("data", {})
    return set(data) == {"text/plain"} and bool(PROGRESS_BAR.search(data["text/plain"]))


def _joined_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Printed lines arrive in pieces whose borders are chance: join them."""
    joined: list[NotebookNode] = []
    for output in outputs:
        same = joined and output.output_type == joined[-1].output_type == "stream"
        if same and output.name == joined[-1].name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def main(arguments: list[str]) -> int:
    chosen = arguments[0] if arguments else ""
    paths = notebook_paths(chosen)
    if not paths:
        print(f"no notebook has the number {chosen!r} in {ROOT / 'notebooks'}", file=sys.stderr)
        return 1
    return max(run(path) for path in paths)


def run(path: Path) -> int:
    """Run one notebook and store it; 0 if all went well."""
    from tools.hygiene import complaints  # which needs this file

    print(f"running {path.name}", flush=True)
    notebook = nbformat.read(path, as_version=4)
    stamp_notebook(notebook, path.name)
    began = time.monotonic()
    try:
        execute(notebook, str(path.parent))
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        print(f"{path.name} failed and was left as it was.", file=sys.stderr)
        return 1
    if (took := time.monotonic() - began) > (run_seconds(notebook) or took):
        print(f"  it ran for {took:.0f} seconds here, longer than its title cell says")
    normalise(notebook)
    nbformat.write(notebook, path)
    for sentence in complaints(notebook, path.name):
        print(f"  {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
