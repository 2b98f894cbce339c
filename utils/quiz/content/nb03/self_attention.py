"""X03-2: self-attention as a module with three learned matrices."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.attention import AttentionLayer
from utils.quiz.content.nb03 import attention_switches
from utils.quiz.content.nb03.attention_bugs import BUGS
from utils.quiz.exercise import Bug, Exercise, Invariant, Mistake, told_by_call
from utils.quiz.modules import fill

INIT = "`__init__`, where the layers are made"
FORWARD = "`forward`, where q, k and v are made"


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, d_k: int, d_v: int):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = scores.softmax(dim=-1)
        return weights @ v, weights


class _Also:
    """Hands the switches on to X03-1, where those that this exercise does not list stay off."""

    def __init__(self, bug):
        self.bug, self.choose = bug, bug.choose

    def __call__(self, name: str) -> bool:
        return name in self.bug.known and self.bug(name)


def switched(bug, w_q: Tensor, w_k: Tensor, w_v: Tensor, x: Tensor):
    """Three projections, then X03-1; ``bug`` says which mistakes are on."""
    q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
    q, k, v = bug.choose(
        lambda: (q, k, v),
        query_for_key=lambda: (q, q, v),
        key_for_query=lambda: (k, k, v),
        key_for_value=lambda: (q, k, k),
        query_for_value=lambda: (q, k, q),
        one_matrix_for_all=lambda: (q, q, q),
        value_not_projected=lambda: (q, k, x),
        query_not_projected=lambda: (x, k, v),
        key_not_projected=lambda: (q, x, v),
        nothing_projected=lambda: (x, x, x),
        only_value_projected=lambda: (x, x, v),
        only_query_projected=lambda: (q, x, x),
        keys_from_queries=lambda: (q, q @ w_k.T, v),
        values_from_keys=lambda: (q, k, k @ w_v.T),
        projected_in_a_chain=lambda: (q, q @ w_k.T, q @ w_k.T @ w_v.T),
        weights_not_transposed=lambda: (x @ w_q, x @ w_k, x @ w_v),
        relu_on_projections=lambda: (q.relu(), k.relu(), v.relu()),
        tanh_on_projections=lambda: (q.tanh(), k.tanh(), v.tanh()),
    )
    if bug("scale-d-model"):  # X03-1 divides by √d_k, so take that back first
        q = q * math.sqrt(q.shape[-1] / x.shape[-1])
    result = attention_switches.switched(_Also(bug), q, k, v)
    if bug("residual"):
        result = (result[0] + x, *result[1:]) if isinstance(result, tuple) else result + x
    return result


def call(student, w_q: Tensor, w_k: Tensor, w_v: Tensor, x: Tensor):
    """Make the student's module, copy the weights into it, and run it."""
    module, filled = prepared(student, w_q, w_k, w_v)
    mine = {id(parameter) for parameter in filled.values()}
    extra = [n for n, p in module.named_parameters() if p.dim() > 1 and id(p) not in mine]
    result = module(x)
    if extra:  # harmless only if it changes nothing
        q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
        right = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v
        output = result[0] if isinstance(result, tuple | list) else result
        if output.shape != right.shape or float((output - right).abs().max()) > 1e-3:
            raise Mistake("extra-layer", f"Yours: {', '.join(f'`{name}`' for name in extra)}.")
    return result


def prepared(student, w_q: Tensor, w_k: Tensor, w_v: Tensor):
    """The student's module in eval mode with our weights, and the parameters filled, by role."""
    if isinstance(student, nn.Module):
        raise Mistake("instance-given")
    if isinstance(student, type) and issubclass(student, nn.Module):
        if student.__init__ is nn.Module.__init__:
            raise Mistake("no-init")
        if student.forward is nn.Module.forward:
            raise Mistake("no-forward")
    try:
        module = student(w_q.shape[1], w_q.shape[0], w_v.shape[0])
    except AttributeError as error:
        if "before Module.__init__" in str(error):
            raise Mistake("no-super-init") from None
        raise
    if not isinstance(module, nn.Module):
        raise Mistake("not-a-module")
    loose = {
        name: value
        for name, value in [*vars(module).items(), *module.named_buffers()]
        if isinstance(value, Tensor) and value.dim() == 2
    }
    if loose:
        raise Mistake("plain-tensors", f"Yours: {', '.join(f'`{name}`' for name in loose)}.")
    hidden = [n for n, v in vars(module).items() if isinstance(v, list | tuple | dict) and v]
    if not list(module.parameters()):
        if any(not n.startswith("_") for n in hidden):
            raise Mistake("plain-list")
        raise Mistake("no-parameters")
    try:
        filled = fill(module, {"q": w_q, "k": w_k, "v": w_v})
    except LookupError as error:
        raise Mistake("wrong-sizes", str(error)) from None
    return module.eval(), filled


def finish(student) -> None:
    """Right numbers: do gradients reach all matrices, and is there a bias?"""
    w_q, w_k, w_v = torch.eye(4, 5), torch.ones(4, 5) / 3, torch.eye(3, 5)
    module, filled = prepared(student, w_q, w_k + torch.eye(4, 5), w_v)
    with torch.enable_grad():
        x = torch.arange(30.0).reshape(2, 3, 5).cos()
        output = module(x)[0]
        if output.requires_grad:
            count = torch.arange(output.numel(), device=output.device).reshape(output.shape)
            (output * count.sin()).sum().backward()
    for name, parameter in filled.items():
        if parameter.grad is None or not float(parameter.grad.abs().sum()) > 1e-8:
            raise Mistake("no-gradient-to-weights", f"Nothing arrives at w_{name}.")
    if any(p.dim() == 1 for p in module.parameters()):
        raise Mistake("bias")


def _told(name: str, says: str, look: str = INIT) -> Bug:
    return Bug(name, says, look, "03, section 7", detect=told_by_call)


def _inputs(**says: str) -> tuple[Bug, ...]:
    return tuple(
        Bug(n.replace("_", "-"), text, FORWARD, "03, section 7", "projections")
        for n, text in says.items()
    )


# Mistakes of X03-1 that mean the same as others once queries and keys come from one sequence.
ALIKE_HERE = {
    "scale-queries", "scale-by-queries", "needs-two-axes", "values-as-keys", "values-as-queries",
    "residual-query", "residual-value", "other-scale", "rounded", "query-twice", "key-twice",
    "weights-times-keys", "weights-times-queries", "scale-numel", "scale-std",
    "scale-before-root", "scale-log", "distance-plus", "difference", "sum-not-product",
    "softmax-over-queries-then-keys", "rounded-to-whole", "power-of-two", "min-max",
    "output-normalised", "exp-over-scores", "no-output-step", "weights-averaged", "scale-minus",
    "scale-precedence", "scale-fourth-root", "scale-d-squared", "scale-times-d", "output-times",
    "times-after-softmax", "scale-after-softmax-d", "cosine-scaled", "divided-by-abs-sum",
    "sigmoid-normalised", "relu-normalised", "squares-normalised", "values-softmax",
    "weights-reshaped", "last-key-skipped", "values-twice", "floor-division",
    "keys-and-values-swapped", "tanh-before-softmax", "relu-before-softmax",
    "sigmoid-before-softmax", "last-value-only", "output-scaled-again",
    "exp-sum-queries-no-keepdim", "max-no-keepdim", "output-beside-query", "softmax-on-queries",
    "softmax-on-keys", "tanh", "relu", "keys-counted-as-queries", "half-precision",
    "squeezed", }  # fmt: skip

SELF_ATTENTION = Exercise(
    id="X03-2",
    title="Self-attention as a module",
    see="03, section 7",
    name="SelfAttention",
    reference=SelfAttention,
    library=AttentionLayer,
    switched=switched,
    call=call,
    finish=finish,
    bugs=(
        *_inputs(
            query_for_key="The keys come from the same matrix as the queries, so the scores are "
            "symmetric: token i looks at j as much as j at i. The keys need a matrix of their own, "
            "w_k.",
            key_for_query="The queries come from the same matrix as the keys, so the scores are "
            "symmetric: token i looks at j as much as j at i. The queries need w_q.",
            key_for_value="The values come from the same matrix as the keys. What a token "
            "offers is not what it is found by: the values need w_v.",
            query_for_value="The values come from the same matrix as the queries. They need w_v.",
            one_matrix_for_all="One matrix makes queries, keys and values. Each of the three needs "
            "its own.",
            value_not_projected="The weights mix x itself. Mix the values, `self.w_v(x)`.",
            query_not_projected="The queries are x itself. They come from `self.w_q(x)`.",
            key_not_projected="The keys are x itself. They come from `self.w_k(x)`.",
            nothing_projected="The three layers are not used in `forward`: x itself serves as "
            "queries, keys and values.",
            only_value_projected="Queries and keys are x itself. They come from `self.w_q(x)` and "
            "`self.w_k(x)`.",
            only_query_projected="Keys and values are x itself. They come from `self.w_k(x)` and "
            "`self.w_v(x)`.",
            keys_from_queries="The keys are made from the queries. Both are made from x.",
            values_from_keys="The values are made from the keys. All three are made from x.",
            projected_in_a_chain="Each projection takes the result of the one before. All "
            "three are made from x.",
            weights_not_transposed="`x @ layer.weight` has the matrix the wrong way round: "
            "`nn.Linear` keeps it as (d_out, d_in). Call the layer, `self.w_q(x)`, or transpose: "
            "`x @ self.w_q.weight.T`.",
            relu_on_projections="There is a ReLU on the projections. They are plain matrix "
            "products.",
            tanh_on_projections="There is a tanh on the projections. They are plain matrix "
            "products.",
        ),
        Bug(
            "scale-d-model",
            "The scores are divided by √d_model. What is summed up in q · k is their own width: "
            "√d_k.",
            "the division by √d_k",
            "03, section 4",
            "scale",
        ),
        Bug(
            "residual",
            "x is added to the output. A residual connection comes later, outside of attention.",
            "the line that computes the output",
            "03, section 7",
        ),
        _told(
            "plain-tensors",
            "The matrices are plain tensors, so `parameters()` does not know them and no optimiser "
            "will ever change them. Use `nn.Linear` (or wrap them in `nn.Parameter`).",
        ),
        _told(
            "plain-list",
            "The layers sit in a plain list or dict, where the module does not see them. Give each "
            "its own name, `self.w_q = ...` (or use `nn.ModuleList`).",
        ),
        _told(
            "no-parameters",
            "The module has nothing to learn: no layer is stored on `self` in `__init__`. A layer "
            "made inside `forward` is new and random at every call.",
        ),
        _told(
            "no-super-init",
            "Call `super().__init__()` first: it prepares the module to own layers.",
        ),
        _told(
            "no-init",
            "The class has no `__init__` of its own. It is spelled with two underscores on either "
            "side and stands one step further in than `class`.",
            "the line `def __init__(self, d_model, d_k, d_v):`",
        ),
        _told(
            "no-forward",
            "The class has no method `forward`. Is it spelled like this, and does its `def` stand "
            "exactly below the `def` of `__init__`? Further in it would be a part of `__init__`.",
            "the line `def forward(self, x):`",
        ),
        _told(
            "bias",
            "The numbers would be right, but the layers have a bias and the formula has none: q = "
            "x W. Write `nn.Linear(..., bias=False)`.",
        ),
        _told(
            "not-a-module",
            "The class does not build on `nn.Module`: `class SelfAttention(nn.Module):`",
        ),
        _told(
            "instance-given",
            '`check` needs the class itself, to build its own: `check("X03-2", SelfAttention)`.',
            "the call of `check`",
        ),
        _told(
            "wrong-sizes",
            "One of the layers has the wrong sizes. From d_model to d_k, d_k and d_v.",
        ),
        _told(
            "extra-layer",
            "There is a further layer besides those for q, k and v. The output is the "
            "weights times v, with nothing after it.",
        ),
        _told(
            "no-gradient-to-weights",
            "The numbers are right, but no gradient reaches the matrices, so they would never "
            "learn. Remove `detach()`, `.data` or `no_grad()`.",
            FORWARD,
        ),
        *(bug for bug in BUGS if bug.name not in ALIKE_HERE),
    ),
    parts=("output", "weights"),
    rows_sum_to_one=1,
    probes=lambda r: [
        (0.4 * r(8, 12), 0.4 * r(8, 12), 0.4 * r(6, 12), r(2, 5, 12)),
        (0.5 * r(3, 7), 0.5 * r(3, 7), 0.5 * r(5, 7), r(4, 6, 7)),
    ],
    square=lambda r: [
        (0.5 * r(4, 4), 0.5 * r(4, 4), 0.5 * r(4, 4), r(4, 4, 4)),
        (0.4 * r(8, 8), 0.4 * r(8, 8), 0.4 * r(8, 8), r(2, 5, 8)),
    ],
    wider=lambda r: {
        "It takes batches (B, N, d_model) only; axes counted from the end would take one sequence "
        "as well.": (0.4 * r(8, 12), 0.4 * r(8, 12), 0.4 * r(6, 12), r(5, 12)),
    },
    invariants=(
        Invariant(
            "The first sequence of the batch changes when only the second one does.",
            lambda a: (*a[:3], torch.cat([a[3][:1], a[3][1:] + 1])),
            lambda result: tuple(part[0] for part in result),
        ),
        Invariant(
            "When the tokens come in another order, the outputs do not simply follow.",
            lambda a: (*a[:3], a[3].flip(1)),
            lambda result: result[0],
            lambda result: result[0].flip(1),
        ),
    ),
    hints=(
        "`__init__` makes three layers, `forward` uses each of them on x. Which sizes do "
        "they have?",
        "`self.w_q = nn.Linear(d_model, d_k, bias=False)`, and likewise w_k and w_v (the last one "
        "to d_v). Do not forget `super().__init__()`.",
        "In `forward`: q, k and v are `self.w_q(x)`, `self.w_k(x)`, `self.w_v(x)`; the rest is "
        "your `attention` of X03-1, and so is what you return.",
    ),
    also_right=(
        """
class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_model, d_k))
        self.key = nn.Parameter(torch.randn(d_model, d_k))
        self.value = nn.Parameter(torch.randn(d_model, d_v))
        self.scale = d_k ** -0.5

    def forward(self, x):
        scores = torch.einsum("bnd,bmd->bnm", x @ self.query, x @ self.key) * self.scale
        weights = F.softmax(scores, -1)
        return torch.bmm(weights, x @ self.value), weights
""",
        """
class SelfAttention(nn.Module):
    def __init__(self, d, dk, dv):
        super().__init__()
        self.dk, self.dv = dk, dv
        self.qkv = nn.Linear(d, 2 * dk + dv, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).split([self.dk, self.dk, self.dv], dim=-1)
        weights = ((q / self.dk ** 0.5) @ k.mT).softmax(-1)
        return weights @ v, weights
""",
        """
class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super(SelfAttention, self).__init__()
        self.layers = nn.ModuleDict({
            name: nn.Linear(d_model, d, bias=False)
            for name, d in (("to_q", d_k), ("to_k", d_k), ("to_v", d_v))})
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = (self.layers[name](x) for name in ("to_q", "to_k", "to_v"))
        weights = torch.softmax(q.matmul(k.transpose(1, 2)).div(math.sqrt(k.size(2))), dim=2)
        return self.dropout(weights).matmul(v), weights
""",
    ),
    blank=(
        "class SelfAttention(nn.Module):\n    def __init__(self, d_model, d_k, d_v):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
