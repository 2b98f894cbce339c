"""X06-2: attention under a mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention
from utils.quiz.bugs import group, single
from utils.quiz.content.nb06.masked_switches import switched, weak_fill
from utils.quiz.exercise import Exercise, Invariant

FILL = "the line that uses the mask"
RETURN = "the last line"


def masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights


BUGS = (
    *group("scale", "the scores", "03, section 4")(
        no_scale="The scores are not divided by √d.",
        scale_d="The scores are divided by d instead of √d.",
    ),
    *group("mask", FILL)(
        transposed_mask="The mask is transposed. It is (M, N) as the scores are: rows are queries, "
        "columns are keys.",
        first_row_for_all="All queries get the first row of the mask. Each has its own.",
        own_causal_mask="A causal mask is built inside, and the mask that was handed over is not "
        "used.",
    ),
    *group("fill", FILL, "06, section 3")(
        not_masked="The mask has no effect: forbidden keys get weight like all others. Methods "
        "like `masked_fill` return a new tensor; is it kept?",
        inverted="The mask is read the wrong way round: −∞ goes where looking is *allowed*. "
        "`masked_fill` fills where its argument is True, and our True means *may look*: fill "
        "`~mask`.",
        inverted_large="The mask is read the wrong way round: the large negative number goes to "
        "the *allowed* side. Our True means *may look*: fill `~mask`, or add −1e9 to the others.",
        zeros="The forbidden scores become 0 (by `scores * mask`, a fill with 0, or with "
        "`finfo(...).tiny`, the smallest *positive* number). But exp(0) = 1: a score of 0 is an "
        "ordinary score and gets weight. It takes −∞.",
        zeros_inverted="The *allowed* scores become 0. Two things: True means may look, and 0 does "
        "not block, since exp(0) = 1.",
        ones_added="The mask is added as numbers (or its opposite taken off): allowed scores lie 1 "
        "higher than before, and nothing is blocked. Fill −∞ where the mask is False.",
        nan="The weights are NaN in every row that has a forbidden cell: NaN or +∞ was filled in. "
        "Both spread through the sum of the softmax to the whole row. It takes −∞: exp(−∞) = 0.",
        ones_filled="The forbidden scores become 1, an ordinary score. It takes −∞.",
        minus_one="The forbidden scores become −1, an ordinary score. It takes −∞.",
        plus_large="The forbidden scores become very *large*, so they take everything. It takes a "
        "minus sign: −∞.",
        infinity_times_mask="∞ is multiplied by the mask, and ∞ · 0 is NaN: the allowed cells are "
        "lost. Use `masked_fill` or `torch.where`.",
        signs_turned="The forbidden scores change their sign. A negative score is still a score.",
    ),
    *single(FILL, "06, section 3", weak_fill)(
        weak_fill="The forbidden cells get a number that is not low enough: they keep some weight, "
        "and all of it as soon as the true scores are lower still. Only −∞ is below every score "
        "(−1e9 will do in float32)."
    ),
    *single("the axis of the softmax", "03, section 5")(
        softmax_over_queries="The softmax runs over the queries. Each query shares out its weight "
        "over the keys: `dim=-1`."
    ),
    *group("weights", "the order of mask and softmax", "06, section 4")(
        after_softmax="The mask comes after the softmax: the rows no longer sum to 1, and the "
        "forbidden keys still count in the denominator. Mask the scores before, or divide each row "
        "by its sum afterwards.",
        after_softmax_inverted="The mask comes after the softmax, and it keeps the *forbidden* "
        "weights.",
        after_wrong_axis="Masking after the softmax can be repaired by dividing each *row* by its "
        "sum; here the columns are divided. `sum(dim=-1, keepdim=True)`.",
        infinity_after="−∞ is put into the *weights*. It belongs into the scores, before the "
        "softmax, which turns it into 0.",
        softmax_twice="There are two softmaxes with the mask in between; the second one gives the "
        "zeros weight again. Mask the scores, then one softmax.",
        softmax_twice_infinity="There are two softmaxes, and −∞ is filled in between. Mask the "
        "scores, then one softmax.",
        even="The weights are even over the allowed keys: the scores have no effect.",
        scores_shared="The masked scores are divided by their sum, without exp. Softmax takes exp "
        "first.",
        no_softmax="There is no softmax: masked scores are used as weights.",
    ),
    *group("return", RETURN)(
        output_unmasked="The weights that come back are right, but the output was made with the "
        "unmasked ones.",
        weights_unmasked="The output is right, but the weights that come back are the unmasked "
        "ones. Return those that were used.",
        only_output="Only the output comes back: `return output, weights`.",
        only_weights="Only the weights come back: `return output, weights`.",
        order_swapped="The two results have changed places: `return output, weights`.",
        scores_returned="The second result is the masked scores. The weights come after the "
        "softmax.",
        mask_returned="The second result is the mask. Return the weights.",
    ),
)


def _mask(r, queries: int, keys: int) -> Tensor:
    """Random, with something to look at in each row, and one row that may look everywhere."""
    mask = r(queries, keys) > 0
    mask[torch.arange(queries), torch.arange(queries) % keys] = True
    mask[1] = True
    mask[0, 2] = mask[2, 3 % keys] = False
    return mask


def _third(x: Tensor) -> Tensor:
    """1 for the third key, which `_mask` hides from the first query; 0 elsewhere."""
    return (torch.arange(x.shape[-2]) == 2).float()[:, None]


def _probes(r) -> list:
    low_q, low_k = (
        9 + 0.1 * r(4, 4),
        -9 + 0.1 * r(6, 4),
    )  # scores near −160: no fill but −∞ is lower
    return [
        (r(2, 5, 8), r(2, 3, 8), r(2, 3, 6), _mask(r, 5, 3)),
        (r(4, 12), r(7, 12), r(7, 9), _mask(r, 4, 7)),
        (low_q, low_k, r(6, 3), _mask(r, 4, 6)),
    ]


def _finish(student) -> str | None:
    """A remark on rows with nothing to look at: NaN is common there, zeros are kinder."""
    q, k = torch.ones(2, 4), torch.ones(3, 4)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = student(q, k, k, mask)[1]
    if weights[1].isnan().any():
        return (
            "A query that may look nowhere gets NaN here. That is what −∞ gives; section 3 shows "
            "why the library returns 0 instead."
        )
    if weights[1].sum() > 0.5:
        return (
            "A query that may look nowhere looks everywhere here: a row of equal fills is even "
            "after the softmax. Section 3 shows why the library returns 0 instead."
        )
    return None


MASKED = Exercise(
    id="X06-2",
    title="Attention under a mask",
    see="06, section 1",
    name="masked_attention",
    reference=masked_attention,
    library=scaled_dot_product_attention,
    switched=switched,
    bugs=BUGS,
    parts=("output", "weights"),
    rows_sum_to_one=1,
    gradient=True,
    tolerance=1e-4,
    probes=_probes,
    square=lambda r: [(r(4, 4), r(4, 4), r(4, 4), _mask(r, 4, 4))],
    wider=lambda r: {
        "It works for a mask (M, N) only. A mask with axes for batch and heads, (B, 1, 1, N), "
        "should broadcast as well.": (
            r(2, 3, 5, 8),
            r(2, 3, 4, 8),
            r(2, 3, 4, 6),
            torch.tensor([[True] * 4, [True, True, False, False]])[:, None, None],
        ),
    },  # fmt: skip
    invariants=(
        Invariant(
            "The first query's output changes when a key and its value change that it may not look "
            "at: something leaks.",
            lambda a: (a[0], a[1] + _third(a[1]), a[2] + _third(a[2]), a[3]),
            lambda result: result[0][..., 0, :],
        ),
    ),
    finish=_finish,
    hints=(
        "It is the attention of notebook 03 with one line more. Where does it go: on the scores, "
        "on the weights or on the values?",
        "On the scores, before the softmax: exp(−∞) = 0, and the rest of the row still sums to 1.",
        "`scores.masked_fill(~mask, -torch.inf)`: fill where looking is *not* allowed.",
    ),
    also_right=(
        """
def masked_attention(q, k, v, mask):
    s = torch.einsum("...md,...nd->...mn", q, k) * q.shape[-1] ** -0.5
    w = torch.where(mask, s, torch.tensor(float("-inf"))).softmax(-1)
    return w @ v, w
""",
        """
def masked_attention(q, k, v, mask):
    weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) * mask
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ v, weights
""",
        """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    weights = F.softmax(scores + (1.0 - mask.float()) * -1e9, dim=-1)
    return torch.matmul(weights, v), weights
""",
        """
def masked_attention(q, k, v, mask):
    eye = torch.eye(k.shape[-2]).expand(*k.shape[:-1], k.shape[-2])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out, F.scaled_dot_product_attention(q, k, eye, attn_mask=mask)
""",
        """
def masked_attention(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1)).masked_fill(mask == 0, float("-inf")) / q.shape[-1] ** 0.5
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ v, weights
""",
    ),
    blank="def masked_attention(q, k, v, mask):\n    ...",
)
