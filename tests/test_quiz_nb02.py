"""Notebook 02's exercises against solutions as students write them."""

import pytest

from tests.test_quiz_corpus import read, verdict_on
from utils.quiz import registry

CORPUS = [(*head.split(" ", 1), source) for head, source in read("nb02.txt")]


@pytest.mark.parametrize(
    ("key", "expected", "source"),
    CORPUS,
    ids=[f"{k}-{i}-{e}" for i, (k, e, _) in enumerate(CORPUS)],
)
def test_a_solution_gets_its_verdict(key, expected, source):
    verdict = verdict_on(key, source)
    if expected == "right":
        assert verdict.passed, verdict
    else:
        assert not verdict.passed
        assert verdict.mistake == expected, verdict


def test_notebook_02_is_complete():
    items = list(registry.load("02"))
    for kind, count in (("X", 4), ("Q", 6), ("G", 2), ("P", 2)):
        assert [key for key in items if key[0] == kind] == [
            f"{kind}02-{i + 1}" for i in range(count)
        ]
