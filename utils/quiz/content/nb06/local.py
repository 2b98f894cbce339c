"""X06-4: a window around each token."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.layers.masks import local_mask as library_mask
from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise


def local_mask(n: int, window: int) -> Tensor:
    position = torch.arange(n)
    return (position[:, None] - position[None, :]).abs() <= window


def switched(bug, n: int, w: int) -> Tensor:
    """A band of 2w + 1 cells; ``bug`` says which mistakes are on."""
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    apart = (i - j).abs()
    circle = torch.minimum(apart, n - apart)
    look = bug.choose(
        lambda: apart <= w,
        past_only=lambda: (i - j >= 0) & (i - j <= w),
        future_only=lambda: (j - i >= 0) & (j - i <= w),
        too_narrow=lambda: apart < w,
        too_wide=lambda: apart <= w + 1,
        half=lambda: apart <= w // 2,
        total_width=lambda: apart <= (w - 1) // 2,
        double=lambda: apart <= 2 * w,
        one_side_short=lambda: (j >= i - w) & (j < i + w),
        blocks=lambda: i // w == j // w,
        wide_blocks=lambda: i // (2 * w + 1) == j // (2 * w + 1),
        circular=lambda: circle <= w,
        only_rim=lambda: apart == w,
        no_self=lambda: (apart <= w) & (apart > 0),
        only_self=lambda: apart == 0,
        everything=lambda: apart >= 0,
    )
    look = ~look if bug("inverted") else look
    return bug.choose(
        lambda: look,
        numbers=lambda: look.float(),
        additive=lambda: torch.zeros(n, n).masked_fill(~look, -torch.inf),
        additive_large=lambda: torch.zeros(n, n).masked_fill(~look, -1e9),
        distances=lambda: apart,
        extra_axes=lambda: look[None, None],
    )


LOCAL = Exercise(
    id="X06-4",
    title="A local window",
    see="06, section 7",
    name="local_mask",
    reference=local_mask,
    library=library_mask,
    switched=switched,
    bugs=(
        *group("band", "which distances are allowed")(
            past_only="The window opens to the past only. Both sides count: take the absolute "
            "value of the distance. (For a decoder you would add `& causal_mask(n)`.)",
            future_only="The window opens to the future only. Both sides count: take the absolute "
            "value of the distance.",
            too_narrow="The window is one step too narrow on each side: a distance of exactly "
            "`window` is still allowed. `<=`, not `<`.",
            too_wide="The window is one step too wide on each side.",
            half="The window is cut in half: `window` counts the steps to *each* side, the band is "
            "2 · window + 1 wide.",
            total_width="`window` was read as the width of the whole band. It counts the steps to "
            "*each* side, so the band is 2 · window + 1 wide.",
            double="The window is twice as wide as asked for: `window` steps to each side.",
            one_side_short="The window is one step short on the right. (A slice ends *before* its "
            "last number: `i + window + 1`.)",
            blocks="The sequence is cut into blocks of `window`, and a token sees its block. A "
            "window goes along with the token: it depends on the distance |i − j| alone.",
            wide_blocks="The sequence is cut into fixed blocks of 2 · window + 1. A window goes "
            "along with the token: it depends on the distance |i − j| alone.",
            circular="The window runs over the end of the sentence to its beginning: the last "
            "token sees the first. Is an index negative, or a `roll` in use?",
            only_rim="Only the tokens exactly `window` steps away are allowed, not those between.",
            no_self="The token itself is left out. Its distance is 0, which lies in every window.",
            only_self="Only the diagonal is allowed: the window has no effect.",
            everything="Everything is allowed: the window has no effect.",
        ),
        *single("the direction of the comparison")(
            inverted="The mask says the opposite: True marks what lies *outside*. True means *may "
            "look*."
        ),
        *group("kind", "what the entries are")(
            numbers="The entries are 1 and 0. Multiply the scores by that, and an unwanted score "
            "becomes 0, which still gets exp(0) = 1: more than half of the weight can stay "
            "outside. Return booleans; the masked softmax puts −∞ there.",
            additive="These are numbers to add to the scores, 0 and −∞: another dialect (section "
            "6). Asked for is the boolean mask, True = may look.",
            additive_large="These are numbers to add to the scores, 0 and −1e9: another dialect "
            "(section 6). Asked for is the boolean mask, True = may look.",
            distances="The distances come back. Compare them with `window`.",
            extra_axes="The mask is right but has axes too many in front. One (n, n) table is "
            "enough: it broadcasts.",
        ),
    ),
    probes=lambda r: [(7, 2), (9, 3), (5, 1)],
    hints=(
        "How far are query i and key j apart? For which distances may i look at j?",
        "The distance is |i − j|. A column `torch.arange(n)[:, None]` minus a row "
        "`torch.arange(n)[None, :]` gives all of them at once.",
        "Take `.abs()` and compare with `<= window`.",
    ),
    also_right=(
        "def local_mask(n, window):\n    ones = torch.ones(n, n)\n"
        "    return (ones.tril(window) * ones.triu(-window)).bool()",
        "def local_mask(n, window):\n    return torch.tensor(\n"
        "        [[abs(i - j) <= window for j in range(n)] for i in range(n)])",
        "def local_mask(N, w):\n    mask = torch.zeros(N, N, dtype=torch.bool)\n"
        "    for i in range(N):\n        mask[i, max(0, i - w):i + w + 1] = True\n    return mask",
        "def local_mask(n, window):\n    p = torch.arange(n)\n"
        "    return torch.cdist(p[:, None].float(), p[:, None].float()) < window + 0.5",
    ),
    blank="def local_mask(n, window):\n    ...",
)
