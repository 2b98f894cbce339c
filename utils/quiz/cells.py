"""The functions that a notebook's cells call. None of them raises because of what a student did."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from utils.quiz import pages, registry, store, views
from utils.quiz.below import misfit
from utils.quiz.diagnose import diagnose
from utils.quiz.questions import Generated, Question
from utils.quiz.verdict import Note, Status, Verdict

_rungs: dict[str, int] = {}  # how far down each ladder of hints this kernel has come
_tried: dict[str, int] = {}  # exercises that were attempted in this kernel, and how often


def check(key: str, student: Any = None) -> Verdict:
    """Run the student's solution of exercise ``key`` and say which mistake it is, if any.

    The first time the line and the kind of mistake are told, from the second time on all of it.
    """
    exercise = registry.get(key, "X")
    key = exercise.id
    attempt = _tried.get(key, 0) + 1
    verdict = diagnose(exercise, student, attempt)
    if verdict.status != Status.BLANK:
        _tried[key] = 0 if verdict.passed else attempt
        store.record(key, verdict.status, verdict.mistake)
    return verdict


def hint(key: str, rungs: int | None = None) -> Note:
    """The next hint, or with a number the first ``rungs`` hints at once."""
    exercise = registry.get(key, "X")
    key = exercise.id
    total = len(exercise.hints)
    if rungs is None:
        here = min(_rungs.get(key, 0) + 1, total)
        _rungs[key] = here
        shown = [(here, exercise.hints[here - 1])]
    else:
        if isinstance(rungs, bool) or not isinstance(rungs, int) or rungs < 1:
            raise ValueError(f"expected the number of hints to show, 1 to {total}, got {rungs!r}")
        shown = list(enumerate(exercise.hints[:rungs], 1))
    text = "\n\n".join(f"{number} of {total}: {words}" for number, words in shown)
    if shown[-1][0] == total:
        text += f'\n\nThat was the last hint. After a try of your own: `solution("{key}")`'
    return Note(f"{key}: hint", text, look="hint")


def solution(key: str) -> Note:
    """The reference's source, once there was an attempt in this kernel or in the progress file."""
    exercise = registry.get(key, "X")
    key = exercise.id
    if key not in _tried and key not in store.read():
        return Note(
            f"{key}: solution",
            f"It is more fun after a try of your own, however rough: write something, run "
            f'`check("{key}", {exercise.name})` and come back. A nudge: `hint("{key}")`.',
        )
    return Note(f"{key}: one solution among many", "", code=exercise.source)


def carry_on(key: str, student: Any = None) -> Any:
    """The student's version if it is right and the cells below can use it, the library's if not.

    Prints which one it is, and why.
    """
    exercise = registry.get(key, "X")
    key = exercise.id
    passed = diagnose(exercise, student).passed
    reason = misfit(exercise, student) if passed else ""
    if passed and not reason:
        print(f"Going on with your own {exercise.name}.")
        return student
    ours = f"Going on with the library's {exercise.name}"
    if passed:
        print(f"{ours}. Yours is right, but the cells below {reason}.")
    else:
        print(f"{ours}; yours takes over once {key} has passed.")
    return exercise.library or exercise.reference


def question(key: str, answer: Any = None, *, seed: int | None = None) -> Any:
    """Show question ``key``. An answer, clicked or typed, gets the reason for that option."""
    item = registry.get(key, "QG")
    key = item.id
    call = f'question("{key}", answer="...")'
    if isinstance(item, Generated):
        seed = 0 if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"expected a whole number as seed, got {seed!r}")
        item = item.with_seed(seed)
        call = f'question("{key}", answer="...", seed={seed})'
    if _unanswered(answer):
        return views.View(item, call)
    letter = item.letter(answer)
    if letter is None:
        return _not_an_option(item, answer)
    verdict = views.judge(item, letter)
    views.record(verdict, letter)
    return replace(verdict, asked=item.plain())


def predict(key: str, draw: Callable[[], Any] | None = None, guess: Any = None) -> Any:
    """Ask what will happen. The next cell shows it, with `said`, whatever the guess.

    With ``draw`` the picture waits instead: ``draw()`` is called once there is a guess.
    """
    item = registry.get(key, "P")
    key = item.id
    if draw is not None and not callable(draw):
        raise TypeError(f"expected a function that draws the picture, got {type(draw).__name__}")
    if _unanswered(guess) and draw is None:
        return views.View(item, f'predict("{key}", guess="..."); the next cell shows what happens')
    if _unanswered(guess):
        call = f'predict("{key}", {_name_of(draw)}, guess="..."); the picture follows your guess'
        return views.View(item, call, after=lambda verdict: draw())
    letter = item.letter(guess)
    if letter is None:
        return _not_an_option(item, guess)
    verdict = views.told(item, letter)
    views.record(verdict, letter)
    if draw is None:
        return views.heard(item, letter)
    draw()
    return replace(verdict, asked=item.plain())


def said(key: str) -> None:
    """Print what was guessed at ``predict(key)``, beside the result that the cell shows anyway."""
    item = registry.get(key, "P")
    key = item.id
    letter = item.letter(store.read().get(key, {}).get("answer") or "")
    if letter is None:
        print(f"{key}: you have not said yet what you expect. This is what happens.")
    else:
        text, reason = item.option(letter).text.rstrip("."), item.option(letter).reason
        print(f"{key}: you said {letter}) {text}. Look at the result. {reason}")


def progress() -> pages.Page:
    """What is done and what is open."""
    return pages.Page()


def report(file: str | Path = "report.html", name: str = "") -> Path:
    """Write a one-page report to hand in, and return its path."""
    return pages.write_report(file, name)


def _unanswered(answer: Any) -> bool:
    return answer is None or answer is Ellipsis or str(answer).strip() in ("", "...")


def _not_an_option(item: Question, answer: Any) -> Note:
    letters = ", ".join("abcdef"[: len(item.options)])
    text = f"{item.plain()}\n\nThe answer {str(answer)[:40]!r} is none of the options: {letters}."
    return Note(f"{item.id}: not answered yet", text)


def _name_of(draw: Callable) -> str:
    name = getattr(draw, "__name__", "draw")
    return name if name.isidentifier() and not inspect.isbuiltin(draw) else "draw"
