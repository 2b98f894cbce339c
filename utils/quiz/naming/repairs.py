"""Repair a student's own code: the edit that makes it right tells what was wrong, and where.

Where no single edit does, one may turn the code into a known wrong answer: it has two mistakes.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from utils.quiz.guard import guarded
from utils.quiz.naming import modules, prints
from utils.quiz.naming.answers import Answers, Variant, copy_args, error_text
from utils.quiz.naming.edits import Edit, edits_of
from utils.quiz.naming.sources import Source
from utils.quiz.outcome import Outcome, failed, normalise, same

SECONDS = 0.03  # of CPU time for trying edits
MORE = 0.03  # where nobody else has a name for it either
ONE = 0.1  # for one edit of a text with a loop that could become endless
AT_FIRST = 0.25  # the first time in a kernel, when every call costs more
OF_AXES = {"missing-axis", "not-transposed", "vectors-as-matrix", "wrong-axis", "keepdim"}
OF_AXES |= {"squeezes-all", "wrong-size", "bias-left-out", "axis-left", "flat"}
MEETINGS = 10  # second mistakes looked up at the most
_asked: set[str] = set()  # exercises that this kernel has repaired solutions of


@dataclass(frozen=True)
class Repair:
    """An edit of the student's text that makes it right, or right but for a known variant."""

    edit: Edit
    rest: Variant | None = None


class Attempt:
    """All edits of one wrong solution; ``search`` tries them for a while, and may go on later."""

    def __init__(self, answers: Answers, source: Source, outcomes: list[Outcome], line: int = 0):
        self.answers, self.source = answers, source
        self.tolerance = answers.exercise.tolerance
        self.right = answers.right[: len(answers.probes)]
        wrong = [i for i, r in enumerate(self.right) if not self._fits(outcomes[i], i)]
        # The probe that is tried first: one on which it is wrong, with numbers if there are any.
        self.pivot = min(wrong, key=lambda i: bool(outcomes[i].raised))
        self.before = outcomes[self.pivot]
        self.raised = line  # the line that stopped, if one did
        self.odd = line > 0 or self.before.key != self.right[self.pivot].key  # of another shape
        self.halves: list[tuple[Edit, Outcome]] = []
        self.found: list[Repair] = []
        self.met = 0
        self.keeps_state: bool | None = None  # does it carry something from call to call?
        self.risky = any(isinstance(n, ast.While | ast.Pow) for n in ast.walk(source.tree))
        self.suspected: set[str] = set()  # kinds that the numbers suggest: tried first
        self.made: dict[int, nn.Module | None] = {}
        self.making = source.lines_of("__init__")  # an edit there needs a new module

    def _fits(self, outcome: Outcome, probe: int) -> bool:
        return same(outcome, self.right[probe], self.tolerance)

    def _run(self, edit: Edit | None, probe: int) -> Outcome:
        if not self.risky:
            return self._outcome(edit, probe)
        ran = guarded(lambda: self._outcome(edit, probe), ONE)  # an edit may make a loop endless
        return ran.value if ran.ended_well else failed("stopped")

    def _outcome(self, edit: Edit | None, probe: int) -> Outcome:
        try:
            torch.default_generator.manual_seed(0)
            solution = self.source.define(edit)
            args = copy_args(self.answers.probes[probe])
            kept = edit is None or edit.line not in self.making
            module = self._module(probe) if kept else None
            if module is not None:  # made and filled once, it is handed from edit to edit
                module.__class__ = solution
                return normalise(modules.call(module, args[1:]))
            return normalise(self.answers.exercise.run(solution, *args))
        except Exception as error:
            return failed(error_text(error))

    def _module(self, probe: int) -> nn.Module | None:
        """The student's module as a probe wants it; None if there is none that can be kept."""
        if probe not in self.made:
            exercise, self.made[probe] = self.answers.exercise, None
            if exercise.is_module:
                sizes = self.answers.probes[probe][0]
                with contextlib.suppress(Exception):  # the text alone may not make a module
                    student = self.source.define()
                    self.made[probe] = modules.filled(exercise.reference, student, sizes)
        return self.made[probe]

    @functools.cached_property
    def edits(self) -> list[Edit]:
        """The edits of the solution and its helpers, the next one to try last."""
        answers = self.answers
        found = [
            e for e in edits_of(self.source.tree, answers.bools, answers.constants) if e.undone
        ]
        if not self.odd and self._module(self.pivot) is not None:
            found = [edit for edit in found if edit.line not in self.making]  # its layers are right
        ranks: Counter[str] = Counter()
        hopes: dict[Edit, float] = {}
        for edit in sorted(found, key=self._hope, reverse=True):
            # The tenth edit of a kind is less likely than the first of another, rarer one.
            hopes[edit] = self._hope(edit) - 0.015 * ranks[edit.undone[0]]
            ranks[edit.undone[0]] += 1
        return sorted(hopes, key=hopes.__getitem__, reverse=True)[::-1]

    def _hope(self, edit: Edit) -> float:
        """How usual the slip is; after an exception, what has to do with it comes first."""
        axes = self.odd and edit.undone[0] in OF_AXES
        if edit.undone[0] == "flat" and not self.raised:
            return 0.0
        near = self.raised > 0 and (edit.line == self.raised or edit.line in self.making)
        hope = edit.weight + 0.8 * axes + (0.6 + 0.6 * axes) * near
        return hope + 1.5 * (edit.undone[0] in self.suspected)

    def search(self, seconds: float) -> None:
        """Try edits one by one; those that make the solution right are ``found``."""
        known = self.answers.exercise.id in _asked
        end = time.process_time() + (seconds if known else AT_FIRST)
        _asked.add(self.answers.exercise.id)
        others = [i for i in range(len(self.right)) if i != self.pivot]
        if self.keeps_state is None:  # right as it stands, if only made anew?
            self.keeps_state = self._fits(self._run(None, self.pivot), self.pivot)
        if self.keeps_state:
            return
        while self.edits and time.process_time() < end:
            edit = self.edits.pop()
            outcome = self._run(edit, self.pivot)
            if self._fits(outcome, self.pivot):
                if all(self._fits(self._run(edit, i), i) for i in others):
                    self.found.append(Repair(edit))
                    end = min(end, time.process_time() + SECONDS / 4)
            elif self._is_news(edit, outcome):
                self.halves.append((edit, outcome))

    def _is_news(self, edit: Edit, outcome: Outcome) -> bool:
        """Could this be half of a repair: numbers, of the right shape, not those of before?"""
        right = self.right[self.pivot]
        return (
            not outcome.raised
            and outcome.key == right.key
            and not edit.loses
            and (self.odd or edit.undone[0] not in OF_AXES)
            and variety(outcome) >= max(min(2, variety(right)), variety(right) / 2)
            and not same(outcome, self.before, self.tolerance)
        )

    def meet(self, likely: Callable[[Edit, Variant], bool]) -> None:
        """Meet in the middle: the student's code with one edit is a right one with another."""
        variants, table = self.answers.table
        parts = len(self.answers.exercise.parts)
        halves, self.halves = self.halves if variants else [], []
        for edit, outcome in halves:
            mine = prints.take(outcome, parts)
            column = prints.Print(*(a[:, self.pivot] for a in vars(table).values()))
            hits = np.flatnonzero(prints.agree(mine, column, self.tolerance)[:, 0])
            for hit in hits[:2]:
                rest = variants[hit]
                if not likely(edit, rest):
                    continue
                self.met += 1
                if self.met > MEETINGS:
                    return
                if all(self._agrees(edit, table, hit, i) for i in range(len(self.right))):
                    self.found.append(Repair(edit, rest))
                    break

    def _agrees(self, edit: Edit, table: prints.Print, variant: int, probe: int) -> bool:
        outcome = self._run(edit, probe)
        if outcome.raised:
            return bool(table.codes[variant, probe, 0] == prints.RAISED)
        mine = prints.take(outcome, len(self.answers.exercise.parts))
        theirs = prints.Print(*(a[variant, probe] for a in vars(table).values()))
        return bool(prints.agree(mine, theirs, self.tolerance)[0])


def variety(outcome: Outcome) -> int:
    """How many different numbers there are, at most 8: zeros or NaN everywhere say little."""
    rows = [a.ravel() for a in outcome.arrays]
    row = np.concatenate(rows) if rows else np.zeros(0)
    return min(len(np.unique(np.round(row[np.isfinite(row)], 4))), 8)
