"""Alignment error rate, against counts made by hand."""

import pytest
import torch

from utils.text.alignment import alignment_error_rate, corpus_error_rate, links_of, misses

SURE = {(0, 0), (1, 1), (2, 2)}
POSSIBLE = SURE | {(3, 2), (3, 3)}


def test_perfect_links_cost_nothing():
    assert alignment_error_rate(SURE, SURE, POSSIBLE) == 0
    assert alignment_error_rate(SURE | {(3, 3)}, SURE, POSSIBLE) == 0  # a possible one is no fault


def test_wrong_and_missing_links_cost():
    # found 3, of which 2 sure and possible: 1 - (2 + 2) / (3 + 3)
    assert alignment_error_rate({(0, 0), (1, 1), (2, 0)}, SURE, POSSIBLE) == pytest.approx(1 / 3)
    # found 2: both right, one sure link missed: 1 - (2 + 2) / (2 + 3)
    assert alignment_error_rate({(0, 0), (1, 1)}, SURE, POSSIBLE) == pytest.approx(1 / 5)
    assert alignment_error_rate({(0, 3)}, SURE, POSSIBLE) == 1


def test_over_many_sentences_counts_are_added_first():
    good, bad = (SURE, SURE, SURE), ({(0, 1)}, {(0, 0)}, {(0, 0)})
    assert corpus_error_rate([good, bad]) == pytest.approx(1 - 6 / 8)


def test_links_are_the_rows_maxima_without_padding():
    weights = torch.tensor([[0.1, 0.7, 0.0, 0.2], [0.3, 0.1, 0.1, 0.5], [0.0, 0.0, 0.0, 1.0]])
    assert links_of(weights, 2, 3) == {(0, 1), (1, 0)}  # column 3 and row 2 are padding


def test_misses_are_said_in_words():
    said = misses({(0, 0), (1, 0)}, {(0, 0)}, ["zone", "européenne"], ["Area", "European"])
    assert said == ["européenne looks at Area"]


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="every sure link must be possible too"):
        alignment_error_rate(SURE, SURE, {(0, 0)})
    with pytest.raises(ValueError, match="nothing to score"):
        corpus_error_rate([])
    with pytest.raises(ValueError, match=r"M >= 4 and N >= 2, got \(3, 4\)"):
        links_of(torch.zeros(3, 4), 4, 2)
