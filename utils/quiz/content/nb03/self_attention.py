"""X03-2: self-attention as a module with three learned matrices."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.layers.attention import AttentionLayer
from utils.quiz.content.nb03 import attention_switches
from utils.quiz.content.nb03.self_attention_bugs import BUGS
from utils.quiz.content.nb03.self_attention_call import call, finish
from utils.quiz.exercise import Exercise, Invariant


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
    bugs=BUGS,
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
        "`__init__` makes three layers, `forward` uses each of them on x. Which sizes do they "
        "have?",
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
