"""From a student's function to a verdict: run it on the probes, ask the engine what is wrong."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from utils.quiz.blank import is_blank
from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.guard import Ran, guarded
from utils.quiz.naming import counterexample, errors, modules, transforms
from utils.quiz.naming.answers import error_text
from utils.quiz.naming.case import Case, right_runner, runner
from utils.quiz.naming.engine import explain
from utils.quiz.naming.finding import NAMES, Finding
from utils.quiz.naming.remarks import of_passed
from utils.quiz.naming.sources import source_of
from utils.quiz.outcome import Outcome, same
from utils.quiz.session import GENERAL, Session
from utils.quiz.surroundings import clean_torch, torch_is_sound
from utils.quiz.verdict import Status, Verdict

SEEN = 6.0  # what the numbers show with that score is told as evidence of a vague cause
VAGUE = {"wrong-number", "typed-in", "wrong-name", "wrong-operator", "brackets", "wrong-return"}
VAGUE |= {"exchanged", "extra-step", "wrong-axis", "wrong-size", "order-of-steps"}
LIKELY = 6.6  # a guess from the numbers below that would lead astray
CLOSE = 0.03  # two findings of that little difference are both told


def diagnose(exercise: Exercise, student: Any, attempt: int = 2) -> Verdict:
    """The verdict on ``student``'s solution. Never raises, except for a Ctrl-C.

    A first ``attempt`` is told the line and the kind of its mistake where a finding knows both;
    the author's own sentences are told at once. Later attempts are told in full.
    """

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
    with _no_collection():
        found = _diagnose(session, verdict, attempt)
    if session.printed and found.status != Status.BLANK and found.mistake != "prints-without-end":
        remark = "What the function prints is not shown during a check; call it yourself to see it."
        found = replace(found, remarks=(*found.remarks, remark))
    return found


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python's search for garbage may take longer than the whole check, so it waits."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def _load_autograd() -> None:
    """What torch imports at its first gradient, now: cut off by the clock it would stay broken."""
    with torch.enable_grad():
        one = torch.ones(1, requires_grad=True)
        torch.autograd.grad(2 * one, one, grad_outputs=torch.ones(1))


def _diagnose(session: Session, verdict: Any, attempt: int) -> Verdict:
    exercise, answers = session.exercise, session.answers
    outcomes: list[Outcome] = []
    error: BaseException | None = None
    for args in answers.probes:
        outcome, ran = session.call(args)
        if outcome is None:
            return _stopped(session, ran, verdict)
        error = error or ran.error
        outcomes.append(outcome)
    if error is not None and _unwritten(error, session.student):
        return verdict(Status.BLANK, "There is still a `NotImplementedError` to replace.")

    again, ran = session.call(answers.probes[0], seed=1)
    if again is None:
        return _stopped(session, ran, verdict)
    if error is None and not same(again, outcomes[0], exercise.tolerance):
        if again.key == outcomes[0].key and again.arrays:
            return verdict(Status.NAMED, GENERAL["random"], mistake="random")

    right = answers.right[: len(outcomes)]
    if all(same(o, r, exercise.tolerance) for o, r in zip(outcomes, right, strict=True)):
        return _passed(session, outcomes, verdict)
    if _unfilled(session.student):
        return verdict(Status.BLANK, "There is still a `...` to replace.")
    if any(o.key == ("value", None) for o in outcomes):
        ends = any(isinstance(n, ast.Return) and n.value for n in _nodes(session.student))
        name = "returns-nothing-sometimes" if ends else "returns-nothing"
        return verdict(Status.NAMED, GENERAL[name], mistake="returns-nothing")
    if outcomes[0].key[0] == "value" and outcomes[0].key != right[0].key:
        text = GENERAL["returns-text"].format(repr(outcomes[0].key[1])[:60])
        return verdict(Status.NAMED, text, mistake="returns-text")
    if outcomes[0].key[0] == "other":
        return _returns_other(outcomes[0].key[1], verdict)

    if error is not None:  # equal sizes often let the very same mistake run through
        for args in answers.square:
            outcome, ran = session.call(args)
            if outcome is None:
                return _stopped(session, ran, verdict)
            outcomes.append(outcome)
    case = Case(session, outcomes, error)
    try:
        found = explain(case)
    except Exception:  # a text odder than the engine can bear must not cost the verdict
        found = []
    return _wrong(case, found, verdict, attempt)


def _nodes(student: Any) -> Iterator[ast.AST]:
    """All nodes of the solution's own text, none if it cannot be read."""
    source = source_of(student)
    return ast.walk(source.own) if source else iter(())


def _unfilled(student: Any) -> bool:
    """Is there still a `...` of the blank in what is returned or kept?"""
    for node in _nodes(student):
        value = node.value if isinstance(node, ast.Return | ast.Assign) else None
        for part in value.elts if isinstance(value, ast.Tuple) else [value]:
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                return True
    return False


def _returns_other(kind: str, verdict: Any) -> Verdict:
    """Something came back that holds no numbers."""
    if kind == "generator":
        name, text = "returns-generator", GENERAL["returns-generator"]
    elif hasattr(torch.nn, kind):
        name, text = "returns-layer", GENERAL["returns-layer"].format(kind)
    else:
        name, text = "returns-other", GENERAL["returns-other"].format(kind)
    return verdict(Status.NAMED, text, mistake=name)


def _wrong(case: Case, found: list[Finding], verdict: Any, attempt: int) -> Verdict:
    session, exercise = case.session, case.exercise
    remarks, stopped = [], ""
    if case.error is not None:
        where = errors.place(case.error, session.student)
        stopped = f"Python stopped with {_short(case.error)}" + (f" in {where}." if where else ".")
        remarks.append(stopped)
    best = found[0] if found else None
    if session.changed is not None:
        text = GENERAL["changes-inputs"].format(_argument(session, session.changed))
        if best is None or best.score < NAMES:
            text += " The result is not right either."
            return verdict(Status.NAMED, text, mistake="changes-inputs", remarks=tuple(remarks))
        remarks.append(text)
    see = exercise.see
    if best is not None and best.piece == "author":
        bugs = [exercise.bug(name) for name in best.kind.split("+")]
        see = "; ".join(dict.fromkeys(bug.see or exercise.see for bug in bugs))
    more = {"see": see, "remarks": tuple(remarks)}
    if best is not None and best.score >= NAMES:
        text = _told(best, found, attempt)
        return verdict(Status.NAMED, text, mistake=best.kind, **more)
    if case.error is not None:  # what the exception means, and what else is no mere guess
        clues = [f.says for f in found if f.witness in ("error", "tree", "layout")][:2]
        more["remarks"] = tuple(remarks) if clues else tuple(r for r in remarks if r != stopped)
        return verdict(Status.RAISED, " ".join(clues) or stopped, **more)
    clues = [f.says for f in found if f.witness != "prints" or f.score > LIKELY][:2]
    text = " ".join(clues or [f.says for f in _symptoms(case)[:2]])
    example = counterexample.smallest(
        runner(session),
        right_runner(case.answers),
        case.answers.all[case.pivot],
        case.answers.names,
        exercise.parts,
        exercise.tolerance,
    )
    clue = f"A clue: {text}" if text else "The numbers are not right."
    return verdict(Status.UNNAMED, f"{clue}\n\n{example}" if example else clue, **more)


def _told(best: Finding, found: list[Finding], attempt: int) -> str:
    """What the student reads: the best finding, its equal if there is one, and the evidence."""
    if attempt < 2 and best.brief:
        return best.brief
    text = best.says
    apart = (f for f in found[1:] if f.kind != best.kind and f.score >= NAMES)
    # What shows of an unused argument, and another repair of the same line, are no other readings.
    same = {"argument-unused", "ignored-argument"}
    rivals = [f for f in apart if not f.line or f.line != best.line]
    rivals = [f for f in rivals if not {f.kind, best.kind} <= same]
    if rivals and best.piece != "author" and best.score - rivals[0].score < CLOSE:
        text += f" Another reading of the same numbers: {rivals[0].says}"
    seen = [f for f in found if f.witness == "numbers" and f.score >= SEEN]
    if best.kind == "extra-step":  # what is one too many is not missing, too
        seen = [f for f in seen if not f.kind.startswith("no-")]
    if seen and best.kind in VAGUE:
        text += f" {seen[0].says}"
    return text


def _symptoms(case: Case) -> list[Finding]:
    exercise, answers, count = case.exercise, case.answers, case.main
    return transforms.symptoms(
        exercise.parts,
        case.outcomes[:count],
        answers.right[:count],
        [answers.flat(args) for args in answers.probes],
        answers.all_names,
        exercise.tolerance,
    )


def _stopped(session: Session, ran: Ran, verdict: Any) -> Verdict:
    """Verdicts on calls that gave nothing to compare."""
    if isinstance(ran.error, Mistake):
        return _mistake(session, ran.error, verdict)
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
        "was stopped. Is there a loop whose end is never reached?",
    )


def _mistake(session: Session, mistake: Mistake, verdict: Any) -> Verdict:
    return verdict(Status.NAMED, mistake.says, mistake=mistake.name, see=session.exercise.see)


def _passed(session: Session, outcomes: list[Outcome], verdict: Any) -> Verdict:
    """Right numbers: is everything else right as well?"""
    exercise, answers = session.exercise, session.answers
    if session.changed is not None:
        text = GENERAL["changes-inputs"].format(_argument(session, session.changed))
        return verdict(Status.NAMED, "The numbers are right. " + text, mistake="changes-inputs")
    for kind, wanted in zip(outcomes[0].kinds, answers.right[0].kinds, strict=True):
        if wanted.startswith("tensor") and not kind.startswith("tensor"):
            what = "numpy arrays" if kind.startswith("numpy") else "Python lists"
            text = GENERAL["not-a-tensor"].format(what)
            return verdict(Status.NAMED, text, mistake="not-a-tensor")
    remarks: list[str] = []
    narrow = False
    if exercise.gradient and not session.gradient_flows():
        by_hand = {"numpy", "from_numpy", "tolist", "item"}
        by_hand &= errors.names_in(session.student)
        if not by_hand and _cuts_gradient(session.student):
            return verdict(Status.NAMED, GENERAL["no-gradient"], mistake="no-gradient")
        narrow = True
        remarks.append(
            "The numbers are right, but gradients do not come back through it (numpy, Python "
            "numbers or an in-place step in between), so a network could not learn through it."
        )
    for sentence, args in answers.wider.items():
        outcome, _ = session.call(args)
        if outcome is None or not same(outcome, answers.wider_right[sentence], exercise.tolerance):
            narrow = True
            remarks.append(sentence)
    if exercise.finish:
        ran = guarded(lambda: exercise.finish(session.student), max(session.left, 0.5))
        if isinstance(ran.error, Mistake):
            return _mistake(session, ran.error, verdict)
        if isinstance(ran.value, str):
            remarks.append(ran.value)
    if exercise.is_module:
        sizes = answers.probes[0][0]
        facts = (modules.lacks_bias, modules.drops_out)
        bare, drops = (
            guarded(lambda fact=fact: fact(exercise.reference, session.student, sizes), 0.5).value
            for fact in facts
        )
        if bare and not any("bias" in remark for remark in remarks):
            remarks.append("It learns fewer biases than the course's own version.")
        if drops and not any("dropout" in remark for remark in remarks):
            remarks.append(
                "There is a dropout, which the task does not ask for: in training mode two calls "
                "with the same input give different results."
            )
    source = source_of(session.student)
    if source is not None and not remarks:
        remarks += of_passed(session.student, source.own)
    return verdict(Status.PASSED, "Right.", remarks=tuple(remarks), narrow=narrow)


def _cuts_gradient(student: Any) -> bool:
    """By `detach`, `.data` or `no_grad`, inside or as a decorator around it."""
    cut = {"detach", "data", "no_grad", "detach_", "inference_mode", "set_grad_enabled"}
    parts = [student, *vars(student).values()] if isinstance(student, type) else [student]
    decorated = any(hasattr(part, "__wrapped__") for part in parts)
    return decorated or bool(cut & errors.names_in(student))


def _argument(session: Session, place: int) -> str:
    """The name of an argument as the exercise's reference spells it."""
    names = session.answers.names
    return names[place] if place < len(names) else "an argument"


def _unwritten(error: BaseException, student: Any) -> bool:
    unwritten = isinstance(error, NotImplementedError)
    return unwritten and "NotImplementedError" in errors.names_in(student)


def _short(error: BaseException) -> str:
    text = error_text(error).split("\n")[0].rstrip(".: ")
    return text if len(text) <= 160 else text[:157] + "..."
