"""X03-3: softmax with a temperature."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise

DIVIDE = "where the temperature comes in"
NORMALISE = "where the numbers are made to sum to 1"


def softmax_temperature(z: Tensor, temperature: float) -> Tensor:
    return torch.softmax(z / temperature, dim=-1)


def _share(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdim=True)


def _stable(x: Tensor) -> Tensor:
    return (x - x.amax(-1, keepdim=True)).exp()


def switched(bug, z: Tensor, t: float) -> Tensor:
    """Softmax of z / t; ``bug`` says which mistakes are on."""
    if any([bug("one-row-only"), bug("raw-one-row-only")]) and z.dim() > 1:
        raise RuntimeError("a Tensor with many elements cannot be converted to Scalar")
    top = F.one_hot(z.argmax(-1), z.shape[-1]).bool()
    cooled = bug.choose(
        lambda: z / t,
        times=lambda: z * t,
        ignored=lambda: z * 1.0,
        squared=lambda: z / t**2,
        root=lambda: z / t**0.5,
        minus=lambda: (z - t).sign() * z,
        only_largest=lambda: torch.where(top, z / t, z),
        only_others=lambda: torch.where(top, z, z / t),
        inverse_exp=lambda: z * 2.718281828**-t,
        divided_by_size=lambda: z / t / z.shape[-1],
        root_of_size=lambda: z / t / z.shape[-1] ** 0.5,
        negative=lambda: -z / t,
        one_plus=lambda: z / (1 + t),
        power_of_scores=lambda: z**t,
        root_of_scores=lambda: z ** (1 / t),
        upside_down=lambda: t / z,
        floor_division=lambda: z // t,
    )
    weights = bug.choose(
        lambda: cooled.softmax(-1),
        first_axis=lambda: cooled.softmax(0),
        all_entries=lambda: cooled.flatten().softmax(0).reshape(cooled.shape),
        second_axis=lambda: cooled.softmax(1),
        second_to_last_axis=lambda: cooled.softmax(-2),
        no_axis=lambda: cooled.softmax(1 if cooled.dim() == 2 else 0),
        first_axis_looped=lambda: (
            cooled.flatten(1).softmax(-1).reshape(cooled.shape) if z.dim() > 1 else z * 0 + 1
        ),
        raw_exp=lambda: _share(cooled.exp()),
        raw_one_row_only=lambda: _share(cooled.exp()),
        first_axis_looped_too_far=lambda: cooled.softmax(1) if z.dim() > 1 else z * 0 + 1,
        column_maximum=lambda: _share((cooled - cooled.amax(0)).exp()),
        raw_exp_over_all=lambda: cooled.exp() / cooled.exp().sum(),
        sum_no_keepdim=lambda: _stable(cooled) / _stable(cooled).sum(-1),
        raw_sum_no_keepdim=lambda: cooled.exp() / cooled.exp().sum(-1),
        max_no_keepdim=lambda: _share((cooled - cooled.amax(-1)).exp()),
        max_and_sum_no_keepdim=lambda: (e := (cooled - cooled.amax(-1)).exp()) / e.sum(-1),
        one_maximum=lambda: _share((cooled - cooled.max()).exp()),
        minimum_subtracted=lambda: _share((cooled - cooled.amin(-1, keepdim=True)).exp()),
        not_normalised=lambda: (cooled - cooled.amax(-1, keepdim=True)).exp(),
        exp_only=lambda: cooled.exp(),
        divided_by_unscaled_sum=lambda: cooled.exp() / z.exp().sum(-1, keepdim=True),
        stable_by_unscaled_sum=lambda: _stable(cooled) / _stable(z).sum(-1, keepdim=True),
        divided_by_maximum=lambda: _share((cooled / cooled.amax(-1, keepdim=True)).exp()),
        no_softmax=lambda: cooled,
        divided_by_sum=lambda: _share(cooled),
        log_softmax=lambda: cooled.log_softmax(-1),
        argmax=lambda: F.one_hot(cooled.argmax(-1), z.shape[-1]).float(),
        sigmoid=lambda: cooled.sigmoid(),
        softmax_twice=lambda: cooled.softmax(-1).softmax(-1),
        softmax_before=lambda: (z.softmax(-1) / t).softmax(-1),
        clamped=lambda: cooled.clamp(max=50).softmax(-1),
        tempered_maximum=lambda: _share((cooled - z.amax(-1, keepdim=True)).exp()),
        nan_to_zero=lambda: torch.nan_to_num(_share(cooled.exp())),
    )
    return bug.choose(
        lambda: weights,
        divided_after=lambda: z.softmax(-1) / t,
        multiplied_after=lambda: z.softmax(-1) * t,
        power_after=lambda: z.softmax(-1) ** t,
        inverse_power_after=lambda: z.softmax(-1) ** (1 / t),
        inverse_power_then_sum=lambda: _share(z.softmax(-1) ** (1 / t)),
        divided_twice=lambda: weights / t,
        only_sum=lambda: weights.sum(-1),
        flattened=lambda: weights.reshape(-1, z.shape[-1]),
    )


TEMPERATURE = Exercise(
    id="X03-3",
    title="Softmax with a temperature",
    see="03, section 3",
    name="softmax_temperature",
    reference=softmax_temperature,
    switched=switched,
    tolerance=1e-5,
    gradient=True,
    bugs=(
        *group("softmax", NORMALISE)(
            one_row_only="It works for one row of scores, (N,), only: with a table (M, N), `z[i]` "
            "is a whole row. Without a loop, `exp`, `sum(-1, keepdim=True)` or `softmax(dim=-1)` "
            "take any shape.",
            raw_one_row_only="It works for one row of scores, (N,), only: with a table (M, N), "
            "`z[i]` is a whole row. And exp of a large score overflows. `torch.softmax(..., "
            "dim=-1)` takes any shape and takes the maximum off first.",
        ),
        *group("temperature", DIVIDE)(
            times="The scores are multiplied by the temperature. Hot means even, so a large "
            "temperature has to make the scores *smaller*: divide. (The weights to the power of "
            "the temperature come to the same.)",
            ignored="The temperature has no effect: the answer is the plain softmax. If you divide "
            "the exps, it cancels out again, and so it does in the maximum that is taken off. "
            "Divide the scores before exp.",
            squared="The scores are divided by the square of the temperature.",
            root="The scores are divided by the root of the temperature. It enters as it is.",
            minus="The temperature is compared with or taken off the scores. Divide by it.",
            only_largest="Only the largest score is divided by the temperature. All of them are.",
            only_others="All scores but the largest are divided by the temperature. All of them "
            "are.",
            inverse_exp="The scores are multiplied by exp(-temperature). Divide by the "
            "temperature.",
            divided_by_size="The scores are divided by their number as well. The temperature alone "
            "scales them.",
            root_of_size="The scores are divided by the root of their number as well. The "
            "temperature alone scales them.",
            negative="The scores have lost their sign: the largest gets the smallest weight.",
            power_of_scores="The scores are raised to the power of the temperature. Divide by it; "
            "a negative score would have no such power.",
            root_of_scores="The scores are raised to the power 1/temperature. Divide by the "
            "temperature; a negative score would have no such power.",
            upside_down="The temperature is divided by the scores. It is the other way round.",
            floor_division="`//` cuts the quotient down to a whole number. Divide with `/`.",
            one_plus="The scores are divided by 1 + temperature, so at temperature 1 it is no "
            "longer the plain softmax.",
        ),
        *group("softmax", NORMALISE)(
            first_axis="The softmax runs over the first axis. For a table of scores each *row* is "
            "one softmax: `dim=-1`.",
            all_entries="The softmax runs over all rows together. Each row has to sum to 1: "
            "`dim=-1`.",
            second_axis="The softmax runs over axis 1, which a single row of scores does not have. "
            "The last axis always works: `dim=-1`.",
            second_to_last_axis="The softmax runs over the axis before the last, which a single "
            "row of scores does not have. The last axis always works: `dim=-1`.",
            no_axis="The softmax is not told its axis, and what torch guesses is right for one row "
            "and for a table only, not for a batch of tables. Write `dim=-1`.",
            first_axis_looped="The loop runs over the first axis, and everything that is left is "
            "one softmax. That is right for a table (M, N), but a single row (N,) falls into "
            "single numbers. Without a loop, `dim=-1` takes any shape.",
            first_axis_looped_too_far="The loop runs over the first axis. That is right for a "
            "table (M, N), but a single row (N,) falls into single numbers. Without a loop, "
            "`dim=-1` takes any shape.",
            column_maximum="The maximum is taken over the first axis, so every column loses "
            "another number. Take each row's own: `amax(-1, keepdim=True)`.",
            raw_exp_over_all="The exps are divided by the sum over all rows, and large ones "
            "overflow. Take each row's maximum off, and sum over the last axis only.",
            sum_no_keepdim="The sum has lost its axis, so for a table it lines up with the wrong "
            "one. Write `.sum(-1, keepdim=True)`.",
            raw_sum_no_keepdim="The sum has lost its axis, so for a table it lines up with the "
            "wrong one: `.sum(-1, keepdim=True)`. And take the maximum off before exp.",
            max_no_keepdim="The maximum has lost its axis, so for a table it lines up with the "
            "wrong one. Write `.amax(-1, keepdim=True)`.",
            max_and_sum_no_keepdim="Maximum and sum have lost their axis, so for a table they line "
            "up with the wrong one. Write `keepdim=True` in both.",
            raw_exp="exp of a large score overflows to inf, and inf / inf is NaN (try z = 1000). "
            "Take the row's maximum off first; the result stays the same.",
            nan_to_zero="exp of a large score overflows, and the NaN is painted over with 0. Take "
            "the row's maximum off before exp; then nothing overflows.",
            one_maximum="One maximum is taken off all rows. A row far below it then is 0 / 0. Take "
            "each row's own: `amax(-1, keepdim=True)`.",
            minimum_subtracted="The minimum is taken off, which makes the exps larger. It is the "
            "maximum that keeps exp from overflowing.",
            tempered_maximum="The maximum is taken off before it is divided by the temperature, so "
            "exp can still overflow. Divide first, then take off the maximum of the result.",
            not_normalised="The exps are not divided by their sum.",
            exp_only="The exps are not divided by their sum, and large ones overflow.",
            divided_by_unscaled_sum="The sum in the denominator lacks the temperature: it has to "
            "be the sum of the very exps above it.",
            stable_by_unscaled_sum="The sum in the denominator lacks the temperature: it has to be "
            "the sum of the very exps above it.",
            divided_by_maximum="The scores are divided by their maximum, which changes all "
            "weights. *Take off* the maximum: that changes nothing and keeps exp small.",
            no_softmax="The scores are divided by the temperature, but there is no softmax.",
            divided_by_sum="The scores are divided by their sum, without exp.",
            log_softmax="`log_softmax` gives logarithms of weights. Use `softmax`.",
            argmax="All weight goes to the largest score. That is the limit of temperature 0 only.",
            sigmoid="A sigmoid takes the place of the softmax: the weights do not sum to 1.",
            softmax_twice="There are two softmaxes, one after the other.",
            softmax_before="The softmax comes twice: on the scores, and again after the division. "
            "Divide the scores first, then one softmax.",
            clamped="Large scores are cut off, so two of them become equal. Take the maximum off "
            "instead.",
        ),
        *group("after", DIVIDE)(
            divided_after="The weights are divided by the temperature after the softmax, so they "
            "no longer sum to 1. Divide the scores before it.",
            multiplied_after="The weights are multiplied by the temperature after the softmax. "
            "Divide the scores before it.",
            flattened="The rows are right, but they come back as one table (..., N) -> (M, N). The "
            "result has the shape of z; `dim=-1` needs no reshape.",
            power_after="The weights are raised to the power of the temperature and no longer sum "
            "to 1. Divide the scores before the softmax.",
            inverse_power_after="The power 1/temperature is the right idea, but afterwards the "
            "weights have to be made to sum to 1 again.",
            inverse_power_then_sum="On paper this is right: weights to the power 1/temperature, "
            "made to sum to 1. But for a small temperature the powers become 0, and 0 / 0 is NaN. "
            "Divide the scores instead.",
            divided_twice="The temperature comes in twice, before the softmax and after it.",
            only_sum="The result is summed over the last axis, which is always 1.",
        ),
    ),
    probes=lambda r: [
        (2 * r(6), 0.5),
        (2 * r(3, 5), 2.0),
        (r(4, 7), 5.0),
        (r(2, 6), 1.0),
        (torch.tensor([[1000.0, 1001.0, 998.0, 1000.5], [-3.0, 0.0, 1.0, -1000.0]]), 2.0),
        (torch.tensor([0.5, 0.2, -1.0, 0.45, 0.0]), 0.01),
        (torch.tensor([60.0, 59.5, 58.0, 59.8]), 0.5),
        (r(2, 3, 4), 3.0),
    ],
    square=lambda r: [(r(4, 4), 2.0)],
    hints=(
        "A high temperature makes everything more alike, a low one sharpens. What must happen to "
        "the differences between scores for that?",
        "Divide the scores by the temperature *before* the softmax. At temperature 1 nothing "
        "changes.",
        "exp(1000) overflows. `torch.softmax` takes the maximum off first; if you write exp "
        "yourself, do the same. One line: `torch.softmax(z / temperature, dim=-1)`.",
    ),
    also_right=(
        """
def softmax_temperature(z, temperature):
    scaled = z / temperature
    e = torch.exp(scaled - scaled.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)
""",
        """
def softmax_temperature(z, temperature):
    return F.log_softmax(z.double() * (1 / temperature), dim=-1).exp().float()
""",
        """
def softmax_temperature(z, temperature):
    scaled = z / temperature
    return torch.exp(scaled - torch.logsumexp(scaled, dim=-1, keepdim=True))
""",
        """
def softmax_temperature(z, temperature):
    rows = z.reshape(-1, z.shape[-1])
    done = []
    for row in rows:
        low = (row - max(row)) / temperature
        e = [math.e ** float(x) for x in low]
        done.append([x / sum(e) for x in e])
    return torch.tensor(done).reshape(z.shape)
""",
    ),
    blank="def softmax_temperature(z, temperature):\n    ...\n",
)
