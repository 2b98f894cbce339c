"""X06-1: the causal mask."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.layers.masks import causal_mask as library_mask
from utils.quiz.exercise import Exercise, bug


def causal_mask(n: int) -> Tensor:
    position = torch.arange(n)
    query, key = position[:, None], position[None, :]  # a column, a row
    return key <= query


LOOK = "return key <= query"
ADDED = "return torch.zeros(n, n).masked_fill(key > query, {})"

EXERCISE = Exercise(
    id="X06-1",
    title="The causal mask",
    see="06, section 1",
    name="causal_mask",
    reference=causal_mask,
    library=library_mask,
    bugs=(
        bug(
            "no-self",
            "The diagonal is forbidden: no token may look at itself, and the first one has nothing "
            "at all to look at. Its row of scores is all −∞, and the softmax makes NaN of it. (If "
            "you built what is *blocked*: the diagonal is no part of that.)",
            (LOOK, "return key < query"),
        ),
        bug(
            "sees-next",
            "The triangle reaches one cell too far: each token sees the one after it, which is "
            "exactly the one it has to predict.",
            (LOOK, "return key <= query + 1"),
        ),
        bug(
            "transposed",
            "Rows and columns have changed places: this is the upper triangle, so each token sees "
            "itself and the *future*. Row i is a query, column j a key, and j may be at most i.",
            (LOOK, "return key >= query"),
        ),
        bug(
            "inverted",
            "The mask says the opposite: True marks what is *forbidden*. In this course, as in "
            "`F.scaled_dot_product_attention`, True means *may look*. (`nn.MultiheadAttention` "
            "wants it your way round: section 6.)",
            (LOOK, "return key > query"),
        ),
        bug(
            "everything",
            "Everything is allowed: this mask hides nothing.",
            (LOOK, "return key <= query + n"),
        ),
        bug(
            "numbers",
            "The entries are the numbers 1 and 0. Added to the scores they would raise the allowed "
            "ones by 1 and block nothing; multiplied, they would leave exp(0) = 1. A mask is "
            "boolean.",
            (LOOK, "return (key <= query).float()"),
        ),
        bug(
            "ones-forbidden",
            "The entries are numbers, and 1 marks what is *forbidden*. Some tutorials write masks "
            "like that and add mask · −1e9 to the scores. Here a mask is boolean, and True means "
            "*may look*.",
            (LOOK, "return (key > query).float()"),
            see="06, section 6",
        ),
        bug(
            "additive",
            "These are numbers to add to the scores, 0 and −∞. That is another dialect, and it "
            "works elsewhere; asked for is the boolean mask, True = may look.",
            (LOOK, ADDED.format("-torch.inf")),
            see="06, section 6",
        ),
        bug(
            "additive-large",
            "These are numbers to add to the scores, 0 and −1e9: another dialect. Asked for is the "
            "boolean mask, True = may look.",
            (LOOK, ADDED.format("-1e9")),
            see="06, section 6",
        ),
    ),
    steps={
        "query, key = position[:, None], position[None, :]": "Rows are queries, columns are keys, "
        "and one (n, n) table is enough: it broadcasts over batch and heads.",
        "key <= query": "A token may look at itself and at the past: at keys that do not come "
        "after it.",
    },
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
        "causal_mask = lambda n: torch.tensor([[j <= i for j in range(n)] for i in range(n)])",
        "def causal_mask(n):\n    return torch.arange(n).unsqueeze(1) >= torch.arange(n)",
    ),
    blank="def causal_mask(n):\n    ...",
)
