"""An exception of the student's code, retold kindly: what it means on that very line, and why."""

from __future__ import annotations

import ast
import builtins
import difflib
import linecache
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from utils.quiz.naming import habits
from utils.quiz.naming.answers import error_text
from utils.quiz.naming.finding import Finding
from utils.quiz.naming.meanings import MEANINGS, SAID
from utils.quiz.naming.trees import callee, number, subject

CLASH = "must match the|cannot be mult|size for first two|invalid for input of|normalized_shape"
IMPORTS = {"torch": "import torch", "math": "import math", "np": "import numpy as np"}
IMPORTS |= {"nn": "from torch import nn", "F": "import torch.nn.functional as F"}
OURS = {"axis": "dim", "keepdims": "keepdim", "k": "diagonal", "diag": "diagonal", "rate": "p"}
OURS |= {"astype": "to", "cast": "to", "expand_dims": "unsqueeze", "copy": "clone"}
OURS |= {"array": "tensor", "reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "amax"}
NOWHERE = ast.Module([], [])


@dataclass(frozen=True)
class Scene:
    """Where an exception was raised: the student's line, and the values at hand there."""

    error: BaseException
    text: str  # "TypeError: ..."
    student: Any
    line: int = 0  # 0 if it was raised before the first of the student's lines
    code: str = ""
    node: ast.AST = NOWHERE  # the very expression, then what it stands in
    statement: ast.AST = NOWHERE
    function: ast.AST = NOWHERE
    tree: ast.AST = NOWHERE  # the whole text
    values: dict[str, Any] = field(default_factory=dict)

    def value(self, node: Any) -> Any:
        if isinstance(node, ast.Attribute) and isinstance(self.value(node.value), nn.Module):
            return getattr(self.value(node.value), node.attr, None)
        return self.values.get(getattr(node, "id", None))

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors that stand in the expression, or at least in the statement; at most three."""
        for tree in (self.node, self.statement):
            nodes = [n for n in ast.walk(tree) if isinstance(getattr(n, "ctx", None), ast.Load)]
            nodes.sort(key=lambda n: (n.lineno, n.col_offset))
            known = {ast.unparse(n): self.value(n) for n in nodes}
            found = [(k, v) for k, v in known.items() if isinstance(v, torch.Tensor)]
            if found:
                return dict(found[:3])
        return {}

    def told(self, of: Any = lambda tensor: tuple(tensor.shape)) -> str:
        """The sentence "`q` is (2, 5, 8) and `k` is (2, 3, 8)."."""
        *some, last = [f"`{k}` is {of(v)}" for k, v in self.tensors().items()] or [""]
        return (f"{', '.join(some)} and {last}." if some else f"{last}.") if last else ""

    def found(self, kind: str, *words: Any, line: int = 0) -> Finding:
        return self.finding(kind, SAID[kind][0], SAID[kind][1].format(*words), line)

    def finding(self, kind: str, score: float, says: str, line: int = 0) -> Finding:
        line, words = line or self.line, kind.replace("-", " ")
        code = f", `{self.code[:90]}`" if self.code and line == self.line else ""
        where = f"Line {line}{code}: " if line else ""
        brief = f"Look at line {line} ({words})." if line else f"The call itself stops ({words})."
        return Finding(kind, where + says.strip(), score, line, brief)


def explain(error: BaseException, student: Any) -> list[Finding]:
    """What the exception means, the most specific first; two readings at most."""
    scene = _scene(error, student)
    if isinstance(scene.statement, ast.Assert | ast.Raise):
        return [scene.found("own-check", scene.told())]
    found = [
        f for look in (_none, _brackets, _name, _attribute, _arguments, _clash) for f in look(scene)
    ]
    found = found or [*_by_rule(scene)]
    return sorted({f.kind: f for f in found[::-1]}.values(), key=lambda f: -f.score)[:2]


def _by_rule(scene: Scene) -> Iterator[Finding]:
    it = ast.unparse(scene.node.func) if isinstance(scene.node, ast.Call) else "this"
    for kind, score, pattern, line, says in MEANINGS:
        match = re.search(pattern, scene.text)
        if match and re.search(line, scene.code):
            groups = [*filter(None, match.groups()), "", ""]
            holes = {"shapes": scene.told(), "dtypes": scene.told(lambda t: str(t.dtype)), "it": it}
            yield scene.finding(kind, float(score), says.format(*groups, **holes))
            return


def _none(scene: Scene) -> Iterator[Finding]:
    names = {n.id for n in ast.walk(scene.statement) if isinstance(n, ast.Name)}
    nothing = sorted(name for name in names if scene.values.get(name, 0) is None)
    if nothing and re.search(r"NoneType|got \(bool|not bool$", scene.text):
        yield scene.found("none-not-handled", nothing[0])


def _brackets(scene: Scene) -> Iterator[Finding]:
    """``i - j <= w & j - i <= w``: one chained comparison, with the `&` in its middle."""
    chained = isinstance(scene.node, ast.Compare) and len(scene.node.ops) > 1
    bits = (
        n for n in ast.walk(scene.node) if isinstance(getattr(n, "op", 0), ast.BitAnd | ast.BitOr)
    )
    if chained and next(bits, None) and "Boolean value of Tensor" in scene.text:
        yield scene.found("brackets-of-and")


def _name(scene: Scene) -> Iterator[Finding]:
    name = getattr(scene.error, "name", None)
    if type(scene.error) is not NameError or not name:
        return
    known = {*scene.values, *vars(builtins), *getattr(scene.student, "__globals__", ())}
    close = difflib.get_close_matches(name, known, 1, 0.7)
    if name in ("tf", "keras", "jnp", "jax", "rearrange", "einops"):
        yield scene.found("foreign-name", name, "here everything is written with torch")
    elif name in IMPORTS:
        yield scene.found("missing-import", name, IMPORTS[name])
    elif name == "self" and not isinstance(scene.student, type | nn.Module):
        yield scene.found("self-in-function")
    elif name == "self" or hasattr(scene.values.get("self"), name):
        yield scene.found("missing-self", name if name != "self" else "This line's method")
    else:
        yield scene.found("misspelt-name" if close else "unknown-name", name, *close)


def _attribute(scene: Scene) -> Iterator[Finding]:
    name, thing = getattr(scene.error, "name", None), getattr(scene.error, "obj", None)
    known = isinstance(thing, torch.Tensor | nn.Module | types.ModuleType)
    if not isinstance(scene.error, AttributeError) or not known or not name or name[0] == "_":
        return
    home = next((m.__name__ for m in (torch, nn.functional) if hasattr(m, name)), "")
    there = {*dir(thing)} - {*dir(nn.Module)} if isinstance(thing, nn.Module) else dir(thing)
    close = difflib.get_close_matches(name, there, 1, 0.7) if len(name) > 3 else []
    if name in OURS and not isinstance(thing, nn.Module):
        yield scene.found("foreign-name", name, f"torch says `{OURS[name]}`")
    elif isinstance(thing, types.ModuleType) and home:
        yield scene.found("other-module", name, thing.__name__, home)
    elif close:
        yield scene.found("misspelt-attribute", name, close[0])


def _arguments(scene: Scene) -> Iterator[Finding]:
    match = re.search(r"TypeError: (\S+)\(\) (takes|missing|got an unexp\D*'(\w+)')", scene.text)
    name, what, keyword = match.groups() if match else ("", "", "")
    mine = next((c for c in codes_of(scene.student) if c.co_qualname == name), None)
    if keyword and keyword in OURS:
        yield scene.found("foreign-keyword", name, keyword, OURS[keyword])
    elif keyword:
        yield scene.found("wrong-keyword", name, keyword)
    elif mine is not None:
        owner, first = name.rpartition(".")[0], mine.co_varnames[: min(mine.co_argcount, 1)]
        if what == "takes" and owner and not owner.endswith("<locals>") and first != ("self",):
            yield scene.found("missing-self", mine.co_name, line=mine.co_firstlineno)
        else:
            who = "here" if scene.line else "by the exercise"
            words = (mine.co_name, who, "more" if what == "takes" else "fewer")
            yield scene.found("argument-count", *words, line=scene.line or mine.co_firstlineno)


def _clash(scene: Scene) -> Iterator[Finding]:
    """Sizes that do not fit: what in the line may have brought them about?"""
    if not re.search(CLASH, scene.text):
        return
    told, names = scene.told(), {getattr(n, "id", None) for n in ast.walk(scene.statement)}
    for line in (n for n in ast.walk(scene.function) if isinstance(n, ast.Expr)):
        if line.lineno < scene.line and names & {getattr(n, "id", 0) for n in ast.walk(line)}:
            yield from habits.thrown_away(line)
    yield from _turned(scene, told)
    # Only what stands in the very expression that failed; a sum around it has not run yet.
    lost = next((c for c in habits.lost_axes(scene.node) if c is not scene.node), None)
    if lost and "must match the size" in scene.text:
        yield scene.found("keepdim-missing", callee(lost), told)
    at_hand = {n for v in scene.values.values() if isinstance(v, torch.Tensor) for n in v.shape}
    for node in habits.typed_sizes(scene.statement):
        if number(node) not in at_hand:
            yield scene.found("size-typed-in", number(node), told)
    yield from _fixed(scene, at_hand, told)
    shapes = sorted((tuple(v.shape) for v in scene.tensors().values()), key=len)
    small, large = shapes if len(shapes) == 2 and not lost else ((), ())
    inner = iter(large)
    if len(small) < len(large) and all(size in inner for size in small):
        yield scene.found("axis-missing", told)


def _fixed(scene: Scene, at_hand: set[int], told: str) -> Iterator[Finding]:
    """``d_k = 64`` some lines above, or in ``__init__``: a size that was given a name."""
    names = {
        ast.unparse(n) for n in ast.walk(scene.statement) if isinstance(n, ast.Name | ast.Attribute)
    }
    for node in ast.walk(scene.tree):
        value = number(node.value) if isinstance(node, ast.Assign) else None
        if type(value) is int and value > 3 and value not in at_hand:
            if ast.unparse(node.targets[0]) in names:
                yield scene.found("size-typed-in", value, told, line=node.lineno)


def _turned(scene: Scene, told: str) -> Iterator[Finding]:
    """Transposes of wrong axes, products that lack one, layers made for another size."""
    node = scene.node
    for step in ast.walk(scene.statement):
        on = scene.value(getattr(getattr(step, "func", step), "value", None))
        axes = on.ndim if isinstance(on, torch.Tensor) else 0
        if isinstance(step, ast.Attribute) and step.attr == "T" and axes > 2:
            yield scene.found("t-of-batch", told)
        if isinstance(step, ast.Call) and callee(step) == "transpose" and axes > 2:
            swapped = [number(a) % axes for a in step.args if isinstance(number(a), int)]
            if len(swapped) == 2 and {*swapped} != {axes - 1, axes - 2}:
                yield scene.found("transpose-axes", told)
    if isinstance(node, ast.Call) and isinstance(scene.value(node.func), nn.Module):
        yield scene.found("layer-size", ast.unparse(node.func), told)
    sides = [getattr(node, "left", None), getattr(node, "right", None)]
    if isinstance(node, ast.Call) and callee(node) in ("matmul", "bmm", "mm"):
        sides = [subject(node), (node.args or [None])[-1]]
    left, right = [getattr(scene.value(side), "shape", ()) for side in sides]
    product = isinstance(node, ast.Call) or isinstance(getattr(node, "op", None), ast.MatMult)
    if product and len(left) > 1 and len(right) > 1 and left[-1] != right[-2]:
        if left[-1] == right[-1]:
            yield scene.found("not-transposed", told)
        elif right[-1] == left[-2]:
            yield scene.found("operand-order", told)


def _scene(error: BaseException, student: Any) -> Scene:
    files = {code.co_filename for code in codes_of(student)}
    files = {file for file in files if "utils/quiz" not in file.replace("\\", "/")}
    found, step = None, error.__traceback__
    while step:  # the innermost step that is in the student's own text
        found = step if step.tb_frame.f_code.co_filename in files else found
        step = step.tb_next
    text = error_text(error)
    if found is None:
        return Scene(error, text, student)
    frame, line = found.tb_frame, found.tb_lineno
    inside = frame.f_code.co_name.startswith("<")  # a comprehension sees what is around it
    values = {**(frame.f_back.f_locals if inside and frame.f_back else {}), **frame.f_locals}
    linecache.checkcache(frame.f_code.co_filename)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    code = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Scene(error, text, student, line, code, *_nodes(found, "".join(lines)), values)


def _nodes(step: types.TracebackType, text: str) -> tuple[ast.AST, ...]:
    """The expression that raised, its statement and its function, as far as the text tells."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        tree = NOWHERE
    nodes = [n for n in ast.walk(tree) if hasattr(n, "lineno")]
    at = [*step.tb_frame.f_code.co_positions()][step.tb_lasti // 2]
    around = [n for n in nodes if n.lineno <= step.tb_lineno <= n.end_lineno]
    statements = [n for n in around if isinstance(n, ast.stmt)] or [NOWHERE]
    functions = [n for n in around if isinstance(n, ast.FunctionDef)] or statements
    nodes = [n for n in nodes if isinstance(n, ast.expr)]
    exact = [n for n in nodes if (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == at]
    return [*exact, statements[-1]][0], statements[-1], functions[-1], tree


def place(error: BaseException, student: Any) -> str:
    """The student's own line that raised, such as "line 3, `scores = q @ k`"; empty if unknown."""
    scene = _scene(error, student)
    line = f"line {scene.line}" if scene.line else ""
    return f"{line}, `{scene.code[:90]}`" if scene.code else line


def line_of(error: BaseException, student: Any) -> int:
    """The number of that line, counted from the cell's first; 0 if unknown."""
    return _scene(error, student).line


def codes_of(student: Any) -> list[types.CodeType]:
    """Every compiled body that belongs to a function, partial, instance or class."""
    todo = [student, getattr(student, "func", None), getattr(student, "__wrapped__", None)]
    owner = student if isinstance(student, type) else type(student)
    todo += [m for m in vars(owner).values() if isinstance(m, types.FunctionType)]
    codes = (getattr(item, "__code__", None) for item in todo)
    found = [code for code in codes if isinstance(code, types.CodeType)]
    for code in found:
        found.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
    return found


def names_in(student: Any) -> set[str]:
    """All global and attribute names that the code mentions."""
    return {name for code in codes_of(student) for name in code.co_names}
