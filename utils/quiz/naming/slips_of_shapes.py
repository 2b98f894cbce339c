"""Slips that only a student's own code has: axes that do not meet, pieces cut or named wrongly.

They serve for repairs alone. A reference has none of these places, or too many of them.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

from utils.quiz.naming.slips_of_calls import Slip
from utils.quiz.naming.trees import AXES, callee, expression, is_method, like, number, said, words

NEW_AXES = ("X[:, None]", "X[..., None]", "X[None]", "X[:, None, None]", "X[..., None, :]")
TURNS = ("X.transpose(-2, -1)", "X.transpose(1, 2)")
BARE = ast.Name | ast.Call | ast.Subscript | ast.Attribute
FAREWELL = "thrown away: it is something new, and no name keeps it"


def of(site: Any) -> Iterator[Slip]:
    """What else a student may have meant at this place."""
    node, owner = site.node, site.owner
    if isinstance(node, BARE) and isinstance(owner, ast.BinOp | ast.Compare):
        yield from _new_axes(node, owner)
    if isinstance(node, ast.Call) and isinstance(owner, ast.Assign) and site.field == "value":
        yield from _kept_flat(node, owner.targets[0])
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _names(site)
    if site.field == "iter" and isinstance(node, ast.Name):
        says = f"a loop over `{node.id}` goes along its first axis, example by example"
        yield _repair(expression("X.unbind(1)", X=node), "loop-over-batch", says, 2.2)
    if isinstance(node, ast.BinOp):
        yield from _products(node)
    if isinstance(node, ast.Call):
        yield from _calls(node)
    if isinstance(node, ast.Subscript):
        yield from _other_axis(node)
    if isinstance(node, ast.IfExp) and isinstance(node.body, ast.BinOp):
        says = (
            "the `if ... else` behind a sum decides about the whole of it, not about its last part"
        )
        new = like(node.body, right=like(node, body=node.body.right))
        yield _repair(new, "brackets", says, 2.8)
    if isinstance(owner, ast.Return) and isinstance(node, BARE):
        for name, axis in itertools.product(("mean", "sum"), (0, 1, -1)):
            says = f"the {name} over {AXES[axis]} is missing: an axis is left that should be gone"
            yield _repair(expression(f"X.{name}({axis})", X=node), "axis-left", says, 1.8, name)
    if isinstance(node, ast.Slice):
        yield from _pieces(node)
    if isinstance(owner, ast.Slice) and site.field == "lower" and isinstance(node, ast.BinOp):
        says = "the start of a slice may become negative, and then it counts from the end"
        yield _repair(expression("max(X, 0)", X=node), "negative-start", says, 2.6)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        says = f"the table `{node.slice.id}` of row and column numbers is used for the rows alone"
        new = like(node, slice=expression("tuple(I)", I=node.slice))
        yield _repair(new, "rows-alone", says, 1.9)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _letters(node.value, owner)
    if isinstance(node, ast.Expr):
        yield from _thrown_away(node.value)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        yield from _taken_apart(node, node.targets[0].elts)


def _repair(
    new: Any, kind: str, says: str, weight: float, piece: str = "", tag: Any = None
) -> Slip:
    return Slip(new, None, (kind, says), weight, piece, tag)


def _new_axes(node: Any, owner: ast.BinOp) -> Iterator[Slip]:
    """An operand with an axis of size 1 put in, or turned."""
    both = [owner.left, getattr(owner, "right", None) or owner.comparators[0]]
    other = both[node is both[0]]
    if number(other) is not None:
        return
    says = f"{words(node)} meets {words(other)} without an axis of size 1 for what it lacks, and "
    says += "shapes are lined up from the last axis on"
    for code in NEW_AXES:
        yield _repair(expression(code, X=node), "missing-axis", says, 2.0)
    if isinstance(getattr(owner, "op", None), ast.MatMult):
        for code in TURNS:
            says = f"the axes of {words(node)} are not turned"
            yield _repair(expression(code, X=node), "not-transposed", says, 2.2, "transpose")


def _kept_flat(node: ast.Call, target: Any) -> Iterator[Slip]:
    """What gets a name, with an axis put in: it may be used in several places."""
    if isinstance(target, ast.Name):
        says = f"`{target.id}` lacks an axis of size 1 for what it meets later"
        for code in NEW_AXES[:3]:
            yield _repair(expression(code, X=node), "flat", says, 1.6)


def _names(site: Any) -> Iterator[Slip]:
    """A name where something that is computed of it elsewhere belongs."""
    name, says = site.node.id, "stands as it is where something computed from it belongs"
    for other in site.computed.get(name, ()):
        if other is not site.owner:
            yield _repair(other, "raw-name", f"`{name}` {says}", 1.4)


def _letters(text: str, owner: ast.AST) -> Iterator[Slip]:
    """Two letters of an einsum exchanged in one of its terms."""
    if not isinstance(owner, ast.Call) or callee(owner) != "einsum" or "->" not in text:
        return
    terms = re.split(r"(,|->)", text.replace(" ", ""))
    letters = sorted({*text} - {*",-> ."})
    for i, term in enumerate(terms[::2]):
        for a, b in itertools.combinations(letters, 2):
            new = term.translate({ord(a): b, ord(b): a})
            if new != term:
                changed = "".join([*terms[: 2 * i], new, *terms[2 * i + 1 :]])
                where = "the result" if i == len(terms) // 2 else "its inputs"
                says = f"the letters of the einsum do not say what is meant: look at {where}"
                yield _repair(ast.Constant(changed), "einsum-letters", says, 2.2, "einsum")


def _other_axis(node: ast.Subscript) -> Iterator[Slip]:
    """``pe[:, :n]`` for ``pe[:n]``, and the other way round; ``pe[-n:]`` for ``pe[:n]``."""
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not isinstance(places[0], ast.Slice) and number(places[0]) is None:
        return
    full = [isinstance(p, ast.Slice) and not (p.lower or p.upper or p.step) for p in places]
    says = "the index takes its piece along another axis than the one that is meant"
    if full[0] and len(places) > 1:
        rest = ast.Tuple(places[1:], ast.Load()) if len(places) > 2 else places[1]
        yield _repair(like(node, slice=rest), "wrong-axis", says, 2.5)
    elif not full[0]:
        further = ast.Tuple([ast.Slice(), *places], ast.Load())
        yield _repair(like(node, slice=further), "wrong-axis", says, 2.4)
    first = places[0]
    if isinstance(first, ast.Slice) and isinstance(first.lower, ast.UnaryOp) and not first.upper:
        start = like(first, lower=None, upper=first.lower.operand)
        new = ast.Tuple([start, *places[1:]], ast.Load()) if len(places) > 1 else start
        says = "the slice takes the last entries, and it is the first ones that belong here"
        yield _repair(like(node, slice=new), "wrong-slice", says, 2.6)


def _products(node: ast.BinOp) -> Iterator[Slip]:
    a, b = node.left, node.right
    if isinstance(node.op, ast.MatMult):
        holes = {"A": a, "B": b}
        says = "the product takes {} for one matrix, its examples for rows, so examples are mixed: "
        says += "each example has a vector of its own"
        for code, vector in (("(A[:, None] @ B)[:, 0]", a), ("(A @ B[..., None])[..., 0]", b)):
            told = says.format(words(vector))
            yield _repair(expression(code, **holes), "vectors-as-matrix", told, 2.4)
        weight = next((n for n in ast.walk(b) if callee(n) == "weight"), None)
        if isinstance(weight, ast.Attribute):
            layer = expression("L(X)", L=weight.value, X=a)
            says = f"only the weight of {words(weight.value)} is used, and its bias is left out"
            yield _repair(layer, "bias-left-out", says, 2.8)
    inner = a.left if isinstance(a, ast.BinOp) else a
    if isinstance(node.op, ast.Mult) and isinstance(a, ast.List) and len(a.elts) == 1:
        if isinstance(a.elts[0], ast.List | ast.BinOp) and isinstance(inner, ast.List):
            says = "the list is one row repeated: all rows are the same object, and what is "
            says += "written into one stands in all of them"
            new = expression("[R for _ in range(N)]", R=a.elts[0], N=b)
            yield _repair(new, "shared-rows", says, 3)


def _calls(node: ast.Call) -> Iterator[Slip]:
    name = callee(node)
    if name == "squeeze" and len(node.args) == (0 if is_method(node) else 1) and not node.keywords:
        says = "`squeeze` without an axis removes every axis of size 1, also that of a batch of one"
        for axis in (-1, 1, -2):
            new = like(node, args=[*node.args, expression(repr(axis))])
            yield _repair(new, "squeezes-all", says, 2.7, name)
    if name in ("clamp", "clip") and len(node.keywords) == 1:
        (keyword,) = node.keywords
        other = {"max": "min", "min": "max"}.get(keyword.arg or "", "min")
        new = like(node, keywords=[like(keyword, arg=other)])
        yield _repair(new, "wrong-side", f"`{name}` cuts the numbers off on the wrong side", 2.8)
    if name == "repeat" and is_method(node) and len(node.args) > 1 and number(node.args[1]) == 1:
        new = expression("X.repeat_interleave(N, 0)", X=node.func.value, N=node.args[0])
        says = "`repeat` lays whole copies behind each other, so each row meets another's partner"
        yield _repair(new, "wrong-function", says, 2.8, name)
    if name == "softmax" and node.args:
        of = node.func.value if is_method(node) else node.args[0]
        says = "there is the softmax, in which the numbers compete, where each should be on its own"
        new = expression("torch.sigmoid(X)", X=of)
        yield _repair(new, "wrong-function", says, 1.9, name, ("function", name, "sigmoid"))


def _pieces(node: ast.Slice) -> Iterator[Slip]:
    """A slice that takes another piece of the same length: ``[n:2 * n]`` for ``[2 * n:3 * n]``."""
    low, high = node.lower, node.upper
    if isinstance(high, ast.BinOp) and isinstance(high.op, ast.Add) and isinstance(low, ast.Name):
        if ast.unparse(high.left) == low.id:
            start = expression("I * N", I=low, N=high.right)
            end = expression("I * N + N", I=low, N=high.right)
            says = f"the pieces start one place apart (at `{low.id}`), not a whole piece apart"
            yield _repair(like(node, lower=start, upper=end), "wrong-slice", says, 2.7)
    if number(low) and isinstance(high, ast.BinOp) and isinstance(high.op, ast.Add):
        if number(high.right) == number(low):
            says = "this slice starts and ends too late"
            yield _repair(like(node, lower=None, upper=high.left), "wrong-slice", says, 2.7)
    unit = next((m for m in (low, high) if isinstance(m, ast.Name)), None)
    if unit is None:
        factors = [n for m in (low, high) if isinstance(m, ast.BinOp) for n in (m.left, m.right)]
        unit = next((n for n in factors if isinstance(n, ast.Name)), None)
    if unit is not None:
        for k in range(4):
            new = like(node, lower=expression(f"{k} * U", U=unit))
            new = like(new, upper=expression(f"{k + 1} * U", U=unit))
            says = "this slice takes out another piece than the one that belongs here"
            yield _repair(new, "wrong-slice", says, 2.1)


def _thrown_away(value: Any) -> Iterator[Slip]:
    """``mask.masked_fill(...)`` alone on a line, kept under the name it works on."""
    if not isinstance(value, ast.Call):
        return
    kept = value.func.value if is_method(value) else (value.args or [None])[0]
    if isinstance(kept, ast.Name):
        new = ast.Assign([ast.Name(kept.id, ast.Store())], value)
        yield _repair(new, "thrown-away", f"the result of {said(value)} is {FAREWELL}", 3)


def initials(names: list[ast.expr]) -> str:
    """``i_gate, f_gate = ...`` as "taken apart: i f", to compare solutions by it."""
    return "taken apart: " + " ".join(getattr(n, "id", "?")[:1].lower() for n in names)


def _taken_apart(node: ast.Assign, names: list[ast.expr]) -> Iterator[Slip]:
    """``f, i, o, g = ...``: two names exchanged, or one moved to the end."""
    if isinstance(node.value, ast.Tuple) or not all(isinstance(n, ast.Name) for n in names):
        return
    orders = []
    for i, j in itertools.combinations(range(len(names)), 2):
        order = [*names]
        order[i], order[j] = order[j], order[i]
        told = f"`{names[i].id}` and `{names[j].id}` are taken out in the wrong order"
        orders.append((order, told))
    for i in range(1, len(names) - 2):
        told = "`{}` stands at the wrong place of what is taken apart"
        late, early = [*names[:i], *names[i + 1 :], names[i]], [*names[:i], names[-1], *names[i:-1]]
        orders.append((late, told.format(names[i].id)))
        orders.append((early, told.format(names[-1].id)))
    sizes = callee(node.value) in ("shape", "size")  # these names are mostly used in one place
    for order, says in orders:
        new = like(node, targets=[ast.Tuple(order, ast.Store())])
        yield _repair(new, "exchanged", says, 1.9 if sizes else 3, initials(names))
