"""X03-1: scaled dot-product attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention
from utils.quiz.content.nb03.attention_bugs import BUGS
from utils.quiz.content.nb03.attention_switches import switched
from utils.quiz.content.nb03.right_attention import ALSO_RIGHT
from utils.quiz.exercise import Exercise, Invariant


def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., M, N)
    weights = scores.softmax(dim=-1)  # each row sums to 1
    return weights @ v, weights


ATTENTION = Exercise(
    id="X03-1",
    title="Scaled dot-product attention",
    see="03, section 5",
    name="attention",
    reference=attention,
    library=scaled_dot_product_attention,
    switched=switched,
    bugs=BUGS,
    parts=("output", "weights"),
    rows_sum_to_one=1,
    gradient=True,
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
        "It works for (B, M, d) only. Axes counted from the end (`-1`, `-2`) work for a single "
        "sequence as well.": (r(5, 8), r(3, 8), r(3, 6)),
        "It works for (B, M, d) only. Axes counted from the end (`-1`, `-2`) also take the heads "
        "that come in notebook 04.": (r(2, 4, 5, 8), r(2, 4, 3, 8), r(2, 4, 3, 6)),
        "It fails if an input is a transposed view; `reshape` instead of `view` helps.": (
            r(2, 8, 5).transpose(1, 2),
            r(2, 8, 3).transpose(1, 2),
            r(3, 2, 6).transpose(0, 1),
        ),
        "For large scores exp overflows and the weights become NaN. Take each row's maximum off "
        "first, or use `torch.softmax`, which does.": (
            torch.eye(4)[None] * 20,
            torch.eye(4)[None, :3] * 20,
            r(1, 3, 5),
        ),
    },
    invariants=(
        Invariant(
            "The first sequence of the batch changes when only the second one does: they must not "
            "know of each other.",
            lambda a: tuple(x.index_add(0, x.new_ones(1).long(), x[:1] * 0 + 1.0) for x in a),
            lambda result: tuple(part[0] for part in result),
        ),
        Invariant(
            "The output changes when keys and values are listed in another order: it must not.",
            lambda a: (a[0], a[1].flip(-2), a[2].flip(-2)),
            lambda result: result[0],
        ),
    ),
    hints=(
        "Three lines: scores, weights, output. What is compared with what, and in which shape? "
        "With M queries and N keys the scores are a table (M, N).",
        "One dot product of every query with every key is a matrix product with the last two axes "
        "of k swapped. Then divide by the root of the width, the last axis of q.",
        "The softmax makes every *row* sum to 1, so it runs over the last axis. The output is the "
        "weights times v.",
        "`scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])`, then `softmax(dim=-1)`, then "
        "`weights @ v`; return output and weights, in this order.",
    ),
    also_right=ALSO_RIGHT,
    blank="def attention(q, k, v):\n    scores = ...\n    weights = ...\n    return ..., weights\n",
)
