"""Run the cells below an exercise with any right solution of it, as its notebook would."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
from typing import Any
from unittest import mock

import torch
from matplotlib import pyplot

from tests.quiz_slices import cells_of, lenient, slice_of
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.naming.sources import run_source

SHORT = 2  # steps of a training: enough for every exception


class Softened(ast.NodeTransformer):
    """On the given lines a bound (``share > 0.9``) is computed, but need not hold."""

    def __init__(self, lines: set[int]):
        self.lines = lines

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        compared = [p for p in ast.walk(node.test) if isinstance(p, ast.Compare)]
        bounds = any(
            isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for p in compared for op in p.ops
        )
        soft = bounds and node.lineno in self.lines
        return ast.copy_location(ast.Expr(node.test), node) if soft else node


def _shorten(space: dict[str, Any]) -> None:
    """Make ``train`` stop after a few steps, whether imported or written in the notebook."""
    train = space.get("train")
    if train is None or hasattr(train, "__wrapped__"):
        return

    @functools.wraps(train)
    def short(*args: Any, **given: Any) -> Any:
        call = inspect.signature(train).bind(*args, **given)
        call.arguments["steps"] = min(call.arguments["steps"], SHORT)
        return train(*call.args, **call.kwargs)

    space["train"] = short


def _unpainted(figure: pyplot.Figure, *args: Any, **given: Any) -> None:
    """Stands for `Figure.savefig`, which takes longer than all the rest. Figures are only built."""
    figure.clear()  # hundreds of them wait for the garbage to be collected


def run_cell(space: dict[str, Any], number: str, index: int, later: bool = False) -> None:
    """Run a cell in ``space``. Other exercises are solved with our version, their blanks skipped.

    A ``later`` exercise may be written with what the student has made: then ours is checked so.
    """
    cell = cells_of(number)[index]
    if key := cell.about("carry_on"):
        exercise = registry.get(key, "X")
        space[exercise.name] = exercise.library or exercise.reference
    elif key := cell.about("check"):
        exercise = registry.get(key, "X")
        if later:
            ours = "from __future__ import annotations\n" + exercise.source
            verdict = diagnose(exercise, define(key, ours, space))
            assert verdict.passed, verdict
    else:
        tree = ast.fix_missing_locations(
            Softened(lenient(number)[index]).visit(ast.parse(cell.source))
        )
        code = compile(tree, f"<notebook {number}, cell {cell.place}>", "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            with mock.patch.object(pyplot.Figure, "savefig", _unpainted):
                exec(code, space)
        _shorten(space)


def define(key: str, source: str, space: dict[str, Any]) -> Any:
    """What ``source`` defines as the solution, with all that stands above it in the notebook."""
    given = {name: value for name, value in space.items() if name not in ("source", "name")}
    return run_source(source, registry.get(key, "X").name, **given)


State = dict[str, torch.Tensor]


def _state(space: dict[str, Any]) -> State:
    """Of torch's generator and of those that the cells have made: cells advance them."""
    made = {name: g.get_state() for name, g in space.items() if isinstance(g, torch.Generator)}
    return made | {"": torch.get_rng_state()}


def _restore(space: dict[str, Any], state: State) -> None:
    for name, numbers in state.items():
        space[name].set_state(numbers) if name else torch.set_rng_state(numbers)


@functools.cache
def prepared(number: str, cells: tuple[int, ...]) -> tuple[dict[str, Any], State]:
    """What these cells leave behind; exercises of one notebook share the first of them."""
    if not cells:
        torch.manual_seed(0)
        trees = (ast.parse(cell.source) for cell in cells_of(number))
        lines = [n for t in trees for n in t.body if isinstance(n, ast.Import | ast.ImportFrom)]
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(ast.Module(lines, []), f"<imports of {number}>", "exec"), space)
        _shorten(space)
        return space, _state(space)
    before, state = prepared(number, cells[:-1])
    space = dict(before)
    _restore(space, state)
    run_cell(space, number, cells[-1])
    return space, _state(space)


def solved_above(key: str) -> dict[str, Any]:
    """The names that a student can use in the cell of exercise ``key``."""
    number = key[1:3]
    cells = cells_of(number)[: slice_of(key).start]
    done = [registry.get(k, "X") for k in map(lambda c: c.about("carry_on"), cells) if k]
    ours = {exercise.name: exercise.library or exercise.reference for exercise in done}
    return prepared(number, slice_of(key).above)[0] | ours


def run_below(key: str, source: str, carried: bool = True) -> str:
    """Run what depends on exercise ``key`` with this solution of it, and return what was printed.

    The solution goes through `carry_on`, or as it is if not ``carried``. The exception of a cell
    comes out with a note that says which one it was.
    """
    number, part = key[1:3], slice_of(key)
    before, state = prepared(number, part.above + part.early)
    name, space = registry.get(key, "X").name, dict(before)
    space[name] = define(key, source, solved_above(key))
    _restore(space, state)
    out = io.StringIO()
    if carried:
        with contextlib.redirect_stdout(out):
            exec(cells_of(number)[part.start].source, space)
    for index in part.below:
        try:
            run_cell(space, number, index, later=index in part.depend)
        except Exception as error:
            place = cells_of(number)[index].place
            error.add_note(f"in cell {place} of notebook {number}, after: {out.getvalue()}")
            raise
    return out.getvalue()
