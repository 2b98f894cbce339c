"""Notebook 02's exercises: all are there; solutions are in test_quiz_corpus."""

from utils.quiz import registry


def test_notebook_02_is_complete():
    items = list(registry.load("02"))
    for kind, count in (("X", 4), ("Q", 6), ("G", 2), ("P", 2)):
        assert [key for key in items if key[0] == kind] == [
            f"{kind}02-{i + 1}" for i in range(count)
        ]
