"""A wrong solution with everything that was seen of it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from utils.quiz.naming import errors
from utils.quiz.naming.answers import Answers
from utils.quiz.naming.repairs import Attempt, variety
from utils.quiz.naming.sources import Source, source_of
from utils.quiz.outcome import Outcome, same
from utils.quiz.session import Session
from utils.quiz.surroundings import clean_torch


@dataclass
class Case:
    """A wrong solution with everything that was seen of it."""

    session: Session
    outcomes: list[Outcome]  # on the probes, and after an exception on the square ones too
    error: BaseException | None

    def __post_init__(self) -> None:
        self.exercise = self.session.exercise
        self.answers: Answers = self.session.answers
        self.source: Source | None = source_of(self.session.student)
        self.main = len(self.answers.probes)
        right = self.answers.right
        self.good = [
            same(o, r, self.exercise.tolerance) for o, r in zip(self.outcomes, right, strict=False)
        ]

    @functools.cached_property
    def attempt(self) -> Attempt | None:
        """The repairs of the student's text, which go on from where they stopped."""
        if self.source is None:
            return None
        line = errors.line_of(self.error, self.session.student) if self.error else 0
        return Attempt(self.answers, self.source, self.outcomes[: self.main], line)

    @property
    def pivot(self) -> int:
        """A probe on which it is wrong, one that gave numbers if there is any."""
        wrong = [i for i, good in enumerate(self.good) if not good]
        return min(wrong, key=lambda i: bool(self.outcomes[i].raised))

    @property
    def single(self) -> bool:
        """Is one number asked for? Many mistakes may give the same one."""
        return all(a.size == 1 for o in self.answers.right for a in o.arrays)

    @property
    def yes_or_no(self) -> bool:
        """Is one boolean asked for? Its fingerprint is shared by most mistakes."""
        return self.single and all(k.endswith("bool") for o in self.answers.right for k in o.kinds)

    @property
    def poor(self) -> bool:
        """Zeros or NaN everywhere: many mistakes look like that."""
        mine, right = self.outcomes[self.pivot], self.answers.right[self.pivot]
        return 2 * variety(mine) < variety(right)


def runner(session: Session) -> Any:
    """The student's solution as arrays for arguments, None where it fails."""

    def run(*args: Any) -> tuple[np.ndarray, ...] | None:
        outcome, _ = session.call(args)
        return None if outcome is None or outcome.raised else outcome.arrays

    return run


def right_runner(answers: Answers) -> Any:
    def run(*args: Any) -> tuple[np.ndarray, ...] | None:
        with clean_torch():
            outcome = answers.run(answers.exercise.reference, args)
        return None if outcome.raised else outcome.arrays

    return run
