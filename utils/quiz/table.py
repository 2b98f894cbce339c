"""All answers an exercise can get: the right one, each bug's, and each pair of bugs'.

Made once per exercise and kept. Singles first; the pairs (a few thousand small computations) only
when a student's answer is neither right nor a single bug. Looking one up is one vectorised
comparison.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.outcome import Outcome, close, failed, normalise
from utils.quiz.surroundings import clean_torch

Names = tuple[str, ...]


def random_maker(seed: int) -> Callable[..., torch.Tensor]:
    """``r(2, 5, 8)``: normal numbers, the same on every machine; `r.ints(low, high, *shape)`."""
    generator = torch.Generator(device="cpu").manual_seed(seed)

    def r(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")

    def ints(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator, device="cpu")

    r.ints = ints  # type: ignore[attr-defined]
    return r


def error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return type(error).__name__


class Table:
    """The answers of one exercise and the look-up in them."""

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        with clean_torch():
            seed = zlib.crc32(exercise.id.encode())
            self.probes: list[tuple] = list(exercise.probes(random_maker(seed)))
            square = exercise.square or (lambda r: [])
            self.square: list[tuple] = list(square(random_maker(seed + 1)))
            wider = exercise.wider or (lambda r: {})
            self.wider: dict[str, tuple] = dict(wider(random_maker(seed + 2)))
        self._all = [*self.probes, *self.square]
        self._answers: dict[tuple[Names, int], Outcome] = {}
        self._indices: dict[tuple[str, int], dict] = {}
        self.right = [self.answer((), i) for i in range(len(self._all))]
        with clean_torch():
            self.wider_right = {s: self._compute((), args) for s, args in self.wider.items()}

    @functools.cached_property
    def singles(self) -> list[Names]:
        return [(bug.name,) for bug in self.exercise.bugs if bug.detect is None]

    @functools.cached_property
    def pairs(self) -> list[Names]:
        bugs = [b for b in self.exercise.bugs if b.detect is None and not b.rare]
        return [
            (a.name, b.name)
            for a, b in itertools.combinations(bugs, 2)
            if not (a.group and a.group == b.group)
        ]

    def answer(self, bugs: Names, probe: int) -> Outcome:
        """What the reference with these bugs gives on one probe; computed once."""
        if (bugs, probe) not in self._answers:
            with clean_torch():
                self._answers[bugs, probe] = self._compute(bugs, self._all[probe])
        return self._answers[bugs, probe]

    def _compute(self, bugs: Names, args: tuple) -> Outcome:
        try:
            return normalise(self.exercise.wrong(bugs, *args))
        except (KeyError, AssertionError, Mistake):
            raise  # the author's own slip
        except Exception as error:
            return failed(error_text(error))  # a wrong shape is an answer too

    def _index(self, level: str, probe: int) -> dict:
        """All bug sets of a level, grouped by the key of their answer to one probe."""
        if (level, probe) not in self._indices:
            groups: dict[tuple, list[Names]] = {}
            with clean_torch():
                for bugs in getattr(self, level):
                    outcome = self._compute(bugs, self._all[probe])
                    self._answers[bugs, probe] = outcome
                    groups.setdefault(outcome.key, []).append(bugs)
            self._indices[level, probe] = {
                key: (found, np.stack([flat(self._answers[bugs, probe]) for bugs in found]))
                for key, found in groups.items()
            }
        return self._indices[level, probe]

    def find(self, outcomes: list[Outcome], level: str) -> list[Names]:
        """The bug sets of ``level`` ("singles" or "pairs") that explain all outcomes, best first.

        ``outcomes`` covers the main probes, or the main and the square ones.
        """
        texts = [o.raised for o in outcomes]
        # Look up one probe that gave numbers; the few bug sets that fit are tried on the others.
        pivot = next((i for i, text in enumerate(texts) if not text), 0)
        found, matrix = self._index(level, pivot).get(outcomes[pivot].key, ([], None))
        if not found:
            return []
        hits = close(flat(outcomes[pivot])[None], matrix, self.exercise.tolerance).all(axis=1)
        found = [bugs for bugs, hit in zip(found, hits.tolist(), strict=True) if hit]
        if all(texts):  # nothing but exceptions: believe only the very same ones
            found = [b for b in found if self.answer(b, pivot).raised == texts[pivot]]
            return [
                b for b in found if all(self.answer(b, i).raised == t for i, t in enumerate(texts))
            ]
        # On the square probes a student's code may stop where the reference goes on.
        must = [i for i, o in enumerate(outcomes) if i < len(self.probes) or not o.raised]
        found = [bugs for bugs in found if all(self._fits(bugs, i, outcomes[i]) for i in must)]

        def likeness(bugs: Names) -> tuple[int, int]:
            theirs = [self.answer(bugs, i) for i in range(len(texts))]
            ends_alike = sum(bool(t.raised) == bool(text) for t, text in zip(theirs, texts))
            return ends_alike, sum(t.raised == text for t, text in zip(theirs, texts))

        return sorted(found, key=likeness, reverse=True)

    def _fits(self, bugs: Names, probe: int, outcome: Outcome) -> bool:
        mine = self.answer(bugs, probe)
        return mine.key == outcome.key and bool(
            close(flat(outcome), flat(mine), self.exercise.tolerance).all()
        )

    def explain_parts(self, outcomes: list[Outcome]) -> list[list[Names]] | None:
        """For each part of the result on its own (output, weights): the bug sets that make it."""
        mine = [o.parts() for o in outcomes]
        count = len(self.exercise.parts)
        if any(o.raised for o in outcomes) or any(len(parts) != count for parts in mine):
            return None

        def fits(bugs: Names, probe: int, part: int) -> bool:
            theirs = self.answer(bugs, probe).parts()
            if len(theirs) != count or theirs[part][0] != mine[probe][part][0]:
                return False
            return bool(close(mine[probe][part][1], theirs[part][1], self.exercise.tolerance).all())

        self._index("singles", 0), self._index("pairs", 0)
        answers = []
        for part in range(count):
            found = [
                bugs
                for bugs in [(), *self.singles, *self.pairs]
                if all(fits(bugs, probe, part) for probe in range(len(outcomes)))
            ]
            shortest = min(map(len, found), default=0)
            answers.append([bugs for bugs in found if len(bugs) <= max(shortest, 1)])
        return answers


def flat(outcome: Outcome) -> np.ndarray:
    """All numbers of an outcome in one row."""
    rows = [array.ravel() for array in outcome.arrays]
    return np.concatenate(rows) if rows else np.zeros(0)


def copy_args(args: tuple, requires_grad: bool = False) -> tuple:
    """Fresh copies of tensor arguments, strides kept; everything else as it is."""

    def fresh(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            copy = value.detach().clone(memory_format=torch.preserve_format)
            return copy.requires_grad_(requires_grad and copy.is_floating_point())
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(fresh(item) for item in value)
        return value

    return tuple(fresh(value) for value in args)


@functools.cache
def table_of(exercise: Exercise) -> Table:
    return Table(exercise)
