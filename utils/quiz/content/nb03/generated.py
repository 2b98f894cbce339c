"""Generated questions of notebook 03: fresh numbers, and wrong options that know their mistake.

All numbers go through the switched reference of X03-1, which the build proves equal to the
library.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention
from utils.quiz.questions import Generated, Option, no, yes


def _rows(x: Tensor) -> str:
    return "[" + ", ".join(f"{value:g}" for value in x.tolist()) + "]"


def _number(x: Tensor | float) -> str:
    return f"{float(x):.3f}"


def weight_under_mask(r: random.Random) -> tuple[str, Option, list[Option]]:
    """Three or four scores of one query, one or two keys hidden: which weight does a key get?"""
    n = r.choice((3, 4))
    scores = torch.tensor([float(r.randint(-2, 3)) for _ in range(n)])
    hidden = sorted(r.sample(range(n), r.choice((1, n - 2)) or 1))
    mask = torch.tensor([i not in hidden for i in range(n)])
    asked = r.choice([i for i in range(n) if i not in hidden])
    # With one query of width 1 and value 1, and the scores as keys, the library sees our scores.
    _, weights = scaled_dot_product_attention(
        torch.ones(1, 1), scores[:, None], torch.zeros(n, 1), mask[None]
    )
    plain = scores.softmax(-1)
    zeroed = scores.masked_fill(~mask, 0.0).softmax(-1)
    inverted = scores.masked_fill(mask, -torch.inf).softmax(-1)
    kept = scores[mask]
    text = (
        f"One query has the scores {_rows(scores)} (already scaled) and the mask "
        f"[{', '.join(str(bool(m)) for m in mask)}], True = may look. Which weight does key "
        f"{asked} get? (The first key is key 0.)"
    )
    right = yes(
        _number(weights[0, asked]),
        "Hidden keys get the score -inf, so exp gives 0, and the others share out the whole 1.",
    )
    return (
        text,
        right,
        [
            no(
                _number(plain[asked]),
                mask_ignored="The mask was not used: hidden keys keep weight.",
            ),
            no(
                _number(zeroed[asked]),
                masked_with_zero="The hidden scores were set to 0. exp(0) = 1 still gets weight; "
                "it takes -inf.",
            ),
            no(
                _number(inverted[asked]),
                mask_inverted="The mask was read the wrong way round: True means *may* look.",
            ),
            no(
                _number(kept[sum(m for m in mask[:asked].tolist())] / kept.sum()),
                divided_by_sum="The scores were divided by their sum. Softmax takes exp first.",
            ),
            no(
                _number(scores[asked].sigmoid()),
                sigmoid="That is a sigmoid: it looks at one score alone and knows no other keys.",
            ),
        ],
    )


def _distinct(options: list[Option], right: Option) -> list[Option]:
    return [o for o in options if o.text != right.text and "nan" not in o.text]


def output_by_hand(r: random.Random) -> tuple[str, Option, list[Option]]:
    """One query, two or three keys of width 4, whole numbers: which output comes out?"""
    n = r.choice((2, 3))
    q = torch.tensor([[float(r.randint(-1, 2)) for _ in range(4)]])
    k = torch.tensor([[float(r.randint(-1, 2)) for _ in range(4)] for _ in range(n)])
    v = torch.tensor([[float(r.randint(-4, 9))] for _ in range(n)])
    output, _ = scaled_dot_product_attention(q, k, v)
    text = (
        f"q = {_rows(q[0])}, keys {'; '.join(_rows(row) for row in k)}, values "
        f"{'; '.join(_rows(row) for row in v)}. What is softmax(q kᵀ / √d) v?"
    )
    right = yes(
        _number(output[0, 0]),
        "Dot products, divided by √4 = 2, softmax over the keys, and the weighted mean of the "
        "values.",
    )
    scores, values = (q @ k.T)[0], v[:, 0]

    def mixed(scores: Tensor) -> str:
        return _number(scores.softmax(dim=0) @ values)

    wrong = [
        no(mixed(scores), no_scale="The scores are not divided by √d."),
        no(mixed(scores / 4), scale_d="The scores are divided by d instead of √d."),
        no(mixed(2 * scores), scale_times="The scores are multiplied by √d. Divide."),
        no(_number(scores / 2 @ values), no_softmax="There is no softmax: scores are no weights."),
        no(_number(values.mean()), mean_of_values="That is the plain mean; nobody was asked."),
        no(_number(values[scores.argmax()]), argmax="Only the best key's value. All are mixed."),
    ]
    return text, right, _distinct(wrong, right)


GENERATED = (
    Generated(
        id="G03-1",
        title="A weight under a mask",
        see="03, section 5",
        make=lambda r: _clean(weight_under_mask(r)),
    ),
    Generated(
        id="G03-2",
        title="An output by hand",
        see="03, section 5",
        make=output_by_hand,
    ),
)


def _clean(made: tuple[str, Option, list[Option]]) -> tuple[str, Option, list[Option]]:
    text, right, wrong = made
    return text, right, _distinct(wrong, right)
