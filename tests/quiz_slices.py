"""Which cells of a notebook depend on the solution of an exercise, and what those cells need.

Names are followed from statement to statement and through functions, until something else takes the
name. So a solution can be tried in a second where the whole notebook takes minutes.
"""

from __future__ import annotations

import ast
import builtins
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from utils.quiz import registry

ROOT = Path(__file__).parents[1]
QUIET = "print|question|check|hint|predict|said|show_source|plot_.*|draw_.*|play"  # change nothing
TRAINS = "train|learn"  # functions that train the model that they are given first


@dataclass
class Cell:
    """A code cell: its place in the notebook, and its statements in the order they run."""

    place: int
    source: str
    steps: list[Step] = field(default_factory=list)

    def about(self, what: str) -> str | None:
        """The exercise that the cell hands to ``what``, `check` or `carry_on`."""
        found = re.search(rf'\b{what}\("(X\d\d-\d+)"', self.source)
        return found[1] if found else None

    @functools.cached_property
    def touched(self) -> set[str]:
        """The names that it binds or changes."""
        return set().union(*(step.binds | step.changes for step in self.steps))

    @functools.cached_property
    def needs(self) -> set[str]:
        """The names that it reads before it binds them itself."""
        needs, bound = set(), set()
        for step in self.steps:
            needs |= (step.reads | (step.inside[0] if step.inside else set())) - bound
            bound |= step.binds
        return needs


@dataclass
class Step:
    """A statement: the names that it reads, binds, and may change without binding them."""

    line: int
    reads: set[str]
    binds: set[str]
    changes: set[str]
    trains: set[str]  # those that a training has changed
    inside: tuple[set[str], set[str]] | None = None  # of a function: what its body reads, changes


@functools.cache
def cells_of(number: str) -> list[Cell]:
    """The code cells of notebook ``number`` ("03") after the set-up."""
    (file,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    cells, known, fixed = [], {}, set(dir(builtins))
    for place, raw in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"]):
        if raw["cell_type"] == "code" and "setup" not in raw["metadata"].get("tags", ()):
            cells.append(Cell(place, "".join(raw["source"])))
    for cell in cells:
        for node in _statements(ast.parse(cell.source).body):
            if isinstance(node, ast.Import | ast.ImportFrom):  # `prepared` runs them all
                fixed |= free(node)[1]
                continue
            step = _step(node)
            _follow(step, known)
            step.changes -= fixed
            for name in step.binds:
                known.pop(name, None)
                if step.inside:
                    known[name] = step.inside
            cell.steps.append(step)
    return cells


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The plain statements of a body; what a loop holds comes twice, as it may feed itself."""
    for node in body:
        if isinstance(node, ast.For):
            yield ast.copy_location(ast.Assign([node.target], node.iter), node)
            yield from _statements([*node.body, *node.body, *node.orelse])
        elif isinstance(node, ast.With):
            for item in node.items:
                target = [item.optional_vars] if item.optional_vars else []
                yield ast.copy_location(ast.Assign(target, item.context_expr), node)
            yield from _statements(node.body)
        elif isinstance(node, ast.If | ast.While):
            yield ast.copy_location(ast.Assign([], node.test), node)
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            caught = [inner for handler in node.handlers for inner in handler.body]
            yield from _statements([*node.body, *caught, *node.orelse, *node.finalbody])
        else:
            yield node


def _step(node: ast.stmt) -> Step:
    reads, binds = free(node)
    changes, trains = set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.Expr):  # a call for its effect: `rows.append(row)`
            alone = part.value.elts if isinstance(part.value, ast.Tuple) else [part.value]
            calls = [call for call in alone if isinstance(call, ast.Call)]
            loud = (c for c in calls if not re.fullmatch(QUIET, ast.unparse(c.func)))
            changes |= {name for call in loud for name in _names(call)}
        elif isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.ctx, ast.Store):
            changes |= _names(part.value)
        if isinstance(part, ast.Call) and re.fullmatch(TRAINS, ast.unparse(part.func)):
            trains |= _names(part.args[0])
    trained = trains | changes | binds if trains else set()
    if isinstance(node, ast.FunctionDef | ast.ClassDef) or (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
    ):
        return Step(node.lineno, set(), binds, set(), set(), (reads, (changes | trains) & reads))
    return Step(node.lineno, reads, binds, changes | trains, trained)


def _follow(step: Step, known: dict[str, tuple[set[str], set[str]]]) -> None:
    """Add what the functions that a statement mentions will read and change themselves."""
    seen, todo = set(), list(step.reads)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            reads, changes = known.get(name, (set(), set()))
            todo += reads
            step.changes |= changes
            step.trains |= changes if re.fullmatch(TRAINS, name) else set()
    step.reads = seen


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def free(node: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a statement reads from the notebook, and those that it binds there."""
    reads: set[str] = set()
    binds: set[str] = set()

    def walk(node: ast.AST, own: set[str]) -> None:
        inner = own
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            inner = own | _locals(node)
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                walk(default, own)
        elif isinstance(node, ast.ClassDef):
            inner = own | {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inner = own | {name for part in node.generators for name in _names(part.target)}
        elif isinstance(node, ast.Name) and node.id not in own:
            (reads if isinstance(node.ctx, ast.Load) else binds).add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            reads.update({node.target.id} - own)
        elif isinstance(node, ast.alias):
            binds.add((node.asname or node.name).split(".")[0])
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in own:
            binds.add(node.name)
        for part in ast.iter_child_nodes(node):
            walk(part, inner)

    walk(node, set())
    return reads, binds


def _locals(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    names = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    if isinstance(function, ast.Lambda):
        return names
    parts = [part for statement in function.body for part in ast.walk(statement)]
    names |= {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
    names |= {p.name for p in parts if isinstance(p, ast.FunctionDef)}
    return names - {name for p in parts if isinstance(p, ast.Global) for name in p.names}


@dataclass(frozen=True)
class Slice:
    """What to run for one exercise: cells by their index in `cells_of`."""

    above: tuple[int, ...]
    early: tuple[
        int, ...
    ]  # below, but nothing that depends on the exercise notices if they run now
    start: int  # the cell with `carry_on`
    below: tuple[int, ...]
    depend: frozenset[int]  # those of `below` that depend on the exercise


@functools.cache
def slice_of(key: str) -> Slice:
    name, cells = registry.get(key, "X").name, cells_of(key[1:3])
    start = next(i for i, cell in enumerate(cells) if cell.about("carry_on") == key)
    reached, depend = {name}, set()
    for i in range(start + 1, len(cells)):
        for step in cells[i].steps:
            if step.reads & reached:
                depend.add(i)
                reached |= step.binds | step.changes
            else:
                reached -= step.binds
    chosen, wanted = [], set()
    for i in reversed(range(len(cells))):
        if i == start:
            wanted -= {name}
        elif cells[i].about("check") != key and (i in depend or cells[i].touched & wanted):
            chosen.insert(0, i)
            bound = set().union(*(step.binds for step in cells[i].steps))
            wanted = (wanted - bound) | cells[i].needs
    above, early, below = [i for i in chosen if i < start], [], []
    passed, made = {name}, {name}  # by the cells that run below: names in use, names that change
    for i in (i for i in chosen if i > start):
        cell = cells[i]
        if i in depend or cell.touched & passed or cell.needs & made:
            below.append(i)
            passed |= cell.needs | cell.touched
            made |= cell.touched
        else:
            early.append(i)
    return Slice(tuple(above), tuple(early), start, tuple(below), frozenset(depend))


@functools.cache
def lenient(number: str) -> list[set[int]]:
    """For each cell the lines that a training has reached, which is cut short here."""
    trained, found = set(), []
    for cell in cells_of(number):
        lines = set()
        for step in cell.steps:
            if step.trains or step.reads & trained:
                lines.add(step.line)
                trained |= (
                    step.trains | step.binds | (step.changes if step.reads & trained else set())
                )
            else:
                trained -= step.binds
        found.append(lines)
    return found
