"""Everything that can be said about a wrong solution, the most specific first.

Five witnesses are heard: the author's bugs and the edited references, by fingerprint; repairs of
the student's own text; what turns the right answer into this one; which inputs matter; and the
exception or the syntax tree. Each reports `Finding`s, and their scores decide who speaks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from utils.quiz.guard import guarded
from utils.quiz.naming import errors, habits, influence, modules, prints, transforms
from utils.quiz.naming.answers import Variant
from utils.quiz.naming.case import Case, right_runner, runner
from utils.quiz.naming.edits import Edit
from utils.quiz.naming.finding import NAMES, Finding
from utils.quiz.naming.repairs import MORE, SECONDS, Repair
from utils.quiz.naming.weighing import UNSURE, contradicted, doubt, reasoned

AUTHOR, PAIR, PARTLY = 9.6, 8.7, 9.2
KEPT = (
    "Made anew, this very text gives the right answer: so it keeps something from one call to the "
    "next. A list or dict as a default value is made once, and a global name outlives the call."
)
NEARLY = 1e-5  # two answers within the tolerance may still be told apart
BY_NUMBERS = "The numbers are those one gets when"
SURE = {"thrown-away", "shared-rows"}  # a repair by these tells more than what comes of it
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
    "raw-name": "is every name the one you mean?",
    "missing-else": "think about what comes after this case",
    "loop-over-batch": "think about which axis the loop runs along",
    "einsum-letters": "think about the letters",
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
    "axis-left": "think about the axes that are left",
    "flat": "think about the shapes that meet later",
    "missing-axis": "think about the shapes that meet here",
    "not-transposed": "think about the shapes that meet here",
    "vectors-as-matrix": "think about the shapes that meet here",
    "squeezes-all": "think about a batch of one",
    "bias-left-out": "is the whole layer used?",
    "wrong-slice": "think about which piece is taken",
    "negative-start": "think about the first rows",
    "rows-alone": "think about what the index means",
    "thrown-away": "where does the result of this line go?",
    "shared-rows": "how many lists are made here?",
    "wrong-side": "think about what is cut off",
}


def explain(case: Case) -> list[Finding]:
    """All findings, the best first."""
    found: list[Finding] = []
    for name, witness in WITNESSES.items():
        heard = _heard(name, witness, case)
        found += heard
        if name == "prints" and case.attempt:
            case.attempt.suspected = {f.kind for f in heard}
    judged = _judged(case, found)
    if case.attempt and case.attempt.edits and (not judged or judged[0].score < NAMES):
        longer = _heard("repair", lambda case: _by_repair(case, MORE), case)
        judged = _judged(case, [*longer, *(f for f in found if f.witness != "repair")])
    return judged


def _judged(case: Case, found: list[Finding]) -> list[Finding]:
    found = [replace(f, score=f.score + doubt(case, f, found)) for f in found]
    return sorted((reasoned(case, f) for f in found), key=lambda f: -f.score)


def _heard(name: str, witness: Callable[[Case], Iterator[Finding]], case: Case) -> list[Finding]:
    """What one witness says. If it fails over odd code, the others are heard all the same."""
    try:
        return [replace(f, witness=name) for f in witness(case)]
    except Exception:
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
    alike, told = np.flatnonzero(_alike(case, fits[..., 0], seen)), 0
    far = prints.distance(mine, seen) > NEARLY
    for index in sorted(alike, key=lambda i: far[i]):
        yield _of_variant(case, variants[index])
        told += 1
        if told == 4:
            return
    if told:
        return
    if any(case.good) and not case.error:  # right on some probes: only the wrong ones are asked
        wrong = [i for i, good in enumerate(case.good) if not good]
        hits = [variants[i] for i in np.flatnonzero(fits[:, wrong, 0].all(1))]
        for variant in sorted(hits, key=lambda v: contradicted(case, v))[:1]:
            if variant.kind == "wrong-branch":
                continue  # some inputs are right because they went the other way
            found = _of_variant(case, variant)
            says = f"On some inputs it is right. Where it is not: {found.says}"
            score = min(found.score, PARTLY) - 0.3 - 2.5 * case.yes_or_no
            yield replace(found, says=says, score=score)
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
        score = AUTHOR if len(bugs) == 1 else PAIR - 2 * (case.poor or case.single)
        return Finding("+".join(variant.bugs), text, score, piece="author")
    says = f"{BY_NUMBERS} {variant.words}."
    score = 8 + variant.weight / 10 + 0.05 * bool(variant.line)
    score -= 1.5 * (contradicted(case, variant) or case.yes_or_no)
    if case.outcomes[case.pivot].raised or case.poor:
        score -= 3
    brief = f"The numbers tell: {_hint(variant.kind, 'one step is not as it should be')}"
    piece = f"{variant.piece}@{variant.line}" if variant.line else variant.piece
    return Finding(variant.kind, says, score, brief=brief, piece=piece)


def _by_parts(case: Case, variants: list[Variant], fits: np.ndarray) -> Iterator[Finding]:
    """One part (the weights, say) is explained, or each part by itself."""
    parts = case.exercise.parts
    if len(parts) < 2 or any(len(o.parts()) != len(parts) for o in case.outcomes):
        return
    told: list[str] = []
    count = len(parts)
    pairs = [
        prints.agree(prints.take(o, count), prints.take(r, count), 1e-4)
        for o, r in zip(case.outcomes, case.answers.right, strict=False)
    ]
    right = np.stack(pairs).all(0)
    for i, part in enumerate(parts, 1):
        hits = [variants[k] for k in np.flatnonzero(fits[..., i].all(1))] if not right[i] else []
        if hits:
            best = _of_variant(case, min(hits, key=lambda v: contradicted(case, v)))
            told.append(best.kind)
            also = "" if len(told) == 1 else "Besides. "
            says = f"{also}The {part}: {best.says}"
            # A misunderstanding that shows in one part only is not quite this one.
            apart = best.piece == "author" and right[1:].any()
            yield replace(best, says=says, score=min(best.score, 8.6) - 0.8 - apart)


# By repairing the student's text.


def _by_repair(case: Case, seconds: float = SECONDS) -> Iterator[Finding]:
    attempt = case.attempt
    if attempt is None:
        return

    def work() -> None:
        attempt.search(seconds)
        attempt.meet(lambda edit, rest: _goes_with(case, edit, rest))

    guarded(work, 1.0)
    if attempt.keeps_state:
        yield Finding("keeps-state", KEPT, 9.7)
    for repair in attempt.found:
        yield _of_repair(case, repair)


def _hint(kind: str, otherwise: str) -> str:
    text = KINDS.get(kind, otherwise)
    return text if text.endswith("?") else f"{text}."


def _goes_with(case: Case, edit: Edit, rest: Variant) -> bool:
    """Is it likely that a student's second mistake is this one?"""
    kind = edit.undone[0]
    # Another operator may make a step do nothing: then the "second mistake" is that it is missing.
    if kind == "wrong-operator" or len(rest.bugs) > 1 or rest.kind in ("wrong-return", kind):
        return False
    return bool(rest.bugs) or edit.weight + rest.weight >= 4.5 and not contradicted(case, rest)


def _of_repair(case: Case, repair: Repair) -> Finding:
    edit = repair.edit
    kind, words = edit.undone
    line = case.source.line(edit.line)
    where = f"Line {edit.line}, `{line}`: " if line else ""
    brief = f"{where}{_hint(kind, 'look at this line again')}"
    score = 8.4 + edit.weight / 10 - 0.6 * edit.loses - 0.9 * (kind in UNSURE)
    score -= 1.45 * (kind == "raw-name")  # a long way round may come out right by chance
    if repair.rest is None:
        score = 9.8 if kind in SURE else score
        return Finding(kind, f"{where}{words}.", score, edit.line, brief, edit.piece)
    rest = _of_variant(case, repair.rest)
    second = rest.says if repair.rest.bugs else f"And {repair.rest.words}."
    says = f"Two things at once. {where}{words}. {second}"
    usual = min(edit.weight, repair.rest.weight or 3) >= 2.5 and kind not in UNSURE
    score = (6.9 if usual else 6.3) + 0.4 * bool(repair.rest.bugs) + edit.weight / 100
    return Finding(f"{kind}+{rest.kind}", says, score, edit.line, brief, edit.piece)


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

    def seen(on: list[int]) -> list[Finding]:
        got, want = [case.outcomes[i] for i in on], [answers.right[i] for i in on]
        probes = [answers.flat(answers.all[i]) for i in on]
        names, tolerance = answers.all_names, exercise.tolerance
        return transforms.explain(exercise.parts, got, want, probes, names, tolerance)

    ran = [i for i, o in enumerate(case.outcomes) if not o.raised]
    if not ran:
        return
    main = [i for i in ran if i < case.main] or ran
    partly = len(main) < case.main  # then numbers alone do not say what the matter is
    yield from (replace(f, score=min(f.score, 6.5)) if partly else f for f in seen(main))
    if partly:  # an exception on some probes: say what distinguishes them
        yield from seen([*range(case.main)])[:1]


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
    """The order of the arguments, and the layers of a module, where they differ."""
    reference, student = case.exercise.reference, case.session.student
    for method in ("__init__", "forward") if case.exercise.is_module else ("",):
        wanted, mine = (_arguments(f, method) for f in (reference, student))
        if mine != wanted and sorted(mine) == sorted(wanted):
            where = f"`{method}`" if method else "The function"
            says = f"{where} takes its arguments in the order {', '.join(mine)}; the task hands "
            yield Finding("argument-order", f"{says}them over as {', '.join(wanted)}.", 9.55)
    if case.exercise.is_module:
        sizes = case.answers.probes[0][0]
        yield from guarded(lambda: [*modules.layout(reference, student, sizes)], 1.0).value or ()


def _arguments(function: Any, method: str) -> list[str]:
    found = getattr(function, method, None) if method else function
    try:
        return [name for name in inspect.signature(found).parameters if name != "self"]
    except (TypeError, ValueError):
        return []


WITNESSES: dict[str, Callable[[Case], Iterator[Finding]]] = {
    "prints": _by_prints,
    "repair": _by_repair,
    "error": _by_error,
    "tree": _by_tree,
    "numbers": _by_numbers,
    "influence": _by_influence,
    "layout": _by_layout,
}
