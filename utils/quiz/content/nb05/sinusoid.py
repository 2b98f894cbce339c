"""X05-1: the table of sines and cosines."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

ANGLE = "where the angles are made"
COLUMNS = "where sines and cosines go into their columns"
RETURN = "the return line"


def sinusoidal_pe(N: int, d: int, base: float = 10000.0) -> Tensor:
    positions = torch.arange(N)[:, None]  # (N, 1)
    i = torch.arange(d // 2)  # (d/2): one number for each pair of columns
    angles = positions / base ** (2 * i / d)  # (N, d/2)
    pe = torch.zeros(N, d)
    pe[:, 0::2] = angles.sin()
    pe[:, 1::2] = angles.cos()
    return pe


def switched(bug, n: int, d: int, base: float = 10000.0) -> Tensor:
    """The table; ``bug`` says which mistakes are on. Angles are (N, d)."""
    base = 10000.0 if bug("base-ignored") else base
    column = torch.arange(d, dtype=torch.float64)
    pair = column.div(2, rounding_mode="floor")
    exponent = bug.choose(
        lambda: 2 * pair / d,
        own_exponent=lambda: 2 * column / d,
        column_as_exponent=lambda: column / d,
        no_two=lambda: pair / d,
        doubled_exponent=lambda: 4 * pair / d,
        index_from_one=lambda: 2 * (pair + 1) / d,
        last_is_base=lambda: 2 * pair / max(d - 2, 1),
        floored_exponent=lambda: 2 * pair // d,
        no_division_by_d=lambda: 2 * pair,
        reversed=lambda: 2 * (d // 2 - 1 - pair) / d,
    )
    position = torch.arange(n, dtype=torch.float64)[:, None]
    position = bug.choose(
        lambda: position,
        positions_from_one=lambda: position + 1,
        positions_as_fractions=lambda: position / max(n - 1, 1),
    )
    angle = bug.choose(
        lambda: position / base**exponent,
        multiplied=lambda: position * base**exponent,
        floored_angle=lambda: position // base**exponent,
        product_for_power=lambda: position / (base * exponent),
        two_pi=lambda: 2 * math.pi * position / base**exponent,
        logarithm_to_ten=lambda: position * torch.exp(-exponent * math.log10(base)),
        bare_logarithm=lambda: position * torch.exp(exponent * math.log(base)) / base,
        degrees=lambda: position / base**exponent * math.pi / 180,
        frequency_outside=lambda: position.expand(n, d),
    )
    even = column % 2 == 0
    table = bug.choose(
        lambda: torch.where(even, angle.sin(), angle.cos()),
        swapped=lambda: torch.where(even, angle.cos(), angle.sin()),
        sine_only=lambda: angle.sin(),
        cosine_only=lambda: angle.cos(),
        halves=lambda: torch.cat([angle[:, 0::2].sin(), angle[:, 0::2].cos()], dim=1),
        angles_only=lambda: angle.expand(n, d) + 0.0,
        cosine_of_sine=lambda: torch.where(even, angle.sin(), angle.sin().cos()),
        odd_left_zero=lambda: torch.where(even, angle.sin(), torch.zeros(())),
    )
    if bug("frequency-outside"):
        table = table / base**exponent
    table = bug.choose(
        lambda: table,
        whole_numbers=lambda: table.trunc(),
        scaled=lambda: table * math.sqrt(d),
        unit_rows=lambda: table / table.norm(dim=-1, keepdim=True),
    )
    return bug.choose(
        lambda: table.float(),
        transposed=lambda: table.float().T,
        batch_axis=lambda: table.float()[None],
        middle_axis=lambda: table.float()[:, None],
        pairs_apart=lambda: table.float().reshape(n, d // 2, 2),
        first_row_only=lambda: table.float()[0],
        last_row_only=lambda: table.float()[-1],
    )


SINUSOID = Exercise(
    id="X05-1",
    title="The table of sines and cosines",
    see="05, section 4",
    name="sinusoidal_pe",
    reference=sinusoidal_pe,
    switched=switched,
    tolerance=1e-4,
    bugs=(
        *group("exponent", ANGLE)(
            own_exponent="Each column has its own exponent, 2·column/d. The i of the formula "
            "counts *pairs*: columns 0 and 1 share i = 0, columns 2 and 3 share i = 1. (Row 0 is "
            "right, since every sine of 0 is 0 and every cosine 1: look at row 1.)",
            column_as_exponent="The odd columns have an exponent of their own, column/d. A sine "
            "and the cosine beside it belong to the same angle: both take 2i/d, with i the number "
            "of the pair.",
            no_two="The exponent is i/d, so the frequencies fall only half as fast. It is 2i/d.",
            doubled_exponent="The exponent is twice too large. Does `arange(0, d, 2)` already hold "
            "2i, and a second factor 2 comes on top?",
            index_from_one="The pairs are counted from 1, so the fastest frequency is no longer 1. "
            "The first pair is i = 0.",
            last_is_base="The exponents run up to exactly 1, so the last wavelength is 2π·base. "
            "Some libraries do that; the formula here divides 2i by d, and the last is (d−2)/d.",
            floored_exponent="The exponent is rounded down to 0 (`//`), so all pairs have the same "
            "frequency. Use `/`.",
            no_division_by_d="The exponent is not divided by d: already the second pair is so slow "
            "that it never moves.",
            reversed="The frequencies run from slow to fast. The first pair is the fastest.",
        ),
        *group("position", ANGLE)(
            positions_from_one="The positions count from 1. The first one is 0, so that row 0 is "
            "0, 1, 0, 1, …",
            positions_as_fractions="The positions are divided by the length, as in the first naive "
            "idea: a step then means something else in every sentence.",
        ),
        *group("angle", ANGLE)(
            multiplied="The position is multiplied by base^(2i/d). Divide: each pair has to be "
            "*slower* than the one before.",
            floored_angle="The angle is rounded down (`//`). Use `/`.",
            product_for_power="The base is multiplied by the exponent. It is a power: `base ** "
            "exponent`.",
            two_pi="There is a 2π in the angle. The formula has none: the fastest pair has the "
            "wavelength 2π, not 1.",
            logarithm_to_ten="The logarithm in the exponent is to base 10. exp needs the natural "
            "one, `math.log`.",
            bare_logarithm="exp of *plus* the logarithm makes the frequencies grow. It is "
            "exp(−2i/d · log base).",
            degrees="The angle is turned from degrees into radians. `sin` takes it as it is.",
            frequency_outside="The frequency stands outside of the sine, so all columns have the "
            "same wave, only flatter. It belongs inside: sin(pos · frequency).",
        ),
        *group("columns", COLUMNS)(
            swapped="Sine and cosine have changed places. Even columns hold the sine.",
            sine_only="Every column is a sine. The odd ones are cosines.",
            cosine_only="Every column is a cosine. The even ones are sines.",
            halves="The first half holds all sines, the second half all cosines. The same numbers "
            "in another order: some libraries do that, and it works as well. Here sine and cosine "
            "of a pair are neighbours: `pe[:, 0::2]` and `pe[:, 1::2]`.",
            angles_only="These are the angles. Take their sines and cosines.",
            cosine_of_sine="The odd columns hold the cosine of the sine. Was `pe` used where the "
            "angles were meant?",
            odd_left_zero="The odd columns are still 0: the cosines are missing.",
        ),
        *group("values", COLUMNS)(
            whole_numbers="The table cuts everything to whole numbers. Was it made with an integer "
            "type?",
            scaled="The table is multiplied by √d. Its entries are plain sines and cosines.",
            unit_rows="The rows are cut to length 1. They have the length √(d/2) by themselves.",
        ),
        *group("shape", RETURN)(
            transposed="The table is turned: one row per position, (N, d).",
            batch_axis="There is an extra axis in front, (1, N, d). Return (N, d); adding to a "
            "batch works without it.",
            middle_axis="There is an extra axis in the middle, (N, 1, d), as models need it that "
            "keep the batch second. Return (N, d).",
            pairs_apart="Sine and cosine have an axis of their own, (N, d/2, 2). Join the last two "
            "axes: `.flatten(1)`.",
            first_row_only="Only one row comes back. Return the whole table, (N, d).",
            last_row_only="Only the last row comes back. Is the `return` inside the loop, or the "
            "table made anew in each turn?",
        ),
        *single(ANGLE)(
            base_ignored="The base is always 10000, whatever is handed in. Use the argument `base`."
        ),
    ),
    probes=lambda r: [(7, 10, 10000.0), (5, 6), (12, 8, 50.0)],
    hints=(
        "Make the angles first, one for each position and each *pair* of columns: shape (N, d/2).",
        "`positions = torch.arange(N)[:, None]`, `i = torch.arange(d // 2)`, and the angles are "
        "`positions / base ** (2 * i / d)`.",
        "Sines go to the even columns, `pe[:, 0::2] = ...`, cosines of the same angles to the odd "
        "ones, `pe[:, 1::2] = ...`.",
    ),
    also_right=(
        """
def sinusoidal_pe(N, d, base=10000.0):
    pe = torch.empty(N, d)
    for pos in range(N):
        for j in range(d):
            angle = pos / base ** (2 * (j // 2) / d)
            pe[pos, j] = math.sin(angle) if j % 2 == 0 else math.cos(angle)
    return pe
""",
        """
def sinusoidal_pe(N, d, base=10000.0):
    omega = torch.exp(torch.arange(0, d, 2) * (-math.log(base) / d))
    angles = torch.outer(torch.arange(N).float(), omega)
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=2).flatten(1)
""",
        """
def sinusoidal_pe(N, d, base=10000.0):
    j = np.arange(d)
    angle = np.arange(N)[:, None] / np.power(base, 2 * (j // 2) / d)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return torch.tensor(angle, dtype=torch.float32)
""",
        """
def sinusoidal_pe(N, d, base=1e4):
    turn = torch.polar(torch.ones(d // 2), base ** (-torch.arange(0.0, d, 2) / d))
    z = turn ** torch.arange(N)[:, None]
    return torch.view_as_real(z).flip(-1).reshape(N, d)
""",
    ),
    blank=(
        "def sinusoidal_pe(N, d, base=10000.0):\n"
        '    """One row for each position 0 … N−1: sin, cos, sin, cos, …  -> (N, d)"""\n    ...\n'
    ),
)
