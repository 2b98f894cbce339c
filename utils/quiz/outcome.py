"""Results made comparable: any value becomes a shape-like key and plain float64 numbers.

The comparison uses plain arithmetic and references taken when this file was imported, never
`torch.allclose`, so that a patched torch cannot turn a wrong answer into a right one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

LARGEST = 2_000_000  # numbers in one result; more is no answer to a small probe
_abs, _isnan, _array, _where = np.abs, np.isnan, np.asarray, np.where


@dataclass(frozen=True)
class Outcome:
    """What one call gave: a nested ``key`` of shapes, and the numbers ``arrays`` leaf by leaf."""

    key: tuple
    arrays: tuple[np.ndarray, ...] = ()
    kinds: tuple[str, ...] = ()  # per leaf: "tensor float32", "numpy float64", "python int"
    raised: str = ""  # "RuntimeError: ..." if there was no result

    def parts(self) -> list[tuple[tuple, np.ndarray]]:
        """(key, numbers) of each leaf, for comparing a tuple's parts one by one."""
        keys = self.key[1] if self.key[0] == "several" else (self.key,)
        if len(keys) != len(self.arrays):
            return []  # nested deeper than a tuple of arrays
        return list(zip(keys, self.arrays, strict=True))


def failed(error_text: str) -> Outcome:
    return Outcome(key=("raised",), raised=error_text)


def normalise(value: Any) -> Outcome:
    """Turn any value into an `Outcome`."""
    arrays: list[np.ndarray] = []
    kinds: list[str] = []

    def leaf(array: np.ndarray, kind: str) -> tuple:
        if array.size > LARGEST:
            raise ValueError(f"the result has {array.size:,} numbers, far more than asked for")
        if array.dtype.kind == "c":
            raise ValueError("the result holds complex numbers, expected were real ones")
        truth = array.dtype.kind == "b"
        arrays.append(array.astype(np.float64))
        kinds.append(f"{kind} {array.dtype}")
        return ("array", array.shape, "bool" if truth else "number")

    def walk(value: Any) -> tuple:
        if isinstance(value, torch.Tensor):
            tensor = value.detach().cpu()
            if tensor.dtype == torch.bfloat16:
                tensor = tensor.float()
            return leaf(tensor.resolve_conj().numpy(), "tensor")
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
            return leaf(_array(value), "numpy")
        if isinstance(value, bool | int | float):
            return leaf(_array(value), "python")
        if isinstance(value, list | tuple):
            try:
                numbers = _array(value) if _only_numbers(value) else None
            except ValueError:  # rows of different lengths
                numbers = None
            if numbers is not None and numbers.size:
                return leaf(numbers, "python")
            return ("several", tuple(walk(item) for item in value))
        if isinstance(value, dict):
            names = tuple(sorted(map(str, value)))
            return ("dict", names, tuple(walk(value[k]) for k in sorted(value, key=str)))
        if value is None or isinstance(value, str):
            return ("value", value)
        return ("other", type(value).__name__)

    key = walk(value)
    return Outcome(key, tuple(arrays), tuple(kinds))


def _only_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_only_numbers(item) for item in value)
    return isinstance(value, bool | int | float)


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    """Elementwise equal within ``tolerance`` (absolute below 1, relative above); NaN = NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        size = _abs(b)
        limit = tolerance * _where((size > 1) & (size < np.inf), size, 1.0)
        return (_abs(a - b) <= limit) | (a == b) | (_isnan(a) & _isnan(b))


def same_numbers(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """As `close`, for all entries, in Python floats only: the one that decides about a pass."""
    if a.shape != b.shape:
        return False
    for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
        if x == y or (x != x and y != y):
            continue
        size = y if y >= 0 else -y
        if not (-(limit := tolerance * (size if size > 1 else 1.0)) <= x - y <= limit):
            return False
        if size == float("inf"):
            return False
    return True


def same(a: Outcome, b: Outcome, tolerance: float) -> bool:
    return (
        a.key == b.key
        and not a.raised
        and not b.raised
        and all(same_numbers(x, y, tolerance) for x, y in zip(a.arrays, b.arrays, strict=True))
    )


def show_shape(key: tuple) -> str:
    """A key in words: "a pair of shapes (2, 5, 6) and (2, 5, 3)"."""
    if key[0] == "array":
        shape = key[1]
        if shape == ():
            return "one number" if key[2] == "number" else "one truth value"
        return f"shape {tuple(shape)}" + (" of booleans" if key[2] == "bool" else "")
    if key[0] == "several":
        if not key[1]:
            return "an empty tuple"
        if len(key[1]) == 1:
            return f"a tuple of one ({show_shape(key[1][0])})"
        return f"{len(key[1])} values (" + " and ".join(show_shape(k) for k in key[1]) + ")"
    if key[0] == "value":
        return "None" if key[1] is None else f"the text {key[1]!r}"[:60]
    if key[0] == "dict":
        return "a dict"
    return f"an object of type {key[1]}" if key[0] == "other" else "an exception"
