"""X06-2: attention under a mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention
from utils.quiz.exercise import Exercise, bug


def masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    output = weights @ v
    return output, weights


FILL, SOFTMAX = "scores.masked_fill(~mask, -torch.inf)", "scores.softmax(dim=-1)"
NONE = ("    scores = scores.masked_fill(~mask, -torch.inf)\n", "")
BUGS = (
    bug("not-masked", "The mask has no effect: hidden keys get weight like all others.", NONE),
    bug(
        "inverted",
        "The mask is read the wrong way round: −∞ goes where looking is *allowed*. Our True means "
        "*may look*, and a fill goes where its own condition is True.",
        ("~mask", "mask"),
    ),
    bug(
        "inverted-large",
        "The mask is read the wrong way round: the large negative number goes to the *allowed* "
        "side, as in code where 1 marks what is forbidden. Our True means *may look*.",
        (FILL, "scores.masked_fill(mask, -1e9)"),
    ),
    bug(
        "zeros",
        "The forbidden scores become 0 (by a product with the mask, or a fill with 0 or a tiny "
        "number). But exp(0) = 1: a score of 0 is an ordinary score and gets weight.",
        ("-torch.inf", "0.0"),
    ),
    bug(
        "ones-added",
        "The mask is added as numbers: allowed scores lie 1 higher, and nothing is blocked.",
        (FILL, "scores + mask.float()"),
    ),
    bug(
        "nan",
        "NaN or +∞ was filled in. Both spread through the sum of the softmax to the whole row.",
        ("-torch.inf", "torch.nan"),
    ),
    bug(
        "after-softmax",
        "The mask comes after the softmax: the rows no longer sum to 1, and the forbidden keys "
        "still count in the denominator (section 4).",
        NONE,
        (SOFTMAX, "scores.softmax(dim=-1) * mask"),
    ),
    bug(
        "infinity-after",
        "−∞ is put into the *weights*. It belongs before the softmax, which turns it into 0.",
        NONE,
        (SOFTMAX, "scores.softmax(dim=-1).masked_fill(~mask, -torch.inf)"),
    ),
    bug(
        "v-k-q",
        "Queries and values have changed places: some tutorials write (v, k, q), we (q, k, v).",
        ("q: Tensor, k: Tensor, v: Tensor", "v: Tensor, k: Tensor, q: Tensor"),
    ),
)


def _mask(r, queries: int, keys: int) -> Tensor:
    """Random, but each row may look somewhere, and row 1 everywhere."""
    mask = r(queries, keys) > 0
    mask[torch.arange(queries), torch.arange(queries) % keys] = True
    mask[1], mask[0, 2], mask[2, 3 % keys] = True, False, False
    return mask


def finish(student) -> str | None:
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = student(torch.ones(2, 4), torch.ones(3, 4), torch.ones(3, 4), mask)[1]
    library = "section 3 shows why the library returns 0 instead."
    if weights[1].isnan().any():
        return f"A query that may look nowhere gets NaN here. That is what −∞ gives; {library}"
    return (
        f"A query that may look nowhere looks everywhere; {library}" if weights[1].any() else None
    )


BATCHED = "It works for a mask (M, N) only. A mask (B, 1, 1, N) should broadcast as well."

EXERCISE = Exercise(
    id="X06-2",
    title="Attention under a mask",
    see="06, section 1",
    name="masked_attention",
    reference=masked_attention,
    library=scaled_dot_product_attention,
    finish=finish,
    bugs=BUGS,
    steps={
        "q @ k.transpose(-2, -1)": "A score compares one query (row) with one key (column).",
        "math.sqrt(q.shape[-1])": "Dot products grow with √d: that is divided out (03, section 4).",
        FILL: "Forbidden scores are filled with −∞, since exp(−∞) = 0 and nothing else is below "
        "every score (06, section 3).",
        SOFTMAX: "Each query shares out its weight over the keys it may look at: rows sum to 1.",
        "weights @ v": "The output mixes the values with the masked weights.",
    },
    parts=("output", "weights"),
    gradient=True,
    probes=lambda r: [
        (r(2, 5, 8), r(2, 3, 8), r(2, 3, 6), _mask(r, 5, 3)),
        (r(4, 12), r(7, 12), r(7, 9), _mask(r, 4, 7)),
        (9 + 0.1 * r(4, 4), -9 + 0.1 * r(6, 4), r(6, 3), _mask(r, 4, 6)),  # scores near −160
    ],
    square=lambda r: [(r(4, 4), r(4, 4), r(4, 4), _mask(r, 4, 4))],
    wider=lambda r: {BATCHED: (r(2, 3, 5, 8), r(2, 3, 4, 8), r(2, 3, 4, 6), r(2, 1, 1, 4) < 1)},
    hints=(
        "One line more than in notebook 03. Does it go on the scores, the weights or the values?",
        "On the scores, before the softmax: exp(−∞) = 0, and the rest of the row still sums to 1.",
        "`scores.masked_fill(~mask, -torch.inf)`: fill where looking is *not* allowed.",
    ),
    also_right=(
        """
def masked_attention(q, k, v, mask):
    w = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) * mask
    return w / w.sum(-1, keepdim=True) @ v, w / w.sum(-1, keepdim=True)
""",
        """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + (1.0 - mask.float()) * -1e9
    return torch.matmul(F.softmax(scores, dim=-1), v), F.softmax(scores, dim=-1)
""",
        """
def masked_attention(q, k, v, mask):
    eye = torch.eye(k.shape[-2]).expand(*k.shape[:-1], k.shape[-2])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out, F.scaled_dot_product_attention(q, k, eye, attn_mask=mask)
""",
    ),
    blank="def masked_attention(q, k, v, mask):\n    ...",
)
