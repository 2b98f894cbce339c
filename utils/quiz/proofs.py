"""What has to be true of every exercise and question, as a list of what is not.

The tests assert that the list is empty for all content; an author can call it while writing:

    from utils.quiz import proofs, registry
    proofs.problems(registry.get("X03-1", "X"))
"""

from __future__ import annotations

import functools
import linecache
import math
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from utils.quiz.diagnose import diagnose
from utils.quiz.exercise import Exercise, Switches
from utils.quiz.outcome import close
from utils.quiz.questions import Generated, Question
from utils.quiz.table import copy_args, flat, table_of

SEEDS = 200  # for which a generated question has to work


def run_source(source: str, name: str, **given: Any) -> Any:
    """Define ``name`` as a student's cell would: with the usual imports and what is ``given``."""
    space: dict[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math, "np": np}
    space |= {"functools": functools, "__name__": "student"} | given
    file = f"<student {zlib.crc32(source.encode())}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # as IPython does
    exec(compile(source, file, "exec"), space)
    return space[name]


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

    table = table_of(exercise)
    asked = Switches((), exercise.switch_names)
    exercise.switched(asked, *copy_args(table.probes[0]))
    for name in exercise.switch_names:
        if name.replace("-", "_") not in asked.asked:
            yield f"{name}: the reference never asks for it"

    blank = diagnose(exercise, run_source(exercise.blank, exercise.name))
    if blank.status != "not attempted":
        yield f"the blank is {blank.status!r} instead of 'not attempted'"
    for label, solution in _right_solutions(exercise):
        verdict = diagnose(exercise, solution)
        if not verdict.passed:
            yield f"{label} is refused: {verdict!r}"
    yield from _names(exercise)
    yield from _look_alikes(exercise)


def _right_solutions(exercise: Exercise) -> Iterator[tuple[str, Any]]:
    yield "the reference", exercise.reference
    if exercise.library is not None:
        yield "the library", exercise.library
    for number, source in enumerate(exercise.also_right, 1):
        yield f"right solution {number}", run_source(source, exercise.name)


def _names(exercise: Exercise) -> Iterator[str]:
    """Each bug on its own, run through the whole engine like a student's function."""
    plain = replace(exercise, call=lambda student, *args: student(*args), finish=None)
    for name in sorted(exercise.switch_names):
        verdict = diagnose(plain, lambda *args, name=name: exercise.wrong((name,), *args))
        if verdict.mistake != name:
            yield f"{name}: got {verdict.status!r} ({verdict.mistake})"


def _look_alikes(exercise: Exercise) -> Iterator[str]:
    table = table_of(exercise)
    seen: list[tuple[str, list]] = [("the right answer", table.right)]
    for name in sorted(exercise.switch_names):
        mine = [table.answer((name,), i) for i in range(len(table.right))]
        for other, theirs in seen:
            if all(
                a.key == b.key and close(flat(a), flat(b), exercise.tolerance).all()
                for a, b in zip(mine, theirs)
            ):
                yield f"{name}: looks like {other} on all probes"
        seen.append((name, mine))


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
