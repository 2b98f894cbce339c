"""Notebook 05's exercises: solutions as students write them, and what its questions promise."""

import math
import re

import pytest

from tests.test_quiz_corpus import fits, read, verdict_on
from utils.quiz import registry

ITEMS = registry.load("05")
RIGHT = read("nb05_right.txt")
WRONG = [(*head.split(" ", 1), source) for head, source in read("nb05_wrong.txt")]


@pytest.mark.parametrize(
    ("key", "source"), RIGHT, ids=[f"{k}-{i}" for i, (k, _) in enumerate(RIGHT)]
)
def test_a_right_solution_passes(key, source):
    verdict = verdict_on(key, source)
    assert verdict.status == "passed", verdict


@pytest.mark.parametrize(
    ("key", "expected", "source"), WRONG, ids=[f"{k}-{i}-{e}" for i, (k, e, _) in enumerate(WRONG)]
)
def test_a_wrong_solution_is_named(key, expected, source):
    verdict = verdict_on(key, source)
    assert not verdict.passed
    if expected == "?":
        assert verdict.mistake is None, verdict
        assert len(verdict.message) > 20
    else:
        assert fits(verdict, expected), verdict


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
