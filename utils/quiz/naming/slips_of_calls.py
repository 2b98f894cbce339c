"""Slips inside a call: another axis, another function, arguments exchanged, a range that is off."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from utils.quiz.naming.trees import AXES, callee, expression, is_method, like, number, said, subject

MOVES = {"transpose", "swapaxes", "permute", "mT", "T", "movedim"}
REDUCTIONS = {"sum", "mean", "amax", "max", "min", "amin", "prod", "var", "std", "norm"}
REDUCTIONS |= {"logsumexp", "var_mean"}
AXIAL = REDUCTIONS | MOVES | {"softmax", "log_softmax", "cumsum", "flip", "cat", "stack", "roll"}
AXIAL |= {"unsqueeze", "squeeze", "flatten", "unflatten", "chunk", "split", "unbind", "argmax"}
AXIAL |= {"select", "narrow", "index_select", "concat"}
FAMILIES = [
    ("sum", "mean", "amax", "prod"),
    ("sin", "cos"),
    ("tanh", "sigmoid", "relu", "gelu", "exp", "leaky_relu", "silu", "elu", "softplus"),
    ("ReLU", "Tanh", "Sigmoid", "GELU", "LeakyReLU", "SiLU", "ELU", "Softplus", "Softmax"),
    ("var", "std"),
    ("triu", "tril"),
    ("zeros", "ones"),
    ("softmax", "log_softmax", "sigmoid"),
    ("cat", "stack"),
    ("exp", "log", "log10"),
    ("sqrt", "square", "abs"),
    ("argmax", "argmin"),
    ("repeat", "repeat_interleave"),
    ("any", "all"),
    ("max", "min"),
    ("amax", "amin"),
    ("maximum", "minimum"),
]
INSTEAD_OF_SOFTMAX = {
    "X / X.sum(-1, keepdim=True)": "a division by the sum, without the exponential",
    "X.sigmoid()": "a sigmoid",
    "X.relu()": "a relu",
    "X.exp()": "the exponential alone: the weights are never divided by their sum",
    "torch.nn.functional.one_hot(X.argmax(-1), X.shape[-1]).float()": "a hard choice (argmax)",
}
RANGES = {
    "r(1, _)": "starts at 1, so the first is left out",
    "r(_ - 1)": "ends one too early",
    "r(_ + 1)": "ends one too late",
    "r(1, _ + 1)": "counts from 1 where it should count from 0",
    "r(_)": "counts from 0 where it should count from 1",
}
INTERLEAVED = (
    "interleaved",
    "an axis is cut or joined in the wrong order, so entries are interleaved like cards instead of "
    "standing side by side",
)
RELABELLED = ("view-for-transpose", "a view or reshape relabels axes that have to be moved")

Told = tuple[str, str]  # kind, words


@dataclass(frozen=True)
class Slip:
    """What stands there instead; ``made`` and ``undone`` as in `utils.quiz.naming.edits`."""

    new: Any
    made: Told | None
    undone: Told | None
    weight: float
    piece: str = ""
    tag: tuple | None = None  # slips of one tag are also made at all their places at once


def of(node: ast.Call) -> Iterator[Slip]:
    """Other arguments, another function."""
    name = callee(node)
    if name in AXIAL:
        yield from _axes(node, name)
    if name in REDUCTIONS:
        yield from _reductions(node, name)
    if name in ("var", "std", "var_mean"):
        yield from _correction(node)
    yield from _relatives(node, name)
    if name in ("masked_fill", "where", "masked_fill_") and node.args:
        yield from _fills(node, name)
    if name in ("range", "arange") and node.args:
        yield from _ranges(node)
    yield from _arguments(node, name)


def _first(node: ast.Call) -> int:
    """Where the positional arguments behind the subject begin."""
    return int(not is_method(node) and subject(node) is not None)


def _with(node: ast.Call, place: int | ast.keyword, value: Any) -> ast.Call:
    if isinstance(place, int):
        return like(node, args=[*node.args[:place], value, *node.args[place + 1 :]])
    rest = [like(k, value=value) if k is place else k for k in node.keywords]
    return like(node, keywords=rest)


def _axes(node: ast.Call, name: str) -> Iterator[Slip]:
    places: list[tuple[Any, int | ast.keyword]] = [
        (number(a), i) for i, a in enumerate(node.args) if i >= _first(node)
    ]
    places += [(number(k.value), k) for k in node.keywords if k.arg in ("dim", "axis")]
    for (old, place), new in itertools.product(places, AXES):
        if old is None or new == old or not (isinstance(new, int) or name in REDUCTIONS):
            continue
        if name in MOVES:
            text = f"{said(node)} exchanges the wrong axes"
            made = undone = ("wrong-axis", text)
        else:
            text = f"{said(node)} works along"
            made = ("wrong-axis", f"{text} {AXES[new]}")
            undone = ("wrong-axis", f"{text} {AXES.get(old, 'the wrong axis')}")
        value = expression(repr(new))
        yield Slip(_with(node, place, value), made, undone, 3, name, ("axis", old, new))


def sizes(node: Any, old: Any) -> Iterator[Slip]:
    """Another index of a shape."""
    for new in (-1, -2, 0, 1, 2):
        if new != old:
            made = ("wrong-size", f"a size is taken from {AXES[new]}")
            undone = ("wrong-size", f"a size is taken from {AXES.get(old, 'the wrong axis')}")
            yield Slip(ast.Constant(new), made, undone, 2.5, "shape", ("size", old, new))


def _reductions(node: ast.Call, name: str) -> Iterator[Slip]:
    others = [k for k in node.keywords if k.arg not in ("keepdim", "dim", "axis")]
    no_keep = [k for k in node.keywords if k.arg != "keepdim"]
    keep = ast.keyword("keepdim", ast.Constant(True))
    lost = (
        "keepdim",
        f"the axis of {said(node)} is gone afterwards (no `keepdim`), so shapes broadcast wrongly",
    )
    kept = ("keepdim", f"the axis of {said(node)} is kept with size 1 (`keepdim`)")
    if len(no_keep) < len(node.keywords):
        yield Slip(like(node, keywords=no_keep), lost, kept, 2.5, name, ("keepdim", "", ""))
    else:
        new = like(node, keywords=[*no_keep, keep])
        yield Slip(new, kept, lost, 2.5, name, ("keepdim", "", ""))
    everything = ("wrong-axis", f"{said(node)} goes over all axes at once instead of one")
    bare = len(node.args) == _first(node) and len(others) == len(node.keywords)
    if not bare:
        new = like(node, args=node.args[: _first(node)], keywords=others)
        yield Slip(new, everything, None, 2.5, name)
        return
    function = like(node.func, attr="amax") if name == "max" else node.func
    for axis in (-1, 1, 0):
        axis_given = [*others, ast.keyword("dim", ast.Constant(axis)), keep]
        new = like(node, func=function, keywords=axis_given)
        yield Slip(new, None, everything, 2, name, ("axis", None, axis))


def _correction(node: ast.Call) -> Iterator[Slip]:
    """Divided by N or by N − 1."""
    plain = [k for k in node.keywords if k.arg not in ("unbiased", "correction")]
    sample = ("wrong-correction", f"{said(node)} divides by N − 1 (torch's default), not by N")
    population = ("wrong-correction", f"{said(node)} divides by N, not by N − 1")
    if len(plain) < len(node.keywords):
        yield Slip(like(node, keywords=plain), sample, population, 2.8, callee(node))
    else:
        none = ast.keyword("correction", ast.Constant(0))
        yield Slip(like(node, keywords=[*plain, none]), population, sample, 2.8, callee(node))


def _relatives(node: ast.Call, name: str) -> Iterator[Slip]:
    if not isinstance(node.func, ast.Attribute):
        other = {"max": "min", "min": "max"}.get(name)
        if other:
            told = [
                ("wrong-function", f"there is the {n} of several numbers") for n in (other, name)
            ]
            yield Slip(like(node, func=ast.Name(other, ast.Load())), *told, 2.4, name)
        return
    for family in FAMILIES:
        for other in family if name in family else ():
            if other != name:
                new = like(node, func=like(node.func, attr=other))
                made = ("wrong-function", f"there is {said(new)} where another function belongs")
                undone = ("wrong-function", f"there is {said(node)} where another function belongs")
                weight = 2.6 if name[0].isupper() else 2
                yield Slip(new, made, undone, weight, name, ("function", name, other))
    if name == "softmax":
        for code, text in INSTEAD_OF_SOFTMAX.items():
            made = ("wrong-softmax", f"in place of the softmax there is {text}")
            yield Slip(expression(code, X=subject(node)), made, None, 2, name)


def _fills(node: ast.Call, name: str) -> Iterator[Slip]:
    """What is put where the mask forbids."""
    old = number(node.args[-1])
    for value in (0.0, 1.0, -1.0, -10.0, float("inf"), float("-inf")):
        if value == old:
            continue
        filled = ast.Constant(value) if name != "where" else expression(f"torch.tensor({value})")
        if value in (float("inf"), float("-inf")):
            filled = expression("float(V)", V=ast.Constant(str(value)))
            filled = filled if name != "where" else expression("torch.tensor(V)", V=filled)
        does = "that cell keeps weight" if value > -9 else "that is not low enough"
        made = None
        if value != float("-inf"):
            made = ("wrong-fill", f"the hidden places are filled with {value:g}: {does}")
        text = "with a number" if old is None else f"with {old:g}"
        undone = ("wrong-fill", f"the hidden places are filled {text} that does not hide them")
        weight = 2.5 if made else 2.9
        yield Slip(_with(node, len(node.args) - 1, filled), made, undone, weight, name)


def _ranges(node: ast.Call) -> Iterator[Slip]:
    wrong = ("off-by-one", "a range or loop starts or ends at the wrong place (off by one)")
    for code, text in RANGES.items():
        end = node.args[min(len(node.args) - 1, 1)]
        new = like(node, args=expression(code, _=end).args + node.args[2:])
        if ast.unparse(new) == ast.unparse(node):
            continue
        made = ("off-by-one", f"a range or loop {text}")
        yield Slip(new, made, wrong, 2.5, "range", ("range", "", text))


def _arguments(node: ast.Call, name: str) -> Iterator[Slip]:
    """Two arguments exchanged, a keyword dropped."""
    rest = range(_first(node) if name in AXIAL else 0, len(node.args))
    orders: list = [_swapped(rest, i, j) for i, j in itertools.combinations(rest, 2)]
    if name == "permute":
        orders = [o for o in itertools.permutations(rest) if len(rest) < 5 or o[0] == rest[0]]
    for order in orders:
        new = like(node, args=[*node.args[: rest.start], *(node.args[k] for k in order)])
        if name in ("reshape", "view"):
            i, j = (k - rest.start for k, m in zip(rest, order, strict=True) if k != m)
            turned = expression(f"X.transpose({i}, {j})", X=new)
            yield Slip(turned, INTERLEAVED, RELABELLED, 2.5, name)
        text = f"two arguments of `{name}` have changed places"
        if name == "permute":
            text = "the axes are put into the wrong order"
        moved = [a for a, k, m in zip(node.args[rest.start :], rest, order, strict=True) if k != m]
        weight = 2.9 if all(isinstance(a, ast.Name) for a in moved) else 2
        yield Slip(new, ("exchanged", text), ("exchanged", text), weight, name)
    if name == "linear" and len(node.args) == 3:
        told = ast.unparse(node.args[2])
        made = ("missing-argument", f"`{told}` is not handed to `linear`")
        undone = ("extra-step", f"`{told}` is handed to `linear`, where it does not belong")
        yield Slip(like(node, args=node.args[:2]), made, undone, 2.2, name)
    for keyword in node.keywords:
        if keyword.arg and keyword.arg not in ("dim", "axis", "keepdim", "dtype", "device"):
            without = [k for k in node.keywords if k is not keyword]
            value = f"`{keyword.value.id}`" if isinstance(keyword.value, ast.Name) else "a value"
            made = ("missing-argument", f"{value} is not handed on as `{keyword.arg}`")
            undone = ("extra-step", f"{value} is handed on as `{keyword.arg}`: not what is asked")
            yield Slip(like(node, keywords=without), made, undone, 2.6, keyword.arg)


def _swapped(rest: range, i: int, j: int) -> list[int]:
    exchange: Callable[[int], int] = {i: j, j: i}.get
    return [exchange(k, k) for k in rest]
