"""X03-1: scaled dot-product attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention
from utils.quiz.exercise import Exercise, bug


def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.transpose(-2, -1)  # (..., M, N)
    scores = scores / math.sqrt(q.shape[-1])
    weights = scores.softmax(dim=-1)  # each row sums to 1
    return weights @ v, weights


PRODUCT, SCALE = "q @ k.transpose(-2, -1)", "math.sqrt(q.shape[-1])"
SOFTMAX = "scores.softmax(dim=-1)"
HIDDEN = "torch.ones_like(scores).triu(1) > 0"
EXERCISE = Exercise(
    id="X03-1",
    title="Scaled dot-product attention",
    see="03, section 5",
    name="attention",
    reference=attention,
    library=scaled_dot_product_attention,
    parts=("output", "weights"),
    gradient=True,
    bugs=(
        bug(
            "swapped",
            "Queries and keys have changed places: row i of the scores must belong to query i and "
            "column j to key j. Yours is the mirror image of that table.",
            (PRODUCT, "k @ q.transpose(-2, -1)"),
        ),
        bug(
            "tensorflow-order",
            "The arguments are read in the order v, k, q, as in TensorFlow's tutorial. Here the "
            "first line says q, k, v.",
            ("(q: Tensor, k: Tensor, v: Tensor)", "(v, k, q)"),
        ),
        bug(
            "cosine",
            "q and k are cut to length 1 (cosine similarity). In a dot product length counts.",
            (PRODUCT, "torch.cosine_similarity(q[..., :, None, :], k[..., None, :, :], dim=-1)"),
        ),
        bug(
            "own-key-only",
            "Query i meets key i only (entry by entry). Each query has to meet every key.",
            (PRODUCT, "torch.diag_embed((q * k).sum(-1))"),
        ),
        bug(
            "no-scale",
            "The scores are not divided by √d. Their spread grows with d, and the softmax then "
            "puts nearly all weight on one key.",
            (f"scores / {SCALE}", "scores"),
            see="03, section 4",
        ),
        bug(
            "scale-half",
            "The scores are divided by d/2: `d ** 1/2` means (d ** 1)/2, the power comes first.",
            (SCALE, "(q.shape[-1] / 2)"),
            see="03, section 4",
        ),
        bug(
            "scale-double",
            "The scores are divided by d and by 2: in `/ d ** 1/2` the power comes first.",
            (SCALE, "(2 * q.shape[-1])"),
        ),
        bug(
            "scale-after-softmax",
            "The scaling comes after the softmax, so the rows sum to 1/√d. It has to tame the "
            "scores before they compete.",
            (f"scores / {SCALE}", "scores"),
            (SOFTMAX, f"{SOFTMAX} / {SCALE}"),
            see="03, section 4",
        ),
        bug(
            "causal-mask",
            "Keys after the query's own position are hidden (a causal mask). Nobody asked for a "
            "mask here: each query may look at every key.",
            ("scores.softmax", f"scores.masked_fill({HIDDEN}, -torch.inf).softmax"),
        ),
    ),
    steps={
        PRODUCT: "Every query meets every key in one dot product: one row for each query, one "
        "column for each key.",
        f"scores / {SCALE}": "The spread of a dot product grows with the root of the width d that "
        "is summed over; the division takes it back (03, section 4).",
        SOFTMAX: "Each query shares out its weight over the keys, so every row sums to 1 "
        "(03, section 3).",
        "return weights @ v, weights": "The output of a query is its row of weights times the "
        "values; output first, then weights.",
    },
    probes=lambda r: [
        (r(2, 5, 8), r(2, 3, 8), r(2, 3, 6)),
        (r(3, 4, 12), r(3, 7, 12), r(3, 7, 9)),
        (1.5 * r(4, 6, 5), 1.5 * r(4, 2, 5), r(4, 2, 3)),
        (r(1, 5, 6), r(1, 4, 6), r(1, 4, 3)),
    ],
    square=lambda r: [
        (r(4, 4, 4), r(4, 4, 4), r(4, 4, 4)),
        (r(2, 5, 8), r(2, 5, 8), r(2, 5, 8)),
        (r(5, 8), r(3, 8), r(3, 6)),
    ],
    wider=lambda r: {
        "It works for (B, M, d) only. Axes counted from the end (`-1`, `-2`) also take one "
        "sequence, and the heads of notebook 04.": (r(2, 4, 5, 8), r(2, 4, 3, 8), r(2, 4, 3, 6)),
        "It fails if an input is a transposed view; `reshape` instead of `view` helps.": (
            *(r(2, 8, 5).mT, r(2, 8, 3).mT, r(3, 2, 6).transpose(0, 1)),
        ),
        "For large scores exp overflows and the weights become NaN. Take each row's maximum off "
        "first.": (20 * torch.eye(4)[None], 20 * torch.eye(3, 4)[None], r(1, 3, 5)),
    },
    hints=(
        "Three lines: scores, weights, output. What is compared with what, and in which shape? "
        "With M queries and N keys the scores are a table (M, N).",
        "One dot product of every query with every key is a matrix product with the last two axes "
        "of k swapped. Then divide by the root of the width, the last axis of q.",
        "The softmax makes every *row* sum to 1, so it runs over the last axis. The output is the "
        "weights times v.",
    ),
    also_right=(
        """
def attention(q, k, v):
    scores = torch.einsum("...md,...nd->...mn", q, k) * q.size(-1) ** -0.5
    weights = F.softmax(scores, dim=-1)
    return [torch.einsum("...mn,...ne->...me", weights, v), weights]
""",
        """
def attention(q, k, v):
    d = q.shape[-1]
    scores = torch.bmm(q / d ** 0.25, (k / d ** 0.25).permute(0, 2, 1))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    weights = e / e.sum(dim=-1, keepdim=True)
    return torch.bmm(weights, v), weights
""",
        """
def attention(q, k, v):
    eye = torch.eye(k.shape[-2]).expand(*k.shape[:-1], k.shape[-2])
    return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, eye)
""",
    ),
    blank="def attention(q, k, v):\n    scores = ...\n    weights = ...\n    return ..., weights\n",
)
