"""Pieces of text: learnt joins, greedy look-up, and nothing ever lost."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.text.subwords import UNKNOWN, learn_merges, longest_match, split_pieces

TEXT = "low low low lower lower newest newest newest newest widest widest"


def test_the_first_joins_are_the_most_frequent_pairs():
    # by hand: "es" and "st" 6 times each (newest 4, widest 2), "es" is first in the alphabet,
    # then "est" 6 times, then "lo" and "ow" 5 times each, of which " l" (4) is no rival
    assert learn_merges(TEXT, 4) == [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")]


def test_words_of_the_text_become_whole_pieces():
    assert split_pieces("low newest", learn_merges(TEXT, 100)) == ["low", " newest"]


def test_a_new_word_is_made_of_known_pieces():
    pieces = split_pieces("lowest", learn_merges(TEXT, 4))
    assert pieces == ["low", "est"]


def test_joins_never_cross_a_space():
    merges = learn_merges("a b a b a b a b", 50)
    assert all(" " not in (a + b)[1:] for a, b in merges)


def test_learning_ends_when_no_pair_occurs_twice():
    assert learn_merges("abc", 10) == []
    assert learn_merges("", 10) == []
    assert len(learn_merges(TEXT, 1000)) == len(learn_merges(TEXT, 2000)) < 40


def test_the_result_does_not_depend_on_the_order_of_words():
    words = [" " + word for word in TEXT.split()]
    random.Random(0).shuffle(words)
    assert learn_merges("".join(words), 8) == learn_merges(" " + TEXT, 8)


def test_more_joins_never_make_more_pieces():
    merges = learn_merges(TEXT, 100)
    counts = [len(split_pieces(TEXT, merges[:n])) for n in range(len(merges) + 1)]
    assert counts[0] == len(TEXT)
    assert all(a > b for a, b in zip(counts, counts[1:]))  # each was frequent, so each saves some


def test_overlapping_pairs_are_joined_from_the_left():
    assert split_pieces("aaa", [("a", "a")]) == ["aa", "a"]
    assert split_pieces("aaaa", [("a", "a")]) == ["aa", "aa"]


@settings(max_examples=200)
@given(st.text(), st.text(alphabet="ab \n", max_size=60))
def test_the_pieces_joined_are_the_text(text, learnt_from):
    merges = learn_merges(learnt_from, 20)
    assert "".join(split_pieces(text, merges)) == text
    assert "".join(split_pieces(learnt_from, merges)) == learnt_from


def test_the_lectures_example():
    vocabulary = {"I", "prin", "ted", "Hell", "o", "world"}
    pieces = ["I", "prin", "ted", "Hell", "o", "world"]
    assert longest_match("I printed Hello world", vocabulary) == pieces


def test_the_longest_piece_wins():
    assert longest_match("abab", {"a", "b", "ab", "aba"}) == ["aba", "b"]


def test_an_unknown_character_is_marked_and_the_rest_goes_on():
    assert longest_match("axb", {"a", "b"}) == ["a", UNKNOWN, "b"]
    assert longest_match("xyz", set()) == [UNKNOWN] * 3
    assert longest_match("  ", {"a"}) == []


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="0 or more joins, got -1"):
        learn_merges("abc", -1)
    with pytest.raises(ValueError, match="at least one character"):
        longest_match("abc", {"a", ""})
