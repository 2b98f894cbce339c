"""Our version of an exercise: a folded cell below it, which must pass the exercise's own check.

The cell carries the tags `our-version` and the exercise's id.  The last function or class that it
defines is the solution, under a name of its own (`our_attention`), so that the student's stays.
"""

import ast
import contextlib
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from tools.minutes import asked, hidden, tags

TAG = "our-version"
DEFINITIONS = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


def complaints(notebook: NotebookNode, every: bool = False) -> Iterator[str]:
    """What is wrong with where these cells stand; ``every``: each exercise must have one."""
    checked, answered = set(), set()
    for place, cell in enumerate(notebook.cells, start=1):
        checked |= {key for key in asked([cell]) if key[0] == "X"}
        if TAG not in tags(cell):
            continue
        keys = _keys(cell)
        answered |= set(keys)
        if len(keys) != 1:
            yield f"cell {place} is tagged `{TAG}` with {len(keys)} ids of exercises, not one"
        elif keys[0] not in checked:
            yield f"cell {place} stands before the cell that checks {keys[0]}"
        if not hidden(cell):
            yield f"cell {place} shows our version: its source must be hidden"
        if cell.cell_type != "code" or not _defined(cell.source):
            yield f"cell {place} is tagged `{TAG}` and defines neither function nor class"
    for key in sorted(checked - answered if every else ()):
        yield f"exercise {key} has no cell tagged `{TAG}`"


def failures(notebook: NotebookNode) -> Iterator[str]:
    """Which of these cells do not pass their exercise's check, and what the check says.

    Only imports and definitions of the cells above are run, so that no training is waited for.
    A name that a student defines means our version there, or the library's as in `carry_on`.
    """
    from utils.quiz import registry
    from utils.quiz.diagnose import diagnose

    space: dict = {"__name__": "our_version"}
    for place, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code" or "setup" in tags(cell):
            continue
        ours = TAG in tags(cell)
        for node in ast.parse(cell.source).body:
            # elsewhere a default may need a number that was never computed here
            with contextlib.nullcontext() if ours else contextlib.suppress(Exception):
                if ours or isinstance(node, DEFINITIONS):
                    exec(compile(ast.Module([node], []), f"cell {place}", "exec"), space)
        for key in sorted(key for key in asked([cell]) if key[0] == "X"):
            exercise = registry.get(key, "X")
            space[exercise.name] = exercise.library or exercise.reference
        if ours:
            exercise = registry.get(_keys(cell)[0], "X")
            name = _defined(cell.source)[-1]
            if name == exercise.name:
                yield f"cell {place} defines {name} again, over the student's: call it our_{name}"
            verdict = diagnose(exercise, space[name])
            if not verdict.passed or verdict.narrow:
                yield f"cell {place} does not pass {exercise.id}: {verdict}"
            space[exercise.name] = space[name]


def _keys(cell: NotebookNode) -> list[str]:
    return [tag for tag in tags(cell) if re.fullmatch(r"X\d\d-\d+", tag)]


def _defined(source: str) -> list[str]:
    nodes = ast.parse(source).body
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
