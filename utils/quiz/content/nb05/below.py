"""What the cells of notebook 05 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

NAMES = ("unique", "consistent", "bounded", "deterministic")


def _short_table(r: Callable) -> Callable[[int], Tensor]:
    """A learned table: it has 64 rows, and says so to whoever asks for more."""
    rows = r(64, 8)
    return lambda n: rows[torch.arange(n)]


def _judged(has_property: Callable, r: Callable) -> list[bool | str]:
    def verdict(name: str) -> bool | str:
        try:
            return bool(has_property(_short_table(r), name))
        except (IndexError, ValueError):
            return "no such position"

    return [verdict(name) for name in NAMES]


BELOW = {
    "X05-4": {
        "judge a table with 64 rows: each test may ask for no more positions than its own text "
        "says": _judged,
    },
}
