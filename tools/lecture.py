"""Run the cells tagged `lecture` as a notebook of their own, in lecture/.  `make lecture NB=03`.

It holds the set-up cell and the tagged cells, with fresh outputs; git ignores it.  A path that
needs what no tagged cell makes is not written, and the sentence says which cell to tag.
"""

import re
import symtable
import sys
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.minutes import code_cells, speaking, tagged
from tools.notebooks import execute, normalise
from tools.project import ROOT, notebook_paths


def write(source: Path, folder: Path) -> str:
    """Store the lecture path of ``source`` in ``folder``; a ValueError says why it does not run."""
    whole = nbformat.read(source, as_version=4)
    if not any(tagged(cell, "lecture") for cell in whole.cells):
        raise ValueError(f"{source.name} has no cell tagged `lecture`")
    cells = [cell for cell in whole.cells if tagged(cell, "setup") or tagged(cell, "lecture")]
    lecture = nbformat.v4.new_notebook()
    lecture.cells = cells  # the same ones, so that an error is found in the whole notebook
    folder.mkdir(exist_ok=True)
    try:
        execute(lecture, str(folder))
    except CellExecutionError as error:
        raise ValueError(f"{source.name}: {_why(whole, error)}") from None
    normalise(lecture)
    nbformat.write(lecture, folder / source.name)
    return f"{folder.name}/{source.name}: {len(cells)} cells, {speaking(lecture)} minutes"


def _why(whole: NotebookNode, error: CellExecutionError) -> str:
    """At which cell of the whole notebook its lecture path stops, and which cell it lacks."""
    code = code_cells(whole)
    place = next(i for i, c in code if any(o.output_type == "error" for o in c.outputs))
    sentence = f"the lecture path stops at cell {place}: {error.ename}: {error.evalue}"
    if lacking := re.search(r"name '(\w+)' is not defined", error.evalue):
        makers = [i for i, c in code if i < place and _assigns(c.source, lacking[1])]
        sentence += "".join(f"; cell {i} makes it: tag it `lecture`" for i in makers[-1:])
    return sentence


def _assigns(source: str, name: str) -> bool:
    symbols = symtable.symtable(source, "cell", "exec").get_symbols()
    return any(s.get_name() == name and (s.is_assigned() or s.is_imported()) for s in symbols)


def main(arguments: list[str]) -> int:
    try:
        paths = notebook_paths(arguments[0]) if arguments else []
        print(write(paths[0], ROOT / "lecture") if paths else "say which: `make lecture NB=03`")
        return 0 if paths else 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
