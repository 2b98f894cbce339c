"""What was done to the right answer, from the numbers alone; the source is not looked at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from utils.quiz.naming.counterexample import packed, symptoms
from utils.quiz.naming.finding import NAMES, Finding
from utils.quiz.naming.influence import SOME, which_inputs
from utils.quiz.naming.where import (
    Array,
    Part,
    cases_of,
    not_a_number,
    parts_of,
    sums,
    sums_to_one,
    where,
)
from utils.quiz.outcome import Outcome

__all__ = ["explain", "symptoms"]


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _standard(x: Array, axis: int) -> Array:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


EACH: dict[str, Callable] = {  # done to each number: once too often, or not at all
    "a ReLU": lambda x: np.maximum(x, 0),
    "a sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "a tanh": np.tanh,
    "an exponential": np.exp,
    "a logarithm": np.log,
    "a square": np.square,
    "a root": np.sqrt,
    "a cut to whole numbers": np.trunc,
}
ALONG: dict[str, Callable] = {  # the same, along an axis
    "a softmax": softmax,
    "a log-softmax": lambda x, a: np.log(softmax(x, a)),
    "a division by the sum": lambda x, a: x / x.sum(a, keepdims=True),
    "a normalisation": _standard,
    "a cumulative sum": np.cumsum,
}
PLACES: list[tuple[str, Callable, str]] = [  # the right numbers along an axis, elsewhere
    ("flipped", np.flip, "turned round: the last {word} comes first"),
    ("rolled", lambda x, a: np.roll(x, 1, a), "shifted round: each {word} stands one too late"),
    ("rolled", lambda x, a: np.roll(x, -1, a), "shifted round: each {word} stands one too early"),
    ("sorted", np.sort, "sorted along the {word}s ({dim}), so the numbers lost their places"),
    ("sorted", lambda x, a: -np.sort(-x, a), "sorted along the {word}s ({dim}), largest first"),
    (
        "repeated",
        lambda x, a: x.take([0] * x.shape[a], a),
        "nothing but copies of the first {word}",
    ),
    (
        "repeated",
        lambda x, a: x.take([-1] * x.shape[a], a),
        "nothing but copies of the last {word}",
    ),
    ("repeated", lambda x, a: np.repeat(x, 2, a), "twice as long: each {word} comes twice"),
    ("repeated", lambda x, a: np.concatenate([x, x], a), "there twice, along the {word}s ({dim})"),
    ("cut-off", lambda x, a: x.take(range(0, x.shape[a], 2), a), "only every second {word}"),
]
AWAY: list[tuple[str, Callable, str]] = [  # an axis that is lost
    ("summed", np.sum, "summed over the {word}s"),
    ("averaged", np.mean, "averaged over the {word}s"),
    ("reduced", np.max, "reduced to the largest over the {word}s"),
    ("only-one", lambda x, a: x.take(0, a), "reduced to the first {word}"),
    ("only-one", lambda x, a: x.take(-1, a), "reduced to the last {word}"),
]
WITH_INPUT: list[tuple[str, Callable, str]] = [
    ("input-returned", lambda r, x: x, "{The} {is_} `%s` as it came."),
    ("input-added", np.add, "{The} {is_} the right {one} with `%s` added once more."),
    ("input-missing", np.subtract, "`%s` is not added to {the}, or is subtracted once more."),
    ("input-factor", np.multiply, "{The} {is_} the right {one} times `%s`, once too often."),
    ("input-factor", np.divide, "{The} {is_} the right {one} without the factor `%s`."),
]


def explain(
    parts: tuple[str, ...], got: list[Outcome], want: list[Outcome],
    probes: list[tuple], names: list[str], tolerance: float,
) -> list[Finding]:  # fmt: skip
    """What is seen in ``got`` beside the right ``want``: one finding of each kind, best first."""
    best: dict[str, Finding] = {}
    try:
        with np.errstate(all="ignore"):
            good, inputs, cases = cases_of(got, want, probes, names, tolerance)
            found = list(which_inputs(good, inputs, names))
            whole = list(packed(parts, cases, tolerance)) if cases else []
            if cases and not (whole and whole[0].score >= NAMES):
                found += _parts_together(parts_of(parts, cases, tolerance))
    except Exception:  # a result odd beyond expectation must not cost the student the verdict
        return []
    if any(g.raised for g in got):  # then no transform explains everything
        whole = [replace(f, score=min(f.score, 5.9)) for f in whole]
        found = [replace(f, score=min(f.score, 5.9 + (f.kind == SOME))) for f in found]
    for finding in sorted(whole + found, key=lambda f: -f.score):
        best.setdefault(finding.kind, finding)
    return list(best.values())


def _parts_together(wrong: list[Part]) -> Iterator[Finding]:
    """The findings of each part; they name the mistake only if no other part stays unexplained."""
    causes = [p for p in wrong if not any(_follows(p, q) for q in wrong if q is not p)]
    found = {p.name: list(_part(p)) for p in causes}
    full = {n: {f.kind for f in some if f.score >= NAMES} for n, some in found.items()}
    for part in causes:
        rest = [p.name for p in causes if p is not part]
        also = f" The same holds for the {' and the '.join(rest)}." if rest else ""
        for f in found[part.name]:
            if all(f.kind in full[n] for n in rest):
                yield replace(f, says=f.says + also)
            else:
                yield replace(f, score=min(f.score - 0.8, NAMES - 0.2))


def _follows(part: Part, cause: Part) -> bool:
    """Is ``part`` made of ``cause``, in both answers: weights @ v, or the last of the states?"""
    makes = [lambda c, i, a=a: c.take(-1, a) for a in cause.axes()]
    makes += [lambda c, i, xs=xs: c @ xs[i] for _, xs in part.arguments()]
    for make in makes if len(part.mine) == len(cause.mine) else ():
        if replace(cause, mine=part.right).fits(make):
            return replace(cause, mine=part.mine, right=cause.mine).fits(make)
    return False


def _part(part: Part) -> Iterator[Finding]:
    """All that is seen in one part."""
    first = part.mine[0].ravel()[0]
    varied = any((r != r.ravel()[0]).any() for r in part.right)
    if varied and all(m.size > 1 and (m == first).all() for m in part.mine):
        value = bool(first) if part.truth else f"{first:.4g}"
        says = f"Every entry of {{the}} is {value}."
        yield Finding("constant", part.say(says), 7.2 if part.truth else 6.6)
    else:
        distinct = {round(x, 5) for r in part.right for x in r.ravel()[:50].tolist()}
        poor = sum(r.size for r in part.right) < 3 or (len(distinct) < 3 and not part.truth)
        single = part.truth and all(r.size == 1 for r in part.right)  # could only be the opposite
        for makers in (
            (_functions, _lines, _few, _rearranged, _scaled, _sharper) if not single else ()
        ):
            yield from (replace(f, score=f.score - 2 * poor) for f in makers(part))
    for seen in (where, not_a_number, sums):
        yield from (f for f in seen(part) if f.score > 5)


def _functions(part: Part) -> Iterator[Finding]:
    """A function that was applied once too often, or is missing."""
    if part.fits(lambda r, i: 1 - r):
        numbers = "Each number of {the} is 1 minus the right one."
        booleans = "{The} {has} True and False exchanged: each entry is the opposite."
        yield Finding("inverted", part.say(booleans if part.truth else numbers), 7.8)
    for (kind, make, text), (name, xs) in itertools.product(WITH_INPUT, part.arguments()):
        if part.fits(lambda r, i, make=make, xs=xs: make(r, xs[i])):
            yield Finding(kind, part.say(text % name), 7.7 if kind == "input-returned" else 7.5)
    if part.truth or not part.same_shape():
        return
    steps = [(name, make, -1, "") for name, make in EACH.items()]
    for axis, (name, make) in itertools.product(part.axes(), ALONG.items()):
        along = lambda x, make=make, axis=axis: make(x, axis)  # noqa: E731
        steps.append((name, along, axis, " over the {word}s ({dim})"))
    for name, make, axis, over in steps:
        kind = name.split(maxsplit=1)[1].replace(" ", "-").lower()
        if part.fits(lambda r, i, make=make: make(r)):
            says = f"{{The}} {{is_}} the right {{one}} after {name}{over} too many."
            yield Finding(f"extra-{kind}", part.say(says, axis), 7.2)
        if part.undone_by(make):
            says = f"{name[0].upper()}{name[1:]}{over} is missing: {{the}} {{holds}} what should "
            says += "go into it" + (", scores instead of weights." if name == "a softmax" else ".")
            yield Finding(f"no-{kind}", part.say(says, axis), 7.4)


def _lines(part: Part) -> Iterator[Finding]:
    """Rows, columns or whole axes that moved, are missing or too many."""
    for axis in part.axes():
        for kind, make, text in PLACES:
            if kind == "sorted" and part.truth:
                continue  # True behind False says nothing of an order
            if part.fits(lambda r, i, make=make, axis=axis: make(r, axis)):
                yield Finding(kind, part.say(f"{{The}} {{is_}} {text}.", axis), 7.3)
        for kind, make, text in AWAY:
            if part.fits(lambda r, i, make=make, axis=axis: make(r, axis)) or part.fits(
                lambda r, i, make=make, axis=axis: np.expand_dims(make(r, axis), axis)
            ):
                says = f"{{The}} {{is_}} {text}: that axis should stay."
                yield Finding(kind, part.say(says, axis), 6.4 if part.truth else 7.4)
        if not all(m.ndim == r.ndim for m, r in part.pairs()):
            continue
        pairs = [[np.moveaxis(a, axis, 0) for a in pair] for pair in part.pairs()]
        rest, front = slice(1, None), slice(-1)
        for way, a, b in (("late", rest, front), ("early", front, rest)):
            if all(len(m) == len(r) > 2 and part.equal(m[a], r[b]) for m, r in pairs):
                says = f"{{The}} {{is_}} shifted: each {{word}} stands one too {way}."
                yield Finding("shifted", part.say(says, axis), 7.1)
        swapped = [pair[::-1] for pair in pairs]
        for kind, what, both in (("cut-off", "missing", pairs), ("too-long", "too many", swapped)):
            if not all(len(few) < len(many) for few, many in both):
                continue
            ends = {"end": lambda few, many: many[: len(few)]}
            ends["start"] = lambda few, many: many[len(many) - len(few) :]
            for end, cut in ends.items():
                if all(part.equal(few, cut(few, many)) for few, many in both):
                    says = f"In {{the}} {{word}}s are {what} at the {end}; the others are right."
                    yield Finding(kind, part.say(says, axis), 7.3)


def _few(part: Part) -> Iterator[Finding]:
    """A single number in place of many, or a frame around what is right."""
    ends = {"first": lambda r: r.flat[0], "last": lambda r: r.flat[-1], "largest": np.max}
    ends |= {"smallest": np.min, "mean of all": np.mean, "sum of all": np.sum}
    if all(m.size == 1 < r.size for m, r in part.pairs()):
        for which, take in ends.items():
            if all(part.equal(m.ravel(), np.ravel(take(r))) for m, r in part.pairs()):
                says = f"{{The}} {{is_}} a single number, the {which} of those that belong there."
                yield Finding("single-number", part.say(says), 7.3)
                return
    wider = all(m.ndim == r.ndim > 1 and m.shape > r.shape for m, r in part.pairs())
    for inner, which in ((slice(1, None), "first"), (slice(-1), "last")) if wider else ():
        if all(part.equal(m[(inner,) * m.ndim], r) for m, r in part.pairs()):
            says = f"{{The}} {{has}} a frame too many: the {which} row and the {which} column."
            yield Finding("framed", part.say(says), 7.4)


def _rearranged(part: Part) -> Iterator[Finding]:
    """All the right numbers, with other axes."""
    shapes = [m.shape for m in part.mine]
    came = f"{{The}} {{has}} shape {shapes[0]}, expected is {part.right[0].shape}: "
    if not part.same_shape() and part.fits(lambda r, i: r.reshape(shapes[i])) and all(
        np.squeeze(m).shape == np.squeeze(r).shape for m, r in part.pairs()
    ):  # fmt: skip
        says = came + "the numbers are right, only an axis of size 1 is missing or too many."
        yield Finding("size-one-axis", part.say(says), 7.6)
        return
    if not all(part.equal(np.sort(m, None), np.sort(r, None)) for m, r in part.pairs()):
        return
    ndim = len(part.axes())  # of inputs with more axes only the last ones move
    orders = list(itertools.permutations(range(-ndim, 0))) if ndim < 5 else []
    move = lambda r, order: r.transpose(*range(r.ndim - ndim), *order)  # noqa: E731
    for order in orders:
        if part.fits(lambda r, i, order=order: move(r, order)):
            swap = [a for a, b in zip(orders[0], order) if a != b]
            says = f"{{The}} {{has}} the axes in another order: {order} of the right one's."
            if len(swap) == 2:
                says = f"{{The}} {{is_}} transposed: axes {swap[0]} and {swap[1]} are exchanged."
            yield Finding("transposed", part.say(says), 7.5)
            return
    if part.truth:
        return  # True and False at other places is no more than a number of them
    for name, xs in part.arguments():
        if all(part.equal(m.ravel(), x.ravel()) for m, x in zip(part.mine, xs)):
            says = f"`{name}` only got another shape (`view`, `reshape`): {{the}} {{holds}} its "
            says += "numbers in their old order, where axes have to move. That mixes what belongs "
            yield Finding("reshaped", part.say(says + "to different places."), 7.6)
            return
    for order in orders:
        if part.fits(lambda r, i, order=order: move(r, order).reshape(shapes[i])):
            says = "{The} {has} all the right numbers, but joined or split along the wrong axes: "
            says += "`reshape` or `view` stands where an axis has to move."
            kind = "reshaped"
            if part.mine[0].ndim > part.right[0].ndim:
                says = came + "the right numbers, in axes that are still to be joined"
                says += "." if order == orders[0] else ", and stand in another order."
                kind = "not-joined"
            elif order == orders[0]:
                says = came + "the right numbers in their order, but axes are joined or split."
            yield Finding(kind, part.say(says), 7.4)
            return
    yield Finding("shuffled", part.say("{The} {has} the right numbers at wrong places."), 5.8)


def _scaled(part: Part) -> Iterator[Finding]:
    """Every number multiplied by the same factor, or moved by the same summand."""
    if part.truth or not part.same_shape():
        return
    factors = [_middle((m / r)[np.abs(r) > 1e-3]) for m, r in part.pairs()]
    few = min(r.size for r in part.right) < 3  # any one number is another one times something
    if any(factors) and part.fits(lambda r, i: r * factors[i]):
        text, sure = part.number(factors)
        says = f"Each number of {{the}} is the right one times {text}."
        if np.allclose(factors, -1, atol=1e-3):
            yield Finding("negated", part.say("Each number of {the} has the wrong sign."), 7.5)
            return
        yield Finding("scaled", part.say(says), 6.2 + 1.2 * sure - 4 * few + 2.5 * (few and sure))
    steps = [_middle(m - r) for m, r in part.pairs()]
    if part.fits(lambda r, i: r + steps[i]):
        text, sure = part.number(steps)
        says = f"Each number of {{the}} is the right one plus {text}."
        yield Finding("moved", part.say(says), 6 + 1.2 * sure - 4 * few + 2.5 * (few and sure))


def _middle(numbers: Array) -> float:
    numbers = numbers[np.isfinite(numbers)]
    return float(np.median(numbers)) if numbers.size else 0.0


def _sharper(part: Part) -> Iterator[Finding]:
    """A softmax of scores that are all too large, or too small, by one factor."""
    if part.truth or not part.same_shape() or not all((r >= 0).all() for r in part.right):
        return
    if not (part.right[0].ndim and sums_to_one(part.right + part.mine)):
        return
    factors = []
    for m, r in part.pairs():
        there = (m > 1e-30) & (r > 1e-30)
        x, y = (np.where(there, np.log(np.where(there, a, 1)), 0) for a in (r, m))
        count = np.maximum(there.sum(-1, keepdims=True), 1)
        x, y = ((a - a.sum(-1, keepdims=True) / count) * there for a in (x, y))
        factors.append(float((x * y).sum() / max((x * x).sum(), 1e-12)))
    if all(factors) and part.fits(lambda r, i: softmax(factors[i] * np.log(r), -1)):
        text, sure = part.number(factors)
        how = "too large" if abs(factors[0]) > 1 else "too small"
        how = "of the wrong sign" if factors[0] < 0 else how
        says = f"The scores behind {{the}} are {how}: they are the right ones times {text}."
        yield Finding("score-scale", part.say(says), 6.5 + 1.2 * sure)
