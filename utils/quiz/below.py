"""Can a right solution stand where the cells below use it? `carry_on` asks.

A check calls a solution as the task says. The cells below may do more with it: name its arguments,
hand over one sentence instead of a batch, copy its matrices into another layer. What those of one
notebook do stands in `content/nb03/below.py`, as

    BELOW = {"X03-1": {"compute in float64 as well": lambda attention, r: attention(...)}}

where each use has to give the same with the student's solution as with ours, and its sentence goes
on from "the cells below ...". That they go on with numbers of the same type holds for all.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import torch

from utils.quiz import content
from utils.quiz.exercise import Exercise
from utils.quiz.guard import guarded
from utils.quiz.naming.answers import answers_of, copy_args, random_maker
from utils.quiz.outcome import normalise, same
from utils.quiz.surroundings import clean_torch


def uses_of(exercise: Exercise) -> Mapping[str, Callable]:
    """What the cells below do with a solution beyond the check, by the sentence that says it."""
    name = f"{content.__name__}.nb{exercise.id[1:3]}.below"
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # an exercise of no notebook, as in a test
        found = None
    return importlib.import_module(name).BELOW.get(exercise.id, {}) if found else {}


def misfit(exercise: Exercise, student: Any) -> str:
    """Why the cells below cannot go on with this right solution: "the cells below ...", or ""."""

    def run(work: Callable) -> Any:
        with torch.enable_grad():
            ran = guarded(work, exercise.seconds)
        return ran.value if ran.ended_well else None

    for args in answers_of(exercise).probes:
        with clean_torch():
            wanted = _returned(exercise, exercise.reference, args)
        got = run(lambda args=args: _returned(exercise, student, args))
        words = _unlike(got, wanted) if got else ""  # the check has seen it run
        if words:
            return words
    for words, use in uses_of(exercise).items():
        with clean_torch(), torch.enable_grad(), torch.random.fork_rng(devices=[]):
            wanted = normalise(use(exercise.library or exercise.reference, random_maker(0)))
        got = run(lambda use=use: normalise(use(student, random_maker(0))))
        if got is None or not same(got, wanted, exercise.tolerance):
            return words
    return ""


def _returned(exercise: Exercise, solution: Any, args: tuple) -> list:
    """What a solution itself returns for one probe, before `Exercise.call` makes it comparable."""
    args, seen = copy_args(args), []
    if exercise.is_module:
        return [exercise.run(solution, *args)]

    def watched(*given: Any) -> Any:
        seen.append(solution(*given))
        return seen[-1]

    exercise.call(watched, *args)
    return seen


def _unlike(got: Any, wanted: Any) -> str:
    """How a result's kind differs from ours, where cells that go on with it would stumble."""
    if isinstance(wanted, torch.Tensor) and wanted.is_floating_point():
        ours, given = (str(getattr(x, "dtype", type(x).__name__)) for x in (wanted, got))
        if given == ours:
            return ""
        ours, given = ours.removeprefix("torch."), given.removeprefix("torch.")
        return f"go on with numbers of type {ours}, and yours are of type {given}"
    if isinstance(wanted, list | tuple):
        if not isinstance(got, list | tuple):
            kind = "a tensor" if isinstance(got, torch.Tensor) else f"a {type(got).__name__}"
            return f"go on with a {type(wanted).__name__}, and yours gives {kind}"
        return next(filter(None, map(_unlike, got, wanted)), "")
    return ""  # whole numbers and truth values are as good in a tensor, and of any type
