"""X05-3: the matrix that moves every position by k."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.layers.positions import sinusoidal_encoding
from utils.quiz.exercise import Exercise, Mistake, bug


def shift_matrix(k: int, d: int) -> Tensor:
    i = torch.arange(d // 2)  # one number for each pair of columns
    angles = k / 10000 ** (2 * i / d)  # how far k steps turn each pair
    cos, sin = angles.cos(), angles.sin()
    rotations = torch.stack([cos, -sin, sin, cos], dim=-1)  # (d/2, 4)
    blocks = rotations.reshape(-1, 2, 2)  # (d/2, 2, 2)
    return torch.block_diag(*blocks)  # (d, d)


NEARLY = (
    "Nearly: it moves the first few positions about as it should, but it is not the rotation. A "
    "fit to few positions, or in float32, gives such a matrix. The right one works everywhere."
)


def call(student, k: int, d: int):
    """What the student returns, unless it fits the first positions without being the rotation."""
    m, right = student(k, d), shift_matrix(k, d)
    if isinstance(m, Tensor) and m.shape == right.shape and m.is_floating_point():
        start = torch.arange(max(0, -k), max(0, -k) + 12)
        here, there = sinusoidal_encoding(start, d), sinusoidal_encoding(start + k, d)
        fits = (here @ m.detach().float() - there).abs().max() < 0.02
        if fits and (m - right).abs().max() > 1e-4:
            raise Mistake("not-exact", NEARLY)
    return m


BLOCK, BUILD = "[cos, -sin, sin, cos]", "torch.block_diag(*blocks)"
BUGS = (
    bug(
        "one-angle",
        "All pairs are turned by the same angle k. Each pair has its own speed.",
        ("k / 10000 ** (2 * i / d)", "k + 0.0 * i"),
    ),
    bug(
        "doubled-exponent",
        "The exponent is twice too large. Does a step of 2 already hold the 2 of 2i?",
        ("2 * i / d", "4 * i / d"),
    ),
    bug(
        "wrong-sign",
        "This turns the other way: it moves every position by −k. Our positions are *rows*, "
        "PE @ M; for columns, M @ PE, your block would be right.",
        (BLOCK, "[cos, sin, -sin, cos]"),
    ),
    bug(
        "reflection",
        "This block mirrors instead of turning. A rotation has the same cosine twice.",
        (BLOCK, "[cos, sin, sin, -cos]"),
    ),
    bug(
        "no-minus",
        "A minus is missing: cos(a + b) = cos a cos b − sin a sin b.",
        (BLOCK, "[cos, sin, sin, cos]"),
    ),
    bug(
        "sin-cos-exchanged",
        "Sines and cosines have changed places in the block. For k = 0 it must be the identity, so "
        "the cosines stand on the diagonal.",
        (BLOCK, "[sin, -cos, cos, sin]"),
    ),
    bug(
        "only-cosines",
        "The sines are missing. sin(a + b) needs sin a and cos a: so the table holds both.",
        (BLOCK, "[cos, 0 * sin, 0 * sin, cos]"),
    ),
    bug(
        "halves",
        "The blocks join columns i and i + d/2, as if all sines came first. In our table sine and "
        "cosine of a pair are neighbours, 2i and 2i + 1.",
        (BUILD, "blocks.permute(1, 2, 0).diag_embed().transpose(1, 2).reshape(d, d)"),
    ),
    bug(
        "identity-plus-k",
        "That is the identity plus k. k is a number of steps, and each step is a turn.",
        (BUILD, "torch.eye(d) + k"),
    ),
    bug(
        "moved-columns",
        "That moves the *columns* by k. The position is no column, but the angle of each pair.",
        (BUILD, "torch.eye(d).roll(k, dims=1)"),
    ),
)

EXERCISE = Exercise(
    id="X05-3",
    title="A shift is a rotation",
    see="05, section 6",
    name="shift_matrix",
    reference=shift_matrix,
    call=call,
    bugs=BUGS,
    steps={
        "torch.arange(d // 2)": "Every pair of columns has its block: i = 0, 1, … numbers them.",
        "k / 10000 ** (2 * i / d)": "One step turns pair i by its frequency, the same as in the "
        "table, and k steps turn it k times as far.",
        BLOCK: "The new sine and the new cosine come from the addition theorems, one in each "
        "*column* of the block.",
        "rotations.reshape(-1, 2, 2)": "Each pair has a block of 2 × 2 numbers.",
        BUILD: "Pairs do not mix, so the blocks stand on the diagonal and all else is 0.",
    },
    probes=lambda r: [(3, 8), (-2, 6), (5, 10)],
    hints=(
        "Take one pair with frequency ω. sin(a + kω) = sin a · cos kω + cos a · sin kω, and cos(a "
        "+ kω) = cos a · cos kω − sin a · sin kω. Write both as [sin a, cos a] @ block.",
        "The first *column* of the block makes the new sine, the second one the new cosine.",
        "The block is [[cos kω, −sin kω], [sin kω, cos kω]], with ω = 1 / 10000^(2i/d) for pair i; "
        "put the blocks on the diagonal.",
    ),
    also_right=(
        """
def shift_matrix(k, d):
    M = torch.zeros(d, d)
    for j in range(0, d, 2):
        c, s = math.cos(k / 10000 ** (j / d)), math.sin(k / 10000 ** (j / d))
        M[j : j + 2, j : j + 2] = torch.tensor([[c, -s], [s, c]])
    return M
""",
        """
def shift_matrix(k, d):
    w = 1 / 10000 ** (2 * torch.arange(d // 2, dtype=torch.float64) / d)
    def pe(t):
        return torch.stack([(t[:, None] * w).sin(), (t[:, None] * w).cos()], -1).flatten(1)
    t = torch.linspace(-20000, 20000, 4001, dtype=torch.float64)
    return torch.linalg.lstsq(pe(t), pe(t + k), driver="gelsd").solution.float()
""",
        """
def shift_matrix(k, d):
    g = torch.zeros(d, d, dtype=torch.float64)
    for i in range(0, d, 2):
        g[i, i + 1], g[i + 1, i] = -10000 ** (-i / d), 10000 ** (-i / d)
    return torch.matrix_exp(k * g).float()
""",
    ),
    blank='''def shift_matrix(k, d):
    """The matrix (d, d) with PE(pos + k) = PE(pos) @ M for all pos."""
    ...
''',
)
