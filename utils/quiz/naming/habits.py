"""Slips that can be read off the syntax tree of a student's solution, without running it."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from utils.quiz.naming.finding import Finding
from utils.quiz.naming.trees import ALIKE, SPOKEN, callee, is_own, number, of_module, subject

SLIPS = """
thrown-away 9: The result of {0} is thrown away: it is something new, the old value stays as it
  was, and no name keeps the new one.
misspelt-method 9.9: `{0}` is a method like any other and never called by itself: Python and torch
  look for `{1}`.
zero-times-infinity 9.7: 0 times infinity is no number (NaN), so a product with infinity spoils
  even the places that it should leave alone.
unpacks-one 9.3: `scaled_dot_product_attention` of torch hands back the output alone; taken apart
  into two names, it is the batch that is taken apart.
plain-list 9: The layers of `self.{0}` sit in a plain Python list, where the module does not see
  them: they are neither counted nor trained. (`nn.ModuleList` is a list that it sees.)
method-gives-none 9: `{0}` changes its list and hands back None, so what is kept here is None.
reset-in-loop 7.6: `{0}` is made anew in every round of the loop, so what earlier rounds put into it
  is lost.
twice 7.4: {0} is taken of what comes out of {0} already.
first-only 5.5: `{0}[0]` is the first entry alone, whatever example is being computed.
comparison-alone 8.5: `==` only compares, and nothing keeps the answer; `=` gives a name a value.
return-in-loop 8.5: The `return` stands inside the loop, so only the first round is done.
layer-unused 8: `self.{0}` is made in `__init__` and never used.
argument-unused 7.2: The argument `{0}`{1} is never used, so it cannot change the result.
argument-overwritten 7: The argument `{0}` is written over before it was ever looked at.
return-missing 7: In one of the cases of this `if` nothing is returned: there the result is None.
softmax-without-axis 7: The softmax is not told its axis and guesses: the first or the second.
caret-power 7: `^` is no power in Python (it compares bits); a power is written `**`.
is-for-equal 7: `is` asks whether two things are the same object; `==` asks for equal values.
reduces-everything 6.8: `{0}` has no axis and makes one number of the whole tensor, batch and all.
assigned-twice 6.5: `{0}` gets a new value here before that of line {1} was used: that one is lost.
size-typed-in 6.5: The number {0} is typed in as a size; for inputs of other sizes it is wrong.
variable-unused 6: `{0}` is computed here and then never used.
mutable-default 6: This default is made once: what one call puts into it is there in the next.
floor-division 5: `//` divides and rounds down, so everything behind the point is lost.
missing-operation 5.5: There is no {0} in it; the usual solutions all have one.
loop-variable-unused 5.2: `{0}` is not used inside its loop, so each round does the very same.
shadows-builtin 5: `{0}` is a name of Python's own; from here on it means something else.
foreign-operation 5: There is a step in it ({0}) that none of the usual solutions has.
"""
_rows = re.findall(r"^(\S+) ([\d.]+): (.*(?:\n  .*)*)", SLIPS, re.MULTILINE)
SAID = {kind: (float(score), " ".join(says.split())) for kind, score, says in _rows}
# Methods of lists, sets and graphs that are called for their effect, as a tensor's seldom are.
EFFECTS = {"sort", "add", "index", "copy", "register_hook", "backward", "retain_grad", "to"}
STEPS = {"cat", "stack", *dir(torch.Tensor), *dir(nn.functional)}
NEW_TENSOR = {name for name in STEPS - EFFECTS if name[-1] != "_"}
REDUCTIONS = {"sum", "mean", "max", "min", "amax", "amin", "std", "var", "norm", "logsumexp"}
SIZED = set("view reshape zeros ones full empty randn arange range eye expand sqrt Linear".split())
# Operations worth a word; who has one of `WHOLE` may have others inside it.
CONTAINERS = set("zeros empty ones full zeros_like empty_like list dict".split())
NOTABLE = set("softmax sigmoid relu dropout sort mean max std sqrt exp log tanh flip roll".split())
NOTABLE |= {"abs", "cumsum", "round", "clamp", "norm", "argmax", "tril", "normalize", "gelu"}
NOTABLE |= {"cosine_similarity", "leaky_relu", "leakyrelu", "elu", "silu", "softplus", "batch_norm"}
NOTABLE |= {"batchnorm1d", "cdist", "dist", "clip"}
WHOLE = set("scaled_dot_product_attention layer_norm layernorm norm normalize std softmax".split())
AGAIN = set("softmax sigmoid tanh exp sqrt log gelu log_softmax".split())  # twice is not once
INSTEAD = {"softmax": "exp", "mean": "sum", "relu": "clamp", "tril": "arange", "sqrt": "pow"}
Function, ANY = ast.FunctionDef | ast.Lambda, ast.Load | ast.Store


class Right:
    """What the right solutions of an exercise have and do, looked up once."""

    def __init__(self, trees: tuple[ast.AST, ...]):
        calls = [call for tree in trees for call in nodes_of(tree, ast.Call)]
        self.known = bool(trees)
        self.numbers = {
            n.value for t in trees for n in nodes_of(t, ast.Constant) if type(n.value) is int
        }
        self.without_axis = {callee(call) for call in calls if not _has_axis(call)}
        self.floors = any(isinstance(n, ast.FloorDiv) for t in trees for n in ast.walk(t))
        bits = ast.BitXor | ast.BitAnd | ast.BitOr | ast.Invert
        self.masks = any(isinstance(n, bits) for t in trees for n in ast.walk(t))
        self.used = [set(_used(tree)) for tree in trees] or [set()]
        functions = [f for tree in trees for f in nodes_of(tree, ast.FunctionDef)]
        self.unneeded = {(f.name, place) for f in functions for place in _unused(f)}


right_of = functools.cache(Right)


def explain(tree: ast.AST, wanted: list[ast.AST], names: list[str]) -> list[Finding]:
    """What may be wrong with a solution that runs, the most specific first.

    ``wanted`` are trees of right solutions, ``names`` the arguments as the task spells them.
    """
    right = right_of(tuple(wanted))
    looks = (_calls, _operators, _operations)
    found = [*thrown_away(tree), *_layers(tree), *(f for look in looks for f in look(tree, right))]
    alone = (_gives_none, _unpacks_one, _plain_lists, _methods, _twice, _infinite)
    found += [f for look in alone for f in look(tree)]
    for function in nodes_of(tree, Function):
        found += [*_first_only(function), *_variables(function)]
        found += _arguments(function, right, names)
        found += _flow(function) if isinstance(function, ast.FunctionDef) else []
    return sorted(dict.fromkeys(found), key=lambda f: -f.score)


def thrown_away(tree: ast.AST) -> Iterator[Finding]:
    """Lines that compute something and do not keep it."""
    for node in nodes_of(tree, ast.Expr):
        value, name = node.value, callee(node.value)
        if isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.Eq):
            yield _found("comparison-alone", node)
        elif isinstance(value, ast.BinOp | ast.Compare):
            yield _found("thrown-away", node, "this line")
        elif isinstance(value, ast.Call) and name in NEW_TENSOR and not is_own(value.func):
            if not given(value) & {"out", "inplace"}:
                yield _found("thrown-away", node, f"`{name}`", piece=name)


def _layers(tree: ast.AST) -> Iterator[Finding]:
    """Layers and parameters that a class makes and does not use."""
    own = [n for n in nodes_of(tree, ast.Attribute) if is_own(n)]
    read = {n.attr for n in own if isinstance(n.ctx, ast.Load)}
    asked = any(
        callee(call) in ("getattr", "children", "modules") for call in nodes_of(tree, ast.Call)
    )
    for node in nodes_of(tree, ast.Assign) if not asked else ():
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
        for kept, made in pairs:
            if is_own(kept) and kept.attr not in read and callee(made)[:1].isupper():
                yield _found("layer-unused", node, kept.attr, piece=kept.attr)


def _methods(tree: ast.AST) -> Iterator[Finding]:
    """Methods whose names are nearly, but not quite, those that are called by themselves."""
    for owner in nodes_of(tree, ast.ClassDef):
        methods = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        there = {f.name for f in methods}
        for wanted in {"__init__", "forward"} - there:
            for name in difflib.get_close_matches(wanted, there, 1, 0.74):
                method = next(f for f in methods if f.name == name)
                yield _found("misspelt-method", method, name, wanted, piece=name)


def _unpacks_one(tree: ast.AST) -> Iterator[Finding]:
    """``out, weights = F.scaled_dot_product_attention(...)``."""
    for node in nodes_of(tree, ast.Assign):
        several = isinstance(node.targets[0], ast.Tuple)
        if several and callee(node.value) == "scaled_dot_product_attention":
            if ast.unparse(node.value).startswith(("F.", "torch.", "nn.")):
                yield _found("unpacks-one", node, piece="scaled_dot_product_attention")


def _gives_none(tree: ast.AST) -> Iterator[Finding]:
    """``given = y.append(eos)``."""
    for node in nodes_of(tree, ast.Assign | ast.Return):
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for part in parts:
            if isinstance(part, ast.Call) and callee(part) in ("append", "extend", "insert"):
                if isinstance(part.func, ast.Attribute) and not of_package(part):
                    yield _found("method-gives-none", part, callee(part), piece=callee(part))


def _plain_lists(tree: ast.AST) -> Iterator[Finding]:
    """``self.heads = [nn.Linear(...) for ...]``."""
    for node in nodes_of(tree, ast.Assign):
        inside = (
            nodes_of(node.value, ast.Call)
            if isinstance(node.value, ast.List | ast.ListComp)
            else ()
        )
        layers = [c for c in inside if callee(c)[:1].isupper()]
        if layers and is_own(node.targets[0]):
            yield _found("plain-list", node, node.targets[0].attr, piece=node.targets[0].attr)


def _twice(tree: ast.AST) -> Iterator[Finding]:
    """A softmax of a softmax, and the like."""
    for call in nodes_of(tree, ast.Call):
        name, inner = callee(call), subject(call)
        if isinstance(inner, ast.Call) and callee(inner) == name in AGAIN:
            yield _found("twice", call, f"the {SPOKEN.get(name, name)}", piece=name)


def _infinite(tree: ast.AST) -> Iterator[Finding]:
    """A product with an infinity, which was meant to leave alone what is 0."""
    for node in nodes_of(tree, ast.BinOp):
        for side in (node.left, node.right) if isinstance(node.op, ast.Mult) else ():
            text = ast.unparse(side).strip("-()").lower()
            if re.fullmatch(r"float\(['\"][-+]?inf(inity)?['\"]|(torch|math|np|numpy)\.inf", text):
                yield _found("zero-times-infinity", node, piece="*")


def _first_only(function: Function) -> Iterator[Finding]:
    """An argument of which only the first entry is taken, by an index 0."""
    own = _parameters(function)
    for node in nodes_of(function, ast.Subscript):
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        if number(first) == 0 and isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Name) and node.value.id in own:
                yield _found("first-only", node, node.value.id, piece=node.value.id)


def lost_axes(tree: ast.AST) -> Iterator[ast.Call]:
    """Sums, means and the like over one axis that do not keep it."""
    for call in nodes_of(tree, ast.Call):
        if callee(call) in REDUCTIONS and not is_own(call.func):
            kept = any(isinstance(a, ast.Constant) and a.value is True for a in call.args)
            axis = any(number(a) is not None for a in call.args) or given(call) & {"dim", "axis"}
            if axis and not kept and not given(call) & {"keepdim", "keepdims"}:
                yield call


def typed_sizes(tree: ast.AST) -> Iterator[ast.Constant]:
    """Whole numbers from 4 on, typed in where a size is meant (2 and 3 often count something)."""
    for call in nodes_of(tree, ast.Call):
        for node in (n for a in call.args for n in (a, *getattr(a, "elts", ()))):
            if callee(call) in SIZED and type(number(node)) is int and number(node) > 3:
                yield node


def _found(kind: str, node: ast.AST, *words: Any, piece: str = "") -> Finding:
    (score, says), line = SAID[kind], getattr(node, "lineno", 0)
    where, look = (f"Line {line}: ", f"Look at line {line}") if line else ("", "Look once more")
    brief = f"{look} ({kind.replace('-', ' ')})."
    return Finding(kind, where + says.format(*words), score, line, brief, piece)


def nodes_of(tree: ast.AST, kind: Any) -> Iterator[Any]:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def given(call: ast.Call) -> set[str | None]:
    return {k.arg for k in call.keywords}


def names_of(tree: Any, context: Any = ast.Load) -> list[str]:
    parts = tree if isinstance(tree, list) else [tree]
    return [n.id for p in parts for n in nodes_of(p, ast.Name) if isinstance(n.ctx, context)]


def _has_axis(call: ast.Call) -> bool:
    """Is more given than the tensor, which comes first in ``torch.sum(x, 1)``?"""
    return bool(given(call) & {"dim", "axis"}) or len(call.args) > of_package(call)


def of_package(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) or of_module(getattr(call.func, "value", None))


def _parameters(function: Function) -> list[str]:
    args = function.args
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs) if a.arg != "self"]


def _unused(function: Function) -> dict[int, str]:
    used = names_of(function.body)
    return {i: a for i, a in enumerate(_parameters(function)) if a not in used and a[0] != "_"}


def _arguments(function: Function, right: Right, names: list[str]) -> Iterator[Finding]:
    own, name = _parameters(function), getattr(function, "name", "")
    for place, argument in _unused(function).items():
        if (name, place) not in right.unneeded:  # some do well without them
            same = len(names) == len(own) and name != "__init__"
            other = names[place] if same else argument
            task = f" (`{other}` in the task)" if other != argument else ""
            yield _found("argument-unused", function, argument, task, piece=argument)
    for statement in function.body if name else ():
        for lost in {*_targets(statement)} & {*own} - {*names_of(statement)}:
            yield _found("argument-overwritten", statement, lost, piece=lost)
        own = [a for a in own if a not in names_of(statement, ANY)]
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if isinstance(default, ast.List | ast.Dict | ast.Set):
            yield _found("mutable-default", default)


def _targets(statement: ast.AST) -> list[str]:
    """The names that a plain assignment gives a value, ``a = ...`` but not ``a, b = ...``."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _variables(function: Function) -> Iterator[Finding]:
    read = names_of(function) + [
        n for s in nodes_of(function, ast.Global | ast.Nonlocal) for n in s.names
    ]
    for node in nodes_of(function, ast.Assign):
        for name in _targets(node):
            if name not in read and name[0] != "_":
                yield _found("variable-unused", node, name, piece=name)
            if name in vars(builtins):
                yield _found("shadows-builtin", node, name, piece=name)
    blocks = [getattr(n, field, None) for n in ast.walk(function) for field in ("body", "orelse")]
    for block in (b for b in blocks if isinstance(b, list)):
        for here, first in enumerate(block):
            known = isinstance(getattr(first, "value", None), ast.Constant)  # a start such as 0
            for name in [] if known else _targets(first):
                second = next((s for s in block[here + 1 :] if name in names_of(s, ANY)), None)
                if second and name in _targets(second) and name not in names_of(second):
                    yield _found("assigned-twice", second, name, first.lineno, piece=name)


def _flow(function: ast.FunctionDef) -> Iterator[Finding]:
    """Loops that end too early or repeat themselves, and cases without a result."""
    for loop in nodes_of(function, ast.For | ast.While):
        for node in loop.body:
            if isinstance(node, ast.Return) and not any(nodes_of(loop, ast.Continue)):
                yield _found("return-in-loop", node)
        name = getattr(getattr(loop, "target", None), "id", "_")
        if name[0] != "_" and name not in names_of(loop.body):
            yield _found("loop-variable-unused", loop, name)
    yield from _reset(function)
    last = function.body[-1]
    if isinstance(last, ast.If) and any(nodes_of(last, ast.Return)) and _falls_off([last]):
        yield _found("return-missing", last)


def _reset(function: ast.FunctionDef) -> Iterator[Finding]:
    """A table or list that each round makes anew, fills, and that is used after the loop."""
    for loop in nodes_of(function, ast.For | ast.While):
        behind = names_of([n for n in function.body if n.lineno > (loop.end_lineno or 0)])
        inside = [node for statement in loop.body for node in ast.walk(statement)]
        into = [n for n in inside if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
        into += [n for n in inside if isinstance(n, ast.Attribute) and n.attr == "append"]
        filled = {getattr(n.value, "id", "") for n in into}
        for made in (s for s in loop.body if isinstance(s, ast.Assign)):
            new = isinstance(made.value, ast.List) or callee(made.value) in CONTAINERS
            for name in _targets(made) if new else ():
                if name in filled and name in behind:
                    yield _found("reset-in-loop", made, name, piece=name)


def _falls_off(block: list[ast.stmt]) -> bool:
    """Can the end of the block be reached?"""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _falls_off(last.body) or _falls_off(last.orelse)
    return not isinstance(last, ast.Return | ast.Raise | ast.With | ast.Try | ast.While | ast.Match)


def _calls(tree: ast.AST, right: Right) -> Iterator[Finding]:
    for node in (n for n in typed_sizes(tree) if number(n) not in right.numbers):
        yield _found("size-typed-in", node, number(node))
    for call in (c for c in nodes_of(tree, ast.Call) if not _has_axis(c)):
        name = callee(call)
        if name in REDUCTIONS - right.without_axis and isinstance(call.func, ast.Attribute):
            yield _found("reduces-everything", call, name, piece=name)
        if name == "softmax" and of_package(call) or name == "Softmax" and not call.args:
            yield _found("softmax-without-axis", call, piece="softmax")


def _operators(tree: ast.AST, right: Right) -> Iterator[Finding]:
    for node in nodes_of(tree, ast.BinOp):
        if isinstance(node.op, ast.BitXor) and right.known and not right.masks:
            yield _found("caret-power", node)
        if isinstance(node.op, ast.FloorDiv) and right.known and not right.floors:
            yield _found("floor-division", node)
    for node in nodes_of(tree, ast.Compare):
        sides = [s.value for s in (node.left, *node.comparators) if isinstance(s, ast.Constant)]
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and {*map(type, sides)} - {type(None)}:
            yield _found("is-for-equal", node)


def _operations(tree: ast.AST, right: Right) -> Iterator[Finding]:
    """Operations that no right solution has, and those that all have but this one."""
    mine = _used(tree)
    for name in sorted(NOTABLE & set(mine) - set().union(*right.used)) if right.known else ():
        yield _found("foreign-operation", mine[name], SPOKEN.get(name, name), piece=name)
    common = set.intersection(*right.used)
    lacking = NOTABLE & common - set(mine) if not WHOLE & set(mine) - common else ()
    for name in sorted(n for n in lacking if INSTEAD.get(n) not in mine):
        yield _found("missing-operation", ast.Module([], []), SPOKEN.get(name, name), piece=name)


def _used(tree: ast.AST) -> dict[str, ast.AST]:
    """The operations in a tree, each under one name and with one of its places."""
    found = {callee(c).lower(): c for c in nodes_of(tree, ast.Call)}
    for node in (n for n in nodes_of(tree, ast.BinOp) if isinstance(n.op, ast.Pow)):
        if ast.unparse(node.right).strip("()") in ("0.5", "1 / 2", "-0.5", "-1 / 2"):
            found["sqrt"] = node
    return {ALIKE.get(name, name): node for name, node in found.items()}
