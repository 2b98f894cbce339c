"""From a student's function to a verdict: run it on the probes and look its answers up."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from utils.quiz import errors, observe
from utils.quiz.blank import is_blank
from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.guard import Ran, guarded
from utils.quiz.outcome import Outcome, same
from utils.quiz.session import GENERAL, Session
from utils.quiz.surroundings import clean_torch, torch_is_sound
from utils.quiz.table import Names, copy_args, error_text
from utils.quiz.verdict import Status, Verdict


def diagnose(exercise: Exercise, student: Any) -> Verdict:
    """The verdict on ``student``'s solution. Never raises, except for a Ctrl-C."""

    def verdict(status: Status, message: str, **more: Any) -> Verdict:
        return Verdict(exercise.id, status, message=message, title=exercise.title, **more)

    blank = is_blank(student)
    if blank:
        return verdict(Status.BLANK, blank)
    if not callable(student):
        text = GENERAL["not-a-function"].format(exercise.id, exercise.name)
        return verdict(Status.NAMED, text, mistake="not-a-function")
    with clean_torch():
        _load_autograd()
        if not torch_is_sound():
            return verdict(
                Status.UNNAMED,
                "torch itself no longer computes what it should: one of its functions was "
                "replaced in this kernel. Restart the kernel and run the notebook from the top.",
            )
    session = Session(exercise, student)
    found = _diagnose(session, verdict)
    if session.printed and found.status != Status.BLANK and found.mistake != "prints-without-end":
        remark = "What the function prints is not shown during a check; call it yourself to see it."
        found = replace(found, remarks=(*found.remarks, remark))
    return found


@cache
def _load_autograd() -> None:
    """What torch imports at its first gradient, now: cut off by the clock it would stay broken."""
    with torch.enable_grad():
        one = torch.ones(1, requires_grad=True)
        torch.autograd.grad(2 * one, one, grad_outputs=torch.ones(1))


def _diagnose(session: Session, verdict: Any) -> Verdict:
    exercise, table = session.exercise, session.table
    outcomes: list[Outcome] = []
    first_error: BaseException | None = None
    for args in table.probes:
        outcome, ran = session.call(args)
        if outcome is None:
            return _stopped(session, ran, verdict)
        if ran.error is not None and first_error is None:
            first_error = ran.error
        outcomes.append(outcome)
    if first_error is not None and _unwritten(first_error, session.student):
        return verdict(Status.BLANK, "There is still a `NotImplementedError` to replace.")

    again, ran = session.call(table.probes[0], seed=1)
    if again is None:
        return _stopped(session, ran, verdict)
    if first_error is None and not same(again, outcomes[0], exercise.tolerance):
        if again.key == outcomes[0].key and again.arrays:
            return verdict(Status.NAMED, GENERAL["random"], mistake="random")

    right = list(table.right[: len(outcomes)])
    if all(same(o, r, exercise.tolerance) for o, r in zip(outcomes, right, strict=True)):
        return _passed(session, outcomes, verdict)
    if any(o.key == ("value", None) for o in outcomes):
        return verdict(Status.NAMED, GENERAL["returns-nothing"], mistake="returns-nothing")

    if first_error is not None:  # equal sizes often let the very same mistake run through
        for args in table.square:
            outcome, ran = session.call(args)
            if outcome is None:
                return _stopped(session, ran, verdict)
            outcomes.append(outcome)
    names, extra = _name(session, outcomes)
    if not names and isinstance(first_error, RuntimeError | IndexError):
        names = _name_by_line(session, first_error)
    if names:
        return _named(session, names, extra, first_error, verdict)
    if session.changed is not None:
        text = GENERAL["changes-inputs"].format(_argument(session, session.changed))
        return verdict(
            Status.NAMED, text + " The result is not right either.", mistake="changes-inputs"
        )
    if first_error is not None:
        return _raised(session, outcomes, first_error, verdict)
    seen = observe.describe(exercise, outcomes, right)
    if outcomes[0].key == right[0].key:
        seen += _what_matters(session)
    if _too_few(exercise, outcomes[0]):
        text = GENERAL["too-few-results"].format(" and ".join(exercise.parts))
        return verdict(Status.NAMED, f"{text} {' '.join(seen)}", mistake="too-few-results")
    return verdict(Status.UNNAMED, " ".join(seen), see=exercise.see)


def _name(session: Session, outcomes: list[Outcome]) -> tuple[Names, str]:
    """The bugs that explain the outcomes, and a sentence to add. Empty if nothing does."""
    table, exercise = session.table, session.exercise
    levels = ("singles", "pairs")
    if all(o.raised and not o.raised.startswith(("RuntimeError", "IndexError")) for o in outcomes):
        levels = ()  # a name misspelt, an argument missing: no mistake with the numbers
    for level in levels:
        found = table.find(outcomes, level)
        if found:
            return found[0], ""
    parts = table.explain_parts(outcomes)
    if parts and all(parts):
        choices = itertools.product(*parts)
        best = min((sorted(set().union(*choice)) for choice in choices), key=len)
        if 0 < len(best) <= 3:
            return tuple(best), ""
    sound = not any(o.raised for o in outcomes)
    if sound and all(o.key == r.key for o, r in zip(outcomes, table.right, strict=False)):
        results = [o.arrays for o in outcomes]
        for bug in exercise.bugs:
            seen = bug.detect(table.probes, results) if bug.detect else None
            if seen:
                return (bug.name,), seen if isinstance(seen, str) else ""
    if parts:  # one part is a known mistake, the rest is something else on top
        known = [
            (names[0], name) for names, name in zip(parts, exercise.parts, strict=True) if names
        ]
        for names, part in known:
            if names and len(names) == 1:
                other = " and ".join(p for p in exercise.parts if p != part)
                return names, f"That explains the {part}; the {other} has a further difference."
    return (), ""


def _name_by_line(session: Session, error: BaseException) -> Names:
    """The bug whose pattern fits the line that raised, where several come together."""
    where = errors.place(error, session.student)
    for bug in session.exercise.bugs:
        if bug.line and re.search(bug.line, where):
            return (bug.name,)
    return ()


def _named(
    session: Session, names: Names, extra: str, error: BaseException | None, verdict: Any
) -> Verdict:
    bugs = [session.exercise.bug(name) for name in names]
    if len(bugs) == 1:
        text = bugs[0].says
    else:
        count = {2: "Two", 3: "Three"}[len(bugs)]
        text = f"{count} things at once. " + " ".join(
            f"({i}) {bug.says}" for i, bug in enumerate(bugs, 1)
        )
    if extra:
        text += f" {extra}"
    remarks = []
    where = errors.place(error, session.student) if error is not None else ""
    if error is not None:
        remarks.append(f"Python stopped with {_short(error)}" + (f" in {where}." if where else "."))
    if session.changed is not None:
        remarks.append(GENERAL["changes-inputs"].format(_argument(session, session.changed)))
    looks = dict.fromkeys(bug.look for bug in bugs if bug.look)
    sees = dict.fromkeys(bug.see or session.exercise.see for bug in bugs)
    return verdict(
        Status.NAMED,
        text,
        mistake="+".join(names),
        look="; ".join(looks),
        see="; ".join(sees),
        remarks=tuple(remarks),
    )


def _stopped(session: Session, ran: Ran, verdict: Any) -> Verdict:
    """Verdicts on calls that gave nothing to compare."""
    if isinstance(ran.error, Mistake):
        return _named(session, (ran.error.name,), ran.error.extra, None, verdict)
    if ran.flooded:
        text, name = GENERAL["prints-without-end"], "prints-without-end"
        return verdict(Status.RAISED, text, mistake=name)
    if ran.left:
        return verdict(Status.RAISED, GENERAL["leaves-python"], mistake="leaves-python")
    if ran.asked:
        return verdict(Status.RAISED, GENERAL["asks-keyboard"], mistake="asks-keyboard")
    seconds = session.exercise.seconds
    return verdict(
        Status.SLOW,
        f"It did not finish within {seconds:g} seconds on inputs that take a blink, so it "
        f"was stopped. "
        "Is there a loop whose end is never reached?",
    )


def _raised(
    session: Session, outcomes: list[Outcome], error: BaseException, verdict: Any
) -> Verdict:
    table = session.table
    told = errors.meaning(error_text(error))
    main, square = outcomes[: len(table.probes)], outcomes[len(table.probes) :]
    right_square = table.right[len(table.probes) :]
    tolerance = session.exercise.tolerance
    if any(same(o, r, tolerance) for o, r in zip(main, table.right, strict=False)):
        told += " With inputs of other shapes it gives the right answer: what do these not have?"
    elif any(same(o, r, tolerance) for o, r in zip(square, right_square, strict=False)):
        told += (
            " With inputs of equal sizes it gives the right answer: one axis is taken for another."
        )
    where = errors.place(error, session.student)
    return verdict(
        Status.RAISED, f"It stopped with {_short(error)}. {told.strip()}".rstrip(), look=where
    )


def _passed(session: Session, outcomes: list[Outcome], verdict: Any) -> Verdict:
    """Right numbers: is everything else right as well?"""
    exercise, table = session.exercise, session.table
    if session.changed is not None:
        text = GENERAL["changes-inputs"].format(_argument(session, session.changed))
        return verdict(Status.NAMED, "The numbers are right. " + text, mistake="changes-inputs")
    for kind, wanted in zip(outcomes[0].kinds, table.right[0].kinds, strict=True):
        if wanted.startswith("tensor") and not kind.startswith("tensor"):
            what = "numpy arrays" if kind.startswith("numpy") else "Python lists"
            return verdict(
                Status.NAMED, GENERAL["not-a-tensor"].format(what), mistake="not-a-tensor"
            )
    remarks: list[str] = []
    narrow = False
    if exercise.gradient and not session.gradient_flows():
        by_hand = {"numpy", "from_numpy", "tolist", "item", "float", "np"}
        by_hand &= errors.names_in(session.student)
        cut = {"detach", "data", "no_grad", "detach_", "inference_mode", "set_grad_enabled"}
        if not by_hand and cut & errors.names_in(session.student):
            return verdict(Status.NAMED, GENERAL["no-gradient"], mistake="no-gradient")
        narrow = True
        remarks.append(
            "The numbers are right, but gradients do not come back through it (numpy, Python "
            "numbers or an in-place step in between), so a network could not learn through it."
        )
    for sentence, args in table.wider.items():
        outcome, _ = session.call(args)
        if outcome is None or not same(outcome, table.wider_right[sentence], exercise.tolerance):
            narrow = True
            remarks.append(sentence)
    if exercise.finish:
        ran = guarded(lambda: exercise.finish(session.student), max(session.left, 0.5))
        if isinstance(ran.error, Mistake):
            return _named(session, (ran.error.name,), ran.error.extra, None, verdict)
        if isinstance(ran.value, str):
            remarks.append(ran.value)
    return verdict(Status.PASSED, "Right.", remarks=tuple(remarks), narrow=narrow)


def _too_few(exercise: Exercise, outcome: Outcome) -> bool:
    return len(exercise.parts) > 1 and outcome.key[0] == "array"


def _what_matters(session: Session) -> list[str]:
    """Sentences about what changes the result although it must not."""
    found = []
    for rule in session.exercise.invariants:
        args = session.table.probes[0]
        before, _ = session.call(args, keep=rule.keep)
        with clean_torch():
            changed = rule.change(copy_args(args))
        after, _ = session.call(changed, keep=rule.keep_changed or rule.keep)
        if before is None or after is None or before.raised or after.raised:
            continue
        if not same(before, after, max(session.exercise.tolerance, 1e-4)):
            found.append(rule.sentence)
    return found


def _argument(session: Session, place: int) -> str:
    """The name of an argument as the exercise's reference spells it."""
    code = getattr(session.exercise.reference, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    return names[place] if place < len(names) else "an argument"


def _unwritten(error: BaseException, student: Any) -> bool:
    return isinstance(error, NotImplementedError) and "NotImplementedError" in errors.names_in(
        student
    )


def _short(error: BaseException) -> str:
    text = error_text(error).split("\n")[0].rstrip(".")
    return text if len(text) <= 160 else text[:157] + "..."
