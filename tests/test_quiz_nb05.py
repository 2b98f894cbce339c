"""Notebook 05's exercises: what its questions promise; solutions are in test_quiz_corpus."""

import math
import re

import pytest

from utils.quiz import registry

ITEMS = registry.load("05")


def test_everything_that_was_asked_for_is_there():
    kinds = {kind: sorted(k for k in ITEMS if k.startswith(kind)) for kind in "XQGP"}
    assert kinds["X"] == [f"X05-{i}" for i in range(1, 5)]
    assert kinds["Q"] == [f"Q05-{i}" for i in range(1, 7)]
    assert len(kinds["G"]) == 2
    assert len(kinds["P"]) == 2


def right(question) -> float:
    return float(next(option for option in question.options if option.right).text)


def test_the_entry_marked_right_is_the_formulas():
    """Computed once more from the question's own text."""
    for seed in range(60):
        question = ITEMS["G05-1"].with_seed(seed)
        d, base, pos, column = (int(n) for n in re.findall(r"\d+", question.text)[:4])
        angle = pos / base ** (2 * (column // 2) / d)
        wanted = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        assert right(question) == pytest.approx(wanted, abs=6e-4)


def test_the_wavelength_marked_right_is_where_the_pair_comes_round():
    for seed in range(60):
        question = ITEMS["G05-2"].with_seed(seed)
        d, base, even, odd = (int(n) for n in re.findall(r"\d+", question.text)[:4])
        assert odd == even + 1
        assert right(question) / base ** (even / d) == pytest.approx(2 * math.pi, rel=0.01)
