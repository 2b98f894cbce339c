"""Fingerprints: an outcome as a few numbers, so that thousands of wrong answers fit into a file.

An outcome becomes a code of its shape and two random projections of its numbers, for the whole and
for each part. Two outcomes that agree within the tolerance have prints that agree; two that do not
agree on both projections only by a chance of about one in a million.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from utils.quiz.outcome import Outcome

DIRECTIONS = np.random.default_rng(7).normal(size=(2, 200_000)).astype(np.float64)
RAISED = -1  # the code of every exception


@dataclass(frozen=True)
class Print:
    """Prints of one or many outcomes: the last axis of ``codes`` is (whole, part 1, part 2, …)."""

    codes: np.ndarray  # (..., 1 + parts), int64
    places: np.ndarray  # (..., 1 + parts, 2)
    sizes: np.ndarray  # (..., 1 + parts), how large the numbers are: sets the tolerance


def take(outcome: Outcome, parts: int) -> Print:
    """The print of one outcome."""
    codes = np.zeros(1 + parts, np.int64)
    places, sizes = np.zeros((1 + parts, 2)), np.ones(1 + parts)
    if outcome.raised:
        codes[:], places[:] = RAISED, zlib.crc32(outcome.raised.encode()) % 9973
        return Print(codes, places, sizes)
    split = outcome.parts()
    rows = [(outcome.key, _row([a for a in outcome.arrays]))]
    if len(split) == parts:
        rows += [(key, _row([array])) for key, array in split]
    for i, (key, row) in enumerate(rows):
        codes[i] = zlib.crc32(repr(key).encode()) + 1
        places[i] = DIRECTIONS[:, : row.size] @ row / max(row.size, 1) ** 0.5
        sizes[i] = max(1.0, float(np.sqrt(np.mean(row**2))) if row.size else 1.0)
    return Print(codes, places, sizes)


def _row(arrays: list[np.ndarray]) -> np.ndarray:
    row = np.concatenate([a.ravel() for a in arrays]) if arrays else np.zeros(0)
    row = np.where(np.isfinite(row), np.clip(row, -1e10, 1e10), row)[: DIRECTIONS.shape[1]]
    return np.nan_to_num(row, nan=7.7, posinf=1.1e4, neginf=-1.3e4)  # not what is merely large


def stack(prints: list[Print]) -> Print:
    """Many prints as one, along a new first axis."""
    together = (np.stack(a) for a in zip(*((p.codes, p.places, p.sizes) for p in prints)))
    return Print(*together)


def agree(mine: Print, many: Print, tolerance: float) -> np.ndarray:
    """Where ``many`` agree with ``mine``, broadcast over leading axes; exceptions by their text."""
    limit = 4 * tolerance * mine.sizes
    near = (np.abs(many.places - mine.places) <= limit[..., None]).all(-1)
    return (many.codes == mine.codes) & near


def distance(mine: Print, many: Print) -> np.ndarray:
    """How far apart the whole outcomes are, over all probes: it decides between two that agree."""
    apart = np.abs(many.places - mine.places).max(-1) / np.maximum(mine.sizes, many.sizes)
    return apart[..., 0].sum(-1)
