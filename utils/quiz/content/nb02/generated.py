"""Generated questions of notebook 02: fresh numbers, wrong options that know their mistake."""

from __future__ import annotations

import math
import random

import torch

from utils.quiz.content.nb02.x2_attend import EXERCISE as ATTEND
from utils.quiz.questions import Generated, Option, no, yes
from utils.text.alignment import alignment_error_rate


def _row(values) -> str:
    return "[" + ", ".join(f"{value:g}" for value in values) + "]"


def context_by_hand(r: random.Random) -> tuple[str, Option, list[Option]]:
    """Three scores, three one-number annotations, perhaps padding: which context comes out?"""
    n = r.choice((3, 4))
    e = torch.tensor([[float(r.randint(-1, 3)) for _ in range(n)]])
    h = torch.tensor([[[float(r.randint(-3, 9))] for _ in range(n)]])
    mask = torch.tensor([[True] * (n - 1) + [r.random() < 0.3]])
    text = (
        f"One output word has the scores e = {_row(e[0].tolist())} over {n} source positions, the "
        f"annotations are the single numbers {_row(h[0, :, 0].tolist())}, and the mask (True = may "
        f"look) is {mask[0].tolist()}. Which context c = Σ α_j h_j comes out?"
    )
    right = yes(
        f"{ATTEND.right(e, h, mask)[0].item():.3f}",
        "Padding gets the score -inf, the softmax shares 1 out over the rest, and the context is "
        "the weighted sum of the annotations.",
    )
    wrong = []
    for name in (
        "mask-ignored", "masked-with-zero", "zeroed-after", "scores-used", "plain-mean",
        "best-only", "divided-by-sum",
    ):  # fmt: skip
        number = ATTEND.wrong(name, e, h, mask)[0].item()
        if math.isfinite(number):
            wrong.append(no(f"{number:.3f}", **{name: ATTEND.bug(name).says}))
    return text, right, [option for option in wrong if option.text != right.text]


def error_rate_by_hand(r: random.Random) -> tuple[str, Option, list[Option]]:
    """A few links found, sure and possible: what is the alignment error rate?"""
    rows = r.randint(4, 6)
    sure = {(i, i) for i in range(rows)} - {(0, 0)}
    possible = sure | {(0, 0), (0, 1)}
    found = {(i, i if r.random() < 0.6 else (i + r.choice((1, 2))) % rows) for i in range(rows)}
    hit_sure, hit_possible = len(found & sure), len(found & possible)
    text = (
        f"An attention map gives {len(found)} links. {hit_sure} of them are sure gold links, "
        f"{hit_possible} are possible ones (the sure ones counted again); there are {len(sure)} "
        "sure gold links in all. What is the alignment error rate?"
    )
    right = yes(
        f"{alignment_error_rate(found, sure, possible):.3f}",
        "1 − (found and sure + found and possible) / (found + sure).",
    )
    found_and_sure = len(found) + len(sure)
    cases = (
        (1 - hit_sure / len(sure), "recall-only",
         "That is the share of sure links missed; merely possible ones count too."),
        (1 - hit_possible / len(found), "precision-only",
         "That is the share of found links that are wrong; sure links missed count too."),
        ((hit_sure + hit_possible) / found_and_sure, "not-one-minus",
         "That is the part that is right. The error rate is 1 minus it."),
        (1 - hit_sure / len(found), "possible-ignored",
         "A found link that is possible is no mistake, even if it is not sure."),
        (1 - (hit_sure + hit_possible) / (len(found) + len(possible)), "possible-below",
         "Below the line stand the *sure* links: nobody has to find all possible ones."),
    )  # fmt: skip
    wrong = [no(f"{number:.3f}", **{mistake: reason}) for number, mistake, reason in cases]
    return text, right, [option for option in wrong if option.text != right.text]


GENERATED = (
    Generated("G02-1", context_by_hand, "02, section 6", "A context vector by hand"),
    Generated("G02-2", error_rate_by_hand, "02, section 9", "An alignment error rate by hand"),
)
