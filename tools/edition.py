"""The second edition's rules, switched on for a notebook by naming it in `SECOND_EDITION`.

A rewritten notebook is named there, and from then on held to all of them.  Some hold for every
notebook: its import cell is short, and our versions stand right.  A1 keeps those of slide checks.

Our version of an exercise is a folded cell below it with the tags `our-version` and the exercise's
id.  The last function or class in it is the solution, under a name of its own (`our_attention`).
"""

import ast
import contextlib
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from tools.minutes import asked, code_cells, code_lines, core, counts, tagged
from tools.project import number

SECOND_EDITION: tuple[str, ...] = ()  # such as ("03", "03b")

LIMITS = {"cells": 85, "words": 2000, "slide checks": 4}  # of the core
MOST_IMPORT_LINES = 10

# The five lectures, as a slide check names them: > **Slide check (Lin, *Add & Norm*).** ...
DECKS = ("Lin", "Lecture 7", "Lee", "Safayani", "Kim")
BOX = re.compile(r"^(?:> ?)?\*\*Slide check\b.*", re.MULTILINE)
_SOURCE = rf"(?:{'|'.join(DECKS)}), \*[^*]+\*(?: and \*[^*]+\*)*"
NAMED_BOX = re.compile(rf"\*\*Slide check \({_SOURCE}(?:; {_SOURCE})*\)")


def complaints(notebook: NotebookNode, name: str) -> Iterator[str]:
    rewritten = number(name) in SECOND_EDITION
    if (lines := import_lines(notebook)) > MOST_IMPORT_LINES:
        yield f"the import cell has {lines} lines, more than {MOST_IMPORT_LINES}"
    yield from _our_versions(notebook, each=rewritten)
    if rewritten or number(name) == "A1":
        yield from _slide_checks(notebook)
    if rewritten:
        yield from _shape(notebook)
        yield from _predictions(notebook)


def import_lines(notebook: NotebookNode) -> int:
    """Lines of the first cell behind the set-up cell that imports something."""
    cells = [cell for _, cell in code_cells(notebook)[1:]]
    return next((code_lines(c) for c in cells if re.search(r"^(import|from) ", c.source, re.M)), 0)


def _slide_checks(notebook: NotebookNode) -> Iterator[str]:
    for place, cell in enumerate(notebook.cells, start=1):
        boxes = BOX.findall(cell.source) if cell.cell_type == "markdown" else []
        for box in (box for box in boxes if not NAMED_BOX.search(box)):
            yield f"cell {place} has a slide check without deck and section: {box[:60]!r}"
        near = [c.metadata.get("tags", []) for c in notebook.cells[place - 1 : place + 1]]
        if boxes and not any(tag.startswith("E-") for tags in near for tag in tags):
            yield f"cell {place} has a slide check, and neither it nor the next cell a tag E-..."


def _shape(notebook: NotebookNode) -> Iterator[str]:
    cells = core(notebook)
    if "?" not in notebook.cells[0].source.partition("\n")[2]:
        yield "cell 1 asks no question below its title"
    if not any(tagged(cell, "lecture") for cell in notebook.cells):
        yield "no cell is tagged `lecture`"
    checks = sum(cell.source.count("**Slide check") for cell in cells)
    for (what, most), count in zip(LIMITS.items(), (len(cells), counts(cells)[0], checks)):
        if count > most:
            yield f"the core has {count} {what}, more than {most}"
    nodes = [n for c in cells if c.cell_type == "code" for n in ast.walk(ast.parse(c.source))]
    prints = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "print"]
    blind = sum(bool(call.args) and all(map(_constant, call.args)) for call in prints)
    if blind > 0.15 * len(prints):
        yield f"{blind} of {len(prints)} prints of the core show no value, more than 15 %"


def _constant(node: ast.expr) -> bool:
    """Whether it prints a sentence that stands in the source: a verdict, not a value."""
    if isinstance(node, ast.JoinedStr):
        return all(isinstance(part, ast.Constant) for part in node.values)
    if isinstance(node, ast.IfExp):
        return _constant(node.body) and _constant(node.orelse)
    return isinstance(node, ast.Constant)


def _predictions(notebook: NotebookNode) -> Iterator[str]:
    """A prediction is asked in a cell of its own; the next one shows what happens, in any case."""
    code = code_cells(notebook)
    for i, (place, cell) in enumerate(code):
        for key in (key for key in asked(cell) if key[0] == "P"):
            if not re.fullmatch(rf'predict\("{key}"(, guess=.*)?\)', cell.source.strip()):
                yield f'cell {place} must hold nothing but predict("{key}")'
            if not any(f'said("{key}")' in c.source for _, c in code[i + 1 : i + 2]):
                yield f'the code cell behind cell {place} does not call said("{key}")'


def _exercise(cell: NotebookNode) -> str | None:
    """The exercise that a cell is our version of."""
    ids = [tag for tag in cell.metadata.get("tags", []) if re.fullmatch(r"X\d\d-\d+", tag)]
    return ids[0] if len(ids) == 1 else None


def _our_versions(notebook: NotebookNode, each: bool) -> Iterator[str]:
    checked, answered = set(), set()
    for place, cell in code_cells(notebook)[1:]:
        checked |= {key for key in asked(cell) if key[0] == "X"}
        if tagged(cell, "our-version"):
            answered.add(_exercise(cell))
            if _exercise(cell) not in checked:
                yield f"cell {place} is our version of {_exercise(cell)}, not checked above it"
            if not cell.metadata.get("jupyter", {}).get("source_hidden"):
                yield f"cell {place} shows our version: its source must be hidden"
    for key in sorted(checked - answered if each else ()):
        yield f"exercise {key} has no cell tagged `our-version`"


def failing_versions(notebook: NotebookNode) -> Iterator[str]:
    """Which of our versions do not pass their exercise's check, and what the check says.

    Of the cells above only imports and definitions are run, so that no training is waited for.  A
    name that a student defines means our version there, or the library's as in `carry_on`.
    """
    from utils.quiz import registry  # with torch, which the other rules do without
    from utils.quiz.diagnose import diagnose

    kept = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    space: dict = {"__name__": "our_version"}
    for place, cell in code_cells(notebook)[1:]:
        name = None
        for node in ast.parse(cell.source).body:
            # a default value may need a number that only the whole notebook computes
            with contextlib.suppress(NameError):
                if isinstance(node, kept):
                    exec(compile(ast.Module([node], []), f"cell {place}", "exec"), space)
                    name = getattr(node, "name", None)
        for exercise in (registry.get(key, "X") for key in asked(cell) if key[0] == "X"):
            space[exercise.name] = exercise.library or exercise.reference
        if tagged(cell, "our-version"):
            exercise = registry.get(_exercise(cell), "X")
            if name in (None, exercise.name):
                yield f"cell {place} must define our_{exercise.name} last, not {name}"
            verdict = diagnose(exercise, space.get(name))
            if not verdict.passed or verdict.narrow:
                yield f"cell {place} does not pass {exercise.id}: {verdict}"
            space[exercise.name] = space.get(name)
