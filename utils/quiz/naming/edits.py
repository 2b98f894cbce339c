"""Small changes to the tree of a solution, and what each means in words.

The same edits serve twice. On a right solution they make wrong ones, and ``made`` says what is
wrong then. On a student's solution they may repair it, and ``undone`` says what was wrong. Both are
told as what the wrong code *does*, never as the right code. `slips` has the slips.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from utils.quiz.naming import slips
from utils.quiz.naming.slips import Site, Slip, Told

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
        for owner, field, index, node in _places(function):
            site = Site(node, owner, field, names, attributes, bools, constants)
            for slip in slips.of(site):
                edit = _edit(slip, (owner, field, index, slip.new), node)
                found.append(edit)
                if slip.tag:
                    groups.setdefault(slip.tag, []).append(edit)
        found += _everywhere(groups)
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
                if isinstance(node, ast.stmt | ast.expr) and not _is_text(node):
                    yield owner, field, index, node


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
