"""X04-3: multi-head attention as a module."""

from __future__ import annotations

import math

from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.quiz.exercise import Exercise, bug


class MHA(nn.Module):
    def __init__(self, d_model: int, h: int):
        super().__init__()
        self.h = h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)  # (B, h, N, dh)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = scores.softmax(dim=-1)
        heads = weights @ v
        merged = heads.transpose(1, 2).flatten(-2)
        return self.w_o(merged), weights


def _finish(student) -> str | None:
    biased = any(p.dim() == 1 for p in student(8, 2).parameters())
    return None if biased else "Your layers have no bias; PyTorch's have one. Both are fine."


SPLIT, MERGE = "x.unflatten(-1, (self.h, -1)).transpose(1, 2)", "heads.transpose(1, 2).flatten(-2)"
EXERCISE = Exercise(
    id="X04-3",
    title="Multi-head attention as a module",
    see="04, section 4",
    name="MHA",
    reference=MHA,
    library=MultiHeadAttention,
    finish=_finish,
    parts=("output", "weights"),
    seconds=10.0,
    bugs=(
        bug(
            "nothing-projected",
            "The heads get slices of x itself: w_q, w_k and w_v are not used. The split is of Q, K "
            "and V, after the projections, so that each head can read all of x.",
            *((f"self.w_{name}(x)", "x") for name in "qkv"),
        ),
        bug(
            "split-mixes-tokens",
            "The heads are cut by one reshape from (B, N, d): right shape, mixed tokens (X04-1).",
            (SPLIT, "x.reshape(len(x), self.h, x.shape[1], -1)"),
        ),
        bug(
            "heads-look-at-heads",
            "The heads still stand behind the tokens, (B, N, h, dh), when queries meet keys. So "
            "inside each token the *heads* look at each other.",
            (SPLIT, "x.unflatten(-1, (self.h, -1))"),
            (MERGE, "heads.flatten(-2)"),
        ),
        bug(
            "scale-d-model",
            "The scores are divided by √d_model, but inside a head q and k are d_model / h wide.",
            ("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1])"),
        ),
        bug(
            "merge-mixes-tokens",
            "The heads are joined by reshaping (B, h, N, dh): tokens are mixed up (X04-2).",
            (MERGE, "heads.reshape(x.shape)"),
        ),
        bug(
            "weights-averaged",
            "The weights are averaged over the heads, as PyTorch does. Section 7 shows what an "
            "average hides: those of every head are asked for, (B, h, N, N).",
            ("), weights", "), weights.mean(1)"),
        ),
    ),
    steps={
        "self.split(self.w_q(x))": "Queries, keys and values: a matrix each, of all of x.",
        SPLIT: "The width is cut into h blocks, and the heads move in front of the tokens.",
        "math.sqrt(q.shape[-1])": "The scale is the root of a *head's* width (03, section 4).",
        "scores.softmax(dim=-1)": "In each head a query shares out its weight over the keys.",
        MERGE: "The heads go back behind the tokens and stand side by side.",
        "self.w_o(merged), weights": "W^O mixes the heads; the weights of every head come back.",
    },
    probes=lambda r: [((16, 4), r(2, 5, 16)), ((12, 3), r(3, 7, 12))],
    square=lambda r: [((16, 4), r(4, 4, 16)), ((9, 3), r(3, 3, 9))],
    hints=(
        "Four layers from d_model to d_model: w_q, w_k, w_v before the heads, w_o after them.",
        "Project x, cut each of q, k, v with your `split_heads`, apply `attention` (it works for "
        "any axes in front), join with `merge_heads`, then `self.w_o`.",
        "The scale is the root of a *head's* width, `q.shape[-1]` after the cut. Return "
        "`self.w_o(merged), weights` with weights of shape (B, h, N, N).",
    ),
    also_right=(
        """
class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dh = h, d // h
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)

    def forward(self, x):
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(*x.shape[:2], self.h, self.dh).transpose(1, 2) for t in parts)
        w = F.softmax(q @ k.mT * self.dh ** -0.5, dim=-1)
        return self.out((w @ v).transpose(1, 2).reshape(x.shape)), w
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        one = lambda: nn.ModuleDict({n: nn.Linear(d_model, d_model // h) for n in "qkv"})
        self.heads = nn.ModuleList(one() for _ in range(h))
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        outs, maps = [], []
        for head in self.heads:
            q, k, v = (layer(x) for layer in head.values())
            w = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, dim=-1)
            outs, maps = [*outs, w @ v], [*maps, w]
        return self.proj(torch.cat(outs, dim=-1)), torch.stack(maps, dim=1)
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        new = lambda *shape: nn.Parameter(torch.randn(shape))
        self.wq, self.wk, self.wv = (new(h, d_model, d_model // h) for _ in range(3))
        self.wo = new(d_model, d_model)

    def forward(self, x):
        q, k, v = (torch.einsum("bnd,hde->bhne", x, w) for w in (self.wq, self.wk, self.wv))
        w = torch.einsum("bhme,bhne->bhmn", q, k).div(math.sqrt(q.shape[-1])).softmax(-1)
        return (w @ v).transpose(1, 2).flatten(-2) @ self.wo, w
""",
    ),
    blank="class MHA(nn.Module):\n    def __init__(self, d_model, h):\n        super().__init__()\n"
    "        ...\n\n    def forward(self, x):\n        ...\n",
)
