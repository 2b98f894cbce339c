"""X05-1: the table of sines and cosines."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def sinusoidal_pe(N: int, d: int, base: float = 10000.0) -> Tensor:
    positions = torch.arange(N)[:, None]  # (N, 1)
    i = torch.arange(d // 2)  # (d/2): one number for each pair of columns
    exponent = 2 * i / d
    angles = positions / base**exponent  # (N, d/2)
    pe = torch.zeros(N, d)
    pe[:, 0::2] = angles.sin()
    pe[:, 1::2] = angles.cos()
    return pe


EACH_COLUMN = (
    ("torch.arange(d // 2)", "torch.arange(d)"),
    ("angles.sin()", "angles[:, 0::2].sin()"),
    ("angles.cos()", "angles[:, 1::2].cos()"),
)
BUGS = (
    bug(
        "own-exponent",
        "Each column has its own exponent, 2·column/d. The i of the formula counts *pairs*: "
        "columns 0 and 1 share i = 0, columns 2 and 3 share i = 1. (Row 0 is right, since every "
        "sine of 0 is 0 and every cosine 1: look at row 1.)",
        *EACH_COLUMN,
    ),
    bug(
        "column-as-exponent",
        "The odd columns have an exponent of their own, column/d. A sine and the cosine beside it "
        "are the two coordinates of one clock hand: they belong to the same angle.",
        *EACH_COLUMN,
        ("2 * i / d", "i / d"),
    ),
    bug(
        "no-two",
        "The exponent is i/d, so the frequencies fall only half as fast. It is 2i/d.",
        ("2 * i / d", "i / d"),
    ),
    bug(
        "doubled-exponent",
        "The exponent is twice too large. Does a range in steps of 2 already hold 2i, and a second "
        "factor 2 comes on top?",
        ("2 * i / d", "4 * i / d"),
    ),
    bug(
        "index-from-one",
        "The pairs are counted from 1, so the fastest frequency is no longer 1. The first pair is "
        "i = 0.",
        ("2 * i / d", "2 * (i + 1) / d"),
    ),
    bug(
        "positions-from-one",
        "The positions count from 1. The first one is 0, so that row 0 is 0, 1, 0, 1, …",
        ("torch.arange(N)", "torch.arange(1, N + 1)"),
    ),
    bug(
        "positions-as-fractions",
        "The positions are divided by the length, as in the first naive idea: a step then means "
        "something else in every sentence.",
        ("torch.arange(N)", "torch.linspace(0, 1, N)"),
    ),
    bug(
        "logarithm-to-ten",
        "The logarithm in the exponent is to base 10. `exp` undoes the natural one only.",
        ("base**exponent", "torch.exp(exponent * torch.tensor(base).log10())"),
    ),
    bug(
        "frequency-outside",
        "The frequency stands outside of the sine, so all columns have the same wave, only "
        "flatter. It belongs inside: it says how fast the angle grows.",
        ("positions / base**exponent", "positions.float()"),
        ("angles.sin()", "angles.sin() / base**exponent"),
        ("angles.cos()", "angles.cos() / base**exponent"),
    ),
    bug(
        "swapped",
        "Sine and cosine have changed places. Even columns hold the sine.",
        ("angles.sin()", "torch.cos(angles)"),
        ("angles.cos()", "torch.sin(angles)"),
    ),
    bug(
        "halves",
        "The first half holds all sines, the second half all cosines. The same numbers in another "
        "order: some libraries do that, and it works as well. Here sine and cosine of a pair are "
        "neighbours.",
        ("0::2", ": d // 2"),
        ("1::2", "d // 2 :"),
    ),
)

EXERCISE = Exercise(
    id="X05-1",
    title="The table of sines and cosines",
    see="05, section 4",
    name="sinusoidal_pe",
    reference=sinusoidal_pe,
    bugs=BUGS,
    steps={
        "torch.arange(N)": "Positions are whole numbers from 0 on, one for each row.",
        "torch.arange(d // 2)": "Columns come in pairs, and i = 0, 1, … numbers the pairs.",
        "2 * i / d": "The exponent of pair i is 2i/d: 0 for the first pair, nearly 1 for the last.",
        "positions / base**exponent": "Each pair turns more slowly than the one before: its power "
        "of the base is larger, and the position is divided by it.",
        "torch.zeros(N, d)": "The table holds fractions: N rows, d columns of floating point.",
        "angles.sin()": "Even columns hold the sines of the angles.",
        "angles.cos()": "Odd columns hold the cosines of the same angles as the sines.",
    },
    # bases are small, or rows few: float32 would blur the angles of whoever multiplies
    probes=lambda r: [(7, 10, 100.0), (3, 6), (12, 8, 50.0), (1, 4)],
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
    omega = torch.exp(torch.arange(0, d, 2) * (-math.log(base) / d))
    angles = torch.outer(torch.arange(N).float(), omega)
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=2).flatten(1)
""",
        """
def sinusoidal_pe(N, d, base=10000.0):
    angle = np.arange(N)[:, None] / np.power(base, 2 * (np.arange(d) // 2) / d)
    return torch.tensor(np.where(np.arange(d) % 2, np.cos(angle), np.sin(angle))).float()
""",
        """
def sinusoidal_pe(N, d, base=1e4):
    turn = torch.polar(torch.ones(d // 2), base ** (-torch.arange(0.0, d, 2) / d))
    return torch.view_as_real(turn ** torch.arange(N)[:, None]).flip(-1).reshape(N, d)
""",
    ),
    blank='''def sinusoidal_pe(N, d, base=10000.0):
    """One row for each position 0 … N−1: sin, cos, sin, cos, …  -> (N, d)"""
    ...
''',
)
