"""What stands around a translation model: scores by length, and friendly answers."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from utils.layers.weights import Weights
from utils.models.seq2seq import AttentionSeq2Seq, RecurrentState
from utils.tasks.translation import (
    Translator,
    encode_pairs,
    share_by_length,
    vocabularies,
)  # fmt: skip
from utils.text.grammar import Grammar
from utils.text.vocabulary import BOS, EOS, Vocabulary, make_batch
from utils.train.sequences import exact_matches

WORDS = ["jane", "visits", "africa", "the", "museum", ".", "1992"]


class Echo(nn.Module):
    """Says the source again, word for word."""

    def __init__(self, vocab_size: int):
        super().__init__()
        self.size, self.here = vocab_size, nn.Parameter(torch.zeros(1))

    def start(self, source, need_weights=False):
        self.at = 0
        return RecurrentState(*[source] * 4)

    def step(self, tokens, state, need_weights=False):
        source = torch.nn.functional.pad(state.s, (0, 1))[:, self.at]
        self.at += 1
        words = torch.where(source == 0, EOS, source)
        return nn.functional.one_hot(words, self.size).float(), state, Weights()


@pytest.fixture
def translator():
    vocabulary = Vocabulary(WORDS, fold_case=True)
    return Translator(Echo(len(vocabulary)), vocabulary, vocabulary, longest=6)


def test_a_sentence_is_translated(translator):
    answer = translator("Jane visits Africa")
    assert answer.target == ["jane", "visits", "africa", "."]  # the full stop was added
    assert repr(answer) == "Jane visits Africa. → Jane visits africa."
    assert translator("Jane visits Africa!").target == answer.target
    assert translator("the museum 1992").target == ["the", "museum", "1992", "."]


@pytest.mark.parametrize("end", ['."', "...", "…", "!!", "?!", " .", " -", ".)", ",", " _"])
def test_whatever_ends_a_sentence_is_one_full_stop(translator, end):
    assert translator("Jane visits Africa" + end).source == ["Jane", "visits", "Africa", "."]


@pytest.mark.parametrize("text", ["", "   ", "\n", "?!", "...", "-", "_"])
def test_nothing_gets_a_friendly_answer(translator, text):
    answer = translator(text)
    assert answer.target == []
    assert "Type an English sentence" in repr(answer)


def test_strangers_are_named_with_what_may_be_meant(translator):
    text = repr(translator("Jane visits the musem of Zanzibar."))
    assert "musem (do you mean museum?)" in text
    assert "Zanzibar" in text
    assert "visits" not in text.replace("data/", "")


@pytest.mark.parametrize("text", ["Guinea-Bissau", "in Guinea-Bissau", "in Guinea-Bissau."])
def test_a_last_word_with_a_hyphen_is_not_lost(translator, text):
    assert "Guinea-Bissau" in repr(translator(text))
    assert translator(text).target == []


def test_the_table_that_lists_the_words_is_the_translators_own(translator):
    spanish = replace(translator, table="en_es.tsv")
    assert "data/en_es.tsv lists all words" in repr(spanish("Zanzibar"))
    assert "data/en_fr.tsv lists all words" in repr(translator("Zanzibar"))


def test_200_words_are_refused_and_a_little_too_long_is_marked(translator):
    assert "201 words" in repr(translator("the museum " * 100))
    answer = translator("the museum the museum the museum the")
    assert answer.target
    assert "8 words are more than the 6" in repr(answer)


def test_many_strangers_are_counted(translator):
    assert "and 3 more" in repr(translator("qa qb qc qd qe qf qg qh"))


def test_exact_means_every_word():
    vocabulary = Vocabulary(WORDS, fold_case=True)
    model = Echo(len(vocabulary))
    pairs = [([5, 6], [5, 6]), ([5, 6, 7], [5, 6]), ([7], [7]), ([6, 7], [7, 6])]
    assert exact_matches(model, make_batch(pairs), batch_size=1).tolist() == [
        True,
        False,
        True,
        False,
    ]
    assert share_by_length([True, False, True, False], pairs, [(1, 1), (2, 3)]) == [1, 1 / 3]
    with pytest.raises(ValueError, match="no sentence has 8 to 9 words"):
        share_by_length([True], pairs[:1], [(8, 9)])


def test_real_pairs_and_a_real_model_fit_together():
    pairs = Grammar().pairs(40, seed=0)
    english, french = vocabularies(pairs)
    encoded = encode_pairs(pairs, english, french)
    assert all(BOS not in target for _, target in encoded)
    model = AttentionSeq2Seq(len(english), len(french))
    assert len(exact_matches(model, make_batch(encoded))) == 40
    answer = Translator(model, english, french)(" ".join(pairs[0].source))
    assert answer.weights.cross.shape == (1, 1, len(answer.target), len(pairs[0].source))
