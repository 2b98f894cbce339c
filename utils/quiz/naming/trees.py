"""Reading syntax trees: what a call works on, which number a node is, how one says it in words."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

MODULES = {"torch", "F", "math", "np", "nn", "functional", "numpy", "linalg", "special"}
MAKERS = {"arange", "zeros", "ones", "range", "full", "tensor", "eye", "empty", "len", "zip"}
MAKERS |= {"float", "int", "new_zeros", "enumerate", "super", "isinstance", "list", "tuple"}
CONVERSIONS = {"float", "double", "long", "int", "clone", "contiguous", "to", "type", "half"}
AXES = {
    -1: "the last axis",
    -2: "the second to last axis",
    -3: "the third axis from the end",
    0: "the first axis (the batch, where there is one)",
    1: "the second axis",
    2: "the third axis",
    3: "the fourth axis",
    (-2, -1): "the last two axes together",
    (0, 1): "the first two axes together",
}
SPOKEN = {
    "sqrt": "square root",
    "rsqrt": "square root",
    "exp": "exponential",
    "amax": "maximum",
    "max": "maximum",
    "var": "variance",
    "std": "standard deviation",
    "log": "logarithm",
    "masked_fill": "masking",
    "where": "choice by `where`",
    "sin": "sine",
    "cos": "cosine",
    "matmul": "matrix product",
    "bmm": "matrix product",
    "dot": "dot product",
    "mT": "transpose",
    "T": "transpose",
    "swapaxes": "transpose",
    "tril": "lower triangle (`tril`)",
    "triu": "upper triangle (`triu`)",
    "cat": "concatenation",
    "stack": "stacking",
    "unsqueeze": "new axis",
    "prod": "product",
    "pow": "power",
    "norm": "length",
    "arange": "range of numbers",
    "bool": "conversion to booleans",
    "float": "conversion to floats",
}
OPERATORS: dict[type, tuple[str, str, str]] = {  # the step, what is done, what comes of it
    ast.Add: ("addition of", "added", "sum"),
    ast.Sub: ("subtraction of", "subtracted", "difference"),
    ast.Mult: ("multiplication by", "multiplied entry by entry", "product"),
    ast.Div: ("division by", "divided", "quotient"),
    ast.FloorDiv: ("whole-number division by", "divided as whole numbers", "quotient"),
    ast.Mod: ("remainder by", "taken as a remainder", "remainder"),
    ast.Pow: ("power of", "raised to a power", "power"),
    ast.MatMult: ("matrix product with", "multiplied as matrices", "matrix product"),
    ast.BitAnd: ("combination (and) with", "combined by *and*", "combination"),
    ast.BitOr: ("combination (or) with", "combined by *or*", "combination"),
}
COMPARISONS: dict[type, str] = {
    ast.Lt: "is smaller than (`<`)",
    ast.LtE: "is at most (`<=`)",
    ast.Gt: "is greater than (`>`)",
    ast.GtE: "is at least (`>=`)",
    ast.Eq: "is equal to (`==`)",
    ast.NotEq: "differs from (`!=`)",
}

ALIKE = {"amax": "max", "rsqrt": "sqrt", "log_softmax": "softmax", "var": "std", "triu": "tril"}
PRODUCTS = {"matmul", "bmm", "mm", "einsum", "dot", "mv", "baddbmm", "inner", "tensordot"}
SIGNS = {"add": "Add", "sub": "Sub", "subtract": "Sub", "neg": "Sub", "USub": "Sub", "mul": "Mult"}
SIGNS |= {"multiply": "Mult", "div": "Div", "true_divide": "Div", "bitwise_and": "BitAnd"}
SIGNS |= {"bitwise_or": "BitOr", "logical_and": "BitAnd", "logical_or": "BitOr", "Or": "BitOr"}
SIGNS |= {"And": "BitAnd", "~": "Invert", "logical_not": "Invert", "Not": "Invert"}


def operations(tree: ast.AST) -> Counter[str]:
    """What a solution does, counted: functions by one name each, operators, comparisons."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = callee(node).lower()
            name = ALIKE.get(name, SIGNS.get(name, name))
            found["MatMult" if name in PRODUCTS else name] += 1
        elif isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.BoolOp):
            name = type(node.op).__name__
            root = isinstance(node, ast.BinOp) and ast.unparse(node.right).strip("-()")
            found["sqrt" if root in ("0.5", "1 / 2") else SIGNS.get(name, name)] += 1
        elif isinstance(node, ast.Compare):
            found.update(type(op).__name__ for op in node.ops)
    return found


def number(node: Any) -> Any:
    """The value of a literal number (also a negative one) or of a tuple of them, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, ast.Tuple | ast.List) and node.elts:
        values = [number(item) for item in node.elts]
        return None if None in values else tuple(values)
    plain = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return node.value if plain else None


def expression(template: str, **holes: Any) -> Any:
    """The tree of ``template`` with its names replaced by nodes."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return holes.get(node.id, node)

    return ast.fix_missing_locations(Fill().visit(ast.parse(template, mode="eval").body))


def like(node: Any, **changes: Any) -> Any:
    """A copy of a node with some fields changed."""
    fields = {field: getattr(node, field, None) for field in node._fields}
    return type(node)(**fields | changes)


def callee(node: Any) -> str:
    """The last name of what is called: "softmax" of ``torch.softmax(x)`` and ``x.softmax()``."""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def of_module(node: Any) -> bool:
    """Does the name belong to a package, as ``torch.nn`` does, and not to a value?"""
    if isinstance(node, ast.Attribute):
        return of_module(node.value)
    return isinstance(node, ast.Name) and node.id in MODULES


def is_own(node: Any) -> bool:
    """Is it ``self.something``?"""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"


def is_method(call: ast.Call) -> bool:
    """Does the call work on the value in front of its dot?"""
    return isinstance(call.func, ast.Attribute) and not (
        of_module(call.func.value) or is_own(call.func)
    )


def subject(node: Any) -> Any:
    """What a step works on: x of ``x.softmax(-1)``, ``torch.softmax(x, -1)``, ``self.norm(x)``."""
    if isinstance(node, ast.Call):
        if is_method(node):
            return node.func.value
        return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None
    moved = isinstance(node, ast.Attribute) and node.attr in ("mT", "T")
    return node.value if moved else None


def on(step: Any, x: Any) -> Any:
    """The same step on something else."""
    if isinstance(step, ast.Attribute):
        return like(step, value=x)
    if is_method(step):
        return like(step, func=like(step.func, value=x))
    return like(step, args=[x, *step.args[1:]])


def said(node: Any) -> str:
    """A step in words: "the softmax", "`self.norm1`"."""
    if isinstance(node, ast.Call) and is_own(node.func):
        return f"`self.{node.func.attr}`"
    name = callee(node)
    return "the " + SPOKEN.get(name, name) if name else "a step"


def words(node: Any) -> str:
    """A few words for an expression, never its code."""
    if isinstance(node, ast.Name):
        return f"`{node.id}`"
    if number(node) is not None:
        return str(number(node))
    if is_own(node):
        return f"`self.{node.attr}`"
    if callee(node) == "size" or isinstance(node, ast.Subscript) and callee(node.value) == "shape":
        return "a size"
    inside = [m.id for m in ast.walk(node) if isinstance(m, ast.Name)]
    names = [f"`{n}`" for n in dict.fromkeys(inside) if n not in MODULES | MAKERS | {"self"}]
    of = f" of {' and '.join(names)}" if 0 < len(names) <= 2 else ""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return f"the {OPERATORS[type(node.op)][2]}{of}"
    if isinstance(node, ast.Call) and is_method(node) and callee(node) in CONVERSIONS:
        return words(node.func.value)
    if isinstance(node, ast.Call):
        return said(node) + (" of a size" if "shape" in ast.dump(node) else of)
    if isinstance(node, ast.UnaryOp):
        return words(node.operand)
    if isinstance(node, ast.Subscript | ast.Attribute) and not of_module(node):
        return words(node.value)
    if isinstance(node, ast.Compare):
        return "the comparison"
    return "infinity" if callee(node) == "inf" else "a term"
