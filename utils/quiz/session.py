"""One check of one student's function: guarded calls that share a budget of seconds."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import torch

from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.guard import Ran, guarded
from utils.quiz.naming.answers import Answers, answers_of, copy_args, error_text
from utils.quiz.outcome import Outcome, failed, normalise, same_numbers
from utils.quiz.surroundings import clean_torch

# Mistakes that any exercise can have; authors need not list them.
GENERAL = {
    "changes-inputs": "The function writes into its inputs: after the call `{0}` is not what "
    "it was "
    "before. Whoever called it still needs them. Make a new tensor instead of `x /= ...`, `x "
    "+= ...`, `x[...] = ...` or a method whose name ends in `_`.",
    "random": "Two calls with the same inputs give different results. Is a dropout still on, "
    "or something drawn at random inside the function?",
    "no-gradient": "The numbers are right, but no gradient flows back through them, so "
    "nothing could be learnt through this function. Remove `detach()`, `.data` or `no_grad()`.",
    "returns-nothing": "The function gives back None. Is its last line a `return`?",
    "returns-nothing-sometimes": "The function gives back None: on the way that these inputs take "
    "through it no `return` is met. Does every case have one, and is each name spelled as asked?",
    "returns-generator": "A generator comes back, which has computed nothing yet: `yield`, or "
    "`(... for ...)` in round brackets. `return` hands back the result itself.",
    "returns-layer": "A layer comes back, of type {0}: it was made, but not called with a tensor. "
    "The brackets of a layer's first call only make it; a second pair runs it.",
    "returns-other": "What comes back is an object of type {0}, and no numbers can be read off it.",
    "returns-text": "What comes back is the text {0}, and no number: a text is for reading only.",
    "not-a-tensor": "The numbers are right, but they come as {0}. Return torch tensors, so "
    "that the next layer can go on with them.",
    "not-a-function": "`check` needs the function itself: write its name without brackets, as in "
    '`check("{0}", {1})`.',
    "leaves-python": "The function tries to end Python (`sys.exit`, `quit`, ...). A function "
    "hands its result back with `return`.",
    "asks-keyboard": "The function waits for the keyboard (`input`). Everything it needs "
    "comes in as an argument.",
    "prints-without-end": "The function prints without end, so it was stopped. Take the "
    "`print` out of the loop.",
}


class Session:
    """One check of one student's function: its calls share one budget of seconds."""

    def __init__(self, exercise: Exercise, student: Any):
        self.exercise, self.student = exercise, student
        self.answers: Answers = answers_of(exercise)
        self.left = exercise.seconds
        self.printed = 0
        self.changed: int | None = None  # which argument was written into

    def call(self, args: tuple, seed: int = 0) -> tuple[Outcome | None, Ran]:
        """One guarded call; no outcome if there is nothing to compare (too slow, left, ...)."""
        fresh = copy_args(args)

        def work() -> Outcome:
            torch.default_generator.manual_seed(seed)  # `torch.manual_seed` is slow
            np.random.seed(seed)
            random.seed(seed)
            return normalise(self.exercise.run(self.student, *fresh))

        started = time.monotonic()
        ran = guarded(work, self.left)
        self.left -= time.monotonic() - started
        self.printed += ran.printed
        if self.changed is None:
            self.changed = _changed(args, fresh)
        if ran.ended_well:
            return ran.value, ran
        if ran.error is not None and not isinstance(ran.error, Mistake):
            return failed(error_text(ran.error)), ran
        return None, ran

    def gradient_flows(self) -> bool:
        """Compare the gradients of the first part with the reference's, on the first probe."""
        exercise, args = self.exercise, self.answers.probes[0]

        def gradients(function: Any) -> list[np.ndarray]:
            inputs = copy_args(args, requires_grad=True)
            with torch.enable_grad():
                result = function(*inputs)
                first = result if isinstance(result, torch.Tensor) else result[0]
                count = torch.arange(first.numel(), dtype=torch.float32, device=first.device)
                (first * (count * 0.7).cos().reshape(first.shape)).sum().backward()
            grads = [x.grad for x in inputs if isinstance(x, torch.Tensor)]
            return [normalise(g).arrays[0] for g in grads if g is not None]

        with clean_torch():
            want = gradients(exercise.right)
        ran = guarded(
            lambda: gradients(lambda *a: exercise.run(self.student, *a)), max(self.left, 0.5)
        )
        if not ran.ended_well or len(ran.value) != len(want):
            return False
        loose = max(exercise.tolerance, 1e-3)
        return all(same_numbers(a, b, loose) for a, b in zip(ran.value, want, strict=True))


def _changed(before: tuple, after: tuple) -> int | None:
    """The position of the first argument that was written into, a tensor or a list of numbers."""
    for place, (a, b) in enumerate(zip(before, after, strict=True)):
        if isinstance(a, torch.Tensor | list):
            x, y = normalise(a), normalise(b)
            if x.key != y.key or not all(map(_equal, x.arrays, y.arrays)):
                return place
    return None


def _equal(x: np.ndarray, y: np.ndarray) -> bool:
    return np.array_equal(x, y, equal_nan=True)
