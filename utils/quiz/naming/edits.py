"""Small changes to the tree of a solution, and what each means in words.

The same edits serve twice. On a right solution they make wrong ones, and ``made`` says what is
wrong then. On a student's solution they may repair it, and ``undone`` says what was wrong. Both are
told as what the wrong code *does*, never as the right code. `slips` has the slips.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from utils.quiz.naming import slips
from utils.quiz.naming.slips import Site, Slip, Told
from utils.quiz.naming.trees import callee, like

Spot = tuple[ast.AST, str, int | None, ast.AST]  # owner, field, index in it, new node
SKIPPED = {"annotation", "targets", "target", "decorator_list", "returns", "bases"}


@dataclass(frozen=True, eq=False)
class Edit:
    """One change, at one place or at every place where the same slip can be made."""

    spots: tuple[Spot, ...]
    made: Told | None  # (kind, words) of a right solution after it
    undone: Told | None  # (kind, words) of a solution that it makes right
    weight: float  # how usual the slip is, 1 to 3
    line: int
    piece: str  # the operation it concerns, such as "softmax"

    @property
    def loses(self) -> bool:
        """Does it throw something away? Much can be "repaired" by that."""
        return bool(self.undone) and self.undone[0] in ("extra-step", "wrong-return")


def edits_of(tree: ast.AST, bools: set[str], constants: set) -> list[Edit]:
    """All edits of the functions in ``tree``, the usual slips first.

    ``bools`` names the arguments that hold booleans; ``constants`` are the numbers of right
    solutions, which a student's number is tried to become.
    """
    found: list[Edit] = []
    attributes = _own_attributes(tree)
    for function in _functions(tree):
        names = _names(function)
        groups: dict[tuple, list[Edit]] = {}
        computed = _computed(function) if constants else {}
        for owner, field, index, node in _places(function):
            site = Site(node, owner, field, names, attributes, bools, constants, computed)
            for slip in slips.of(site):
                edit = _edit(slip, (owner, field, index, slip.new), node)
                found.append(edit)
                if slip.tag:
                    groups.setdefault(slip.tag, []).append(edit)
        found += _everywhere(groups)
        if constants:
            found += [*_lines_exchanged(function), *_without_else(function)]
    return sorted(found, key=lambda edit: -edit.weight)


def _edit(slip: Slip, spot: Spot, node: ast.AST) -> Edit:
    line = getattr(node, "lineno", 0)
    return Edit((spot,), slip.made, slip.undone, slip.weight, line, slip.piece)


def _everywhere(groups: dict[tuple, list[Edit]]) -> Iterator[Edit]:
    """The same slip at all its places, and two names exchanged throughout."""
    for tag, edits in groups.items():
        spots = tuple(spot for edit in edits for spot in edit.spots)
        first = edits[0]
        if len(edits) > 1:
            weight = first.weight + 0.1
            yield Edit(spots, first.made, first.undone, weight, first.line, first.piece)
        kind, old, new = tag
        back = groups.get((kind, new, old))
        if kind in ("name", "attribute") and back and old < new:
            told = ("exchanged", f"`{old}` and `{new}` have changed places")
            spots += tuple(spot for edit in back for spot in edit.spots)
            yield Edit(spots, told, told, 2.8, first.line, "")


def _lines_exchanged(function: ast.AST) -> Iterator[Edit]:
    """Two neighbouring lines in the other order."""
    for owner in ast.walk(function):
        body = getattr(owner, "body", None)
        lines = body if isinstance(body, list) else []
        for i, (first, second) in enumerate(itertools.pairwise(lines)):
            if isinstance(second, ast.Return) or _is_text(first):
                continue
            says = f"this line comes before line {second.lineno}, and it needs what is done there"
            spots = ((owner, "body", i, second), (owner, "body", i + 1, first))
            yield Edit(spots, None, ("order-of-steps", says), 2.2, first.lineno, "")


def _without_else(function: ast.AST) -> Iterator[Edit]:
    """An `if` whose case goes on below, into what was meant for the other case."""
    body = getattr(function, "body", None)
    last = body[-1] if isinstance(body, list) else None
    for i, node in enumerate(body[:-1] if isinstance(last, ast.Return) else ()):
        if (
            isinstance(node, ast.If)
            and not node.orelse
            and not isinstance(node.body[-1], ast.Return)
        ):
            says = "after this case the lines below it are done as well, for there is no `else`"
            spot = (function, "body", i, like(node, body=[*node.body, last]))
            yield Edit((spot,), None, ("missing-else", says), 2.6, node.lineno, "")


def _computed(function: ast.AST) -> dict[str, list[Any]]:
    """For each name the short expressions in which it occurs, each once."""
    found: dict[str, dict[str, Any]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call | ast.BinOp | ast.Subscript):
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            text = ast.unparse(node)
            inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            for name in inside if len(text) < 30 else ():
                found.setdefault(name, {})[text] = node
    return {name: [*nodes.values()][:6] for name, nodes in found.items()}


def _functions(tree: ast.AST) -> list[ast.AST]:
    """Functions and methods; one inside another belongs to the outer one."""
    inner: set[int] = set()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and id(node) not in inner:
            found.append(node)
            inner |= {id(child) for child in ast.walk(node)}
    return found


def _names(function: Any) -> list[str]:
    """What a name in the function could be mistaken for: its arguments and variables."""
    stored = [
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    return list(dict.fromkeys([a.arg for a in function.args.args if a.arg != "self"] + stored))


def _own_attributes(tree: ast.AST) -> list[str]:
    """The names of all ``self.…``."""
    own = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    return list(dict.fromkeys(n.attr for n in own if getattr(n.value, "id", "") == "self"))


def _places(function: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    for owner in ast.walk(function):
        for field, value in ast.iter_fields(owner):
            if field in SKIPPED:
                continue
            many = isinstance(value, list)
            for index, node in enumerate(value) if many else [(None, value)]:
                if isinstance(node, ast.stmt | ast.expr) and not _is_text(node, owner):
                    yield owner, field, index, node


def _is_text(node: ast.AST, owner: ast.AST | None = None) -> bool:
    """Is it a docstring or another text? The letters of an einsum are no text."""
    value = node.value if isinstance(node, ast.Expr) else node
    text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return text and not (isinstance(owner, ast.Call) and callee(owner) == "einsum")
