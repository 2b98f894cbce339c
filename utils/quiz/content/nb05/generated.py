"""Generated questions of notebook 05: fresh numbers, and wrong options that know their mistake."""

from __future__ import annotations

import math
import random

from utils.quiz.content.nb05.x1_sinusoid import EXERCISE as SINUSOID
from utils.quiz.questions import Generated, Option, no, yes


def one_entry(r: random.Random) -> tuple[str, Option, list[Option]]:
    """A single entry of the table, by hand."""
    d, base = r.choice((4, 6, 8)), r.choice((100.0, 10000.0))
    position, column = r.randint(1, 5), r.randint(1, d - 1)
    pair = column // 2
    kind = "sin" if column % 2 == 0 else "cos"
    right = f"{float(SINUSOID.right(position + 1, d, base)[position, column]):.3f}"
    text = (
        f"The sinusoidal table has d = {d} columns and the base {base:g}. What stands in row "
        f"{position}, column {column} (both counted from 0)?"
    )
    wrong = [
        no(
            f"{float(SINUSOID.wrong(name, position + 1, d, base)[position, column]):.3f}",
            **{name: SINUSOID.bug(name).says},
        )
        for name in (
            "own-exponent",
            "index-from-one",
            "swapped",
            "no-two",
            "positions-from-one",
            "halves",
        )
    ]
    angle = f"{position} / {base:g}^({2 * pair}/{d})"
    reason = f"Column {column} belongs to pair i = {pair}: {kind}({angle})."
    return text, yes(right, reason), [o for o in wrong if float(o.text) != float(right)]


def wavelength(r: random.Random) -> tuple[str, Option, list[Option]]:
    """After how many positions does a pair come round?"""
    base, d, i = r.choice((16, 81, 256, 10000)), r.choice((8, 16, 32)), r.choice((1, 2, 3))
    size = base ** (2 * i / d)
    text = (
        f"d = {d}, base {base}. After how many positions has the pair of columns {2 * i} and "
        f"{2 * i + 1} gone round once?"
    )
    right = yes(
        f"{2 * math.pi * size:.1f}",
        f"Its angle grows by 1/{base}^({2 * i}/{d}) at each step, and a full turn is 2π.",
    )
    wrong = [
        no(f"{size:.1f}", no_two_pi="That is one radian. A full turn is 2π of them."),
        no(
            f"{2 * math.pi / size:.3f}",
            frequency_for_wavelength="That is 2π times the frequency. Slow pairs have *long* "
            "waves: divide 2π by it.",
        ),
        no(
            f"{2 * math.pi * base ** (4 * i / d):.1f}",
            own_exponent=f"The exponent uses the column {2 * i} in place of the pair {i}: "
            f"2 · {2 * i}/{d}.",
        ),
        no(f"{2 * math.pi * base ** (i / d):.1f}", no_two="The 2 in the exponent 2i/d is missing."),
        no(
            f"{2 * math.pi:.1f}",
            all_pairs_alike="That is the first pair, i = 0. The later ones are slower.",
        ),
    ]
    return text, right, wrong


GENERATED = (
    Generated(id="G05-1", title="One entry by hand", see="05, section 4", make=one_entry),
    Generated(id="G05-2", title="A wavelength", see="05, section 4", make=wavelength),
)
