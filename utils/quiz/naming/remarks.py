"""True remarks about a solution that passed: what it still carries that would hurt one day."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch import nn

from utils.quiz.naming.habits import NEW_TENSOR, given, names_of, nodes_of, of_package
from utils.quiz.naming.trees import callee, is_own

ANY = ast.Load | ast.Store
REMARKS = {
    "always-on": "`F.dropout` without `training=self.training` stays on after `.eval()`, too.",
    "anew": "a dropout made inside the call is new each time, so `.eval()` never reaches it.",
    "cut": "`{}` cuts the gradient: what comes before it cannot learn through this step.",
    "copy": "`torch.tensor({0})` copies `{0}` and cuts its gradient; it is a tensor already.",
    "print": "the `print` is still there; whoever calls the function in a loop sees it each time.",
}


def of_passed(student: Any, tree: ast.AST) -> list[str]:
    """True remarks about a solution that passed, at most two."""
    lines = {node.lineno: REMARKS[key].format(word) for key, node, word in _remarks(tree)}
    found = [f"Line {line}: {text}" for line, text in lines.items()]
    parts = student.modules() if isinstance(student, nn.Module) else ()
    if any(isinstance(m, nn.Dropout) and m.p > 0 and m.training for m in parts):
        found.insert(0, "The module is in training mode, so its dropout is on.")
    return found[:2]


def _remarks(tree: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    for function in nodes_of(tree, ast.FunctionDef):
        yield from (("cut", node, callee(node)) for node in _cuts(function))
    methods = (n for n in nodes_of(tree, ast.Attribute) if n.attr in NEW_TENSOR - set(dir(list)))
    tensors = {n.value.id for n in methods if isinstance(n.value, ast.Name)}
    for call in nodes_of(tree, ast.Call):
        name, first = callee(call), getattr((call.args or [None])[0], "id", "")
        free = isinstance(call.func, ast.Attribute) and of_package(call) and len(call.args) < 3
        if name == "dropout" and free and "training" not in given(call):
            yield "always-on", call, ""
        elif name == "" and callee(getattr(call.func, "func", None)) == "Dropout":
            yield "anew", call, ""
        elif name == "print" or name == "tensor" and first in tensors:
            yield {"tensor": "copy"}.get(name, name), call, first


def _cuts(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Where the gradient ends on the way to what is returned.  Chosen tokens never have one."""
    path = [r.value for r in nodes_of(function, ast.Return) if r.value]
    for value in path:  # grows on the way: whatever gives a value to a name that is used
        for change in nodes_of(function, ast.Assign | ast.AugAssign):
            targets = getattr(change, "targets", None) or [change.target]
            if change.value not in path and {*names_of(value)} & {*names_of(targets, ANY)}:
                path.append(change.value)
    steps = [node for value in path for node in ast.walk(value)]
    if {"argmax", "multinomial", "topk"} & {callee(node) for node in steps}:
        return
    for node in steps:
        inner = getattr(getattr(node, "func", node), "value", None)
        method = isinstance(node, ast.Call) and callee(node) in ("detach", "numpy")
        data = isinstance(node, ast.Attribute) and node.attr == "data" and not is_own(node)
        if (method or data) and callee(inner) not in ("max", "amax"):  # these shift a softmax
            yield node
    blocks = (b for b in nodes_of(function, ast.With) if {*path} & {*ast.walk(b)})
    around = [*function.decorator_list, *(i.context_expr for b in blocks for i in b.items)]
    yield from (node for node in around if callee(node) in ("no_grad", "inference_mode"))
