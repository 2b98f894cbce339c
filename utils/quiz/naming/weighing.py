"""What speaks for or against a finding, and why the step it concerns matters."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from utils.quiz.naming.answers import Variant
from utils.quiz.naming.case import Case
from utils.quiz.naming.finding import Finding
from utils.quiz.naming.influence import SOME

SYMBOLS = {
    "divided": "/",
    "added": "+",
    "subtracted": " - ",
    "multiplied as matrices": "@",
    "multiplied entry by entry": "*",
    "comparison": "<",
    "mask": "mask",
}
SLIGHT = {"wrong-number", "wrong-name", "wrong-size", "brackets", "exchanged", "wrong-return"}
SLIGHT |= {"missing-part"}
UNSURE = {"wrong-name", "wrong-number", "typed-in"}  # much can be repaired by another name
NAN = {"zero-times-infinity"}  # told only if there is a NaN
PRESENT = {"order-of-steps", "wrong-function", "exchanged"}
TELLING = {
    "foreign-operation": {"relu", "gelu", "sigmoid", "tanh", "mean", "normalize", "sort", "argmax"}
    | {
        "dropout",
        "cumsum",
        "round",
        "log_softmax",
        "abs",
        "floor",
        "flip",
        "cosine_similarity",
        "clamp",
    }
    | {"leaky_relu", "leakyrelu", "elu", "silu", "softplus", "batchnorm1d", "batch_norm"},
    "missing-operation": {"softmax", "sqrt", "tanh", "cat", "layer_norm", "relu"},
}
RESHAPES = {"reshape", "view", "flatten", "unflatten", "reshape_as", "view_as", "rearrange"}
PLUMBING = {"unbind", "stack", "cat", "unsqueeze", "split", "chunk", "unflatten", "select"}


def doubt(case: Case, finding: Finding, found: list[Finding]) -> float:
    """What speaks for or against a finding, seen beside the others."""
    kind, piece = finding.kind, finding.piece.partition("@")[0]
    others = {f.kind for f in found if f is not finding}
    if finding.witness == "prints" and piece != "author":
        repaired = {f.kind for f in found if f.line and f.score > 8}
        return -1.3 if kind in SLIGHT and kind not in repaired else 0.0
    if kind == "ignored-argument":  # one changed entry does not prove it
        return 0.0 if "argument-unused" in others else -0.5
    if kind == "return-missing":
        none = any(outcome.key == ("value", None) for outcome in case.outcomes)
        return 0.0 if none else -4.0
    if kind in TELLING:
        # What is right on some inputs has nothing in it that spoils all of them.
        alone = sum(f.kind == kind for f in found) == 1 and 2 * sum(case.good) <= len(case.good)
        return 2.1 if alone and piece in TELLING[kind] else 0.0
    if kind == "first-only":  # an index 0 is no mistake as such
        told = " ".join(f.says for f in found if f.kind in (SOME, "wrong-place"))
        return 2.0 if re.search("batch of one|but the first", told) else -2.0
    if kind == "reduces-everything":  # many a mean is taken of a single axis
        asked = case.outcomes[case.pivot].key != case.answers.right[case.pivot].key
        return 0.0 if asked else -3.0
    if kind == "reshaped" and "stands where" in finding.says and case.source is not None:
        return 0.0 if RESHAPES & {*case.source.does} else -0.8
    if kind in NAN:
        return 0.0 if any(np.isnan(a).any() for o in case.outcomes for a in o.arrays) else -5.0
    return 0.0


def contradicted(case: Case, variant: Variant) -> bool:
    """Does the student's text speak against an edit of the reference that gives the same numbers?

    It lacks an operation that the edit put in, has one of which the edit leaves none, or does not
    know the names that the edit is told with.
    """
    if case.source is None or variant.bugs:
        return False
    text, does = "\n".join(case.source.lines), case.source.does
    told = {*re.findall(r"`(?:self\.)?(\w+)`", variant.words), *(PLUMBING & {variant.piece})}
    if variant.kind in PRESENT and variant.piece.isidentifier():
        told.add(variant.piece)
    if any(name not in text for name in told - {*case.answers.names}):
        return True
    if variant.kind == "off-by-one" and not {"range", "arange", "linspace"} & {*does}:
        return "while " not in text
    lacks = any(not does[n] for n in variant.needs if not RESHAPES & {n} or not RESHAPES & {*does})
    return lacks or any(does[name] for name in variant.lost)


# Why it matters.


def reasoned(case: Case, finding: Finding) -> Finding:
    """The finding with the author's reason for the step it concerns."""
    why = _why(case, finding)
    if finding.score < 5 or not why or why in finding.says:
        return finding
    brief = finding.brief and f"{finding.brief} {why}"
    return replace(finding, says=f"{finding.says} {why}", brief=brief)


def _why(case: Case, finding: Finding) -> str:
    steps = case.exercise.steps
    piece, _, line = finding.piece.partition("@")
    named_otherwise = finding.witness == "repair" and finding.kind in UNSURE
    if piece == "author" or finding.witness == "numbers" or named_otherwise or not steps:
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
