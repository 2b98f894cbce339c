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
from utils.quiz.naming.trees import callee, number, subject

# A kind, its score and a pattern of "Type: text" (@@ and one of the line); below it what it means.
# The first that fits is told.  Groups of the pattern fill {0}, {1}; {it} is what was called.
RULES = r"""
none-value 8: NoneType
  Something here is None: that is what a function without a `return` gives back.
view-after-transpose 9: view size is not compatible
  `view` needs the numbers in the order of the axes; a transpose or permute breaks it (`reshape`?).
truth-of-tensor 9: Boolean value of Tensor
  A whole tensor is used as one truth value (`if`, `and`, `or`, `not`), but it holds many. Entry by
  entry it is `&`, `|`, `~` or `torch.where`; whether an argument was given is asked by `is None`.
bool-minus 9: (?:Subtraction|Negation), the `-` operator
  `-` is used on booleans, and torch does not count with them. A mask is inverted by `~`.
invert-float 9: operator.invert|unary ~: 'float'
  `~` inverts booleans, and this tensor holds numbers. Is the mask of type bool?
caret-power 9: bitwise_xor|for \^:
  `^` is no power in Python (it compares bits); a power is written `**`.
number-for-tensor 9: (\w+)\(\): argument 'input' \(position 1\) must be Tensor, not (?:int|float)
  `torch.{0}` takes tensors, and this is a plain number: those are for `math`.
float-size 9: got float|not float|'float' object cannot|slice ind|(?:expand|repeat)\(\) takes 1 pos
  A size or index is a float here. `/` always gives one, even for 8 / 2; `//` gives whole numbers.
method-not-called 9: method' object is not subscriptable @@ \.size\[
  `size` is a method and takes round brackets; it is `shape` that takes square ones.
method-not-called 9: builtin_function_or_method|'method'|'function'|not (?:method|function)$
  A function or method stands there itself and not its result: its round brackets are missing.
value-called 9: '(?:Tensor|torch\.\w+)' object is not callable
  `{it}` is a value and is called like a function: it takes no brackets, or square ones to index it.
name-written-over 8.5: '(int|float|str|list|tuple|dict|bool|module)' object is not callable
  `{it}` is no function but of type {0} here: was its name given to a value, or is a sign missing?
values-forgotten 9: torch\.return_types\.(\w+)
  `{0}` along an axis gives two things: `.values`, and `.indices`. This line needs one of them.
not-a-tensor 8.5: AttributeError: '(tuple|list|int|float)' object has no attribute '(\w+)'
  `{1}` belongs to tensors, and this is of type {0} (of `.item()`, a shape, several results?).
super-init 9: before Module.__init__
  `super().__init__()` has to come first: it prepares the module to own layers and parameters.
no-attribute 7.5: '([\w.]+)'(?: object)? has no attribute '(\w+)'
  `{0}` has no `{1}`. Is it spelled as where it was made, and is it the object you think it is?
no-cuda 9: with CUDA enabled|CUDA GPU|NVIDIA|CUDA driver|mps dev|MPS
  There is no graphics card here. A new tensor goes where its input is: `device=x.device`.
missing-module 9: No module named '([\w.]+)'|cannot import name '(\w+)'
  `{0}` is not there, and nothing can be installed during a check: torch alone is enough here.
batch-forgotten 8.5: with <= 2 dim|be a matrix|1D tensors|matrix @ vector|be a 3D|outer: Exp
  `{it}` wants a fixed number of axes: is the batch forgotten? `@` works with any in front. {shapes}
softmax-without-axis 9: softmax\(\) (?:missing|received)
  The softmax has to be told along which axis the weights sum to 1.
transpose-arguments 9: transpose\(\)(?::| missing| takes| received)
  torch's `transpose` swaps two axes and wants both named. (NumPy's is torch's `permute`.) {shapes}
permute-axes 9: permute
  `permute` wants each axis of the tensor exactly once, in the new order. {shapes}
numpy-function 8.5: Can't call numpy|core dimension|not aligned|operands could not be @@ np\.|numpy
  A NumPy function is used on tensors. It cuts the gradient; torch has its own. {shapes}
axis-out-of-range 7.5: Dimension out of range.*\[-(\d+), \d+\], but got (-?\d+)
  Axis {1} is asked for, but there are {0}, counted from 0: is the batch counted? {shapes}
no-such-key 7.5: KeyError: (.*)
  There is no entry {0} in that dictionary: is this the key that is meant?
expand-axes 8.5: repeat dims can not|number of sizes provided
  `{it}` wants a size for each axis of the tensor, and for new ones in front. {shapes}
index-out-of-range 7.5: out of bounds|index out of range|out of range$|Class values|too many indices
  An index asks for more than there is: one too far, an axis too many, an unknown id? {shapes}
not-boolean 9: supports boolean masks|condition to be a boolean
  A mask of numbers comes where a boolean one is needed: True or False for each place.
needs-whole-numbers 9: used as indices|argument #1 'indices'|only applicable|to be Long
  An index, a token's id or a class has to be a whole number, and here come floats.
needs-floats 9: infer output dtype|support floating|for '(?:Long|Int|Bool)'|Expected a floating
  This step needs floats, and the tensor holds whole numbers or booleans. {dtypes}
dtype-mix 8.5: type (\w+) but found (\w+)|dtype, .*?(\w+) (?:!=|and) (\w+)$|e (\w+) can't.* (\w+)$
  Numbers of different types meet, {0} and {1}; this step wants one type. {dtypes}
device-mix 9: the same device|the expected device
  Tensors on different devices meet. A new tensor needs `device=x.device`.
generator-not-consumed 9: generator
  `(... for ...)` in round brackets has computed nothing yet; square brackets make a list of it.
not-a-list 9: tuple of Tensors, not Tensor
  `{it}` joins a list of tensors, and gets a single tensor: put those to join in square brackets.
not-tensors 8.5: as element \d+ in argument 0, but got (\w+)|expected sequence of length|non-empty
  `{it}` joins tensors of one kind; this list is empty or holds something else.
join-sizes 6.5: Sizes of tensors must match|equal size, but got|have same number of dim
  Tensors can only be joined if they agree on all axes but the one they are joined on. {shapes}
einsum-letters 8: einsum\(\): (.*?)(?: and no ellipsis.*)?$
  The letters do not fit: {0}. One letter for each axis, the same letter for the same size. {shapes}
reshape-sizes 6: shape '\[(.*?)\]' is invalid for input of size (\d+)
  The sizes ({0}) do not multiply to the {1} numbers there are. {shapes}
sizes-clash 6: tensor \((\d+)\) must match the existing size \((\d+)|a \((\d+)\) must .*b \((\d+)\)
  Two sizes meet that do not fit, {0} and {1}. Shapes are lined up from the last axis on. {shapes}
inner-sizes 6: shapes cannot be multiplied|Expected size for first two
  In a product the left's last axis has to be as long as the right's second to last. {shapes}
endless-recursion 9: RecursionError
  The function calls itself without end: does a name in it mean the function itself?
memory 8: MemoryError|can't allocate
  It asks for more memory than there is: which size is far larger than it should be? {shapes}
math-of-tensor 9: one element tensors|to Scalar @@ math\.
  The functions of `math` take one number, and here comes a whole tensor; torch's take tensors.
tensor-of-tensors 9: one element tensors @@ tensor\(
  `torch.tensor` makes tensors of numbers. To join tensors there are `torch.stack` and `torch.cat`.
one-number 8.5: one element tensors|to Scalar|of a single element
  One number is needed (`range`, `.item()`, `float`, an index), and a whole tensor comes. {shapes}
list-for-tensor 8.5: (?:sor|number), not (list|tuple)|sor' and '(list|tuple)'|: '(list|tuple)' and
  A {0} stands where a tensor or a number is needed (`torch.stack` makes one of many).
whole-shape 9: torch.Size
  A whole shape is used as if it were one number: which of its sizes is meant?
layer-not-applied 8.5: '(Linear|\w*ReLU|Softmax|Dropout|LayerNorm)'|Tensor, not (Linear|Softmax)
  A layer ({0}) stands there itself: it was made, but not called with a tensor.
in-place 9: leaf Variable|by an inplace operation
  A tensor that learns, or that a gradient still needs, is changed in place. Make a new one instead.
unbound 9: UnboundLocalError: .*variable '(\w+)'
  `{0}` is used before it has a value: it gets one further down, or in a case that did not happen.
number-taken-apart 8.5: (int|float)' object is not [is]|iterable (int|float)|'(int|float)' has no l
  A single {0} is looped over, indexed or taken apart like a list. (A loop takes `range(n)`.)
axes-unpacked 9: values to unpack \(expected (\d+) @@ shape|size\(
  The shape is taken apart into {0} names, but it has another length: is the batch counted? {shapes}
unpack 8: values to unpack \(expected (\d+)
  On the left stand {0} names, on the right another number of values. {shapes}
division-by-zero 8: ZeroDivisionError|math domain error|expected a (?:non|pos)
  A division by zero, or a root or logarithm of a number that has none. Which number is it?
argument-count 7.5: (\w+)\(\) (takes|missing) (.*)
  The arguments do not fit those of `{0}`: it says "{1} {2}".
argument-kind 7: (\w+)\(\): argument '(\w+)' .* must be (.+), not (\w+)
  `{1}` of `{0}` must be of type {2}, and {3} comes. Is the order of the arguments right?
argument-kind 7: (\w+)\(\) received an invalid combination of arguments - got \(([^)]*)\)
  `{0}` cannot be called with these arguments: ({1}). One too many, one missing, another order?
"""
_rows = re.findall(r"^(\S+) ([\d.]+): (.*)\n((?:  .*\n)+)", RULES, re.MULTILINE)
MEANINGS = [(k, n, *f"{p} @@ ".split(" @@ ")[:2], " ".join(t.split())) for k, n, p, t in _rows]
# What needs a look at the values and the tree: a kind, its score, what it means.
LOOKS = """
none-not-handled 9: `{0}` is None here (an argument left out?), and this line needs a value.
foreign-name 9: `{0}` is a name of another library; {1}.
missing-import 9: `{0}` was not imported: `{1}` does it.
missing-self 9: `{0}` does without `self`, through which all that is the object's is reached.
misspelt-name 8.5: The name `{0}` is not known. Is it a slip for `{1}`?
unknown-name 8: The name `{0}` has no value: is it an argument, and was its cell run?
other-module 9: `{1}` has no `{0}`; `{2}` has.
misspelt-attribute 8.5: There is no `{0}` in it. Is it a slip for `{1}`?
foreign-keyword 9: `{0}` knows no argument `{1}`; torch calls it `{2}`.
wrong-keyword 8.5: `{0}` knows no argument `{1}`: is it spelled as in its definition?
argument-count 9: `{0}` is called {1} with {2} arguments than its `def` has: see the task.
keepdim-missing 8: `{0}` removes the axis it runs along, so the rest no longer lines up. {1}
size-typed-in 7.5: The number {0} is typed in, but no axis has that size: inputs vary. {1}
axis-missing 7.5: Shapes are lined up from the last axis on; one lacks an axis further in. {0}
t-of-batch 8.5: `.T` turns all axes around, the batch too, and not only the last two. {0}
transpose-axes 7.5: The transpose swaps other axes than the last two, so the sizes do not meet. {0}
layer-size 7.5: `{0}` was made for inputs of another size. {1}
not-transposed 7.5: Both have the same last axis: nothing turns the second, so the sizes miss. {0}
operand-order 7.2: The two would fit in the other order, and in a product the order matters. {0}
"""
_rows = re.findall(r"^(\S+) ([\d.]+): (.*(?:\n  .*)*)", LOOKS, re.MULTILINE)
SAID = {kind: (float(score), " ".join(says.split())) for kind, score, says in _rows}
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
    found = [f for look in (_none, _name, _attribute, _arguments, _clash) for f in look(scene)]
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
    elif name == "self" or hasattr(scene.values.get("self"), name):
        yield scene.found("missing-self", name if name != "self" else "this line's method")
    else:
        yield scene.found("misspelt-name" if close else "unknown-name", name, *close)


def _attribute(scene: Scene) -> Iterator[Finding]:
    name, thing = getattr(scene.error, "name", None), getattr(scene.error, "obj", None)
    known = isinstance(thing, torch.Tensor | nn.Module | types.ModuleType)
    if not isinstance(scene.error, AttributeError) or not known or not name or name[0] == "_":
        return
    home = next((m.__name__ for m in (torch, nn.functional) if hasattr(m, name)), "")
    close = difflib.get_close_matches(name, dir(thing), 1, 0.7) if len(name) > 3 else []
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
    lost = next(habits.lost_axes(scene.statement), None)
    if lost and "must match the size" in scene.text:
        yield scene.found("keepdim-missing", callee(lost), told)
    at_hand = {n for v in scene.values.values() if isinstance(v, torch.Tensor) for n in v.shape}
    for node in habits.typed_sizes(scene.statement):
        if number(node) not in at_hand:
            yield scene.found("size-typed-in", number(node), told)
    shapes = sorted((tuple(v.shape) for v in scene.tensors().values()), key=len)
    small, large = shapes if len(shapes) == 2 and not lost else ((), ())
    if any(large[:i] + large[i + 1 :] == small for i in range(1, len(large))):
        yield scene.found("axis-missing", told)


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


def _nodes(step: types.TracebackType, text: str) -> tuple[ast.AST, ast.AST, ast.AST]:
    """The expression that raised, its statement and its function, as far as the text tells."""
    try:
        nodes = [n for n in ast.walk(ast.parse(text)) if hasattr(n, "lineno")]
    except SyntaxError:
        nodes = []
    at = [*step.tb_frame.f_code.co_positions()][step.tb_lasti // 2]
    around = [n for n in nodes if n.lineno <= step.tb_lineno <= n.end_lineno]
    statements = [n for n in around if isinstance(n, ast.stmt)] or [NOWHERE]
    functions = [n for n in around if isinstance(n, ast.FunctionDef)] or statements
    nodes = [n for n in nodes if isinstance(n, ast.expr)]
    exact = [n for n in nodes if (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == at]
    return [*exact, statements[-1]][0], statements[-1], functions[-1]


def place(error: BaseException, student: Any) -> str:
    """The student's own line that raised, such as "line 3, `scores = q @ k`"; empty if unknown."""
    scene = _scene(error, student)
    line = f"line {scene.line}" if scene.line else ""
    return f"{line}, `{scene.code[:90]}`" if scene.code else line


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
