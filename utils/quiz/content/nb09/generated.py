"""Generated questions of notebook 09: fresh numbers, and wrong options that know their mistake."""

from __future__ import annotations

import random

from utils.quiz.questions import Generated, Option, no, yes


def annotations(r: random.Random) -> tuple[str, Option, list[Option]]:
    """How many annotation vectors does a picture give?"""
    stride, cells, width = r.choice((8, 16, 32)), r.choice((4, 7, 12, 14)), r.choice((64, 256, 512))
    side = stride * cells
    text = (
        f"A CNN with a total stride of {stride} reads pictures of {side} × {side} pixels and puts "
        f"{width} channels out. How many annotation vectors can the decoder look at?"
    )
    right = yes(f"{cells**2}", f"{side}/{stride} = {cells} cells a side, so L = {cells}².")
    wrong = [
        no(f"{cells}", one_row="That is one row of the grid. There are as many rows."),
        no(
            f"{width}",
            width_for_number="That is the width D of each vector, not how many there are.",
        ),
        no(
            f"{cells**2 * width}",
            channels_flattened="That counts numbers. A cell's channels belong together, as one "
            "vector.",
        ),
        no(
            f"{side**2}",
            one_per_pixel="That would be one for each pixel. One cell stands for "
            f"{stride} × {stride} of them.",
        ),
    ]
    return text, right, wrong


def gate_rows(r: random.Random) -> tuple[str, Option, list[Option]]:
    """How large is the matrix of the gates?"""
    m, n, d = r.sample((32, 48, 64, 96, 128, 256), 3)
    text = (
        f"Words are embedded in m = {m} numbers, the LSTM's state has n = {n}, and a cell's "
        f"feature vector D = {d}. Which shape has the matrix of all four gates?"
    )
    right = yes(
        f"{4 * n} × {m + n + d}",
        "Four gates of n each, from the word, the state and the context one below the other.",
    )
    wrong = [
        no(
            f"{4 * n} × {m + n}",
            no_context="The context is missing: it enters as D further columns.",
        ),
        no(f"{n} × {m + n + d}", one_gate="That is one gate. There are four: i, f, o and g."),
        no(
            f"{4 * d} × {m + n + d}",
            width_of_context="The gates are as wide as the state they act on, n.",
        ),
        no(
            f"{m + n + d} × {4 * n}",
            transposed="The sizes are right and their order is not: a matrix times a column has "
            "its outputs as rows.",
        ),
    ]
    return text, right, wrong


GENERATED = (
    Generated(id="G09-1", title="Counting annotations", see="09, section 3", make=annotations),
    Generated(id="G09-2", title="The matrix of the gates", see="09, section 6", make=gate_rows),
)
