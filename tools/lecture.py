"""Write the cells tagged `lecture` as a notebook of their own, and run it.  `make lecture NB=03`.

It goes to lecture/, which git ignores: set-up cell and tagged cells, with fresh outputs.  A path
that needs what no tagged cell makes is not written, and the sentence says which cell to tag.
"""

import re
import symtable
import sys
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.minutes import lecture_cells, speaking
from tools.notebooks import execute, nobodys_progress, normalise
from tools.project import ROOT, notebook_paths


def path_through(notebook: NotebookNode) -> NotebookNode:
    """The set-up cell and the tagged cells of ``notebook``, in their order."""
    wanted = {"setup", "lecture"}
    cells = [cell for cell in notebook.cells if wanted & set(cell.metadata.get("tags", []))]
    return nbformat.v4.new_notebook(cells=nbformat.from_dict(cells))


def write(source: Path, folder: Path) -> str:
    """Run the lecture path of the notebook ``source`` and store it in ``folder``.

    Returns the sentence to print; a path that does not run raises a ValueError.
    """
    notebook = nbformat.read(source, as_version=4)
    if not lecture_cells(notebook):
        raise ValueError(f"{source.name} has no cell tagged `lecture`")
    lecture = path_through(notebook)
    folder.mkdir(exist_ok=True)
    try:
        execute(lecture, str(folder))
    except CellExecutionError as error:
        raise ValueError(_why(notebook, lecture, source.name, error)) from None
    minutes = speaking(lecture)
    normalise(lecture)
    nbformat.write(lecture, folder / source.name)
    return f"{folder.name}/{source.name}: {len(lecture.cells)} cells, {minutes} minutes"


def _why(whole: NotebookNode, lecture: NotebookNode, name: str, error: CellExecutionError) -> str:
    """The cell at which a path breaks off, counted in the whole notebook, and what it lacks."""
    ids = [cell.id for cell in whole.cells]
    ran = [cell for cell in lecture.cells if cell.cell_type == "code"]
    failed = next(c for c in ran if any(o.output_type == "error" for o in c.outputs))
    place = ids.index(failed.id) + 1
    sentence = f"the lecture path of {name} stops at cell {place}: {error.ename}: {error.evalue}"
    if lacking := re.search(r"name '(\w+)' is not defined", error.evalue):
        makers = [
            i
            for i, cell in enumerate(whole.cells[: place - 1], start=1)
            if cell.cell_type == "code" and _assigns(cell.source, lacking[1])
        ]
        if makers:
            sentence += f"; cell {makers[-1]} makes it: tag that cell `lecture`"
    return sentence


def _assigns(source: str, name: str) -> bool:
    symbols = symtable.symtable(source, "cell", "exec").get_symbols()
    return any(s.get_name() == name and (s.is_assigned() or s.is_imported()) for s in symbols)


def main(arguments: list[str]) -> int:
    paths = notebook_paths(arguments[0]) if arguments else []
    if not paths:
        print("say which notebook: `make lecture NB=03`", file=sys.stderr)
        return 1
    with nobodys_progress():
        try:
            print(write(paths[0], ROOT / "lecture"))
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
