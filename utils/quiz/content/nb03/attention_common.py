"""Which mistakes of X03-1 come in pairs, and how the lines look on which some of them stop."""

from __future__ import annotations

from dataclasses import replace

from utils.quiz.bugs import Bugs
from utils.quiz.exercise import Bug

# Seen often enough to come together with a second one; all others are named alone.
COMMON = frozenset(
    """swapped query-twice key-twice softmax-on-inputs no-transpose all-axes-reversed reshaped
    batch-axis-moved
    elementwise own-key-only needs-two-axes no-scale scale-d scale-times scale-d-v scale-keys
    scale-queries scale-after-softmax softmax-over-queries softmax-over-batch softmax-over-all
    softmax-over-table no-softmax sigmoid exp-only softmax-twice divided-by-sum argmax causal-mask
    weights-times-keys weights-times-queries weights-transposed values-elementwise
    scores-times-values mean-of-values output-scaled output-softmax
    elementwise-transposed elementwise-reversed only-output only-weights order-swapped
    scores-returned raw-scores-returned""".split()
)


# How the line looks that stops with an exception, for code with several mistakes at once.
LINES = {
    "elementwise-transposed": r"\w\)? *\* *[\w.]+(\(\w+\))?\.(T\b|mT|t\(|transpose|permute)",
    "all-axes-reversed": r"(@ *|, *)[\w.]+(\(\w+\))?\.T\b",
    "needs-two-axes": r"\.t\(\)|\bmm\(",
    "batch-axis-moved": r"transpose\(0, *1\)|transpose\(1, *0\)|swapaxes\(0, *1\)",
    "no-transpose": r"\bq(uer(y|ies))? *@ *k(eys?)?\b(?!\.)|matmul\(q\w*, *k\w*\)",
}


def marked(*bugs: Bug) -> Bugs:
    """The bugs of X03-1, with the rare ones and the lines they stop on marked."""
    return tuple(
        replace(b, rare=b.detect is None and b.name not in COMMON, line=LINES.get(b.name, ""))
        for b in bugs
    )
