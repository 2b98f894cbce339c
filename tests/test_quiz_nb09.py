"""Notebook 09's exercises: what its questions promise; solutions are in test_quiz_corpus."""

import re

from utils.quiz import registry

ITEMS = registry.load("09")


def test_everything_that_was_asked_for_is_there():
    kinds = {kind: sorted(k for k in ITEMS if k.startswith(kind)) for kind in "XQGP"}
    assert kinds["X"] == ["X09-1", "X09-2", "X09-3"]
    assert kinds["Q"] == [f"Q09-{i}" for i in range(1, 5)]
    assert len(kinds["G"]) == 2
    assert len(kinds["P"]) == 2


def right(question) -> str:
    return next(option for option in question.options if option.right).text


def test_the_generated_sizes_are_the_formulas():
    """Computed once more from the questions' own texts."""
    for seed in range(60):
        question = ITEMS["G09-1"].with_seed(seed)
        stride, side, _ = (int(n) for n in re.findall(r"\d+", question.text)[:3])
        assert int(right(question)) == (side // stride) ** 2
        question = ITEMS["G09-2"].with_seed(seed)
        m, n, d = (int(n) for n in re.findall(r"= (\d+)", question.text))
        assert right(question) == f"{4 * n} × {m + n + d}"
