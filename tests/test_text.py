"""Vocabulary, padding and batches."""

import itertools

import pytest
import torch

from utils.text.vocabulary import BOS, EOS, PAD, UNK, Vocabulary, batches, make_batch, pad, tokenize


def test_sentences_are_cut_into_words():
    text = "L’accord a été signé en août 1992."
    assert tokenize(text) == ["L'", "accord", "a", "été", "signé", "en", "août", "1992", "."]
    assert tokenize("Jane visits Africa.") == ["Jane", "visits", "Africa", "."]
    assert tokenize("   ") == []


def test_a_vocabulary_goes_there_and_back():
    vocabulary = Vocabulary(["le", "chat", "le"])
    assert len(vocabulary) == 4 + 2
    ids = vocabulary.encode(["le", "chat", "chien"])
    assert ids[-1] == UNK
    assert vocabulary.decode([BOS, *ids[:2], EOS, ids[0], PAD]) == ["le", "chat"]
    assert vocabulary.decode(torch.tensor(ids[:2])) == ["le", "chat"]
    assert "chat" in vocabulary
    assert "Chat" not in vocabulary
    assert "6 words" in repr(vocabulary)


def test_numbers_do_not_depend_on_the_order_of_words():
    assert Vocabulary(["b", "a"]).words == Vocabulary(["a", "b", "a"]).words


def test_case_can_be_folded():
    vocabulary = Vocabulary(["The", "Area"], fold_case=True)
    assert vocabulary.encode(["the", "THE", "area"]) == vocabulary.encode(["The", "The", "Area"])


def test_the_decoder_input_is_shifted_by_one():
    batch = make_batch([([5, 6, 7], [8, 9]), ([5], [8, 9, 10])])
    assert batch.source.tolist() == [[5, 6, 7], [5, PAD, PAD]]
    assert batch.decoder_input.tolist() == [[BOS, 8, 9, PAD], [BOS, 8, 9, 10]]
    assert batch.target.tolist() == [[8, 9, EOS, PAD], [8, 9, 10, EOS]]


def test_one_round_of_batches_holds_every_pair_once():
    pairs = [([10 + i] * (1 + i % 7), [10 + i]) for i in range(53)]
    one_round = list(itertools.islice(batches(pairs, 8, seed=1), 7))
    seen = [row[0].item() for batch in one_round for row in batch.source]
    assert sorted(seen) == list(range(10, 63))
    assert all(len(batch.source) <= 8 for batch in one_round)


def test_batches_are_drawn_from_the_seed():
    pairs = [([10 + i] * (1 + i % 7), [10 + i]) for i in range(53)]

    def first(seed):
        return [b.source.tolist() for b in itertools.islice(batches(pairs, 8, seed=seed), 9)]

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_lengths_are_alike_within_a_batch():
    pairs = [([9] * (1 + i % 20), [9]) for i in range(2000)]
    for batch in itertools.islice(batches(pairs, 20, seed=0), 90):
        lengths = (batch.source != PAD).sum(dim=1)
        assert lengths.max() - lengths.min() <= 2


def test_nothing_to_do_is_an_error():
    with pytest.raises(ValueError, match="at least one sequence"):
        pad([])
    with pytest.raises(ValueError, match="at least one token"):
        pad([[1], []])
    with pytest.raises(ValueError, match="batch_size of at least 1, got 1 pairs and batch_size 0"):
        next(batches([([1], [1])], 0))
