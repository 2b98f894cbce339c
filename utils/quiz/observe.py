"""The fallback: when no known mistake fits, say what can be seen."""

from __future__ import annotations

import numpy as np

from utils.quiz.exercise import Exercise
from utils.quiz.outcome import Outcome, close, show_shape


def describe(exercise: Exercise, got: list[Outcome], want: list[Outcome]) -> list[str]:
    """Sentences about a wrong answer, the most telling first."""
    for mine, right in zip(got, want, strict=True):
        if mine.key != right.key:
            return [_structure(exercise, mine, right)]
    sentences: list[str] = []
    for part, name in enumerate(exercise.parts):
        mine = [o.arrays[part] for o in got]
        right = [o.arrays[part] for o in want]
        sentences += _numbers(exercise, part, name, mine, right)
        came, wanted = got[0].kinds[part].split()[1], want[0].kinds[part].split()[1]
        if came != wanted and came != "float64":
            sentences.append(f"The {name} {_is(name)} of type {came}, expected {wanted}.")
    return sentences


def _is(name: str) -> str:
    return "are" if name.endswith("s") else "is"


def _has(name: str) -> str:
    return "have" if name.endswith("s") else "has"


def _structure(exercise: Exercise, mine: Outcome, right: Outcome) -> str:
    if mine.key[0] == "other" and mine.key[1] in ("generator", "coroutine"):
        return f"The function gives a {mine.key[1]} instead of a result: use `return`, not `yield`."
    wanted, given = right.parts(), mine.parts()
    if len(wanted) == len(given) and len(wanted) > 1:
        for name, (expected, _), (came, _) in zip(exercise.parts, wanted, given, strict=True):
            if expected != came:
                return (
                    f"The {name} {_has(name)} {show_shape(came)}, expected {show_shape(expected)}."
                )
    return f"The result is {show_shape(mine.key)}, expected {show_shape(right.key)}."


def _numbers(
    exercise: Exercise, part: int, name: str, mine: list[np.ndarray], right: list[np.ndarray]
) -> list[str]:
    tolerance = exercise.tolerance
    fits = [close(m, r, tolerance) for m, r in zip(mine, right, strict=True)]
    share = sum(f.sum() for f in fits) / max(sum(f.size for f in fits), 1)
    if share == 1:
        return [f"The {name} {_is(name)} right."] if len(exercise.parts) > 1 else []
    found = []
    for array in mine:
        for what, where in (("NaN", np.isnan(array)), ("infinite", np.isinf(array))):
            if where.any():
                at = tuple(int(i) for i in np.argwhere(where)[0])
                found.append(f"The {name} {_has(name)} {what} entries, the first at index {at}.")
        if found:
            return found
    if exercise.rows_sum_to_one == part:
        found += _sums(mine)
    if found:
        pass
    elif share > 0:
        part_right = f"{share:.0%}" if share >= 0.01 else "Under 1%"
        found.append(f"{part_right} of the entries of the {name} are right.")
    else:
        found.append(f"No entry of the {name} is right.")
    factor = _factor(mine, right)
    if factor is not None:
        found.append(f"Every entry of the {name} is {factor:.4g} times what it should be.")
    return found


def _sums(mine: list[np.ndarray]) -> list[str]:
    if not all(m.ndim >= 2 for m in mine):
        return []
    if not all(np.allclose(m.sum(-1), 1, atol=1e-3) for m in mine):
        if all(np.allclose(m.sum(-2), 1, atol=1e-3) for m in mine):
            return [
                "The columns of the weights sum to 1, the rows do not: a query's weights are a row."
            ]
        low, high = min(m.sum(-1).min() for m in mine), max(m.sum(-1).max() for m in mine)
        return [
            f"The rows of the weights do not sum to 1 (they sum to {low:.3g} up to {high:.3g})."
        ]
    if any((m < -1e-6).any() for m in mine):
        return ["The rows of the weights sum to 1, but some weights are negative."]
    return ["The rows of the weights sum to 1, as they should, but hold other numbers."]


def _factor(mine: list[np.ndarray], right: list[np.ndarray]) -> float | None:
    """The one number by which all entries are too large, if there is one."""
    m = np.concatenate([a.ravel() for a in mine])
    r = np.concatenate([a.ravel() for a in right])
    keep = np.abs(r) > 1e-3
    if keep.sum() < 3 or not np.isfinite(m).all() or not np.isfinite(r).all():
        return None
    ratio = m[keep] / r[keep]
    middle = float(np.median(ratio))
    steady = np.abs(ratio - middle).max() <= 1e-3 * max(abs(middle), 1e-3)
    return middle if steady and abs(middle - 1) > 1e-3 else None
