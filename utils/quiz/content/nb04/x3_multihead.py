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
    if not any(p.dim() == 1 for p in student(8, 2).parameters()):
        return "Your layers have no bias; PyTorch's have one by default. Both are fine."
    return None


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
            (
                "self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))",
                "self.split(x), self.split(x), self.split(x)",
            ),
        ),
        bug(
            "one-matrix-for-all",
            "One matrix makes queries, keys and values. What a word asks, what it offers and what "
            "it hands out are three things.",
            ("self.w_k(x)", "self.w_q(x)"),
            ("self.w_v(x)", "self.w_q(x)"),
        ),
        bug(
            "split-mixes-tokens",
            "The heads are cut by one reshape straight from (B, N, d): right shape, mixed tokens "
            "(X04-1).",
            (SPLIT, "x.reshape(len(x), self.h, x.shape[1], -1)"),
        ),
        bug(
            "interleaved",
            "Head i gets every h-th number of the width instead of a block (X04-1).",
            (SPLIT, "x.unflatten(-1, (-1, self.h)).permute(0, 3, 1, 2)"),
        ),
        bug(
            "heads-look-at-heads",
            "The heads still stand behind the tokens, (B, N, h, dh), when queries meet keys. So "
            "inside each token the *heads* look at each other.",
            (SPLIT, "x.unflatten(-1, (self.h, -1))"),
            (MERGE, "heads.flatten(-2)"),
        ),
        bug(
            "one-head",
            "Nothing is cut into heads: this is one head of full width.",
            (SPLIT, "x[:, None]"),
        ),
        bug(
            "scale-d-model",
            "The scores are divided by √d_model. Inside a head queries and keys are d_model / h "
            "wide, and the scale follows that width. The difference is small here, and it matters.",
            ("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1])"),
        ),
        bug(
            "softmax-over-heads",
            "The softmax runs over the *heads*: they share out the weight among themselves. Each "
            "head has its own unit of weight for the keys.",
            ("softmax(dim=-1)", "softmax(dim=1)"),
        ),
        bug(
            "merge-mixes-tokens",
            "The heads are joined by reshaping (B, h, N, dh) directly: tokens are mixed up "
            "(X04-2).",
            (MERGE, "heads.reshape(x.shape)"),
        ),
        bug(
            "no-output-matrix",
            "W^O is left out: the heads stand side by side, and nothing mixes them.",
            ("self.w_o(merged)", "merged"),
            see="04, section 3",
        ),
        bug(
            "weights-averaged",
            "The weights are averaged over the heads, as PyTorch does. Section 7 shows what an "
            "average hides: those of every head are asked for, (B, h, N, N).",
            ("), weights", "), weights.mean(1)"),
        ),
    ),  # fmt: skip
    steps={
        "self.split(self.w_q(x))": "Queries, keys and values have a matrix each, and each reads "
        "the whole x.",
        SPLIT: "The width is cut into h blocks, and the heads move in front of the tokens.",
        "math.sqrt(q.shape[-1])": "The scale is the root of a *head's* width (03, section 4).",
        "scores.softmax(dim=-1)": "In every head each query shares out its weight over the keys.",
        "weights @ v": "Each head mixes its own values.",
        MERGE: "The heads go back behind the tokens and stand side by side.",
        "self.w_o(merged), weights": "W^O mixes the heads; the weights of every head come back.",
    },
    probes=lambda r: [((16, 4), r(2, 5, 16)), ((12, 3), r(3, 7, 12))],
    square=lambda r: [((16, 4), r(4, 4, 16)), ((9, 3), r(3, 3, 9))],
    hints=(
        "Four layers from d_model to d_model: w_q, w_k, w_v before the heads, w_o after them. "
        "Between them stand three things that you have written already.",
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
        B, N, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, N, self.h, self.dh).transpose(1, 2) for t in (q, k, v))
        w = F.softmax(q @ k.mT * self.dh ** -0.5, dim=-1)
        return self.out((w @ v).transpose(1, 2).reshape(B, N, d)), w
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        dh = d_model // h
        self.heads = nn.ModuleList(
            nn.ModuleDict({n: nn.Linear(d_model, dh) for n in ("query", "key", "value")})
            for _ in range(h))
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        outs, maps = [], []
        for head in self.heads:
            q, k, v = head["query"](x), head["key"](x), head["value"](x)
            w = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
            outs.append(w @ v)
            maps.append(w)
        return self.proj(torch.cat(outs, dim=-1)), torch.stack(maps, dim=1)
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.wq = nn.Parameter(torch.randn(h, d_model, d_model // h))
        self.wk = nn.Parameter(torch.randn(h, d_model, d_model // h))
        self.wv = nn.Parameter(torch.randn(h, d_model, d_model // h))
        self.wo = nn.Parameter(torch.randn(d_model, d_model))

    def forward(self, x):
        q, k, v = (torch.einsum("bnd,hde->bhne", x, w) for w in (self.wq, self.wk, self.wv))
        w = torch.einsum("bhme,bhne->bhmn", q, k).div(math.sqrt(q.shape[-1])).softmax(-1)
        return (w @ v).transpose(1, 2).flatten(-2) @ self.wo, w
""",
    ),
    blank=(
        "class MHA(nn.Module):\n    def __init__(self, d_model, h):\n        super().__init__()\n"
        "        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
