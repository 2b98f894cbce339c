"""Everything that can be said about a wrong solution, the most specific first.

Five witnesses are heard: the author's bugs and the edited references, by fingerprint; repairs of
the student's own text; what turns the right answer into this one; which inputs matter; and the
exception or the syntax tree. Each reports `Finding`s, and their scores decide who speaks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from utils.quiz.guard import guarded
from utils.quiz.naming import errors, habits, influence, modules, prints, transforms
from utils.quiz.naming.answers import Answers, Variant
from utils.quiz.naming.finding import Finding
from utils.quiz.naming.repairs import Repair, repairs, variety
from utils.quiz.naming.sources import Source, source_of
from utils.quiz.outcome import Outcome, same
from utils.quiz.session import Session
from utils.quiz.surroundings import clean_torch

STRICT = False  # the tests want to know when a witness fails
AUTHOR, PAIR, PARTLY = 9.6, 8.7, 9.2
SYMBOLS = {
    "divided": "/",
    "added": "+",
    "subtracted": " - ",
    "multiplied as matrices": "@",
    "multiplied entry by entry": "*",
    "comparison": "<",
    "mask": "mask",
}
BY_NUMBERS = "The numbers are those one gets when"
SLIGHT = {"wrong-number", "wrong-name", "wrong-size", "brackets", "exchanged", "wrong-return"}
UNSURE = {"wrong-name", "wrong-number", "typed-in"}  # much can be repaired by another name
PRESENT = {"order-of-steps", "wrong-function", "exchanged"}
TELLING = {
    "foreign-operation": {"relu", "gelu", "sigmoid", "tanh", "mean", "normalize", "sort", "argmax"}
    | {"dropout", "cumsum", "round", "log_softmax", "abs", "floor", "flip"},
    "missing-operation": {"softmax", "sqrt", "tanh", "cat", "layer_norm", "relu"},
}
PLUMBING = {"unbind", "stack", "cat", "unsqueeze", "split", "chunk", "unflatten", "select"}
KINDS = {  # what a first attempt is told: where to look, not yet what it is
    "wrong-axis": "think about the axis",
    "wrong-size": "think about which size is meant",
    "missing-step": "a step is missing",
    "extra-step": "there is a step too many",
    "order-of-steps": "think about the order of the steps",
    "exchanged": "two things have changed places",
    "wrong-operator": "think about the operator",
    "wrong-sign": "think about the sign",
    "inverted": "think about what True and False mean here",
    "wrong-comparison": "think about the comparison",
    "wrong-number": "think about the numbers",
    "typed-in": "a number is typed in that depends on the inputs",
    "wrong-name": "is every name the one you mean?",
    "wrong-return": "think about what comes back",
    "missing-part": "think about what comes back",
    "wrong-branch": "think about the condition",
    "wrong-function": "think about the function that is called",
    "wrong-softmax": "think about what makes weights of scores",
    "wrong-fill": "think about what is put in the hidden places",
    "wrong-correction": "think about what is divided by",
    "off-by-one": "think about the first and the last round",
    "keepdim": "think about the shape after that line",
    "brackets": "think about what is computed first",
    "interleaved": "think about how the entries lie in memory",
    "view-for-transpose": "think about how the entries lie in memory",
    "transpose-for-view": "think about how the entries lie in memory",
    "missing-argument": "is everything handed on?",
}


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

    @property
    def pivot(self) -> int:
        """A probe on which it is wrong, one that gave numbers if there is any."""
        wrong = [i for i, good in enumerate(self.good) if not good]
        return min(wrong, key=lambda i: bool(self.outcomes[i].raised))


def explain(case: Case) -> list[Finding]:
    """All findings, the best first."""
    witnesses = (
        _by_prints,
        _by_repair,
        _by_error,
        _by_tree,
        _by_numbers,
        _by_influence,
        _by_layout,
    )
    found = [finding for witness in witnesses for finding in _heard(witness, case)]
    found = [replace(f, score=f.score + _doubt(case, f, found)) for f in found]
    return sorted((_reasoned(case, f) for f in found), key=lambda f: -f.score)


def _doubt(case: Case, finding: Finding, found: list[Finding]) -> float:
    """What speaks for or against a finding, seen beside the others and the student's text."""
    kind, piece = finding.kind, finding.piece.partition("@")[0]
    others = {f.kind for f in found if f is not finding}
    if finding.says.startswith(BY_NUMBERS):
        repaired = {f.kind for f in found if f.line and f.score > 8}
        text = "\n".join(case.source.lines) if case.source else ""
        foreign = kind in PRESENT and piece.isidentifier() and text and piece not in text
        foreign = foreign or bool(text) and _speaks_of_others(finding, text, case.answers.names)
        return -1.3 if foreign or kind in SLIGHT and kind not in repaired else 0.0
    if kind == "argument-unused" and case.error is not None:
        return -0.5  # it may just not have come that far
    if kind == "ignored-argument":  # one changed entry does not prove it
        return 0.0 if "argument-unused" in others else -0.5
    if kind in TELLING:
        alone = sum(f.kind == kind for f in found) == 1
        return 2.1 if alone and piece in TELLING[kind] else 0.0
    return 0.0


def _speaks_of_others(finding: Finding, text: str, arguments: list[str]) -> bool:
    """Does it mention names or plumbing of another solution, which the student's text has not?"""
    told = {*re.findall(r"`(?:self\.)?(\w+)`", finding.says), *(PLUMBING & {finding.piece})}
    return any(name not in text for name in told - {*arguments})


def _heard(witness: Callable[[Case], Iterator[Finding]], case: Case) -> list[Finding]:
    """What one witness says. If it fails over odd code, the others are heard all the same."""
    try:
        return list(witness(case))
    except Exception:
        if STRICT:
            raise
        return []


# By fingerprint.


def _by_prints(case: Case) -> Iterator[Finding]:
    variants, table = case.answers.table
    if not variants:
        return
    mine = prints.stack([prints.take(o, len(case.exercise.parts)) for o in case.outcomes])
    count = len(case.outcomes)
    seen = prints.Print(*(a[:, :count] for a in vars(table).values()))
    fits = prints.agree(mine, seen, case.exercise.tolerance)  # (variants, probes, 1 + parts)
    alike, told = _alike(case, fits[..., 0], seen), 0
    for index in np.flatnonzero(alike):
        yield _of_variant(case, variants[index])
        told += 1
        if told == 4:
            return
    if told:
        return
    if any(case.good) and not case.error:  # right on some probes: only the wrong ones are asked
        wrong = [i for i, good in enumerate(case.good) if not good]
        for index in np.flatnonzero(fits[:, wrong, 0].all(1))[:1]:
            if variants[index].kind == "wrong-branch":
                continue  # some inputs are right because they went the other way
            found = _of_variant(case, variants[index])
            says = f"On some inputs it is right. Where it is not: {found.says}"
            yield replace(found, says=says, score=min(found.score, PARTLY) - 0.3)
            return
    yield from _by_parts(case, variants, fits)


def _alike(case: Case, fits: np.ndarray, seen: prints.Print) -> np.ndarray:
    """Which variants explain all outcomes. Exceptions agree with exceptions; text only if alone."""
    raised = np.array([bool(o.raised) for o in case.outcomes])
    theirs = seen.codes[..., 0] == prints.RAISED  # (variants, probes)
    if raised.all():
        return fits.all(1)
    agrees = fits | (theirs & raised)
    agrees[:, case.main :] |= raised[case.main :]  # equal sizes: other code may stop elsewhere
    numbers = fits & ~raised
    return agrees.all(1) & numbers.any(1)


def _of_variant(case: Case, variant: Variant) -> Finding:
    bugs = [case.exercise.bug(name) for name in variant.bugs]
    if bugs:
        text = bugs[0].says
        if len(bugs) > 1:
            text = "Two things at once. " + " ".join(
                f"({i}) {bug.says}" for i, bug in enumerate(bugs, 1)
            )
        score = AUTHOR if len(bugs) == 1 else PAIR - 2 * _poor(case)
        return Finding("+".join(variant.bugs), text, score, piece="author")
    says = f"{BY_NUMBERS} {variant.words}."
    score = 8 + variant.weight / 10 + 0.05 * bool(variant.line)
    if case.outcomes[case.pivot].raised or _poor(case):
        score -= 3
    brief = f"The numbers tell: {KINDS.get(variant.kind, 'one step is not as it should be')}."
    piece = f"{variant.piece}@{variant.line}" if variant.line else variant.piece
    return Finding(variant.kind, says, score, brief=brief, piece=piece)


def _poor(case: Case) -> bool:
    """Zeros or NaN everywhere: many mistakes look like that."""
    mine, right = case.outcomes[case.pivot], case.answers.right[case.pivot]
    return 2 * variety(mine) < variety(right)


def _by_parts(case: Case, variants: list[Variant], fits: np.ndarray) -> Iterator[Finding]:
    """One part (the weights, say) is explained, or each part by itself."""
    parts = case.exercise.parts
    if len(parts) < 2 or any(len(o.parts()) != len(parts) for o in case.outcomes):
        return
    told: list[str] = []
    for i, part in enumerate(parts, 1):
        right = all(
            prints.agree(prints.take(o, len(parts)), prints.take(r, len(parts)), 1e-4)[i]
            for o, r in zip(case.outcomes, case.answers.right, strict=False)
        )
        if right:
            continue
        hits = np.flatnonzero(fits[..., i].all(1))
        if len(hits):
            best = _of_variant(case, variants[hits[0]])
            told.append(best.kind)
            also = "" if len(told) == 1 else "Besides. "
            says = f"{also}The {part}: {best.says}"
            yield replace(best, says=says, score=min(best.score, 8.6) - 0.8)


# By repairing the student's text.


def _by_repair(case: Case) -> Iterator[Finding]:
    if case.source is None:
        return
    found: list[Repair] = []

    def work() -> None:
        for repair in repairs(case.answers, case.source, case.outcomes[: case.main]):
            found.append(repair)

    guarded(work, 1.0)
    for repair in found:
        edit = repair.edit
        kind, words = edit.undone
        line = case.source.line(edit.line)
        where = f"Line {edit.line}, `{line}`: " if line else ""
        brief = f"{where}{KINDS.get(kind, 'look at this line again')}."
        score = 8.4 + edit.weight / 10 - 0.6 * edit.loses - 0.9 * (kind in UNSURE)
        if repair.rest is None:
            says = f"{where}{words}."
            yield Finding(kind, says, score, edit.line, brief, edit.piece)
            continue
        rest = _of_variant(case, repair.rest)
        second = rest.says if repair.rest.bugs else f"And {repair.rest.words}."
        says = f"Two things at once. {where}{words}. {second}"
        usual = min(edit.weight, repair.rest.weight or 3) >= 2.5 and kind not in UNSURE
        score = (7.0 if usual else 6.5) + 0.5 * bool(repair.rest.bugs) + edit.weight / 100
        yield Finding(f"{kind}+{rest.kind}", says, score, edit.line, brief, edit.piece)


# By the exception and the tree.


def _by_error(case: Case) -> Iterator[Finding]:
    if case.error is not None:
        yield from errors.explain(case.error, case.session.student)


def _by_tree(case: Case) -> Iterator[Finding]:
    if case.source is not None:
        right = [source.own for source in case.answers.sources]
        yield from habits.explain(case.source.own, right, case.answers.names)


# By the numbers alone.


def _by_numbers(case: Case) -> Iterator[Finding]:
    exercise, answers = case.exercise, case.answers
    ran = [i for i, o in enumerate(case.outcomes) if not o.raised]
    if not ran:
        return
    main = [i for i in ran if i < case.main] or ran
    got, want = [case.outcomes[i] for i in main], [answers.right[i] for i in main]
    probes = [answers.all[i] for i in main]
    found = transforms.explain(exercise.parts, got, want, probes, answers.names, exercise.tolerance)
    yield from (replace(f, piece="numbers") for f in found)
    if len(main) < case.main:  # an exception on some probes: say what distinguishes them
        seen = case.outcomes[: case.main]
        right = answers.right[: case.main]
        found = transforms.explain(
            exercise.parts, seen, right, answers.probes, answers.names, exercise.tolerance
        )
        yield from itertools.islice(found, 1)


def _by_influence(case: Case) -> Iterator[Finding]:
    exercise, answers, pivot = case.exercise, case.answers, case.pivot
    if not case.outcomes[pivot].raised:
        yield from influence.explain(
            runner(case.session),
            right_runner(answers),
            answers.all[pivot],
            answers.names,
            exercise.parts,
            exercise.tolerance,
        )


def _by_layout(case: Case) -> Iterator[Finding]:
    """The layers of a module, where they differ."""
    if case.exercise.is_module:
        sizes = case.answers.probes[0][0]
        yield from modules.layout(case.exercise.reference, case.session.student, sizes)


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


# Why it matters.


def _reasoned(case: Case, finding: Finding) -> Finding:
    """The finding with the author's reason for the step it concerns."""
    why = _why(case, finding)
    if finding.score < 5 or not why or why in finding.says:
        return finding
    brief = finding.brief and f"{finding.brief} {why}"
    return replace(finding, says=f"{finding.says} {why}", brief=brief)


def _why(case: Case, finding: Finding) -> str:
    steps = case.exercise.steps
    piece, _, line = finding.piece.partition("@")
    if piece in ("author", "numbers") or not steps:
        return ""
    lines = case.exercise.source.splitlines()
    here = lines[int(line) - 1] if line else ""
    on_line = {text: why for text, why in steps.items() if here and text.splitlines()[0] in here}
    token = SYMBOLS.get(piece, piece)
    for group in (on_line, steps):
        hits = [why for text, why in group.items() if token and re.search(re.escape(token), text)]
        if len(set(hits)) == 1:
            return hits[0]
    return next(iter(on_line.values())) if len(on_line) == 1 else ""
