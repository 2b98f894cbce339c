"""X06-1: the causal mask."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.layers.masks import causal_mask as library_mask
from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

TRIANGLE = "which triangle is True"
KIND = "what the entries are"


def causal_mask(n: int) -> Tensor:
    position = torch.arange(n)
    return position[None, :] <= position[:, None]  # key <= query


def switched(bug, n: int) -> Tensor:
    """The lower triangle with its diagonal; ``bug`` says which mistakes are on."""
    ones = torch.ones(n, n, dtype=torch.bool)
    diagonal = bug.choose(lambda: 0, no_self=lambda: -1, sees_next=lambda: 1)
    look = bug.choose(
        lambda: ones.tril(diagonal),
        transposed=lambda: ones.triu(-diagonal),
        everything=lambda: ones,
        only_self=lambda: torch.eye(n).bool(),
        only_previous=lambda: ones.tril(diagonal).triu(diagonal - 1),
        flipped=lambda: ones.tril(diagonal).flip(1),
    )
    look = ~look if bug("inverted") else look
    look = bug.choose(
        lambda: look,
        numbers=lambda: look.float(),
        additive=lambda: torch.zeros(n, n).masked_fill(~look, -torch.inf),
        additive_large=lambda: torch.zeros(n, n).masked_fill(~look, -1e9),
        text_of_torch=lambda: torch.ones(n, n).masked_fill(~look, -torch.inf),
    )
    return bug.choose(
        lambda: look,
        extra_axis=lambda: look[None],
        extra_axes=lambda: look[None, None],
        one_row=lambda: look[-1],
    )


CAUSAL = Exercise(
    id="X06-1",
    title="The causal mask",
    see="06, section 1",
    name="causal_mask",
    reference=causal_mask,
    library=library_mask,
    switched=switched,
    bugs=(
        *group("diagonal", "the diagonal")(
            no_self="The diagonal is forbidden: no token may look at itself, and the first one has "
            "nothing at all to look at. Its row of scores is all −∞, and the softmax makes NaN of "
            "it. (If you built what is *blocked*, start one above the diagonal: `triu(1)`.)",
            sees_next="The triangle reaches one cell too far: each token sees the one after it, "
            "which is exactly the one it has to predict.",
        ),
        *group("triangle", TRIANGLE)(
            transposed="Rows and columns have changed places: this is the upper triangle, so each "
            "token sees itself and the *future*. Row i is a query, column j a key, and j may be at "
            "most i.",
            everything="Everything is allowed: this mask hides nothing.",
            only_self="Only the diagonal is allowed: each token sees itself and no past.",
            only_previous="Each token sees itself and the one before, not the whole past.",
            flipped="The triangle is mirrored left to right: the first token sees everything.",
        ),
        *single(TRIANGLE)(
            inverted="The mask says the opposite: True marks what is *forbidden*. In this course, "
            "as in `F.scaled_dot_product_attention`, True means *may look*. "
            "(`nn.MultiheadAttention` wants it your way round: section 6.)"
        ),
        *group("kind", KIND)(
            numbers="The entries are the numbers 1 and 0. Added to the scores they would raise the "
            "allowed ones by 1 and block nothing; multiplied, they would leave exp(0) = 1. A mask "
            "is boolean: compare, or end with `.bool()`.",
            additive="These are numbers to add to the scores, 0 and −∞. That is another dialect, "
            "and it works elsewhere (section 6); asked for is the boolean mask, True = may look.",
            additive_large="These are numbers to add to the scores, 0 and −1e9. Asked for is the "
            "boolean mask, True = may look (the dialects are in section 6).",
            text_of_torch="The allowed cells hold 1 and the others −∞: halfway between a boolean "
            "mask and one to add. Asked for is the boolean mask, True = may look.",
        ),
        *group("shape", "the shape")(
            extra_axis="The mask is right but has an axis too many in front. One (n, n) table is "
            "enough: it broadcasts over batch and heads by itself.",
            extra_axes="The mask is right but has two axes too many in front. One (n, n) table is "
            "enough: it broadcasts over batch and heads by itself.",
            one_row="One row comes back. Every query needs its own row: (n, n).",
        ),
    ),
    probes=lambda r: [(5,), (3,), (1,)],
    hints=(
        "Row i is query i, column j is key j. For which j may query i look?",
        "For j ≤ i: the lower triangle and the diagonal.",
        "`torch.tril` keeps the lower triangle of a table of ones; or compare two `torch.arange`s, "
        "one as a column, one as a row. The result has to be boolean.",
    ),
    also_right=(
        "def causal_mask(n):\n    return torch.ones(n, n, dtype=torch.bool).tril()",
        "def causal_mask(n):\n    return ~torch.triu(torch.ones(n, n), diagonal=1).bool()",
        "def causal_mask(n):\n    return torch.tensor([[j <= i for j in range(n)] for i in "
        "range(n)])",
        "def causal_mask(N):\n    mask = torch.zeros(N, N, dtype=bool)\n    for i in range(N):\n"
        "        mask[i, : i + 1] = True\n    return mask",
        "def causal_mask(n):\n    return torch.arange(n).unsqueeze(1) >= torch.arange(n)",
    ),
    blank="def causal_mask(n):\n    ...",
)
