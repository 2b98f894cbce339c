"""The slips that one makes when writing tensor code: what else could stand at a place of the tree.

Each generator yields `Slip`s for one kind of node: steps, calls, products, numbers, statements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from utils.quiz.naming import slips_of_calls, slips_of_shapes
from utils.quiz.naming.slips_of_calls import Slip, Told
from utils.quiz.naming.trees import (
    COMPARISONS,
    MAKERS,
    OPERATORS,
    callee,
    expression,
    is_own,
    like,
    number,
    on,
    said,
    subject,
    words,
)

AFTER, BEFORE = "only after, not before,", "already before, not after,"
OTHER_OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Div),
    ast.Mult: (ast.Div, ast.Add, ast.MatMult),
    ast.Div: (ast.Mult, ast.FloorDiv, ast.Sub),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.MatMult: (ast.Mult, ast.Add),
    ast.Pow: (ast.Mult, ast.Div),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
ROLES = {
    ast.Mult: "a factor",
    ast.Pow: "an exponent",
    ast.Div: "a divisor",
    ast.FloorDiv: "a divisor",
}
SLICE_ROLES = {
    "lower": "the start of a slice",
    "upper": "the end of a slice",
    "step": "a slice's step",
}


@dataclass(frozen=True)
class Site:
    """A node and what is known around it."""

    node: Any
    owner: ast.AST
    field: str
    names: list[str]
    attributes: list[str]
    bools: set[str]
    constants: set
    computed: dict[str, list[Any]]  # by name: the short expressions in which it occurs


def both(kind: str, text: str) -> tuple[Told, Told]:
    """Words that are the same, whichever side is wrong."""
    return (kind, text), (kind, text)


def of(site: Site) -> Iterator[Slip]:
    """Everything else that could stand at this place."""
    node = site.node
    if site.constants:  # a student's text: here something is to be repaired
        yield from slips_of_shapes.of(site)
    if isinstance(node, ast.stmt):
        yield from _statements(site)
    elif number(node) is not None:
        if not isinstance(node, ast.Tuple | ast.List):
            yield from _numbers(site)
    elif isinstance(node, ast.Call) or subject(node) is not None:
        yield from _steps(node)
        if isinstance(node, ast.Call):
            yield from slips_of_calls.of(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield from _products(node)
    elif isinstance(node, ast.UnaryOp):
        yield from _signs(node)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield from _comparisons(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in site.names:
        yield from _names(site)
    elif is_own(node) and isinstance(node.ctx, ast.Load):
        yield from _attributes(site)
    asks = isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot)
    if asks or isinstance(node, ast.Name) and node.id in site.bools:
        inverted = f"{words(node)} is inverted: True and False have changed places"
        missing = f"{words(node)} is not inverted, so True and False have changed places"
        yield Slip(
            expression("~X", X=node),
            ("inverted", inverted),
            ("inverted", missing),
            3,
            "mask",
            ("invert", "", ""),
        )
    if site.field == "test" and not isinstance(node, ast.Compare):
        text = f"the question about {words(node)} is answered the wrong way round"
        yield Slip(expression("not X", X=node), *both("wrong-branch", text), 2.6)


def _steps(node: Any) -> Iterator[Slip]:
    """A step left out, or done before or after its neighbour."""
    name, x, what = callee(node), subject(node), said(node)
    if x is None or name in MAKERS:
        return
    missing, extra = (
        ("missing-step", f"{what} is missing"),
        ("extra-step", f"{what} is one too many"),
    )
    yield Slip(x, missing, extra, 3, name)
    if name in slips_of_calls.MOVES:
        relabelled = (
            "view-for-transpose",
            "a view or reshape relabels the axes where they have to be moved: the numbers stay in "
            "their old order in memory, so they end up at wrong places",
        )
        moved = ("transpose-for-view", "axes are moved where they have to be cut or joined")
        yield Slip(expression("X.reshape(Y.shape)", X=x, Y=node), relabelled, moved, 3, name)
    if isinstance(x, ast.BinOp) and type(x.op) in OPERATORS:
        step = f"the {OPERATORS[type(x.op)][0]} {words(x.right)}"
        late = ("order-of-steps", f"{step} comes {AFTER} {what}")
        early = ("order-of-steps", f"{step} comes {BEFORE} {what}")
        for new in (like(x, left=on(node, x.left)), like(x, right=on(node, x.right))):
            yield Slip(new, late, early, 2.5, name)
        apart = ("order-of-steps", f"{what} is taken of each part alone, not of {words(x)}")
        whole = ("order-of-steps", f"{what} is taken of {words(x)}, not of each part alone")
        yield Slip(like(x, left=on(node, x.left), right=on(node, x.right)), apart, whole, 2.4, name)
    elif subject(x) is not None and callee(x) not in MAKERS:
        late = ("order-of-steps", f"{said(x)} comes {AFTER} {what}")
        early = ("order-of-steps", f"{said(x)} comes {BEFORE} {what}")
        yield Slip(on(x, on(node, subject(x))), late, early, 2.5, name)
        if callee(x) == "masked_fill":  # behind a softmax one would fill zeros
            filled = like(x, args=[x.args[0], ast.Constant(0.0)])
            yield Slip(on(filled, on(node, subject(x))), late, None, 2.6, "masked_fill")


def _products(node: ast.BinOp) -> Iterator[Slip]:
    a, b, operator = node.left, node.right, type(node.op)
    step, done, _ = OPERATORS[operator]
    for kept, gone, weight in ((a, b, 3), (b, a, 2.5)):
        if kept is a or operator not in (ast.Div, ast.Pow, ast.Mod):
            text = f"the {step} {words(gone)} is"
            missing, extra = f"{text} missing", f"{text} one step too many"
            if kept is b and operator is ast.Sub:  # 1 - f
                extra = f"{words(b)} is taken off {words(a)} where it belongs as it is"
            yield Slip(kept, ("missing-step", missing), ("extra-step", extra), weight, done)
    for other in OTHER_OPERATORS[operator]:
        text = f"{words(a)} and {words(b)} are"
        wrong = ("wrong-operator", f"{text} {OPERATORS[other][1]}")
        yield Slip(like(node, op=other()), wrong, ("wrong-operator", f"{text} {done}"), 2.5, done)
    if operator not in (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr):
        text = f"the two sides have changed places where {words(a)} and {words(b)} are {done}"
        yield Slip(like(node, left=b, right=a), *both("exchanged", text), 2, done)
    yield from _brackets(node)
    for call, other, side in ((a, b, "left"), (b, a, "right")):
        if isinstance(call, ast.Call) and subject(call) is not None and callee(call) not in MAKERS:
            inner = f"the {step} {words(other)} comes {BEFORE} {said(call)}"
            outer = f"the {step} {words(other)} comes {AFTER} {said(call)}"
            new = on(call, like(node, **{side: subject(call)}))
            yield Slip(new, ("order-of-steps", inner), ("order-of-steps", outer), 2, done)


def _brackets(node: ast.BinOp) -> Iterator[Slip]:
    a, b = node.left, node.right
    step = OPERATORS[type(node.op)][0]
    text = f"the brackets around {words(node)} are set differently (order of operations)"
    if isinstance(b, ast.BinOp):
        yield Slip(like(b, left=like(node, right=b.left)), *both("brackets", text), 2)
    if isinstance(a, ast.BinOp) and type(a.op) in OPERATORS:
        yield Slip(like(a, right=like(node, left=a.right)), *both("brackets", text), 2)
        other = f"the {OPERATORS[type(a.op)][0]} {words(a.right)}"
        early = ("order-of-steps", f"the {step} {words(b)} comes {BEFORE} {other}")
        late = ("order-of-steps", f"the {step} {words(b)} comes {AFTER} {other}")
        yield Slip(like(a, left=like(node, left=a.left)), early, late, 2.5)


def _signs(node: ast.UnaryOp) -> Iterator[Slip]:
    if isinstance(node.op, ast.Invert | ast.Not):
        text = f"{words(node.operand)} is {{}}inverted, so True and False have changed places"
        made, undone = ("inverted", text.format("not ")), ("inverted", text.format(""))
        yield Slip(node.operand, made, undone, 3, "mask", ("plain", "", ""))
    elif isinstance(node.op, ast.USub):
        text = f"the minus sign of {words(node.operand)}"
        made, undone = ("wrong-sign", f"{text} is missing"), ("wrong-sign", f"{text} is wrong")
        yield Slip(node.operand, made, undone, 3)


def _comparisons(node: ast.Compare) -> Iterator[Slip]:
    mine = type(node.ops[0])
    left, right = words(node.left), words(node.comparators[0])
    for other in COMPARISONS:
        if other is not mine:
            text = f"the comparison asks whether {left} {{}} {right}"
            made = ("wrong-comparison", text.format(COMPARISONS[other]))
            undone = ("wrong-comparison", text.format(COMPARISONS[mine]))
            yield Slip(like(node, ops=[other()]), made, undone, 2.5, "comparison")


def _names(site: Site) -> Iterator[Slip]:
    mine = site.node.id
    for other in site.names:
        if other != mine:
            made = ("wrong-name", f"`{other}` is used where something else belongs")
            undone = ("wrong-name", f"`{mine}` is used where something else belongs")
            tag = ("name", mine, other)
            yield Slip(ast.Name(other, ast.Load()), made, undone, 1.5, other, tag)
    for attribute in site.attributes if site.constants else ():
        undone = ("wrong-name", f"`{mine}` is used where a part of `self` belongs")
        yield Slip(expression(f"self.{attribute}"), None, undone, 1.1)


def _attributes(site: Site) -> Iterator[Slip]:
    mine = site.node.attr
    for other in site.attributes:
        if other != mine:
            made = ("wrong-name", f"`self.{other}` is used where another layer or number belongs")
            undone = ("wrong-name", f"`self.{mine}` is used where another layer or number belongs")
            new = like(site.node, attr=other)
            yield Slip(new, made, undone, 1.7, other, ("attribute", mine, other))


def _numbers(site: Site) -> Iterator[Slip]:
    old, owner = number(site.node), site.owner
    if isinstance(owner, ast.Call) and callee(owner) in ("masked_fill", "where"):
        return  # what is filled in has words of its own
    if isinstance(owner, ast.UnaryOp) and isinstance(owner.op, ast.USub):
        return  # it was met with its sign
    if isinstance(owner, ast.Subscript) and callee(owner.value) == "shape":
        yield from slips_of_calls.sizes(site.node, old)
        return
    if isinstance(owner, ast.Call) and callee(owner) == "size":
        yield from slips_of_calls.sizes(site.node, old)
        return
    role = _role(site)
    foreign = bool(site.constants) and old not in site.constants
    near = (old + 1, old - 1, 2 * old, old / 2, -old, 0, 1, 2, 10 * old, old / 10)
    for new in site.constants if foreign else dict.fromkeys(near):
        if new == old:
            continue
        if type(old) is int and abs(new) < 1e9 and new == int(new):
            new = int(new)
        made = ("wrong-number", f"{role} is {new:g}")
        undone = ("wrong-number", f"{role} is {old:g}")
        tag = ("number", old, new)
        yield Slip(ast.Constant(new), made, undone, 2.6 if foreign else 1.5, role, tag)
    for name in site.names if site.constants else ():
        undone = ("typed-in", f"{role} is {old:g}, typed in as a fixed number")
        yield Slip(ast.Name(name, ast.Load()), None, undone, 1.6, role, ("number", old, name))
        if old > 3:  # so large a number is mostly the width of something
            yield Slip(expression(f"{name}.shape[-1]"), None, undone, 1.6, role)


def _role(site: Site) -> str:
    owner = site.owner
    if isinstance(owner, ast.BinOp):
        return ROLES.get(type(owner.op), "a summand")
    if isinstance(owner, ast.Slice):
        return SLICE_ROLES[site.field]
    if isinstance(owner, ast.Subscript):
        return "an index"
    if isinstance(owner, ast.keyword):
        return f"the argument `{owner.arg}`"
    if isinstance(owner, ast.Call) and callee(owner):
        return f"an argument of `{callee(owner)}`"
    return "a default value" if isinstance(owner, ast.arguments) else "a number"


def _statements(site: Site) -> Iterator[Slip]:
    node = site.node
    value = getattr(node, "value", None)
    if isinstance(node, ast.Return) and value is not None:
        yield from _returns(value, site.names)
    elif isinstance(node, ast.Assign | ast.AugAssign):
        call = next((m for m in ast.walk(value) if isinstance(m, ast.Call)), value)
        what = said(call)
        if isinstance(value, ast.BinOp) and type(value.op) in OPERATORS:
            what = f"the {OPERATORS[type(value.op)][0]} {words(value.right)}"
        made = ("missing-step", f"{what} is missing")
        undone = ("extra-step", f"{what} is one step too many")
        yield Slip(ast.Pass(), made, undone, 3, callee(call))
    elif isinstance(node, ast.If):
        test = words(getattr(node.test, "left", node.test))
        for answer in (False, True):
            text = f"the case of {test} is {'always' if answer else 'never'} taken"
            new = like(node, test=ast.Constant(answer))
            yield Slip(new, ("wrong-branch", text), None, 2.5)


def _returns(value: Any, names: list[str]) -> Iterator[Slip]:
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
    wrong = ("wrong-return", "what comes back is the wrong variable")
    for i, part in enumerate(parts):
        only = ("missing-part", f"only {words(part)} comes back")
        yield Slip(ast.Return(part), only, None, 3, "return")
        for name in names:
            new = [ast.Name(name, ast.Load()) if j == i else p for j, p in enumerate(parts)]
            text = f"one part that comes back is `{name}`, an input or an intermediate step"
            made = ("wrong-return", text)
            yield Slip(ast.Return(like(value, elts=new)), made, wrong, 2.5, "return")
    if len(parts) == 2:
        told = both("exchanged", "the two results come back in the wrong order")
        yield Slip(ast.Return(like(value, elts=parts[::-1])), *told, 3, "return")
    for name in names:
        text = f"`{name}` comes back, an input or an intermediate step: what follows it is missing"
        made = ("wrong-return", text)
        yield Slip(ast.Return(ast.Name(name, ast.Load())), made, wrong, 2.3, "return")
