"""An exception of the student's code, retold kindly: what it says, on which line, what to try."""

from __future__ import annotations

import linecache
import re
import traceback
import types
from typing import Any

# (pattern in "Type: text", what it means). The first that fits is told; groups fill the braces.
MEANINGS = [
    (
        r"TypeError: softmax\(\) received an invalid combination|missing .*['\"]dim['\"]",
        "The softmax has to be told its axis: `dim=-1` for the last one.",
    ),
    (
        r"NameError: name '(\w+)' is not defined",
        "The name `{0}` is not known here. Is it spelled as in the line that defines it, and "
        "was the cell that imports it run?",
    ),
    (
        r"UnboundLocalError: .*'(\w+)'",
        "`{0}` is used before a value is given to it inside the function.",
    ),
    (
        r"TypeError: .*missing (\d+) required positional arguments?: (.*)",
        "The function asks for more arguments than the exercise gives: {1}. Give them "
        "default values, or take them from the shapes of the inputs.",
    ),
    (
        r"TypeError: .*takes (\d+) positional arguments? but (\d+) (?:was|were) given",
        "The function takes {0} arguments and the exercise gives {1}. Compare its first line "
        "with the one in the task; in a class, is `self` the first argument?",
    ),
    (
        r"TypeError: .*torch\.return_types\.(?:max|min)",
        "`.max(dim=...)` gives a pair, the values and where they are. Take the values, "
        "`.max(dim=-1, keepdim=True).values`, or use `.amax(-1, keepdim=True)`.",
    ),
    (
        r"(?:mat1 and mat2 shapes cannot be multiplied|Expected size for first two dimensions)",
        "A matrix product whose inner sizes differ: in `a @ b` the last axis of `a` must be "
        "as long as the second to last of `b`. Print both shapes on that line.",
    ),
    (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
        "Two tensors meet whose sizes do not fit ({0} and {1}). Which axis is which? Only "
        "the last two axes may be transposed; the batch in front has to stay in front. After a "
        "sum or a maximum, `keepdim=True` keeps the axis.",
    ),
    (
        r"1D tensors expected",
        "`dot` takes two single vectors. `@` multiplies whole tables and batches of them.",
    ),
    (
        r"must be a matrix|expects a tensor with <= 2",
        "That operation knows matrices only, no batches.",
    ),
    (
        r"batch1 must be a 3D tensor|Dimension out of range",
        "An axis is asked for that the tensor does not have. Counting from the end "
        "(`dim=-1`, `dim=-2`) works with and without a batch.",
    ),
    (
        r"AttributeError: '(?:tuple|list)' object has no attribute '(\w+)'",
        "Several values together have no `{0}`. Take them apart first: `output, weights = ...`.",
    ),
    (
        r"ValueError: (?:too many|not enough) values to unpack \(expected (\d+)",
        "On the left are {0} names, on the right another number of values. A shape has one number "
        "per axis, and the inputs may have more or fewer axes; a function may give back one thing.",
    ),
    (
        r"AttributeError: '(\w+)' object has no attribute '(\w+)'",
        "A `{0}` has no `{1}`. Is it spelled as where it was made (in a class: `self.{1} = ...`), "
        "and is it the object you think it is? `type(...)` tells.",
    ),
    (
        r"AttributeError: cannot assign \w+ before Module.__init__",
        "Call `super().__init__()` first: it prepares the module to own layers and parameters.",
    ),
    (
        r"TypeError: sqrt\(\): argument 'input' \(position 1\) must be Tensor, not (\w+)",
        "`torch.sqrt` takes tensors. For a plain number use `math.sqrt(d)` or `d ** 0.5`.",
    ),
    (
        r"TypeError: (\w+)\(\): argument '(\w+)' \(position (\d+)\) must be (\w+), not (\w+)",
        "Argument {2} of `{0}` has to be a {3}, not {4}. Is the order of the arguments right?",
    ),
    (
        r"RecursionError",
        "The function calls itself without end. Does a name inside it mean the function itself?",
    ),
    (
        r"MemoryError|not enough memory|DefaultCPUAllocator",
        "It asks for more memory than there is. Which size is much larger than it should be?",
    ),
    (
        r"expected scalar type|must have the same dtype|same dtype",
        "Numbers of different types meet (float32 and float64, or whole numbers and floats).",
    ),
    (
        r"Expected all tensors to be on the same device",
        "Tensors on different devices meet. New tensors need `device=x.device`.",
    ),
    (r"can only convert|only one element tensors", "A single number is asked of a larger tensor."),
]


def meaning(text: str) -> str:
    """What an error text means, in a sentence or two; empty if we have nothing better to say."""
    for pattern, sentence in MEANINGS:
        found = re.search(pattern, text)
        if found:
            return sentence.format(*found.groups())
    return ""


def place(error: BaseException, student: Any) -> str:
    """The student's own line that raised, such as "line 3: scores = q @ k"; empty if unknown."""
    files = {code.co_filename for code in codes_of(student)}
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in files and "utils/quiz" not in frame.filename.replace("\\", "/"):
            linecache.checkcache(frame.filename)
            line = (frame.line or "").strip()
            return f"line {frame.lineno}" + (f", `{line[:90]}`" if line else "")
    return ""


def codes_of(student: Any) -> list[types.CodeType]:
    """Every compiled body that belongs to a function, partial, instance or class."""
    found: list[types.CodeType] = []
    todo = [student, getattr(student, "func", None), getattr(student, "__wrapped__", None)]
    owner = student if isinstance(student, type) else type(student)
    todo += [m for m in vars(owner).values() if isinstance(m, types.FunctionType)]
    for item in todo:
        code = getattr(item, "__code__", None)
        if isinstance(code, types.CodeType):
            found.append(code)
    for code in found:
        found.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
    return found


def names_in(student: Any) -> set[str]:
    """All global and attribute names that the code mentions."""
    return {name for code in codes_of(student) for name in code.co_names}
