"""One part of a result beside the right one, and where it is wrong: in which row, behind a mask."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from utils.quiz.naming.finding import Finding
from utils.quiz.outcome import Outcome, close

Array = np.ndarray
PLURAL = {"is_": "are", "has": "have", "holds": "hold", "does": "do", "it": "they", "one": "ones"}
LINES: dict[str, Callable[[int], list[int]]] = {  # of n lines; too few to tell give none
    "the first {}": lambda n: [0],
    "the last {}": lambda n: [n - 1],
    "the second {}": lambda n: [1] * (n > 2),
    "every second {}, from the first": lambda n: [*range(0, n, 2)] * (n > 2),
    "every second {}, from the second": lambda n: [*range(1, n, 2)] * (n > 3),
    "each {} but the first": lambda n: [*range(1, n)] * (n > 2),
    "each {} but the last": lambda n: [*range(n - 1)] * (n > 2),
}
DIAGONAL: dict[str, Callable[[Array], Array]] = {  # of column minus row
    "on the diagonal": lambda d: d == 0,
    "right above the diagonal": lambda d: d == 1,
    "right below the diagonal": lambda d: d == -1,
    "above the diagonal": lambda d: d > 0,
    "below the diagonal": lambda d: d < 0,
    "on and above the diagonal": lambda d: d >= 0,
    "on and below the diagonal": lambda d: d <= 0,
}
VALUES: dict[str, Callable[[Array], Array]] = {
    "where 0 is expected": lambda r: r == 0,
    "where a negative number is expected": lambda r: r < 0,
}
WHY = {
    "nan": "That comes from 0/0, ∞ − ∞ or 0 · ∞, or from the root or logarithm of a negative "
    "number: for example a softmax over a row in which every score is −∞.",
    "infinite": "That comes from a division by 0, the logarithm of 0, an exponential that "
    "overflows, or from a filled-in ∞ that is still there.",
}


def plain(value: Any) -> Any:
    """A tensor as numpy (floats as float64, others as they are), everything else as it came."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.double() if value.is_floating_point() else value).numpy()
    return value


@dataclass(frozen=True)
class Part:
    """One part of the result on the inputs where it is wrong: what came, what is right."""

    name: str
    mine: list[Array]
    right: list[Array]
    inputs: list[dict[str, Any]]  # argument name -> `plain` value
    truth: bool  # are booleans asked for?
    tolerance: float

    def pairs(self) -> list[tuple[Array, Array]]:
        return list(zip(self.mine, self.right))

    def same_shape(self) -> bool:
        return all(m.shape == r.shape for m, r in self.pairs())

    def axes(self) -> range:
        """The axes that the right one has on every input, as negative numbers, the last first."""
        return range(-1, -min(r.ndim for r in self.right) - 1, -1)

    def arguments(self) -> Iterator[tuple[str, list[Array]]]:
        """The arguments that are tensors on every input."""
        for name in self.inputs[0]:
            values = [one.get(name) for one in self.inputs]
            if all(isinstance(v, Array) and v.ndim for v in values):
                yield name, values

    def equal(self, a: Array, b: Any) -> bool:
        b, tolerance = np.asarray(b), max(self.tolerance, 1e-5)
        if a.shape != b.shape:
            return False
        x, y = (float(c.flat[0]) if c.size else 0.0 for c in (a, b))
        if abs(x - y) > 2 * tolerance * max(1.0, abs(y)):  # most are wrong in the first entry
            return x != x and y != y
        return bool(close(a, b, tolerance).all())

    def fits(self, make: Callable[[Array, int], Any]) -> bool:
        """Is what came ``make(right, i)`` on each input ``i``?"""
        try:
            return all(self.equal(m, make(r, i)) for i, (m, r) in enumerate(self.pairs()))
        except (ValueError, IndexError, TypeError):  # it cannot be made from these shapes
            return False

    def undone_by(self, make: Callable[[Array], Array]) -> bool:
        """Does ``make`` turn what came into the right one?"""
        return all(self.equal(make(m), r) for m, r in self.pairs())

    def say(self, text: str, axis: int = -1) -> str:
        """``text`` with the part's name and the verbs that agree with it put in."""
        verbs = PLURAL if is_plural(self.name) else {v: v.strip("_") for v in PLURAL}
        the = {"the": f"the {self.name}", "The": f"The {self.name}"}
        return text.format(**the, **verbs, word=self.word(axis), dim=f"`dim={axis}`")

    def number(self, values: list[float]) -> tuple[str, float]:
        """One number per input in words, and how much that tells: 1 by name, 0.8 constant, 0."""
        tables = [sizes(one) for one in self.inputs]
        near = lambda a, b: abs(a - b) <= 2e-3 * max(abs(b), 1e-3)  # noqa: E731
        known = [
            t for t in tables[0] if all(near(s.get(t, 1e9), v) for s, v in zip(tables, values))
        ]
        constant = all(near(v, values[0]) for v in values)
        if known:
            return f"{values[0]:.4g} (here also {known[0]})" if constant else known[0], 1
        return (f"{values[0]:.4g}", 0.8) if constant else ("a number that differs by input", 0)

    def word(self, axis: int) -> str:
        """What one step along a negative ``axis`` is called: a row, a column, an example."""
        ndim, inputs = self.right[0].ndim, self.inputs[0]
        if axis >= -2:
            return "row" if axis == -2 else "column" if ndim > 1 else "place"
        size = self.right[0].shape[axis]
        tensors = [v for v in inputs.values() if isinstance(v, Array) and v.ndim > 2]
        if axis == -ndim and any(len(v) == size for v in tensors):
            return "example"
        heads = any("head" in w or w in ("h", "H", "weights") for w in (self.name, *inputs))
        return "head" if axis == -3 and heads else f"step along axis {axis + ndim}"


def is_plural(name: str) -> bool:
    """Of "weights" or "keys and values"; not of "loss" or "bias"."""
    return " and " in name or (name[-1:] == "s" and name[-2:] not in ("ss", "us", "is", "as"))


Case = tuple[Outcome, Outcome, dict[str, Any]]  # what came, what is right, the arguments by name


def cases_of(
    got: list[Outcome], want: list[Outcome], probes: list[tuple], names: list[str], tolerance: float
) -> tuple[list[bool], list[dict[str, Any]], list[Case]]:
    """Which are right; the arguments by name; and those that are wrong without an exception."""
    good = [
        g.key == w.key and all(close(a, b, tolerance).all() for a, b in zip(g.arrays, w.arrays))
        for g, w in zip(got, want)
    ]
    inputs = [{n: plain(a) for n, a in zip(names, probe)} for probe in probes]
    cases = zip(good, got, want, inputs)
    return good, inputs, [(g, w, x) for fine, g, w, x in cases if not fine and not g.raised]


def parts_of(parts: tuple[str, ...], cases: list[Case], tolerance: float) -> list[Part]:
    """Each part that is wrong somewhere, with the inputs where it is."""
    count, found = len(cases[0][1].arrays), []
    paired = all(len(g.arrays) == len(w.arrays) == count for g, w, _ in cases)
    for i in range(count if paired else 0):
        name = parts[i] if len(parts) == count else "result" if count == 1 else f"value {i + 1}"
        rows = [(g.arrays[i], w.arrays[i], x) for g, w, x in cases]
        rows = [r for r in rows if r[0].shape != r[1].shape or not close(*r[:2], tolerance).all()]
        if rows and all(m.size and r.size for m, r, _ in rows):
            truth = cases[0][1].kinds[i].endswith("bool")
            found.append(Part(name, *map(list, zip(*rows)), truth, tolerance))
    return found


def sizes(inputs: dict[str, Any]) -> dict[str, float]:
    """Plain numbers and sizes of the inputs, and what one usually makes of them, by their names."""
    base = {f"`{n}`": float(v) for n, v in inputs.items() if type(v) in (int, float)}
    for name, value in inputs.items():
        several = enumerate(value, 1) if isinstance(value, tuple) else ()
        base |= {f"number {i} of {name}": float(v) for i, v in several if type(v) is int}
        for axis in range(-1, -value.ndim - 1, -1) if isinstance(value, Array) else ():
            which = "the last axis" if axis == -1 else f"axis {axis}"
            base[f"the size of {which} of `{name}`"] = float(value.shape[axis])
    made = base | {f"the root of {t}": v**0.5 for t, v in base.items() if v > 0}
    made |= {f"the square of {t}": v * v for t, v in base.items()}
    made |= {f"1 over {t}": 1 / v for t, v in made.items() if v}
    many = {t: v for t, v in base.items() if v > 1}
    made |= {f"√((N − 1)/N), N being {t}": ((v - 1) / v) ** 0.5 for t, v in many.items()}
    return made | {f"√(N/(N − 1)), N being {t}": (v / (v - 1)) ** 0.5 for t, v in many.items()}


def areas(part: Part) -> Iterator[tuple[str, list[Array]]]:
    """Places worth a name, each as one boolean array per input, in the shape of the result."""
    shapes = [r.shape for r in part.right]
    for name, values in part.arguments():
        for masks in _broadcast(values, shapes):
            yield f"where `{name}` is True", masks
            yield f"where `{name}` is False", [~m for m in masks]
            hidden = [~m.any(-1, keepdims=True) for m in masks]
            yield f"in rows where all of `{name}` is False", _spread(hidden, shapes)
            partly = [~m.all(-1, keepdims=True) for m in masks]
            yield f"in rows where some of `{name}` is False", _spread(partly, shapes)
    for axis, (text, lines) in itertools.product(part.axes(), LINES.items()):
        chosen = [lines(s[axis]) if s[axis] > 1 else [0] for s in shapes]
        if all(chosen):
            masks = [np.zeros(s, bool) for s in shapes]
            for mask, which in zip(masks, chosen):
                np.moveaxis(mask, axis, 0)[which] = True
            yield f"in {text.format(part.word(axis))}", masks
    if all(len(s) > 1 for s in shapes):
        steps = [np.arange(s[-1]) - np.arange(s[-2])[:, None] for s in shapes]
        for text, inside in DIAGONAL.items():
            yield text, _spread([inside(d) for d in steps], shapes)
    for text, test in VALUES.items() if not part.truth else ():
        yield text, [test(r) for r in part.right]


def _spread(masks: list[Array], shapes: list[tuple]) -> list[Array]:
    return [np.broadcast_to(m, s) for m, s in zip(masks, shapes)]


def _broadcast(values: list[Array], shapes: list[tuple]) -> Iterator[list[Array]]:
    """Boolean arguments in the shape of the result: as they broadcast, or with an axis put in."""
    for axis in (None, 1, -1) if all(v.dtype == bool for v in values) else ():
        try:  # (B, N) for (B, M, N): keys with an axis at 1, queries with one at -1
            wider = [v if axis is None else np.expand_dims(v, axis) for v in values]
            yield _spread(wider, shapes)
        except ValueError:
            continue


def smallest_area(part: Part, wrong: list[Array]) -> tuple[str, bool] | None:
    """The smallest named place that holds all that is wrong; and is everything in it wrong?"""
    best, least = None, sum(w.size for w in wrong)
    for text, masks in areas(part):
        size = sum(int(m.sum()) for m in masks)
        if size < least and all(not (w & ~m).any() for m, w in zip(masks, wrong)):
            best, least = (text, all((m == w).all() for m, w in zip(masks, wrong))), size
    return best


def where(part: Part) -> Iterator[Finding]:
    """The place outside of which everything is right, and what stands there."""
    if not part.same_shape():
        return
    wrong = [~close(m, r, part.tolerance) for m, r in part.pairs()]
    area = smallest_area(part, wrong)
    if area is None:
        return
    came = np.concatenate([m[w] for m, w in zip(part.mine, wrong)])
    one_value = bool((np.abs(came - came[0]) < 1e-6).all()) and (part.truth or came.size > 2)
    says = f"{{The}} {{is_}} wrong only {area[0]}"
    if one_value and part.truth:
        says += f": there {{it}} {{holds}} {bool(came[0])} where {not came[0]} belongs"
    elif one_value:
        says += f": there {{it}} {{holds}} {came[0]:.4g}"
    says += ". The rest is right." if area[1] else ", though not in all places there."
    score = 5.5 if not area[1] else 7.1 if one_value else 6.2
    yield Finding("wrong-place", part.say(says), score)


def not_a_number(part: Part) -> Iterator[Finding]:
    """NaN or infinity where numbers belong."""
    tests = (("NaN (not a number)", "nan", np.isnan), ("infinite numbers", "infinite", np.isinf))
    for text, kind, test in tests if part.same_shape() else ():
        bad = [test(m) & ~test(r) for m, r in part.pairs()]
        if not any(b.any() for b in bad):
            continue
        everywhere, area = all(b.all() for b in bad), smallest_area(part, bad)
        whole_rows = all(b.ndim and (b.any(-1) == b.all(-1)).all() for b in bad)
        place = "in whole rows" if whole_rows else "in single places"
        place = "everywhere" if everywhere else area[0] if area else place
        fit = [close(m, r, part.tolerance) for m, r in part.pairs()]
        only = not everywhere and all((f | b).all() for f, b in zip(fit, bad))
        says = f"{{The}} {{holds}} {text} {place}{'; the rest is right' if only else ''}. "
        yield Finding(kind, part.say(says) + WHY[kind], 6.8 if only else 5.8)
        return


def sums_to_one(arrays: list[Array], axis: int = -1) -> bool:
    return all(a.ndim >= -axis and np.allclose(a.sum(axis), 1, atol=1e-3) for a in arrays)


def sums(part: Part) -> Iterator[Finding]:
    """Rows that should sum to one and do not, or do, with other numbers."""
    wide = all(r.ndim and r.shape[-1] > 1 and (r >= 0).all() for r in part.right)
    finite = all(m.ndim and m.size and np.isfinite(m).all() for m in part.mine)
    if part.truth or not (wide and finite and sums_to_one(part.right)):
        return
    if sums_to_one(part.mine):
        rows = "each row sums to 1" if part.right[0].ndim > 1 else "they sum to 1"
        low = min(m.min() for m in part.mine) < -1e-6
        says = f"{{The}} {{holds}} other numbers than expected, though {rows}"
        says += ", and some are negative: they are no shares." if low else "."
        yield Finding("other-numbers", part.say(says), 4.4)
        return
    for axis in part.axes()[1:]:
        if part.same_shape() and sums_to_one(part.mine, axis):
            says = "In {the} it is the sums over the {word}s ({dim}) that are 1, not those of each "
            says += "row: the softmax runs over the wrong axis. A query's weights are a row."
            yield Finding("wrong-axis", part.say(says, axis), 6.8)
            return
    low, high = (f(f(m.sum(-1).ravel()) for m in part.mine) for f in (min, max))
    much = f"{low:.3g}" if high - low < 1e-3 else f"{low:.3g} up to {high:.3g}"
    yield Finding("row-sums", part.say(f"The rows of {{the}} sum to {much}, not to 1."), 4.6)
