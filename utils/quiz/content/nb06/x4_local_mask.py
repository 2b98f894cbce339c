"""X06-4: a window around each token."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.layers.masks import local_mask as library_mask
from utils.quiz.exercise import Exercise, bug


def local_mask(n: int, window: int) -> Tensor:
    position = torch.arange(n)
    query, key = position[:, None], position[None, :]  # a column, a row
    apart = (query - key).abs()
    return apart <= window


LOOK = "return apart <= window"

EXERCISE = Exercise(
    id="X06-4",
    title="A local window",
    see="06, section 7",
    name="local_mask",
    reference=local_mask,
    library=library_mask,
    bugs=(
        bug(
            "past-only",
            "The window opens to the past only. Both sides count. (In a decoder a causal mask "
            "would come on top.)",
            (LOOK, "return (apart <= window) & (key <= query)"),
        ),
        bug(
            "half",
            "The window is cut in half: `window` counts the steps to *each* side, so the band is "
            "2 · window + 1 wide.",
            (LOOK, "return apart <= window // 2"),
        ),
        bug(
            "one-side-short",
            "The window is one step short on the right. (A slice ends *before* its last number.)",
            (LOOK, "return (key >= query - window) & (key < query + window)"),
        ),
        bug(
            "blocks",
            "The sequence is cut into blocks of `window`, and a token sees its block. A window "
            "goes along with the token: it depends on the distance |i − j| alone.",
            (LOOK, "return query // window == key // window"),
        ),
        bug(
            "circular",
            "The window runs over the end of the sentence to its beginning: the last token sees "
            "the first. Is an index negative, or a `roll` in use?",
            (LOOK, "return torch.minimum(apart, n - apart) <= window"),
        ),
        bug(
            "no-self",
            "The token itself is left out. Its distance is 0, which lies in every window.",
            (LOOK, "return (apart <= window) & (apart > 0)"),
        ),
        bug(
            "inverted",
            "The mask says the opposite: True marks what lies *outside*. True means *may look*.",
            (LOOK, "return apart > window"),
        ),
        bug(
            "numbers",
            "The entries are 1 and 0. Multiply the scores by that, and an unwanted score becomes "
            "0, which still gets exp(0) = 1: more than half of the weight can stay outside. A mask "
            "is boolean; the masked softmax puts −∞ there.",
            (LOOK, "return (apart <= window).float()"),
        ),
        bug(
            "ones-forbidden",
            "The entries are numbers, and 1 marks what lies *outside*. Here a mask is boolean, and "
            "True means *may look*.",
            (LOOK, "return (apart > window).float()"),
            see="06, section 6",
        ),
        bug(
            "additive",
            "These are numbers to add to the scores, 0 and −∞: another dialect. Asked for is the "
            "boolean mask, True = may look.",
            (LOOK, "return torch.zeros(n, n).masked_fill(apart > window, -torch.inf)"),
            see="06, section 6",
        ),
    ),
    steps={
        "query, key = position[:, None], position[None, :]": "Rows are queries, columns are keys, "
        "and one (n, n) table is enough: it broadcasts over batch and heads.",
        "(query - key).abs()": "A window opens to both sides, so only the size of the distance "
        "counts, not its sign.",
        "apart <= window": "Keys up to `window` steps away may be seen, those exactly `window` "
        "steps away included.",
    },
    probes=lambda r: [(7, 2), (9, 3), (5, 1)],
    hints=(
        "How far are query i and key j apart? For which distances may i look at j?",
        "The distance is |i − j|. A column `torch.arange(n)[:, None]` minus a row "
        "`torch.arange(n)[None, :]` gives all of them at once.",
        "Take `.abs()` and compare with `<= window`.",
    ),
    also_right=(
        """
def local_mask(n, window):
    ones = torch.ones(n, n)
    return (ones.tril(window) * ones.triu(-window)).bool()
""",
        """
def local_mask(N, w):
    mask = torch.zeros(N, N, dtype=torch.bool)
    for i in range(N):
        mask[i, max(0, i - w):i + w + 1] = True
    return mask
""",
        """
def local_mask(n, window):
    p = torch.arange(n)[:, None].float()
    return torch.cdist(p, p) < window + 0.5
""",
    ),
    blank="def local_mask(n, window):\n    ...",
)
