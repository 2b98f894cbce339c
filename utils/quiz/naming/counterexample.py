"""What came and what was expected: by its packing, in words, and on the smallest wrong input."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from utils.quiz.naming.finding import Finding
from utils.quiz.naming.where import (
    Array,
    Case,
    Part,
    cases_of,
    is_plural,
    not_a_number,
    parts_of,
    plain,
    sums,
)
from utils.quiz.outcome import Outcome, close, show_shape

RUNS, SECONDS = 40, 0.03  # for making the input smaller
ROUND = (1.0, 0.0, 2.0, -1.0, 0.5)
Found = tuple[Array, Array, str]  # what came, what was expected, which part of the result


def packed(parts: tuple[str, ...], cases: list[Case], tolerance: float) -> Iterator[Finding]:
    """The right numbers in other containers, in another order, of another type, or only some."""

    def equal(some: tuple, others: tuple) -> bool:
        return len(some) == len(others) and all(
            a.shape == b.shape and close(a, b, tolerance).all() for a, b in zip(some, others)
        )

    def fits(take: Callable[[tuple], tuple]) -> bool:
        return all(equal(take(mine.arrays), right.arrays) for mine, right, _ in cases)

    mine, right, _ = cases[0]
    came, count = len(mine.arrays), len(right.arrays)
    wanted = " and ".join(f"the {p}" for p in parts)
    nested = [p for p, k in zip(parts, _keys(mine)) if k[0] == "several"]
    if nested and all(k[0] == "array" for k in _keys(right)):
        says = (
            f"The {nested[0]} {'hold' if is_plural(nested[0]) else 'holds'} rows or entries that "
        )
        yield Finding("nested", says + "do not line up: one of them is a list of its own.", 7.2)
    if fits(tuple):
        types = [(a.split()[-1], b.split()[-1]) for a, b in zip(mine.kinds, right.kinds)]
        types = [f"{a}, not {b}" for a, b in types if (a == "bool") != (b == "bool")]
        if types:
            says = f"The numbers are right, but of the type {types[0]}."
            yield Finding("dtype", says, 7.8)
        else:
            says = f"The numbers are right, but packed otherwise: expected {wanted}, as tensors."
            yield Finding("packed", says, 7.6)
    elif came == count in (2, 3) and any(
        fits(lambda a, order=order: tuple(a[k] for k in order))
        for order in itertools.permutations(range(count))
    ):
        yield Finding("exchanged", f"The results are exchanged: the order is {wanted}.", 7.7)
    elif count == 1 and came > 1 and len({a.shape for a in mine.arrays}) == 1:
        if all(equal((np.stack(m.arrays),), r.arrays) for m, r, _ in cases):
            says = f"The numbers are right, but come as {came} pieces, not as one tensor."
            yield Finding("packed", says, 7.6)
    if came > count and any(fits(lambda a, k=k: a[k : k + count]) for k in range(came)):
        yield Finding("too-many-results", f"More comes back than asked: expected {wanted}.", 7.6)
    if came == 1 < count == len(parts):
        alone = [p for i, p in enumerate(parts)
                 if all(equal(m.arrays, r.arrays[i : i + 1]) for m, r, _ in cases)]  # fmt: skip
        says = f"Only the {alone[0]} came back" if alone else "Only one value came back"
        yield Finding("one-part", f"{says}; expected are {wanted}.", 7.6 if alone else 5.6)


def _keys(outcome: Outcome) -> tuple:
    return outcome.key[1] if outcome.key[0] == "several" else (outcome.key,)


def symptoms(
    parts: tuple[str, ...], got: list[Outcome], want: list[Outcome],
    probes: list[tuple], names: list[str], tolerance: float,
) -> list[Finding]:  # fmt: skip
    """What can always be said about a wrong result, the most telling first."""
    try:
        with np.errstate(all="ignore"):
            found = list(_symptoms(parts, got, want, probes, names, tolerance))
    except Exception:  # as in `transforms.explain`
        found = [Finding("wrong", "The result is not the expected one.", 1.0)]
    return sorted(found, key=lambda f: -f.score)


def _symptoms(parts, got, want, probes, names, tolerance) -> Iterator[Finding]:
    good, _, cases = cases_of(got, want, probes, names, tolerance)
    raised = sum(bool(g.raised) for g in got)
    if raised:
        often = "every input" if raised == len(got) else f"{raised} of {len(got)} inputs"
        yield Finding("raises", f"It stops with an exception on {often}.", 3.0)
    if any(good) and not all(good):
        says = f"On {sum(good)} of {len(good)} inputs the result is right."
        yield Finding("some-right", says, 3.2)
    if not cases:
        return
    mine, right, _ = cases[0]
    if len(mine.arrays) != len(right.arrays):
        yield Finding("structure", _structure(parts, mine, right), 4.9)
        return
    wrong = parts_of(parts, cases, tolerance)
    yield from _shapes(parts, mine, right)
    if not wrong:
        yield from (replace(f, score=4.0) for f in packed(parts, cases, tolerance))
    for part in wrong:
        if part.same_shape():
            yield from not_a_number(part)
            yield from sums(part)
            yield from _how_far(part)
    for name in [p for p in parts if p not in {w.name for w in wrong}] if wrong else ():
        yield Finding("right-part", f"The {name} {'are' if is_plural(name) else 'is'} right.", 3.4)


def _structure(parts: tuple[str, ...], mine: Outcome, right: Outcome) -> str:
    """Another number of values than expected."""
    wanted = " and ".join(f"the {p}" for p in parts)
    if mine.key == ("value", None):
        return f"Nothing comes back (None), expected {wanted}: is there a `return` at the end?"
    if mine.key[0] == "other" and mine.key[1] in ("generator", "coroutine"):
        return f"A {mine.key[1]} comes back, not a result: use `return`, not `yield`."
    count = len(mine.arrays)
    came = f"{count} values" if count > 1 else show_shape(mine.key)
    return f"What came back: {came}. Expected: {wanted}."


def _shapes(parts: tuple[str, ...], mine: Outcome, right: Outcome) -> Iterator[Finding]:
    """Shapes and types that are not as expected, part by part."""
    for i, (a, b) in enumerate(zip(mine.arrays, right.arrays)):
        name = parts[i] if i < len(parts) else f"value {i + 1}"
        has = "have" if is_plural(name) else "has"
        came, wanted = (_type(o.kinds[i]) for o in (mine, right))
        if a.shape != b.shape:
            says = f"The {name} {has} shape {a.shape}, expected is shape {b.shape}."
            yield Finding("shape", says, 4.9)
        elif (came == "booleans") != (wanted == "booleans"):
            says = f"The {name} {has} shape {a.shape} of {came}, expected are {wanted} of the same"
            yield Finding("type", f"{says} shape.", 4.9)


def _type(kind: str) -> str:
    name = kind.split()[-1]
    return "booleans" if name == "bool" else "floats" if "float" in name else "whole numbers"


def _how_far(part: Part) -> Iterator[Finding]:
    """How many of the numbers are right, and by how much the others are off."""
    fits = np.concatenate([close(m, r, part.tolerance).ravel() for m, r in part.pairs()])
    share = (
        f"{fits.mean():.0%}" if fits.mean() >= 0.01 else "fewer than 1%" if fits.any() else "none"
    )
    says = f"{{The}} {{has}} the right shape; of the entries, {share} are right."
    yield Finding("share", part.say(says), 3.5)
    off = max(np.abs(m - r).max() / max(np.abs(r).max(), 1e-9) for m, r in part.pairs())
    if off < 0.01 and not part.truth:
        says = (
            f"{{The}} {{is_}} nearly right, off by at most {off:.2%} of the largest number: that "
        )
        says += "is how a small constant (an epsilon) of another size or at another place looks."
        yield Finding("nearly", part.say(says), 4.8)


# The smallest input on which it goes wrong.


def smallest(
    run: Callable,
    right: Callable,
    args: tuple,
    names: list[str],
    parts: tuple[str, ...],
    tolerance: float,
) -> str:
    """A small input on which the solution is wrong, what came there, and what was expected."""
    search = _Search(run, right, parts, tolerance)
    try:
        with np.errstate(all="ignore"):
            found = search.wrong(args)
            return _told(*search.smaller(args, found), names, tolerance) if found else ""
    except Exception:  # no example is better than no verdict
        return ""


class _Search:
    """Makes a failing input smaller as long as it fails in the same way."""

    def __init__(self, run: Callable, right: Callable, parts: tuple, tolerance: float):
        self.run, self.right, self.parts, self.tolerance = run, right, parts, tolerance
        self.runs, self.end, self.way = 0, time.perf_counter() + SECONDS, None

    def wrong(self, args: tuple) -> Found | None:
        """Of the first wrong part what came, what is expected; None if right or not to be run."""
        copies = [[a.clone() if isinstance(a, torch.Tensor) else a for a in args] for _ in "12"]
        self.runs += 1
        try:
            expected = self.right(*copies[0])
            came = self.run(*copies[1]) if expected else None
        except Exception:
            return None
        for i, (mine, good) in enumerate(zip(came or (), expected or ())):
            same_shape = mine.shape == good.shape
            if same_shape and close(mine, good, self.tolerance).all():
                continue
            seen = same_shape and bool((np.abs(mine - good) >= 0.01).any())
            way = (same_shape, seen, bool(np.isnan(mine).any()))
            self.way = self.way or way
            usable = good.size and mine.size and not np.isnan(good).any()
            label = (
                f" It shows in the {self.parts[i]}." if len(expected) == len(self.parts) > 1 else ""
            )
            return (mine, good, label) if way == self.way and usable else None
        return None

    def smaller(self, args: tuple, found: Found) -> tuple[tuple, Found]:
        """Shorter axes first (those of one size together), then round numbers."""
        sizes: dict[int, int] = {}
        for size in sorted({n for a in args for n in _lengths(a)}, reverse=True):
            plain_number = any(type(a) is int and a == size for a in args)
            for to in range(1 + plain_number, min(size, 4)):  # one of a kind shows too little
                tried = tuple(_cut(a, sizes | {size: to}) for a in args)
                if (came := self.still_wrong(tried)) is not None:
                    sizes, found = sizes | {size: to}, came
                    break
        args = tuple(_cut(a, sizes) for a in args)
        for i, a in enumerate(args):
            for rounder in _round_numbers(a):
                tried = (*args[:i], rounder, *args[i + 1 :])
                if (came := self.still_wrong(tried)) is not None:
                    args, found = tried, came
                    break
        return args, found

    def still_wrong(self, args: tuple) -> Found | None:
        late = self.runs >= RUNS or time.perf_counter() > self.end
        return None if late else self.wrong(args)


def _lengths(value: Any) -> list[int]:
    sizes = value.shape if isinstance(value, torch.Tensor) else [value] * (type(value) is int)
    return [n for n in sizes if n > 1]


def _cut(value: Any, sizes: dict[int, int]) -> Any:
    """``value`` with all axes of each size shortened; a plain number that is a size follows."""
    if isinstance(value, torch.Tensor):
        return value[tuple(slice(sizes.get(n, n)) for n in value.shape)]
    return sizes.get(value, value) if type(value) is int else value


def _round_numbers(value: Any) -> list[torch.Tensor]:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return []
    cycle = torch.tensor(ROUND, dtype=value.dtype).repeat(value.numel() // len(ROUND) + 1)
    some = cycle[: value.numel()].reshape(value.shape)
    return [torch.zeros_like(value), torch.ones_like(value), some, value.round()]


def _told(args: tuple, found: Found, names: list[str], tolerance: float) -> str:
    mine, good, label = found
    given = ", ".join(_argument(n, a) for n, a in zip(names, args))
    start = f"The smallest example found where it goes wrong: {given}.{label}"
    if mine.shape != good.shape:
        return f"{start} Came: shape {mine.shape}. Expected: shape {good.shape}."
    came, expected = _short(mine), _short(good)
    if came and expected and came != expected:
        return f"{start} Came: {came}. Expected: {expected}."
    at = np.argwhere(~close(mine, good, tolerance))[0].tolist()
    values = [_digits(a[tuple(at)]) for a in (mine, good)]
    if values[0] == values[1]:  # too close for two decimals
        values = [f"{a[tuple(at)]:.6g}" for a in (mine, good)]
    return f"{start} At {at}: came {values[0]}, expected {values[1]}."


def _argument(name: str, value: Any) -> str:
    name = name if " " in name else f"`{name}`"
    if value is None or isinstance(value, bool | int | float):
        return f"{name} = {value}"
    array = plain(value)
    if not isinstance(array, Array):
        return name
    return f"{name} = {_short(array)}" if _short(array) else f"{name} of shape {array.shape}"


def _short(array: Array) -> str:
    """Nested lists with two decimals, if that is short: at most 3 rows of 6."""
    if array.size > 18 or (array.ndim and array.shape[-1] > 6) or array.size == 0:
        return ""
    if array.ndim and array.size // array.shape[-1] > 3:
        return ""
    write = lambda x: "[" + ", ".join(map(write, x)) + "]" if isinstance(x, list) else _digits(x)  # noqa: E731
    return write(array.tolist())


def _digits(x: Any) -> str:
    text = str(x) if isinstance(x, bool) or not np.isfinite(x) else f"{x:.2f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
