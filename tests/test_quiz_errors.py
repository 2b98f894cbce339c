"""Exceptions retold and slips read off the tree: each rule with real code that really does it."""

import ast
import linecache
import math

import numpy as np
import pytest
import torch
from torch import nn

from utils.quiz.naming import errors, habits
from utils.quiz.naming.remarks import of_passed

KNOWN = {"torch": torch, "nn": nn, "F": nn.functional, "math": math, "np": np}
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about some of the slips, too


def defined(source, name="solve", known=KNOWN):
    """What a cell defines, with a text that can be read as a notebook's."""
    file = f"<cell {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), space := dict(known))
    return space[name]


def raised(student, *args):
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        student(*args)
    return caught.value


def told(line, known=KNOWN):
    """What is said about a line that works on q, k, a mask, whole numbers and None."""
    source = f"def solve(q, k, mask, ids, extra=None):\n    scores = q\n    {line}\n"
    student, mask = defined(source, known=known), torch.ones(5, 5) > 0
    error = raised(student, torch.randn(2, 5, 8), torch.randn(2, 3, 8), mask, torch.arange(6))
    return errors.explain(error, student)


LINES = r"""
view-after-transpose: q.transpose(1, 2).view(2, -1)
truth-of-tensor: if mask: pass ;; w = q > 0 and q < 1 ;; w = not mask
bool-minus: w = 1 - mask ;; w = -mask
invert-float: w = ~q
float-size: q.view(2, 5, 2, 8 / 2) ;; torch.zeros(8 / 2) ;; q[:, : 4 / 2] ;; q.expand(4 / 2, 5, 8)
method-not-called: w = q - q.mean ;; w = q.size[0] ;; w = q @ k.t ;; math.sqrt(q.size)
value-called: q.shape() ;; q.T() ;; q(1) ;; q[0](1)
name-written-over: sum = 3; sum(q) ;; w = 2 * 3(4) ;; F(q)
values-forgotten: w = q - q.max(dim=-1) ;; q.max(-1).unsqueeze(0) ;; torch.exp(q.sort(-1))
axes-unpacked: B, N = q.shape ;; B, H, N, d = q.size()
unpack: a, b = q.chunk(3, -1)
batch-forgotten: k.t() ;; torch.mm(q, k) ;; torch.dot(q, q) ;; torch.bmm(q[0], k)
t-of-batch: w = q @ k.T
transpose-axes: w = q @ k.transpose(0, 1) ;; w = q @ k.transpose(0, 2)
not-transposed: w = q @ k ;; torch.matmul(q, k) ;; q.bmm(k)
operand-order: a = q[0]; b = k[0].mT; w = b @ a ;; a = q[0]; b = k[0].T; b @ a
none-not-handled: extra.unsqueeze(0) ;; q.masked_fill(extra == 0, 1) ;; w = q + extra
none-value: [1].append(2).shape
missing-module: import einops_that_is_not_there ;; from torch import sofmax
foreign-keyword: F.softmax(q, axis=-1) ;; torch.triu(q, k=1)
wrong-keyword: F.softmax(q, -1, keepdim=True)
foreign-name: q.astype(float) ;; torch.expand_dims(q, 0) ;; tf.exp(q) ;; q.copy()
other-module: math.softmax(q) ;; nn.softmax(q)
misspelt-attribute: q.trnspose(1, 2) ;; torch.arrange(3)
misspelt-name: w = scors + 1 ;; Math.sqrt(2)
unknown-name: w = zzz
unbound: w = late; late = 2
softmax-without-axis: torch.softmax(q) ;; q.softmax()
transpose-arguments: q.transpose() ;; q.transpose(0, 2, 1) ;; q.transpose([0, 2, 1])
permute-axes: q.permute() ;; q.permute(0, 2) ;; q.permute(0, 1, 1)
numpy-function: np.matmul(q, k) ;; np.exp(q.requires_grad_()) ;; np.dot(q, k)
argument-count: nn.Linear(8) ;; q.dim(1)
in-place: p = nn.Parameter(q); p += 1 ;; p = q.requires_grad_().exp(); p += 1; p.sum().backward()
dtype-mix: q @ q.double().mT ;; mask.float() @ mask ;; nn.Linear(8, 8)(q.double())
needs-floats: ids.softmax(-1) ;; ids.mean() ;; mask.std() ;; ids.norm()
needs-whole-numbers: nn.Embedding(3, 3)(q) ;; q[torch.ones(2)] ;; F.one_hot(q)
not-boolean: q.masked_fill(torch.ones(5, 8), 0) ;; torch.where(q, 1, 0)
device-mix: w = q + torch.ones(2, 5, 8, device='meta')
index-out-of-range: q[5] ;; [1][3] ;; q[0, 0, 0, 0] ;; nn.Embedding(3, 3)(ids) ;; q.shape[4]
axis-out-of-range: q.sum(4) ;; q.transpose(2, 3)
no-such-key: {}['a']
not-a-list: torch.cat(q, k) ;; torch.stack(q)
not-tensors: torch.stack([1, 2]) ;; torch.cat([])
join-sizes: torch.cat([q, k], -1) ;; torch.stack([q, k]) ;; torch.cat([q, k[0]])
einsum-letters: torch.einsum('bid,bjd->bij', q, k[0]) ;; torch.einsum('bid,bid->bij', q, k)
keepdim-missing: w = q / q.sum(-1) ;; w = q - torch.mean(q, dim=-1)
axis-missing: w = q.mean(-1); w = q - w ;; w = torch.ones(2, 4, 5, 8); w = w * q
sizes-clash: w = q + k ;; q.masked_fill(mask, 0) ;; q.expand(3, 5, 8)
inner-sizes: w = q[0] @ k[0]
layer-size: layer = nn.Linear(5, 3); layer(q) ;; norm = nn.LayerNorm(5); norm(q)
reshape-sizes: q.reshape(2, 5, 3, 3)
size-typed-in: q.view(2, 5, 64) ;; w = q + torch.zeros(7)
assigned-shape: q[0, 0] = q
assigned-shape: q[0, 0] = k
expand-axes: q.expand(5, 8) ;; q.repeat(2)
memory: torch.zeros(10**7, 10**7) ;; [0] * 10**14
math-of-tensor: math.sqrt(q)
tensor-of-tensors: torch.tensor([q, q])
one-number: range(q) ;; q.item() ;; float(q) ;; range(torch.tensor(2.0))
number-for-tensor: torch.sqrt(8) ;; torch.exp(2.0)
list-for-tensor: torch.softmax([q, q], -1) ;; w = q + [1, 2] ;; w = [1, 2] / 2
not-a-tensor: [q, q].sum(0) ;; (q, k).shape ;; q.sum().item().sqrt()
number-taken-apart: [i for i in q.shape[0]] ;; len(5) ;; a, b = 5
generator-not-consumed: torch.stack(x for x in q)
whole-shape: w = q / q.shape ;; math.sqrt(q.size())
layer-not-applied: nn.ReLU(q) + 1
caret-power: w = q ^ 2 ;; w = 8 ^ 0.5
division-by-zero: 1 / 0 ;; math.sqrt(-1)
no-attribute: 'a'.shape
super-init: type('M', (nn.Module,), {'__init__': lambda s: setattr(s, 'l', nn.ReLU())})()
argument-kind: torch.arange('a') ;; q.masked_fill(mask)
thrown-away: k.transpose(1, 2)\n    w = q @ k
"""


def cases(text):
    rows = (row.split(": ", 1) for row in text.strip().replace(r"\n", "\v").split("\n"))
    return [
        (kind, line.replace("\v", "\n")) for kind, lines in rows for line in lines.split(" ;; ")
    ]


@pytest.mark.parametrize(("kind", "line"), cases(LINES))
def test_an_exception_is_retold(kind, line):
    found = told(line)
    assert found[0].kind == kind
    assert len(found) <= 2 and 5 <= found[0].score <= 9
    assert found[0].line in (3, 4) and f"line {found[0].line}" in found[0].brief
    assert "{" not in found[0].says.split("`: ")[-1] and found[0].says[-1] in ".?)"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card")
@pytest.mark.parametrize("line", ["q.cuda()", "torch.zeros(2, device='cuda')", "q.to('cuda')"])
def test_a_missing_graphics_card(line):
    assert told(line)[0].kind == "no-cuda"


@pytest.mark.parametrize("name", KNOWN)
def test_a_forgotten_import(name):
    (found,) = told(f"{name}.sqrt(q)", {other: KNOWN[other] for other in {*KNOWN} - {name}})
    assert found.kind == "missing-import" and "import" in found.says


METHODS = """class Layer(nn.Module):
    def __init__(self, d=8):
        super().__init__(); self.project = nn.Linear(d, d)
    def forward({0}): return {1}
"""
CLASSES = """
missing-self: x | x ;; self, x | project(x) ;; this, x | self.project(x)
misspelt-attribute: self, x | self.projct(x)
argument-count: self, x, mask | x
layer-size: self, x | self.project(x.mT)
"""


@pytest.mark.parametrize(("kind", "line"), cases(CLASSES))
def test_a_slip_in_a_class(kind, line):
    student = defined(METHODS.format(*line.split(" | ")), "Layer")
    found = errors.explain(raised(lambda: student()(torch.ones(2, 5, 8))), student)
    assert (found[0].kind, found[0].line) == (kind, 4)


def test_a_definition_with_other_arguments_and_one_without_end():
    student = defined("def solve(q, k):\n    return solve(q, k)")
    (found,) = errors.explain(raised(student, 1), student)
    assert (found.kind, found.line) == ("argument-count", 1) and "fewer" in found.says
    assert "more" in errors.explain(raised(student, 1, 2, 3), student)[0].says
    assert errors.explain(raised(student, 1, 2), student)[0].kind == "endless-recursion"


def test_the_line_is_told_with_the_shapes_in_it_and_may_be_unknown():
    (found,) = told("w = q @ k  # scores")
    assert "Line 3, `w = q @ k  # scores`: " in found.says
    assert found.says.endswith("`q` is (2, 5, 8) and `k` is (2, 3, 8).")
    assert told("w = torch.cat([q, k, mask], -1)")[0].says.count(" is (") == 3
    student = defined("def solve(x):\n    return helper(x)\ndef helper(x):\n    return x.foo")
    assert errors.place(raised(student, 3), student) == "line 4, `return x.foo`"
    assert errors.place(raised(student), student) == ""
    assert errors.explain(ValueError("never seen before"), student) == []
    assert errors.names_in(student) == {"helper"} and len(errors.codes_of(student)) == 1


RIGHT = "def solve(q, k, mask):\n    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)"
TREES = r"""
thrown-away: k.transpose(1, 2) ;; q * 2 ;; q.masked_fill(mask, 0)
comparison-alone: q == 3
return-in-loop: for i in q:\n        w = i\n        return w
argument-overwritten: mask = torch.ones(3) ;; k = q
return-missing: if mask is None:\n        return q
softmax-without-axis: w = F.softmax(q) ;; w = nn.Softmax()(q)
caret-power: w = q ^ 2 ;; w = 8 ^ 0.5
is-for-equal: w = q if mask is 1 else k
reduces-everything: w = q - q.max() ;; w = torch.sum(q)
assigned-twice: w = q + k\n    w = q - k
size-typed-in: w = q.view(2, 64) ;; w = q / math.sqrt(64)
variable-unused: unused = q + k
floor-division: w = q // 2
loop-variable-unused: for i in range(3):\n        q = q + k
shadows-builtin: max = q + 1
foreign-operation: w = q.relu()
missing-operation: w = q @ k.mT
"""


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("kind", "line"), cases(TREES))
def test_a_slip_is_read_off_the_tree(kind, line):
    tree = ast.parse(f"def solve(q, k, mask):\n    {line}\n")
    found = {f.kind: f for f in habits.explain(tree, [ast.parse(RIGHT)], ["q", "k", "mask"])}
    assert kind in found and "{" not in found[kind].says
    assert kind == "missing-operation" or f"line {found[kind].line} " in found[kind].brief


def test_arguments_that_are_not_used_and_defaults_that_are_shared():
    tree = ast.parse("def solve(a, m, out=[]):\n    return a, out")
    found = habits.explain(tree, [], ["q", "mask", "out"])
    assert [f.kind for f in found] == ["argument-unused", "mutable-default"]
    assert "`m` (`mask` in the task)" in found[0].says and found[0].score == 7.2
    without = ast.parse("def solve(q, mask, out):\n    return q, out")
    assert [f.kind for f in habits.explain(tree, [without], [])] == ["mutable-default"]


def test_a_right_solution_has_no_slips():
    other = "def solve(q, k, mask):\n    s = torch.einsum('mi,ni->mn', q, k) * q.size(-1) ** -0.5\n"
    other += "    e = (s - s.amax(-1, keepdim=True)).exp()\n    return e / e.sum(-1, keepdim=True)"
    right = [ast.parse(RIGHT), ast.parse(other)]
    assert habits.explain(right[0], right, []) == habits.explain(right[1], right, []) == []
    assert [f.kind for f in habits.explain(right[1], right[:1], [])] == ["foreign-operation"] * 2


REMARKS = r"""
after `.eval()`: return F.dropout(x, 0.1)
new each time: return nn.Dropout(0.1)(x)
cuts the gradient: y = x.detach()\n    return y + 1 ;; return x.data * 2
cuts the gradient: with torch.no_grad():\n        y = x + 1\n    return y
`print`: print(x)\n    return x
copies `x`: return torch.tensor(x) + x.mean(-1)
nothing: y = x.detach()\n    return x ;; return x - x.amax(-1).detach()
nothing: return F.dropout(x, training=False) ;; with torch.no_grad():\n        return x.argmax(-1)
"""


@pytest.mark.parametrize(("said", "body"), cases(REMARKS))
def test_remarks_about_what_passed_are_true(said, body):
    found = of_passed(None, ast.parse(f"def solve(x):\n    {body}"))
    assert said in (found or ["nothing"])[0] and len(found) < 2


def test_a_dropout_that_is_on_is_remarked():
    assert "dropout is on" in of_passed(nn.Dropout(0.5), ast.parse(""))[0]
    assert of_passed(nn.Dropout(0.5).eval(), ast.parse("")) == []
