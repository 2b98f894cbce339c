"""X03-3: softmax with a temperature."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def softmax_temperature(z: Tensor, temperature: float) -> Tensor:
    scaled = z / temperature
    return torch.softmax(scaled, dim=-1)


SCALED, SOFTMAX = "z / temperature", "torch.softmax(scaled, dim=-1)"
EXERCISE = Exercise(
    id="X03-3",
    title="Softmax with a temperature",
    see="03, section 3",
    name="softmax_temperature",
    reference=softmax_temperature,
    gradient=True,
    tolerance=1e-5,
    bugs=(
        bug(
            "times",
            "The scores are multiplied by the temperature. Hot means even, so a large temperature "
            "has to make the scores *smaller*. (The weights to the power of the temperature come "
            "to the same.)",
            (SCALED, "z * temperature"),
        ),
        bug(
            "ignored",
            "The temperature has no effect: the answer is the plain softmax. If you divide the "
            "exps, it cancels out again, and so it does in the maximum that is taken off.",
            (SCALED, "z"),
        ),
        bug(
            "raw-exp",
            "exp of a large score overflows to inf, and inf / inf is NaN (try z = 1000). The "
            "result stays the same if a number is taken off the whole row first; which one keeps "
            "exp small?",
            (SOFTMAX, "scaled.exp() / scaled.exp().sum(-1, keepdim=True)"),
        ),
        bug(
            "nan-to-zero",
            "exp of a large score overflows, and the NaN is painted over with 0. Without the "
            "overflow there would be nothing to paint over.",
            (SOFTMAX, "(scaled.exp() / scaled.exp().sum(-1, keepdim=True)).nan_to_num(0.0)"),
        ),
        bug(
            "one-maximum",
            "One maximum is taken off all rows. A row far below it then is 0 / 0. Each row has its "
            "own.",
            (
                SOFTMAX,
                "(scaled - scaled.max()).exp() / "
                "(scaled - scaled.max()).exp().sum(-1, keepdim=True)",
            ),
        ),
        bug(
            "tempered-maximum",
            "The maximum is taken off before it is divided by the temperature, so exp can still "
            "overflow.",
            (
                SOFTMAX,
                "(scaled - z.amax(-1, keepdim=True)).exp() / "
                "(scaled - z.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True)",
            ),
        ),
        bug(
            "divided-by-unscaled-sum",
            "The sum in the denominator lacks the temperature: it has to be the sum of the very "
            "exps above it, or the weights do not sum to 1.",
            (SOFTMAX, "scaled.exp() / z.exp().sum(-1, keepdim=True)"),
        ),
        bug(
            "divided-by-maximum",
            "The scores are divided by their maximum, which changes all weights. *Taking off* the "
            "maximum changes nothing and keeps exp small.",
            (SOFTMAX, "torch.softmax(scaled / scaled.amax(-1, keepdim=True), dim=-1)"),
        ),
        bug(
            "divided-after",
            "The weights are divided by the temperature after the softmax, so they no longer sum "
            "to 1. It is the scores that are hot or cold.",
            (SCALED, "z"),
            (SOFTMAX, f"{SOFTMAX} / temperature"),
        ),
        bug(
            "inverse-power-then-sum",
            "On paper this is right: weights to the power 1/temperature, made to sum to 1. But for "
            "a small temperature the powers become 0, and 0 / 0 is NaN.",
            (SCALED, "z"),
            (
                SOFTMAX,
                "(p := torch.softmax(scaled, dim=-1) ** (1 / temperature)) / "
                "p.sum(-1, keepdim=True)",
            ),
        ),
    ),
    steps={
        SCALED: "The temperature divides the scores: a high one shrinks their differences, a low "
        "one sharpens them, and 1 changes nothing.",
        SOFTMAX: "Each row of scores is one softmax, over its last axis, whatever stands in front "
        "of it.",
    },
    probes=lambda r: [
        (2 * r(6), 0.5),
        (2 * r(3, 5), 2.0),
        (r(4, 7), 5.0),
        (r(1, 6), 1.0),
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
    ),
    blank="def softmax_temperature(z, temperature):\n    ...\n",
)
