"""X02-2: from scores to weights to a context vector, padding left out."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise

MASK = "where padding is left out"
SOFTMAX = "where scores become weights"
MIX = "where the annotations are mixed"


def attend(e: Tensor, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    # e (B, N), h (B, N, D), mask (B, N), True at words, False at padding
    if mask is not None:
        e = e.masked_fill(~mask, -torch.inf)
    weights = e.softmax(dim=-1)  # (B, N)
    context = (weights[:, :, None] * h).sum(dim=1)  # (B, D)
    return context, weights


def _share(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdim=True)


def switched(bug, e: Tensor, h: Tensor, mask: Tensor | None = None):
    """Masked softmax, then a weighted sum; ``bug`` says which mistakes are on."""
    keep = torch.ones_like(e, dtype=torch.bool) if mask is None else mask
    masked = bug.choose(
        lambda: e.masked_fill(~keep, -torch.inf),
        mask_ignored=lambda: e + 0,
        masked_with_zero=lambda: e.masked_fill(~keep, 0.0),
        mask_inverted=lambda: e if mask is None else e.masked_fill(keep, -torch.inf),
        masked_with_minus_one=lambda: e.masked_fill(~keep, -1.0),
        multiplied_by_minus_inf=lambda: e if mask is None else e * (~keep) * -torch.inf,
        mask_added=lambda: e if mask is None else e + keep.float(),
    )
    weights = bug.choose(
        lambda: masked.softmax(-1),
        softmax_over_batch=lambda: masked.softmax(0),
        softmax_over_all=lambda: masked.flatten().softmax(0).reshape(e.shape),
        sigmoid=lambda: masked.sigmoid(),
        exp_only=lambda: masked.exp(),
        divided_by_sum=lambda: _share(masked.masked_fill(~keep, 0.0)),
        no_softmax=lambda: masked.masked_fill(~keep, 0.0),
        log_softmax=lambda: masked.log_softmax(-1),
        argmax=lambda: torch.nn.functional.one_hot(masked.argmax(-1), e.shape[1]).float(),
        zeroed_after=lambda: e.softmax(-1) * keep,
        scaled=lambda: (masked / h.shape[-1] ** 0.5).softmax(-1),
        negative=lambda: (-e).masked_fill(~keep, -torch.inf).softmax(-1),
        uniform=lambda: _share(keep.float()),
        softmax_twice=lambda: masked.softmax(-1).softmax(-1),
    )
    used = bug.choose(
        lambda: weights,
        scores_used=lambda: e.masked_fill(~keep, 0.0),
        raw_scores_used=lambda: e,
    )
    context = bug.choose(
        lambda: (used[:, :, None] * h).sum(1),
        not_summed=lambda: used[:, :, None] * h,
        averaged=lambda: (used[:, :, None] * h).mean(1),
        best_only=lambda: h[torch.arange(len(h)), used.argmax(-1)],
        plain_mean=lambda: h.mean(1),
        plain_sum=lambda: h.sum(1),
        summed_over_features=lambda: (used[:, :, None] * h).sum(-1),
        summed_over_batch=lambda: (used[:, :, None] * h).sum(0),
        kept_axis=lambda: (used[:, :, None] * h).sum(1, keepdim=True),
        last=lambda: h[:, -1],
        weights_shifted=lambda: (used.roll(1, -1)[:, :, None] * h).sum(1),
    )
    return bug.choose(
        lambda: (context, weights),
        order_swapped=lambda: (weights, context),
        only_context=lambda: context,
        only_weights=lambda: weights,
        scores_returned=lambda: (context, e),
        masked_scores_returned=lambda: (context, masked),
    )


ATTEND = Exercise(
    id="X02-2",
    title="From scores to a context vector",
    see="02, section 6",
    name="attend",
    reference=attend,
    switched=switched,
    parts=("context", "weights"),
    rows_sum_to_one=1,
    bugs=(
        *group("mask", MASK)(
            mask_ignored="The mask is not used: padding gets weight and flows into the context.",
            masked_with_zero="Padding gets the score 0, and exp(0) = 1 is a weight like any other. "
            "It takes the score -inf to get the weight 0.",
            mask_inverted="The mask is read the wrong way round. True means *may look*: here the "
            "words are hidden and the padding is looked at.",
            masked_with_minus_one="Padding gets the score -1, which still has weight. It takes "
            "-inf.",
            multiplied_by_minus_inf="The scores are multiplied by -inf, which gives NaN where 0 "
            "meets infinity. Fill instead: `e.masked_fill(~mask, -torch.inf)`.",
            mask_added="The mask is added to the scores, so words get 1 more than padding. Padding "
            "needs -inf.",
        ),
        *group("softmax", SOFTMAX)(
            softmax_over_batch="The softmax runs over the batch: the weights of *different "
            "sentences* sum to 1. It belongs over the source positions, `dim=-1`.",
            softmax_over_all="The softmax runs over the whole table. Each sentence has its own 1 "
            "to share out: `dim=-1`.",
            sigmoid="A sigmoid decides about each position alone; the weights do not sum to 1.",
            exp_only="The exps are not divided by their sum.",
            divided_by_sum="The scores are divided by their sum, without exp.",
            no_softmax="There is no softmax: the scores themselves are used as weights.",
            log_softmax="`log_softmax` gives logarithms. Use `softmax`.",
            argmax="All weight goes to the best position. Attention is soft, so that gradients "
            "flow.",
            zeroed_after="The weights of padding are set to 0 after the softmax, so the others no "
            "longer sum to 1. Mask the scores before it (or divide by the new sum).",
            scaled="The scores are divided by √D. The additive score has no such scaling.",
            negative="The signs of the scores are turned round.",
            uniform="All positions get the same weight; the scores have no effect.",
            softmax_twice="There are two softmaxes, one after the other.",
        ),
        *group("used", MIX)(
            scores_used="The context is mixed with the scores. Mix with the weights, which sum to "
            "1.",
            raw_scores_used="The context is mixed with the raw scores, padding included. Mix with "
            "the weights.",
        ),
        *group("mix", MIX)(
            not_summed="Each annotation is multiplied by its weight, but nothing is added up: the "
            "context keeps the source axis. Sum over it: `.sum(dim=1)`.",
            averaged="The weighted annotations are averaged. The weights sum to 1 already, so it "
            "is a sum.",
            best_only="Only the best annotation is taken. The context is a mixture of all.",
            plain_mean="The plain mean of the annotations is taken; the weights have no effect.",
            plain_sum="The annotations are summed without weights.",
            summed_over_features="The sum runs over the features. Sum over the source positions, "
            "`dim=1`.",
            summed_over_batch="The sum runs over the batch and mixes sentences. Sum over the "
            "source positions, `dim=1`.",
            kept_axis="The context has shape (B, 1, D). Drop the middle axis.",
            last="The last annotation is taken: that is the fixed vector again.",
            weights_shifted="The weights are one position off.",
        ),
        *group("returned", "the last line")(
            order_swapped="Both are right but swapped: return the context first, then the weights.",
            only_context="Only the context comes back. Return `(context, weights)`.",
            only_weights="Only the weights come back. Return `(context, weights)`.",
            scores_returned="The second result are the scores. Return the weights.",
            masked_scores_returned="The second result are the masked scores. Return the weights.",
        ),
    ),
    probes=lambda r: [
        (r(2, 5), r(2, 5, 3), None),
        (2 * r(3, 4), r(3, 4, 6), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()),
        (r(2, 6) - 1, r(2, 6, 4), torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()),
        (
            2 * r(4, 3) - 1,
            r(4, 3, 5),
            torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0]]).bool(),
        ),
    ],
    square=lambda r: [(r(4, 4), r(4, 4, 4), None)],
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
    scores = torch.where(mask, e, torch.tensor(-1e9))
    alpha = torch.softmax(scores, dim=1)
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
    contexts, alphas = [], []
    for b in range(len(e)):
        x = torch.exp(e[b] - e[b].max())
        if mask is not None:
            x = x * mask[b].float()
        alphas.append(x / x.sum())
        contexts.append(alphas[-1] @ h[b])
    return torch.stack(contexts), torch.stack(alphas)
""",
    ),
    blank="def attend(e, h, mask=None):\n    ...\n",
)
