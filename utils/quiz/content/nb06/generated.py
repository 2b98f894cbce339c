"""Generated questions of notebook 06: fresh numbers, and wrong options that know their mistake."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from utils.quiz.content.nb06.x3_decoder_masks import EXERCISE as PADDING
from utils.quiz.questions import Generated, Option, no, yes


def allowed_looks(r: random.Random) -> tuple[str, Option, list[Option]]:
    """A padded sequence under a causal mask: how many cells of the table may be looked at?"""
    n = r.randint(4, 8)
    length = r.randint(2, n - 1)
    args = (torch.tensor([length]), n)
    count = int(PADDING.right(*args)[1].sum())
    text = (
        f"A sentence of {length} words is padded to {n} tokens. Its table of weights is {n} × {n}, "
        "under a causal mask and a padding mask over the keys. How many cells are allowed?"
    )
    right = yes(
        str(count),
        f"Row i allows i + 1 keys, but never more than the {length} real ones: "
        f"{length * (length + 1) // 2} in the real rows and {length} in each padded row. Padded "
        "queries keep their rows; nobody reads what they compute.",
    )
    reasons = {
        "or-not-and": "That counts what *one* of the masks allows. Both have to: `&`.",
        "padding-forgotten": "That is the causal triangle alone, with the padding visible.",
        "causal-forgotten": "That is the padding mask alone: the future is visible.",
        "queries-too": "That leaves out the padded rows. The mask is over keys; a padded query has "
        "a row as well, only nobody reads it.",
        "no-self": "That forbids every token to look at itself.",
        "one-too-many": "One padding token too many counts as real: places count from 0.",
    }
    wrong = []
    for name, reason in reasons.items():
        number = int(PADDING.wrong(name, *args)[1].sum())
        if number != count:
            wrong.append(no(str(number), **{name: reason}))
    return text, right, wrong


def leaking_weight(r: random.Random) -> tuple[str, Option, list[Option]]:
    """One query, four keys, two of them hidden by a fill of 0: how much weight leaks?"""
    scores = torch.tensor([[float(r.randint(-2, 3)) for _ in range(4)]])
    hidden = sorted(r.sample(range(4), 2))
    mask = torch.tensor([[i not in hidden for i in range(4)]])
    names = ", ".join(str(i + 1) for i in hidden)
    text = (
        f"One query has the scores [{', '.join(f'{s:g}' for s in scores[0].tolist())}] (already "
        f"scaled). Keys {names} are forbidden, and someone writes 0 into their scores before the "
        "softmax. How much weight do the forbidden keys get together?"
    )

    def leak(forbidden: Tensor) -> str:
        weights = torch.where(mask, scores, forbidden).softmax(dim=-1)
        return f"{float(weights[~mask].sum()):.3f}"

    right = yes(
        leak(torch.zeros(4)), "A score of 0 is an ordinary score: exp(0) = 1 for each of them."
    )
    return (
        text,
        right,
        [
            no("0.000", zero_blocks="That is what −∞ would give. exp(0) is 1, not 0."),
            no(leak(scores), mask_ignored="That is their weight without any mask."),
            no("0.500", uniform="Two of four keys, but softmax does not share evenly."),
            no(leak(-torch.ones(4)), minus_one="That is what a fill of −1 would give."),
            no(leak(torch.ones(4)), exp_one="That is what a fill of 1 would give: exp(1)."),
        ],
    )


GENERATED = (
    Generated(id="G06-1", title="Counting allowed looks", see="06, section 5", make=allowed_looks),
    Generated(
        id="G06-2", title="How much leaks through a 0", see="06, section 3", make=leaking_weight
    ),
)
