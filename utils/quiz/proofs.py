"""What has to be true of every exercise and question, as a list of what is not.

The tests assert that the list is empty for all content; an author can call it while writing:

    from utils.quiz import proofs, registry
    proofs.problems(registry.get("X03-1", "X"))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from utils.quiz.diagnose import diagnose
from utils.quiz.exercise import Exercise
from utils.quiz.naming.answers import answers_of
from utils.quiz.naming.sources import run_source
from utils.quiz.outcome import Outcome, close
from utils.quiz.questions import Generated, Question

SEEDS = 200  # for which a generated question has to work


def problems(item: Exercise | Question | Generated) -> list[str]:
    """Everything that is wrong with an item of the course's content."""
    check = _exercise if isinstance(item, Exercise) else _generated
    return list(_question(item) if isinstance(item, Question) else check(item))


def _exercise(exercise: Exercise) -> Iterator[str]:
    if len(exercise.hints) < 3:
        yield "there are fewer than three hints"
    if len(exercise.also_right) < 3:
        yield "there are fewer than three right solutions written differently"
    if not exercise.tolerance <= 1e-3:
        yield "the tolerance is above 1e-3: some mistakes differ by 0.01 only"
    names = [bug.name for bug in exercise.bugs]
    yield from (f"{name}: listed twice" for name in set(names) if names.count(name) > 1)
    yield from (f"{bug.name}: has nothing to say" for bug in exercise.bugs if len(bug.says) < 15)
    yield from (
        f"{p!r}: no step of the reference" for p in exercise.steps if p not in exercise.source
    )

    blank = diagnose(exercise, run_source(exercise.blank, exercise.name))
    if blank.status != "not attempted":
        yield f"the blank is {blank.status!r} instead of 'not attempted'"
    for label, solution in _right_solutions(exercise):
        verdict = diagnose(exercise, solution)
        if not verdict.passed:
            yield f"{label} is refused: {verdict!r}"
    yield from _bugs(exercise)


def _right_solutions(exercise: Exercise) -> Iterator[tuple[str, Any]]:
    yield "the reference", exercise.reference
    if exercise.library is not None:
        yield "the library", exercise.library
    for number, source in enumerate(exercise.also_right, 1):
        yield f"right solution {number}", run_source(source, exercise.name)


def _bugs(exercise: Exercise) -> Iterator[str]:
    """Each bug differs from the right answer and from the others, and gets its own name."""
    answers = answers_of(exercise)
    seen: list[tuple[str, list[Outcome]]] = [("the right answer", answers.right)]
    for bug in exercise.bugs:
        try:
            variant = exercise.variant((bug.name,))
        except Exception as error:
            yield f"{bug.name}: cannot be made, {error}"
            continue
        mine = [answers.run(variant, args) for args in answers.all]
        yield from (
            f"{bug.name}: looks like {other} on all probes"
            for other, theirs in seen
            if all(_alike(a, b, exercise.tolerance) for a, b in zip(mine, theirs, strict=True))
        )
        seen.append((bug.name, mine))
        verdict = diagnose(exercise, variant)
        if verdict.mistake != bug.name:
            yield f"{bug.name}: got {verdict.status!r} ({verdict.mistake})"


def _alike(a: Outcome, b: Outcome, tolerance: float) -> bool:
    return (
        a.key == b.key
        and a.raised == b.raised
        and all(close(x, y, tolerance).all() for x, y in zip(a.arrays, b.arrays, strict=True))
    )


def _question(question: Question) -> Iterator[str]:
    if sum(option.right for option in question.options) != 1:
        yield "there is not exactly one right option"
    if len({option.text for option in question.options}) != len(question.options):
        yield "two options read the same"
    for option in question.options:
        if len(option.reason) < 15:
            yield f"{option.text!r}: has no reason"
        if not option.right and not option.mistake:
            yield f"{option.text!r}: does not name the mistake it shows"


def _generated(item: Generated) -> Iterator[str]:
    for seed in range(SEEDS):
        question = item.with_seed(seed)
        if len(question.options) != 4:
            yield f"seed {seed}: {len(question.options)} options"
        if question != item.with_seed(seed):
            yield f"seed {seed}: not the same twice"
        yield from (f"seed {seed}: {text}" for text in _question(question))
