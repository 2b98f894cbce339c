"""X05-3: the matrix that moves every position by k."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

ANGLE = "the angle of each pair"
BLOCK = "the four numbers of each 2 × 2 block"
PLACE = "where the blocks are put"


def shift_matrix(k: int, d: int) -> Tensor:
    m = torch.zeros(d, d)
    for i in range(d // 2):
        angle = torch.tensor(k / 10000 ** (2 * i / d))
        cos, sin = angle.cos(), angle.sin()
        m[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.stack(
            [torch.stack([cos, -sin]), torch.stack([sin, cos])]
        )
    return m


def switched(bug, k: int, d: int) -> Tensor:
    """A block of rotation for each pair; ``bug`` says which mistakes are on."""
    pair = torch.arange(d // 2, dtype=torch.float64)
    frequency = bug.choose(
        lambda: 10000 ** (-2 * pair / d),
        one_angle=lambda: torch.ones(d // 2, dtype=torch.float64),
        index_from_one=lambda: 10000 ** (-2 * (pair + 1) / d),
        no_two=lambda: 10000 ** (-pair / d),
        doubled_exponent=lambda: 10000 ** (-4 * pair / d),
        multiplied=lambda: 10000 ** (2 * pair / d),
        turned_by_fractions=lambda: 2 * torch.pi * 10000 ** (-2 * pair / d),
    )
    angle = frequency if bug("k-forgotten") else k * frequency
    angle = torch.deg2rad(angle) if bug("degrees") else angle
    sin, cos = angle.sin(), angle.cos()
    a, b, c, e = bug.choose(  # [[a, b], [c, e]]
        lambda: (cos, -sin, sin, cos),
        wrong_sign=lambda: (cos, sin, -sin, cos),
        reflection=lambda: (cos, sin, sin, -cos),
        no_minus=lambda: (cos, sin, sin, cos),
        sin_cos_exchanged=lambda: (sin, -cos, cos, sin),
        only_cosines=lambda: (cos, 0 * sin, 0 * sin, cos),
        outer_product=lambda: (sin * sin, sin * cos, cos * sin, cos * cos),
    )
    if bug("halves"):
        m = torch.cat(
            [
                torch.cat([torch.diag(a), torch.diag(b)], dim=1),
                torch.cat([torch.diag(c), torch.diag(e)], dim=1),
            ]
        )
    else:
        blocks = torch.stack([torch.stack([a, b], dim=-1), torch.stack([c, e], dim=-1)], dim=-2)
        m = torch.block_diag(*blocks)
    even, odd = torch.arange(0, d, 2), torch.arange(1, d, 2)
    m = bug.choose(
        lambda: m,
        plus_identity=lambda: m + torch.eye(d),
        identity_plus_k=lambda: torch.eye(d, dtype=m.dtype) + k,
        identity=lambda: torch.eye(d, dtype=m.dtype),
        identity_times_k=lambda: k * torch.eye(d, dtype=m.dtype),
        moved_columns=lambda: torch.eye(d, dtype=m.dtype).roll(k, dims=1),
        moved_rows=lambda: torch.eye(d, dtype=m.dtype).roll(-k, dims=1),
        fixed_offset=lambda: m.index_put((even, odd), m[0, 1]).index_put((odd, even), m[1, 0]),
        first_block_only=lambda: torch.block_diag(m[:2, :2], torch.eye(d - 2, dtype=m.dtype)),
        rest_left_zero=lambda: torch.block_diag(m[:2, :2], torch.zeros(d - 2, d - 2)),
    )
    return bug.choose(
        lambda: m.float(),
        blocks_apart=lambda: m.float().unfold(0, 2, 2).unfold(1, 2, 2).diagonal().permute(2, 0, 1),
        one_row=lambda: m.float().sum(0),
    )


def nearly(probes: list, results: list) -> bool:
    """A least-squares fit in float32: the right matrix, roughly."""
    for (k, d), (m,) in zip(probes, results, strict=True):
        if not np.abs(m - shift_matrix(k, d).double().numpy()).max() < 0.2:
            return False
    return True


def least_norm(probes: list, results: list) -> bool:
    """Does it move positions near 0 as it should, without being the rotation?"""
    for (k, d), (m,) in zip(probes, results, strict=True):
        angles = np.arange(12)[:, None] / 10000 ** (2 * np.arange(d // 2) / d)
        later = angles + k / 10000 ** (2 * np.arange(d // 2) / d)
        rows = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(12, d)
        want = np.stack([np.sin(later), np.cos(later)], axis=-1).reshape(12, d)
        if not np.abs(rows @ m - want).max() < 0.2:
            return False
    return True


SHIFT = Exercise(
    id="X05-3",
    title="A shift is a rotation",
    see="05, section 6",
    name="shift_matrix",
    reference=shift_matrix,
    switched=switched,
    tolerance=1e-4,
    bugs=(
        *group("angle", ANGLE)(
            one_angle="All pairs are turned by the same angle k. Each pair has its own speed: k / "
            "10000^(2i/d).",
            index_from_one="The pairs are counted from 1, so the first one turns too slowly. i = "
            "0, 1, …",
            no_two="The exponent is i/d. It is 2i/d, as in the table itself.",
            doubled_exponent="The exponent is twice too large. Does a step of 2 already hold the 2 "
            "of 2i?",
            multiplied="The angle is multiplied by 10000^(2i/d). Divide: later pairs turn more "
            "slowly.",
            turned_by_fractions="There is a 2π in the angle. The table has none.",
        ),
        *group("block", BLOCK)(
            wrong_sign="This turns the other way: it moves every position by −k. Our positions are "
            "*rows*, PE @ M; for columns, M @ PE, your block would be right. Carry the minus to "
            "the other corner.",
            reflection="This block mirrors instead of turning. A rotation has the cosine twice on "
            "its diagonal, and the two sines with opposite signs.",
            no_minus="The minus is missing: cos(a + b) = cos a cos b − sin a sin b.",
            sin_cos_exchanged="Sines and cosines have changed places in the block. For k = 0 it "
            "must be the identity, so the cosines stand on the diagonal.",
            only_cosines="The sines are missing from the block. sin(a + b) needs both sin a and "
            "cos a: that is why the table holds both.",
            outer_product="The block is a product of the vector with itself. A turn of it is "
            "needed: the addition theorems of sine and cosine.",
        ),
        *group("place", PLACE)(
            plus_identity="The identity is added on top of the rotation.",
            identity_plus_k="That is the identity plus k. k is a number of steps; here each step "
            "is a turn.",
            identity="That is the identity: nothing moves.",
            identity_times_k="That stretches by k. A shift turns each pair and keeps its length.",
            moved_columns="That moves the *columns* by k. The position is not a column: it sits in "
            "the angle of each pair.",
            moved_rows="That moves the rows of the matrix by k. The position is not a place in the "
            "vector: it sits in the angle of each pair.",
            fixed_offset="The sines of the first pair stand in every block. Each pair has its own.",
            first_block_only="Only the first pair is turned. Every pair needs its block.",
            rest_left_zero="Only the first block is filled in, the rest is 0.",
        ),
        *group("shape", "the return line")(
            blocks_apart="The blocks come as a stack, (d/2, 2, 2). Put them on the diagonal of a "
            "(d, d) matrix; `torch.block_diag(*blocks)` does it.",
            one_row="One row comes back. The shift is a matrix (d, d).",
        ),
        *single(PLACE)(
            halves="The blocks join columns i and i + d/2, as if all sines came first. In our "
            "table sine and cosine of a pair are neighbours, 2i and 2i + 1."
        ),
        *single(ANGLE)(
            k_forgotten="The angle does not depend on k: it is always one step.",
            degrees="The angle is taken for degrees. `sin` and `cos` use radians.",
        ),
        *single(BLOCK, detect=nearly)(
            not_exact="Nearly: the matrix is right to about one digit, as a least-squares fit in "
            "float32 is. Write the rotations down, or fit in float64."
        ),
        *single(BLOCK, detect=least_norm)(
            fitted_to_some="It moves the first few positions as it should, but it is not the "
            "rotation: a fit to too few positions has many solutions. The right one works "
            "everywhere."
        ),
    ),
    probes=lambda r: [(3, 8), (-2, 6), (5, 10)],
    hints=(
        "Take one pair with frequency ω. sin(a + kω) = sin a · cos kω + cos a · sin kω, and cos(a "
        "+ kω) = cos a · cos kω − sin a · sin kω.",
        "Write both as [sin a, cos a] @ block. The first *column* of the block makes the new sine, "
        "the second one the new cosine.",
        "The block is [[cos kω, −sin kω], [sin kω, cos kω]], with ω = 1 / 10000^(2i/d) for pair i; "
        "put the blocks on the diagonal.",
    ),
    also_right=(
        """
def shift_matrix(k, d):
    w = 10000.0 ** (-torch.arange(0, d, 2) / d)
    c, s = torch.cos(k * w), torch.sin(k * w)
    blocks = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return torch.block_diag(*blocks)
""",
        """
def shift_matrix(k, d):
    M = torch.zeros(d, d)
    for j in range(d):
        a = k / 10000 ** (2 * (j // 2) / d)
        M[j, j] = math.cos(a)
        if j % 2 == 0:
            M[j, j + 1], M[j + 1, j] = -math.sin(a), math.sin(a)
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
    blank=(
        "def shift_matrix(k, d):\n"
        '    """The matrix (d, d) with PE(pos + k) = PE(pos) @ M for all pos."""\n    ...\n'
    ),
)
