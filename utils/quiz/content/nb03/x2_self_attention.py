"""X03-2: self-attention as a module."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.layers.attention import AttentionLayer
from utils.quiz.exercise import Exercise, Mistake, bug


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


def _finish(student) -> str | None:
    """Right numbers: do gradients reach all matrices, and is there a bias?"""
    module = student(5, 4, 3).eval()
    with torch.enable_grad():
        output = module(torch.arange(30.0).reshape(2, 3, 5).cos())[0]
        if output.requires_grad:
            output.sum().backward()
    for name, parameter in module.named_parameters():
        if parameter.grad is None:
            raise Mistake(
                "no-gradient-to-weights",
                f"The numbers are right, but no gradient arrives at `{name}`, so it would never "
                "be learnt. Is it detached, or made under `no_grad`?",
            )
    if any(p.dim() == 1 for p in module.parameters()):
        raise Mistake("bias", "The layers have a bias. The formula has matrices alone: q = x W.")
    if any(isinstance(layer, nn.Dropout) and layer.p > 0 for layer in module.modules()):
        return (
            "There is a dropout, which the formula does not have. In training mode two calls with "
            "the same x give different results."
        )
    return None


EXERCISE = Exercise(
    id="X03-2",
    title="Self-attention as a module",
    see="03, section 7",
    name="SelfAttention",
    reference=SelfAttention,
    library=AttentionLayer,
    finish=_finish,
    parts=("output", "weights"),
    bugs=(
        bug(
            "one-matrix-for-all",
            "One matrix makes queries, keys and values. What a word asks, what it offers and what "
            "it hands out are three things, with a matrix each.",
            ("self.w_k(x), self.w_v(x)", "self.w_q(x), self.w_q(x)"),
        ),
        bug(
            "nothing-projected",
            "x itself serves as queries, keys and values: the three matrices are not used, and "
            "there is nothing to learn.",
            ("self.w_q(x), self.w_k(x), self.w_v(x)", "x, x, x"),
        ),
        bug(
            "scale-d-model",
            "The root is taken of d_model. What is summed up in q · k is d_k numbers.",
            ("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1])"),
            see="03, section 4",
        ),
    ),
    steps={
        "self.w_q = nn.Linear(d_model, d_k, bias=False)": "Queries are d_k wide, made of x, which "
        "is d_model wide.",
        "self.w_k = nn.Linear(d_model, d_k, bias=False)": "Keys are as wide as queries, d_k, so "
        "that they can meet in a dot product.",
        "self.w_v = nn.Linear(d_model, d_v, bias=False)": "Values have a width of their own, d_v.",
        "self.w_q(x), self.w_k(x), self.w_v(x)": "Queries, keys and values are all made of the "
        "same x, each by its own matrix.",
        "q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])": "Every query meets every key, and the "
        "scores are divided by the root of d_k (03, section 4).",
        "scores.softmax(dim=-1)": "Each query shares out its weight over the keys.",
        "return weights @ v, weights": "The output mixes the values; output first, then weights.",
    },
    probes=lambda r: [((12, 8, 6), r(2, 5, 12)), ((7, 3, 5), r(4, 6, 7))],
    square=lambda r: [((4, 4, 4), r(4, 4, 4)), ((8, 8, 8), r(2, 5, 8))],
    wider=lambda r: {
        "It takes batches (B, N, d_model) only; axes counted from the end would take one sequence "
        "as well.": ((12, 8, 6), r(5, 12)),
    },
    hints=(
        "`__init__` makes three layers, `forward` uses each of them on x. Which are their sizes?",
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
        weights = F.softmax((x @ self.query) @ (x @ self.key).mT * self.scale, -1)
        return torch.matmul(weights, x @ self.value), weights
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
        sizes = {"to_q": d_k, "to_k": d_k, "to_v": d_v}
        self.maps = nn.ModuleDict({n: nn.Linear(d_model, d, False) for n, d in sizes.items()})

    def forward(self, x):
        q, k, v = (layer(x) for layer in self.maps.values())
        weights = torch.softmax(q.matmul(k.transpose(-2, -1)).div(math.sqrt(k.size(-1))), dim=-1)
        return weights.matmul(v), weights
""",
    ),
    blank=(
        "class SelfAttention(nn.Module):\n    def __init__(self, d_model, d_k, d_v):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
