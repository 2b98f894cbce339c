"""The text of a solution as a tree that can be run again with a small change in it."""

from __future__ import annotations

import ast
import functools
import linecache
import math
import textwrap
import types
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from utils.quiz.naming.edits import Edit
from utils.quiz.naming.trees import operations

Box = tuple[Any, Any, Any]  # a dict or list of nodes, the key, and what stood there


class Source:
    """Everything that a cell defines, with what it takes to define it again."""

    def __init__(self, text: str, name: str, space: dict[str, Any]):
        self.name, self.space, self.lines = name, space, text.splitlines()
        body = [node for node in ast.parse(textwrap.dedent(text)).body if _defines(node)]
        self.tree = ast.Module(body, [])
        if name not in {n for node in body for n in _names_of(node)}:
            raise ValueError(f"the text does not define {name!r}")

    @property
    def own(self) -> ast.AST:
        """The part of the tree that defines the solution itself, without its helpers."""
        return next(node for node in reversed(self.tree.body) if self.name in _names_of(node))

    def line(self, number: int) -> str:
        """One line as it stands, shortened."""
        text = self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""
        return text if len(text) <= 70 else text[:67] + "..."

    def lines_of(self, method: str) -> set[int]:
        """The lines of all functions of that name."""
        functions = (n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef))
        mine = (f for f in functions if f.name == method)
        return {line for f in mine for line in range(f.lineno, (f.end_lineno or f.lineno) + 1)}

    @functools.cached_property
    def does(self) -> Counter[str]:
        """The operations of the whole text, counted."""
        return operations(self.tree)

    def changes(self, edit: Edit) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The operations that an edit puts in, and those of which it leaves none."""
        before = operations(self.own)
        with _applied(edit):
            after = operations(self.own)
        gone = (name for name in before if not after[name])
        return tuple(after - before), tuple(name for name in gone if name.islower())

    def define(self, edit: Edit | None = None) -> Any:
        """The solution, made anew, with ``edit`` in its text."""
        with _applied(edit):
            code = compile(self.tree, "<edited>", "exec", dont_inherit=True)
        space = dict(self.space)
        exec(code, space)
        return space[self.name]


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Lambda)
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def source_of(student: Any) -> Source | None:
    """The cell in which a student's function or class was defined; None if it cannot be read."""
    student = functools.partial(student).func  # of a partial, what it calls
    function = student
    if isinstance(student, type):
        methods = (m for m in vars(student).values() if isinstance(m, types.FunctionType))
        function = next(methods, None)
    function = getattr(function, "__wrapped__", function)
    if not isinstance(function, types.FunctionType):
        return None
    file = function.__code__.co_filename
    linecache.checkcache(file)
    name = getattr(student, "__name__", "")
    if name == "<lambda>":
        name = next((n for n, v in function.__globals__.items() if v is student), "")
    try:
        return Source("".join(linecache.getlines(file)), name, _space(function))
    except (SyntaxError, ValueError):
        return None


def _space(function: types.FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return function.__globals__ | {name: _content(cell) for name, cell in cells}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


@contextmanager
def _applied(edit: Edit | None) -> Iterator[None]:
    """The tree with the edit in place; the nodes are put back afterwards."""
    undo: list[Box] = []
    for owner, field, index, new in edit.spots if edit else ():
        box, key = (vars(owner), field) if index is None else (getattr(owner, field), index)
        undo.append((box, key, box[key]))
        box[key] = _located(new, box[key])
    try:
        yield
    finally:
        for box, key, old in reversed(undo):
            box[key] = old


def _located(node: ast.AST, old: ast.AST) -> ast.AST:
    """New nodes need a place in the text: that of the node they stand for."""
    if getattr(node, "lineno", None) is None and "lineno" in node._attributes:
        node.lineno = node.end_lineno = getattr(old, "lineno", 1)
        node.col_offset = node.end_col_offset = 0
    for child in ast.iter_child_nodes(node):
        if getattr(child, "lineno", None) is None:
            _located(child, old)
    return node


def run_source(source: str, name: str, **given: Any) -> Any:
    """Define ``name`` as a student's cell would: with the usual imports and what is ``given``."""
    space: dict[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math, "np": np}
    space |= {"functools": functools, "__name__": "student"} | given
    file = f"<student {zlib.crc32(source.encode())}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # as IPython does
    exec(compile(source, file, "exec"), space)
    return space[name]
