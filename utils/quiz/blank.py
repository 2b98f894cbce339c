"""Has the student written anything yet? Read from the compiled code: no source is needed."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

SILENT = {"RESUME", "NOP", "CACHE", "PRECALL", "COPY_FREE_VARS", "MAKE_CELL", "EXTENDED_ARG"}
IN_AN_INDEX = ("BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "BUILD_TUPLE", "BINARY_SLICE")


def is_blank(student: Any) -> str | None:
    """A sentence if ``student`` is not attempted yet, else None."""
    if student is None or student is Ellipsis or student is NotImplemented:
        return "Nothing is defined here yet. Replace the `...` and run the cell again."
    bodies = _bodies(student)
    if not bodies:
        return None
    if all(_does_nothing(code) for code in bodies):
        return "Nothing is written here yet. Replace the `...` and run the cell again."
    for code in bodies:
        line = _placeholder(code)
        if line is not None:
            where = f" (line {line - code.co_firstlineno + 1} of `{code.co_name}`)"
            return f"There is still a `...` to replace{where}."
    return None


def _bodies(student: Any) -> list[types.CodeType]:
    """The compiled bodies a student writes: of a function, or of a class's own methods."""
    while isinstance(student, functools.partial):
        student = student.func
    student = getattr(student, "__wrapped__", student)
    if isinstance(student, types.MethodType):
        student = student.__func__
    if isinstance(student, types.FunctionType):
        return [student.__code__]
    owner = student if isinstance(student, type) else type(student)
    if owner.__module__.partition(".")[0] in ("torch", "numpy"):
        return []
    methods = [m for m in vars(owner).values() if isinstance(m, types.FunctionType)]
    real = [m.__code__ for m in methods if not _only_calls_super(m.__code__)]
    return real or [m.__code__ for m in methods]


def _steps(code: types.CodeType) -> list[dis.Instruction]:
    return [i for i in dis.get_instructions(code) if i.opname not in SILENT]


def _only_calls_super(code: types.CodeType) -> bool:
    """`super().__init__()` alone is given with the blank and counts as nothing."""
    handed = (i for i in _steps(code) if i.opname.startswith("LOAD_FAST") and i.argval != "self")
    return (
        code.co_name == "__init__"
        and set(code.co_names) <= {"super", "__init__"}
        and not any(i.opname.startswith("STORE") for i in _steps(code))
        and not any(handed)  # sizes for a parent class that does the rest
    )


def _does_nothing(code: types.CodeType) -> bool:
    if _only_calls_super(code) and code.co_names:
        return True
    steps = _steps(code)
    if any(i.opname == "RAISE_VARARGS" for i in steps) and "NotImplementedError" in code.co_names:
        return not any(i.opname.startswith(("STORE", "BINARY")) for i in steps)
    for step in steps:
        if step.opname in ("LOAD_CONST", "RETURN_CONST"):
            if step.argval is not None and step.argval is not Ellipsis:
                return False
        elif step.opname not in ("RETURN_VALUE", "POP_TOP", "RETURN_GENERATOR"):
            return False
    return True


def _placeholder(code: types.CodeType) -> int | None:
    """The line of a left-over `...` that is a value (`scores = ...`), no index (`x[..., 0]`)."""
    steps, line = _steps(code), code.co_firstlineno
    for here, step in enumerate(steps):
        position = getattr(step, "positions", None)
        line = (position.lineno if position else None) or line
        if step.opname == "RETURN_CONST" and step.argval is Ellipsis:
            return line
        if step.opname != "LOAD_CONST":
            continue
        several = isinstance(step.argval, tuple) and set(step.argval) == {Ellipsis}
        if several and steps[here + 1].opname.startswith(("UNPACK", "RETURN")):
            return line
        if step.argval is not Ellipsis:
            continue
        if _is_a_value(steps[here + 1 :]):
            return line
    return None


def _is_a_value(after: list[dis.Instruction]) -> bool:
    """Given the steps after `...` was loaded: is it stored, returned or passed on, not an index?"""
    if after[0].opname in IN_AN_INDEX:
        return False
    if after[0].opname.startswith(("STORE_", "RETURN", "BINARY_OP", "UNPACK")):
        return True
    if after[0].opname.startswith("LOAD_") and after[1].opname == "STORE_ATTR":
        return True
    loaded = 1  # softmax(..., dim=-1): plain loads, then a call that takes them all
    for step in after:
        if step.opname in ("LOAD_CONST", "LOAD_FAST"):
            loaded += 1
        elif step.opname.startswith("CALL") and step.arg is not None:
            return step.arg >= loaded - (step.opname == "CALL_KW")
        elif step.opname != "KW_NAMES":
            return False
    return False
