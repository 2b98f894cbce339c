"""The second edition's rules, each switched on for a notebook by naming it in `SECOND_EDITION`.

A notebook is named here when it has been rewritten, and from then on is held to all of them.  Two
rules hold for every notebook, as far as it has come: the length of the import cell, with a limit
of its own for each that waits, and the form of a slide check, which the errata (A1) keep already.
"""

import ast
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from tools import our_version
from tools.minutes import asked, code_lines, core, lecture_cells, tags, words
from tools.project import number

SECOND_EDITION: tuple[str, ...] = ()  # such as ("03", "03b")

MOST_CORE_CELLS = 85
MOST_CORE_WORDS = 2000
MOST_SLIDE_CHECKS = 4
MOST_BLIND_PRINTS = 0.15
MOST_IMPORT_LINES = 10
# Lines of the import cell in notebooks that are not rewritten yet.  A number here only falls.
IMPORT_LINES = {"01": 13, "02": 18, "03": 13, "04": 13, "05": 12, "06": 13, "07": 27, "08": 17}
IMPORT_LINES |= {"09": 18}

# The five lectures, as a slide check names them: > **Slide check (Lin, *Add & Norm*).** ...
DECKS = ("Lin", "Li, Adeli & Durante", "Lee", "Safayani", "Kim")
BOX = re.compile(r"^(?:> ?)?\*\*Slide check\b.*", re.MULTILINE)
_SOURCE = rf"(?:{'|'.join(DECKS)}), \*[^*]+\*"
NAMED_BOX = re.compile(rf"\*\*Slide check \({_SOURCE}(?:; {_SOURCE})*\)")


def complaints(notebook: NotebookNode, name: str) -> Iterator[str]:
    rewritten = number(name) in SECOND_EDITION
    limit = MOST_IMPORT_LINES if rewritten else IMPORT_LINES.get(number(name), MOST_IMPORT_LINES)
    if (lines := import_lines(notebook)) > limit:
        yield f"the import cell has {lines} lines, more than {limit}"
    yield from our_version.complaints(notebook, every=rewritten)
    if rewritten or number(name) == "A1":
        yield from _slide_checks(notebook)
    if rewritten:
        yield from _shape(notebook)
        yield from _predictions(notebook)


def import_lines(notebook: NotebookNode) -> int:
    """Lines of the first cell behind the set-up cell that imports something."""
    for cell in notebook.cells:
        importing = re.search(r"^(import|from) ", cell.source, re.MULTILINE)
        if cell.cell_type == "code" and "setup" not in tags(cell) and importing:
            return code_lines([cell])
    return 0


def _slide_checks(notebook: NotebookNode) -> Iterator[str]:
    for place, cell in enumerate(notebook.cells, start=1):
        boxes = BOX.findall(cell.source) if cell.cell_type == "markdown" else []
        for box in boxes:
            if not NAMED_BOX.search(box):
                yield f"cell {place} has a slide check without deck and section: {box[:60]!r}"
        around = [tag for near in notebook.cells[place - 1 : place + 1] for tag in tags(near)]
        if boxes and not any(tag.startswith("E-") for tag in around):
            yield f"cell {place} has a slide check, and neither it nor the next cell a tag E-..."


def _shape(notebook: NotebookNode) -> Iterator[str]:
    cells = core(notebook)
    if "?" not in notebook.cells[0].source.partition("\n")[2]:
        yield "cell 1 asks no question below its title"
    if not lecture_cells(notebook):
        yield "no cell is tagged `lecture`"
    counts = {
        "cells": (len(cells), MOST_CORE_CELLS),
        "words": (words(cells), MOST_CORE_WORDS),
        "slide checks": (sum(c.source.count("**Slide check") for c in cells), MOST_SLIDE_CHECKS),
    }
    for what, (count, most) in counts.items():
        if count > most:
            yield f"the core has {count} {what}, more than {most}"
    prints = [node for cell in cells if cell.cell_type == "code" for node in _prints(cell.source)]
    blind = sum(bool(node.args) and all(map(_constant, node.args)) for node in prints)
    if blind > MOST_BLIND_PRINTS * len(prints):
        yield f"{blind} of {len(prints)} prints of the core show no value, more than 15 %"


def _prints(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            yield node


def _constant(node: ast.expr) -> bool:
    """Whether it always prints the same, or one of two sentences: a verdict, not a number."""
    if isinstance(node, ast.JoinedStr):
        return all(isinstance(part, ast.Constant) for part in node.values)
    if isinstance(node, ast.IfExp):
        return _constant(node.body) and _constant(node.orelse)
    return isinstance(node, ast.Constant)


def _predictions(notebook: NotebookNode) -> Iterator[str]:
    """A prediction is asked in a cell of its own; the next one shows what happens, in any case."""
    code = [(place, c) for place, c in enumerate(notebook.cells, 1) if c.cell_type == "code"]
    for (place, cell), (_, following) in zip(code, [*code[1:], (0, NotebookNode(source=""))]):
        for key in sorted(key for key in asked([cell]) if key[0] == "P"):
            if not re.fullmatch(rf'predict\("{key}"(, guess=.*)?\)', cell.source.strip()):
                yield f'cell {place} must hold nothing but predict("{key}")'
            if f'said("{key}")' not in following.source:
                yield f'the code cell behind cell {place} does not call said("{key}")'
