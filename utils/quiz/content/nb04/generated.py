"""Generated questions of notebook 04: fresh sizes, and wrong options that know their mistake."""

from __future__ import annotations

import random

from utils.quiz.content.nb04.x4_parameters import EXERCISE as PARAMETERS
from utils.quiz.questions import Generated, Option, no, yes


def count_parameters(r: random.Random) -> tuple[str, Option, list[Option]]:
    """Parameters of a layer of given sizes."""
    h = r.choice((2, 4, 8))
    d = h * r.choice((8, 16, 32))
    bias = r.random() < 0.5
    args = (d, h, bias)
    text = (
        f"A multi-head attention has d_model = {d} and {h} heads, "
        f"{'with' if bias else 'without'} biases. How many numbers does it learn?"
    )
    right = yes(
        f"{PARAMETERS.right(*args):,}",
        f"Four matrices ({d}, {d}), all heads together"
        + (f", and four biases of {d}." if bias else ".")
        + " The number of heads does not come into it.",
    )
    reasons = {
        "times-heads": "That counts every head in full width. Each is d_model / h wide.",
        "divided-by-heads": "That is one head's share. There are h of them.",
        "no-output-matrix": "W^O is missing: after the heads comes one more matrix.",
        "bias-forgotten": "The four biases are missing.",
        "always-bias": "There are no biases in this layer.",
        "one-head-and-out": "That lets each head see only a slice of x. It reads all of x.",
    }
    wrong = []
    for name, reason in reasons.items():
        number = PARAMETERS.wrong(name, *args)
        if number != PARAMETERS.right(*args):
            wrong.append(no(f"{number:,}", **{name: reason}))
    return text, right, wrong


def shape_of_weights(r: random.Random) -> tuple[str, Option, list[Option]]:
    """The shape of the weights of every head."""
    batch, h = r.sample((2, 3, 4, 6), 2)
    n, dh = r.sample((5, 7, 9, 10, 12), 2)
    d = h * dh
    text = (
        f"x has shape ({batch}, {n}, {d}), and the layer has {h} heads. Which shape do the weights "
        "of all heads have?"
    )
    right = yes(
        f"({batch}, {h}, {n}, {n})",
        "For each sequence and each head one table: rows are queries, columns are keys.",
    )
    return (
        text,
        right,
        [
            no(f"({batch}, {n}, {n})", averaged="That is the average over the heads."),
            no(
                f"({batch}, {n}, {h}, {h})",
                heads_look_at_heads="There heads look at heads. Tokens look at tokens.",
            ),
            no(
                f"({batch}, {h}, {n}, {dh})",
                outputs_not_weights="That is the shape of q, k, v and of the heads' outputs.",
            ),
            no(
                f"({batch}, {h}, {dh}, {dh})",
                width_not_tokens="There the numbers of a vector look at each other. Tokens look at "
                "tokens.",
            ),
        ],
    )


GENERATED = (
    Generated(id="G04-1", title="Counting parameters", see="04, section 5", make=count_parameters),
    Generated(
        id="G04-2", title="The shape of the weights", see="04, section 4", make=shape_of_weights
    ),
)
