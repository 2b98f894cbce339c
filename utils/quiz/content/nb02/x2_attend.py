"""X02-2: from scores to weights to a context vector, padding left out."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def attend(e: Tensor, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    # e (B, N), h (B, N, D), mask (B, N), True at words, False at padding
    if mask is not None:
        e = e.masked_fill(~mask, -torch.inf)
    weights = e.softmax(dim=-1)  # (B, N)
    weighted = weights[:, :, None] * h  # (B, N, D)
    context = weighted.sum(dim=1)  # (B, D)
    return context, weights


def _probe(r, d: int, *rows: str) -> tuple:
    """One row for each sentence, 1 at words and 0 at padding; no mask if there is no padding."""
    mask = torch.tensor([[mark == "1" for mark in row] for row in rows])
    return 2 * r(*mask.shape) - 1, r(*mask.shape, d), None if mask.all() else mask


EXERCISE = Exercise(
    id="X02-2",
    title="From scores to a context vector",
    see="02, section 6",
    name="attend",
    reference=attend,
    parts=("context", "weights"),
    bugs=(
        bug(
            "mask-ignored",
            "The mask is not used: padding gets weight and flows into the context.",
            ("e.masked_fill(~mask, -torch.inf)", "e"),
        ),
        bug(
            "masked-with-zero",
            "Padding gets the score 0, and exp(0) = 1 is a weight like any other. Only a score of "
            "minus infinity has the weight 0.",
            ("-torch.inf", "0.0"),
        ),
        bug(
            "mask-inverted",
            "The mask is read the wrong way round. True means *may look*: here the words are "
            "hidden and the padding is looked at.",
            ("~mask", "mask"),
        ),
        bug(
            "mask-as-forbidden",
            "A large negative number is added where the mask is 1, as in code whose masks say what "
            "is *forbidden*. Here True means *may look*, so the words are hidden.",
            ("e.masked_fill(~mask, -torch.inf)", "e + mask * -1e9"),
        ),
        bug(
            "pads-at-the-end",
            "Only the *number* of words is read from the mask, as if padding always stood at the "
            "end. The mask says of each position whether it is a word.",
            ("~mask", "(torch.arange(e.shape[1]) >= mask.sum(dim=1, keepdim=True))"),
        ),
        bug(
            "zeroed-after",
            "The weights of padding are set to 0 after the softmax, so the others no longer sum to "
            "1: padding has already taken its share.",
            ("e.masked_fill(~mask, -torch.inf)", "e"),
            ("e.softmax(dim=-1)", "e.softmax(dim=-1) * (1 if mask is None else mask)"),
        ),
        bug(
            "divided-by-sum",
            "The scores are divided by their sum, without exp. Negative scores then give negative "
            "weights.",
            ("-torch.inf", "0.0"),
            ("e.softmax(dim=-1)", "e / e.sum(dim=-1, keepdim=True)"),
        ),
        bug(
            "scores-used",
            "The context is mixed with the scores. The weights are what sums to 1.",
            ("weights[:, :, None]", "e.nan_to_num(neginf=0.0)[:, :, None]"),
        ),
        bug(
            "plain-mean",
            "The plain mean of the annotations is taken; the weights have no effect.",
            ("weighted.sum(dim=1)", "h.mean(dim=1)"),
        ),
        bug(
            "best-only",
            "Only the best annotation is taken. The context is a mixture of all: a choice would "
            "let no gradient through to the scores.",
            ("weighted.sum(dim=1)", "h[torch.arange(len(h)), weights.argmax(dim=-1)]"),
        ),
        bug(
            "squeezed",
            "`squeeze()` drops *every* axis of size 1. With a batch of one sentence the batch axis "
            "is gone, too: say which axis you mean.",
            ("weighted.sum(dim=1)", "weighted.sum(dim=1).squeeze()"),
        ),
    ),
    steps={
        "e.masked_fill(~mask, -torch.inf)": "Padding gets the score -inf *before* the softmax: "
        "then its weight is exactly 0, and the words share out the whole 1.",
        "e.softmax(dim=-1)": "Each sentence shares out its 1 over its source positions, the last "
        "axis; the scores need no scaling here.",
        "weights[:, :, None] * h": "Each annotation counts as much as its weight says.",
        "weighted.sum(dim=1)": "The context is a sum over the source positions, one vector for "
        "each sentence: the weights sum to 1, so it is a mean already.",
        "return context, weights": "The context comes first, then the weights.",
    },
    probes=lambda r: [
        _probe(r, 3, "11111", "11111"),
        _probe(r, 6, "1111", "1100", "1000"),
        _probe(r, 4, "110101", "011111"),
        _probe(r, 5, "11011"),
        _probe(r, 2, "001", "111", "100", "110"),
    ],
    square=lambda r: [_probe(r, 4, "1111", "1111", "1111", "1111")],
    hints=(
        "Three lines: hide the padding, softmax, mix. Which of the axes of e are source positions?",
        "`e.masked_fill(~mask, -torch.inf)` before the softmax gives padding exactly 0. Only if "
        "there is a mask.",
        "The context: give the weights a feature axis, multiply, sum over the positions: "
        "`(weights[:, :, None] * h).sum(dim=1)`, or `torch.bmm`.",
    ),
    also_right=(
        """
def attend(e, h, mask=None):
    if mask is None:
        mask = torch.ones_like(e, dtype=torch.bool)
    alpha = torch.softmax(torch.where(mask, e, torch.tensor(-1e9)), dim=1)
    return torch.bmm(alpha.unsqueeze(1), h).squeeze(1), alpha
""",
        """
def attend(e, h, mask=None):
    weights = torch.softmax(e, -1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return torch.einsum("bn,bnd->bd", weights, h), weights
""",
        """
def attend(e, h, mask=None):
    exps = e.exp() if mask is None else e.exp() * mask.float()
    alphas = [x / x.sum() for x in exps]
    return torch.stack([a @ g for a, g in zip(alphas, h)]), torch.stack(alphas)
""",
    ),
    blank="def attend(e, h, mask=None):\n    ...\n",
)
