"""Which input changes what: an argument without effect, examples or tokens that should not mix."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from utils.quiz.naming.finding import Finding
from utils.quiz.naming.where import Array, is_plural
from utils.quiz.outcome import close

CALLS = 12  # of the student's solution
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
SOME = "some-inputs"
CHANCE = "even|is 0|less than|holds|twice|equally"
Results = tuple[Array, ...] | None


def explain(
    run: Callable[..., Results], right: Callable[..., Results], args: tuple,
    names: list[str], parts: tuple[str, ...], tolerance: float,
) -> list[Finding]:  # fmt: skip
    """Change a slice of each argument, and see what changes in the solution and in the right one.

    ``run`` and ``right`` give a tuple of arrays, or None where they fail.
    """
    best: dict[str, Finding] = {}
    try:
        with np.errstate(all="ignore"):
            found = list(_compare(_trials(run, right, args, names, tolerance), args, names, parts))
    except Exception:  # an odd result must not cost the student the verdict
        return []
    for finding in sorted(found, key=lambda f: -f.score):
        best.setdefault(finding.kind, finding)
    return list(best.values())


@dataclass(frozen=True)
class Trial:
    """One change of one argument, and which entries of each part it changed."""

    name: str
    axis: int  # the slice that was changed: index ``at`` of ``axis``; axis -1 means a single entry
    at: int
    shape: tuple[int, ...]  # of the argument
    mine: list[Array]
    right: list[Array]


def _trials(
    run: Callable, right: Callable, args: tuple, names: list, tolerance: float
) -> list[Trial]:
    before, expected = run(*_copies(args)), right(*_copies(args))
    if not before or not expected or len(before) != len(expected):
        return []
    if any(np.isnan(b).any() for b in before):
        return []  # NaN swallows every influence
    small = max(tolerance / 10, 1e-6)
    done: list[Trial] = []

    def try_one(place: int, axis: int, at: int, value: Any) -> None:
        changed = (*args[:place], value, *args[place + 1 :])
        good = right(*_copies(changed))
        mine = run(*_copies(changed)) if good else None
        if mine and good and len(mine) == len(before) and place < len(names):
            moved = [_moved(a, b, small) for a, b in zip(before, mine)]
            should = [_moved(a, b, small) for a, b in zip(expected, good)]
            shape = tuple(getattr(value, "shape", ()))
            done.append(Trial(names[place], axis, at, shape, moved, should))

    for change in itertools.islice(_changes(args), CALLS - 3):
        try_one(*change)
    used = {t.name for t in done if any(m.any() for m in t.mine)}
    for place in [i for i, n in enumerate(names[: len(args)]) if n not in used][:2]:
        if isinstance(args[place], torch.Tensor):  # is it ignored altogether?
            try_one(place, -1, 0, _other(args[place]))
    return done


def _copies(args: tuple) -> list:
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in args]


def _moved(a: Array, b: Array, tolerance: float) -> Array:
    return ~close(a, b, tolerance) if a.shape == b.shape else np.ones(a.shape, bool)


def _changes(args: tuple) -> Iterator[tuple[int, int, int, Any]]:
    """(argument, axis, index, new value): the first axis of all arguments, then the second, ..."""
    tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.numel()]
    masks = [a for _, a in tensors if a.dtype == torch.bool]
    for i, a in tensors:
        if a.dtype == torch.bool and a.ndim:
            yield i, -1, 0, _flip_one(a)
    for i, a in enumerate(args):
        if type(a) in (bool, float):
            yield i, -1, 0, not a if type(a) is bool else a * 1.5 + 0.5
    for axis in range(4):
        for i, a in tensors:
            if a.dtype != torch.bool and axis < max(a.ndim - 1, 1) and a.ndim:
                at = 1 if a.shape[axis] > 1 else 0
                if axis and axis == a.ndim - 2:
                    at = _hidden(masks, a.shape[axis])
                yield i, axis, at, _change_slice(a, axis, at)


def _flip_one(mask: torch.Tensor) -> torch.Tensor:
    """Hide one more place, in a row that keeps another one; show one where that cannot be."""
    flat = mask.clone().reshape(-1, mask.shape[-1])
    rows = (flat.sum(-1) > 1).nonzero().flatten().tolist()
    row = rows[-1] if rows else 0
    column = int(flat[row].nonzero().flatten()[0]) if rows else int((~flat[row]).int().argmax())
    flat[row, column] = not flat[row, column]
    return flat.reshape(mask.shape)


def _hidden(masks: list[torch.Tensor], size: int) -> int:
    """A token that some queries may look at and others may not, or the one in the middle."""
    for mask in masks:
        if mask.shape[-1] == size:
            share = mask.reshape(-1, size).float().mean(0)
            partly = ((share > 0) & (share < 1)).nonzero().flatten().tolist()
            if partly:
                return min(partly, key=lambda column: abs(float(share[column]) - 0.5))
    return size // 2


def _other(tensor: torch.Tensor) -> torch.Tensor:
    return ~tensor if tensor.dtype == torch.bool else _change_slice(tensor[None], 0, 0)[0]


def _change_slice(tensor: torch.Tensor, axis: int, at: int) -> torch.Tensor:
    """Other numbers in one slice, not one constant more: a norm or a softmax would not see it."""
    new = tensor.clone()
    part = new.select(axis, at)
    if tensor.is_floating_point():
        part += torch.linspace(0.7, 2.3, part.numel()).sin().reshape(part.shape) * 3
        part += (torch.arange(part.numel()) % 3).reshape(part.shape)
    else:  # ids: only those that occur are sure to be allowed
        known = tensor.unique()
        part.copy_(known[(torch.searchsorted(known, part) + 1) % len(known)])
    return new


def _compare(trials: list[Trial], args: tuple, names: list, parts: tuple) -> Iterator[Finding]:
    masked = any(isinstance(a, torch.Tensor) and a.dtype == torch.bool for a in args)
    yield from _without_effect(trials, parts)
    for trial in trials:
        for i, (mine, right) in enumerate(zip(trial.mine, trial.right)):
            name = parts[i] if len(parts) == len(trial.mine) else "result"
            if mine.shape == right.shape and right.any() and right.ndim and trial.axis >= 0:
                yield from _leak(trial, name, mine, right, masked)


def _without_effect(trials: list[Trial], parts: tuple) -> Iterator[Finding]:
    """Arguments that change nothing, or that change a part they should not."""
    ignored: dict[str, str] = {}
    for name in dict.fromkeys(t.name for t in trials):
        own = [t for t in trials if t.name == name]
        count = len(own[0].mine)
        label = parts if len(parts) == count else ("result",) * count
        mine = [any(t.mine[i].any() for t in own) for i in range(count)]
        right = [any(t.right[i].any() for t in own) for i in range(count)]
        if any(right) and not any(mine):
            ignored[name] = " and the ".join(dict.fromkeys(n for n, r in zip(label, right) if r))
            continue
        for part, came, wanted in zip(label, mine, right):
            if wanted and not came:
                says = f"`{name}` has no influence on the {part}, though it should have."
                yield Finding("ignored-in-part", says, 7.1)
            elif came and not wanted:
                are = "do" if is_plural(part) else "does"
                says = f"`{name}` changes the {part}, which {are} not depend on it when right."
                yield Finding("too-much-influence", says, 6.6)
    if ignored:  # several at once are not forgotten: something on their way is lost
        have = "has" if len(ignored) == 1 else "have"
        says = f"{' and '.join(f'`{n}`' for n in ignored)} {have} no influence on the "
        says += f"{next(iter(ignored.values()))}: with other numbers there, the same comes out."
        yield Finding("ignored-argument", says, 7.2 if len(ignored) == 1 else 6.5)


def _slice(trial: Trial) -> str:
    which = ORDINALS[trial.at] if trial.at < len(ORDINALS) else f"{trial.at + 1}th"
    if trial.axis == 0 and len(trial.shape) > 2:
        return f"the {which} example of `{trial.name}`"
    row = len(trial.shape) > 1 and trial.axis == len(trial.shape) - 2
    return f"the {which} {'row' if row else 'entry'} of `{trial.name}`"


def _leak(trial: Trial, name: str, mine: Array, right: Array, masked: bool) -> Iterator[Finding]:
    """The solution changes where the right one does not, or the other way: where?"""
    what, at = _slice(trial), trial.at
    if trial.axis == 0 and len(trial.shape) > 2:
        others = _lines(mine, 0) - {at}
        if others and len(right) == trial.shape[0] and _lines(right, 0) == {at}:
            other = ORDINALS[min(others)] if min(others) < len(ORDINALS) else "others"
            says = f"The examples of the batch influence each other: changing {what} changes the "
            says += f"{name} of the {other}. Each example should be computed by itself."
            yield Finding("batch-leak", says, 7.0)
        return
    if len(trial.shape) < 2 or trial.axis != len(trial.shape) - 2:
        return  # neither examples nor tokens
    axis = -2 if right.ndim > 1 else 0
    same = right.shape[axis] == trial.shape[trial.axis]
    came, wanted = _lines(mine, axis), _lines(right, axis)
    extra = came - wanted
    row = f"row {min(extra)} (counted from 0)" if extra else ""
    if wanted - came and came:
        says = f"Changing {what} should change the {name} in row {min(wanted - came)} (counted "
        yield Finding("too-little-influence", says + "from 0), and does not.", 6.0)
    elif extra and wanted == {at} and same:
        says = f"The rows influence each other: changing {what} changes the {name} in {row} too."
        yield Finding("row-leak", says, 6.9)
    elif extra and masked:
        says = f"What the mask hides is still seen: changing {what} changes the {name} in {row}, "
        yield Finding("mask-leak", says + "from which it is hidden.", 6.9)
    elif extra and same and min(wanted) >= at > min(extra):
        says = f"A later token changes the {name} of an earlier one: changing {what} changes {row}."
        yield Finding("future-leak", says, 6.9)
    elif extra:
        says = f"Changing {what} changes the {name} in {row}, which should stay as it is."
        yield Finding("leak", says, 6.2)


def _lines(changed: Array, axis: int) -> set[int]:
    """The indices along ``axis`` at which anything changed."""
    rest = np.moveaxis(changed, axis, 0).reshape(changed.shape[axis], -1)
    return set(np.flatnonzero(rest.any(1)).tolist())


# On which inputs it is wrong.


def _is(v: Any, *kinds: type) -> bool:
    return type(v) in kinds


def _hides(v: Any) -> bool:
    return isinstance(v, Array) and v.dtype == bool and v.ndim > 0


def _floats(v: Any) -> bool:
    return isinstance(v, Array) and v.ndim > 0 and v.dtype != bool


QUESTIONS: dict[str, Callable[[Any], Any]] = {  # about one argument, the most telling first
    "`{}` is None": lambda v: v is None,
    "`{}` is given": lambda v: True,
    "`{}` is True": lambda v: v is True,
    "`{}` hides something (holds a False)": lambda v: _hides(v) and not v.all(),
    "a whole row of `{}` is False": lambda v: _hides(v) and not v.any(-1).all(),
    "`{}` is 1": lambda v: _is(v, int, float) and v == 1,
    "`{}` is 0": lambda v: _is(v, int, float) and v == 0,
    "`{}` is even": lambda v: _is(v, int) and v % 2 == 0,
    "`{}` is less than 1": lambda v: _is(v, int, float) and v < 1,
    **{
        f"`{{}}` has {word}": lambda v, n=n: isinstance(v, Array) and v.ndim == n
        for n, word in enumerate(("one axis", "two axes", "three axes", "four axes"), 1)
    },
    "`{}` is empty": lambda v: _is(v, list, tuple, str) and len(v) == 0,
    "`{}` has a single entry": lambda v: _is(v, list, tuple, str) and len(v) == 1,
    "something occurs twice in `{}`": lambda v: _is(v, list) and len({*map(str, v)}) < len(v),
    "`{}` is a batch of one": lambda v: isinstance(v, Array) and v.ndim > 1 and len(v) == 1,
    "`{}` holds a 0": lambda v: _floats(v) and (v == 0).any(),
    "`{}` holds negative numbers": lambda v: _floats(v) and (v < 0).any(),
    "the last axis of `{}` has an even size": lambda v: _floats(v) and v.shape[-1] % 2 == 0,
    "the last two axes of `{}` are equally long": lambda v: (
        isinstance(v, Array) and v.ndim > 1 and v.shape[-1] == v.shape[-2]
    ),
}


def which_inputs(good: list[bool], inputs: list[dict], names: list[str]) -> Iterator[Finding]:
    """Right on some inputs, wrong on others: what sets them apart?"""
    for text, answers in _answers(inputs, names) if any(good) and not all(good) else ():
        if len(good) < 5 and re.search(CHANCE, text):
            continue  # with so few inputs it may be chance
        if good in (answers, [not a for a in answers]):
            says = f"It is {'right' if answers == good else 'wrong'} only when {text}."
            yield Finding(SOME, says, 6.0)
            return


def _answers(inputs: list[dict], names: list[str]) -> Iterator[tuple[str, list[bool]]]:
    for (text, test), name in itertools.product(QUESTIONS.items(), names):
        yield text.format(name), [name in one and bool(test(one[name])) for one in inputs]
    for a, b in itertools.combinations(names, 2):
        pairs = [(one.get(a), one.get(b)) for one in inputs]
        shapes = [[v.shape[-2:-1] for v in p if isinstance(v, Array) and v.ndim > 1] for p in pairs]
        text = f"`{a}` and `{b}` have equally many rows"
        yield text, [len(s) == 2 and s[0] == s[1] for s in shapes]
