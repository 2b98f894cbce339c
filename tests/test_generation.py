"""Writing: greedy, drawn by chance, with a beam; against loops that are too simple to be wrong."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn

from tests.test_attention_parity import random
from tests.test_seq2seq import MODELS as RECURRENT
from tests.test_transformer import BLOCK, SMALL
from tests.test_transformer import MODELS as TRANSFORMERS
from tests.test_transformer_cache import BATCH, lively
from utils.models.transformer import Transformer
from utils.text.vocabulary import BOS, EOS, PAD
from utils.train.generation import beam_search, chances, decode, select

MODELS = {**RECURRENT, **TRANSFORMERS}


@pytest.fixture(params=MODELS)
def model(request):
    return lively(MODELS[request.param])


class Tree(nn.Module):
    """Every beginning has its own random next word; the state is a number made of all words.

    ``never`` are words that it does not say; a model with random weights may say even <pad>.
    """

    def __init__(self, words=5, seed=0, ends=0.0, never=(PAD, BOS)):
        super().__init__()
        self.table = random(997, words, seed=seed, dtype=torch.float32, scale=1.5)
        self.table[:, list(never)] = -torch.inf
        self.table[:, EOS] += ends

    def start(self, source):
        return (source * torch.arange(3, 3 + source.shape[1])).sum(dim=1) % 997

    def step(self, tokens, state):
        state = (31 * state + 7 * tokens + 1) % 997
        return self.table[state], state, None


SOURCE = torch.tensor([[4, 5], [7, 9], [8, 3]])


def every_sentence(model, source, length):
    """(words, log p) of all sentences of one source: up to <eos>, or as long as allowed."""
    done, growing = [], [((), 0.0, BOS, model.start(source[None]))]
    for _ in range(length):
        beginnings, growing = growing, []
        for words, log_p, token, state in beginnings:
            logits, after, _ = model.step(torch.tensor([token]), state)
            for word, p in enumerate(logits[0].log_softmax(dim=-1).tolist()):
                if p > -math.inf:
                    (done if word == EOS else growing).append(
                        ((*words, word), log_p + p, word, after)
                    )
    return [(words, log_p) for words, log_p, *_ in done + growing]


def penalised(words, log_p, alpha):
    return log_p / ((5 + len(words)) / 6) ** alpha


def test_greedy_takes_the_likeliest_word_each_time(model):
    model.train()
    ids, _ = decode(model, BATCH.source, 7)
    assert model.training
    model.eval()
    tokens, state, finished, said = (
        torch.full((3,), BOS),
        model.start(BATCH.source),
        [False] * 3,
        [],
    )
    while len(said) < 7 and not all(finished):
        logits, state, _ = model.step(tokens, state)
        words = [PAD if end else int(row.argmax()) for row, end in zip(logits, finished)]
        finished = [end or word == EOS for end, word in zip(finished, words)]
        tokens = torch.tensor(words)
        said.append(words)
    assert ids.tolist() == [list(row) for row in zip(*said)]


def test_nothing_is_dropped_while_writing():
    model = lively(
        lambda: Transformer(12, **SMALL | {"block": replace(BLOCK, dropout=0.5)})
    ).train()
    for write in (decode, beam_search):
        first, second = (write(model, BATCH.source, 6)[0] for _ in range(2))
        assert model.training and torch.equal(first, second)
        assert torch.equal(first, write(model.eval(), BATCH.source, 6)[0])
        model.train()


def literal_chances(row, temperature, top_k, top_p):
    """One list of logits, number by number; the earlier of two equal words comes first."""
    powers = [math.exp(x / temperature - max(row) / temperature) for x in row]
    p = [power / sum(powers) for power in powers]
    order = sorted(range(len(p)), key=lambda i: -p[i])
    kept = order if top_k is None else order[:top_k]
    total = sum(p[i] for i in kept)
    p = [p[i] / total if i in kept else 0.0 for i in range(len(p))]
    if top_p is not None:
        nucleus, mass = [], 0.0
        for i in kept:
            nucleus.append(i)
            mass += p[i]
            if mass >= top_p:
                break
        p = [p[i] / mass if i in nucleus else 0.0 for i in range(len(p))]
    return p


@pytest.mark.parametrize("top_p", [None, 1e-6, 0.3, 0.77, 1.0])
@pytest.mark.parametrize("top_k", [None, 1, 3, 50])
@pytest.mark.parametrize("temperature", [1.0, 0.4, 3.0])
def test_chances_are_the_literal_loop(temperature, top_k, top_p):
    logits = random(4, 2, 9, seed=1, scale=2.0)
    got = chances(logits, temperature, top_k, top_p)
    torch.testing.assert_close(got.sum(-1), torch.ones(4, 2, dtype=torch.float64))
    for b, i in product(range(4), range(2)):
        want = literal_chances(logits[b, i].tolist(), temperature, top_k, top_p)
        assert got[b, i].tolist() == pytest.approx(want, abs=1e-12)
        assert [p == 0 for p in got[b, i].tolist()] == [p == 0 for p in want]


def test_equal_words_and_borders():
    tie = torch.tensor([1.0, 2.0, 2.0, 2.0])
    assert chances(tie, top_k=2).tolist() == [0, 0.5, 0.5, 0]  # exactly two, the earlier ones
    quarters = torch.zeros(4, dtype=torch.float64)
    assert chances(quarters, top_p=0.5).tolist() == [0.5, 0.5, 0, 0]  # 0.5 is reached with two
    assert chances(quarters, top_p=0.51).count_nonzero() == 3
    assert chances(quarters, top_p=0.25).tolist() == [1, 0, 0, 0]
    assert chances(torch.tensor([0.0, -torch.inf, 0.0])).tolist() == [0.5, 0, 0.5]
    halves = torch.tensor([0.0, 0.0, -torch.inf])
    assert chances(halves, top_k=3, top_p=1.0).tolist() == [0.5, 0.5, 0]


def test_top_p_of_one_keeps_every_word():
    """Also the rare ones that are lost when float32 adds up to 1."""
    logits = torch.linspace(0, -25, 2000)
    torch.testing.assert_close(chances(logits, top_p=1.0), logits.softmax(dim=-1))
    assert chances(logits, top_p=1.0).count_nonzero() == 2000


def test_words_are_drawn_as_often_as_their_chances_say():
    class Coin(Tree):
        def step(self, tokens, state):
            return (
                torch.tensor([-9.0, -9.0, -9.0, 0.0, 0.7, 1.4]).expand(len(tokens), 6),
                state,
                None,
            )

    source = torch.ones(4000, 1, dtype=torch.long)
    generator = torch.Generator().manual_seed(0)
    for shape in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.5}):
        ids, _ = decode(Coin(), source, 1, generator, **shape)
        want = chances(Coin().step([0], None)[0][0], **shape)
        got = torch.bincount(ids[:, 0], minlength=6) / 4000
        assert (got - want).abs().max() < 0.03, shape
        assert (got[want == 0] == 0).all()
    greedy, _ = decode(Tree(), SOURCE, 6)
    cold, _ = decode(Tree(), SOURCE, 6, generator, temperature=1e-4)
    one, _ = decode(Tree(), SOURCE, 6, generator, top_k=1)
    assert greedy.tolist() == cold.tolist() == one.tolist()


def test_drawing_follows_its_generator(model):
    draws = [decode(model, BATCH.source, 8, torch.Generator().manual_seed(s))[0] for s in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert draws[0].shape != draws[2].shape or not torch.equal(draws[0], draws[2])


def test_the_first_word_is_handed_on():
    first = torch.tensor([3, 4, 3])
    want, _, _ = Tree().step(first, Tree().start(SOURCE))
    assert decode(Tree(), SOURCE, 1, first=first)[0][:, 0].tolist() == want.argmax(-1).tolist()
    ids, _ = beam_search(Tree(), SOURCE, 1, beams=1, first=first)
    assert ids[:, 0].tolist() == want.argmax(-1).tolist()


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_one_beam_is_greedy(model, length_penalty):
    ids, scores = beam_search(model, BATCH.source, 8, beams=1, length_penalty=length_penalty)
    greedy, _ = decode(model, BATCH.source, 8)
    assert torch.equal(ids, greedy)
    given = torch.cat([torch.full((3, 1), BOS), greedy[:, :-1]], dim=1)
    log_p = model(BATCH.source, given)[0].detach().log_softmax(dim=-1)
    for i, row in enumerate(greedy.tolist()):
        words = row[: row.index(EOS) + 1] if EOS in row else row
        total = sum(float(log_p[i, t, word]) for t, word in enumerate(words))
        want = penalised(words, total, length_penalty)
        assert float(scores[i]) == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("how", [{}, {"ends": 1.5}, {"never": [BOS, 3]}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_with_beams_enough_it_is_the_search_through_everything(seed, how, length_penalty):
    model = Tree(seed=seed, **how)
    ids, scores = beam_search(model, SOURCE, 4, beams=81, length_penalty=length_penalty)
    for i, source in enumerate(SOURCE):
        sentences = every_sentence(model, source, 4)
        ranked = {words: penalised(words, p, length_penalty) for words, p in sentences}
        best = max(ranked, key=ranked.get)
        said = ids[i].tolist()
        assert tuple(said[: len(best)]) == best
        assert set(said[len(best) :]) <= {PAD}
        assert float(scores[i]) == pytest.approx(ranked[best], abs=1e-5)


def test_few_beams_keep_the_likeliest_beginnings():
    """Against a beam of Python lists; between greedy and everything."""
    for seed, beams, (ends, penalty) in product(range(4), (2, 3, 5), ((0.0, 0.6), (1.0, 4.0))):
        model = Tree(words=7, seed=seed, ends=ends)
        ids, scores = beam_search(model, SOURCE, 6, beams=beams, length_penalty=penalty)
        for i, source in enumerate(SOURCE):
            beam = [((), 0.0, BOS, model.start(source[None]))]
            for _ in range(6):
                grown = [b for b in beam if b[2] == EOS]
                for words, log_p, token, state in (b for b in beam if b[2] != EOS):
                    logits, after, _ = model.step(torch.tensor([token]), state)
                    p = logits[0].log_softmax(dim=-1).tolist()
                    grown += [((*words, w), log_p + p[w], w, after) for w in range(len(p))]
                beam = sorted(grown, key=lambda b: -b[1])[:beams]
            best = max(beam, key=lambda b: penalised(b[0], b[1], penalty))
            assert tuple(ids[i].tolist()[: len(best[0])]) == best[0]
            assert float(scores[i]) == pytest.approx(penalised(*best[:2], penalty), abs=1e-5)


def test_a_beam_finds_what_greedy_misses():
    better = 0
    for seed in range(10):
        model = Tree(seed=seed)
        scores = [beam_search(model, SOURCE, 5, beams=b, length_penalty=0)[1] for b in (1, 4)]
        better += int((scores[1] > scores[0] + 1e-6).sum())
    assert better >= 5


@pytest.mark.parametrize("beams", [2, 4, 30])
def test_a_beam_alone_or_in_a_batch_says_the_same(model, beams):
    """Also with more beams than the model has words."""
    model.train()
    ids, scores = beam_search(model, BATCH.source, 7, beams=beams)
    assert model.training
    for i, row in enumerate(BATCH.source):
        alone, score = beam_search(model, row[row != PAD][None], 7, beams=beams)
        n = alone.shape[1]
        assert ids[i, :n].tolist() == alone[0].tolist()
        assert (ids[i, n:] == PAD).all()
        assert float(scores[i]) == pytest.approx(float(score), abs=1e-4)
        end = ids[i].tolist().index(EOS) if EOS in ids[i] else 7
        assert (ids[i, end + 1 :] == PAD).all()


def test_rows_of_a_state_are_picked_in_every_part(model):
    """A step of the picked rows is the picked rows of a step."""
    state = model.start(BATCH.source)
    _, state, _ = model.step(torch.tensor([4, 5, 6]), state)
    rows, tokens = torch.tensor([2, 0, 0, 1]), torch.tensor([7, 8, 9])
    want, _, _ = model.step(tokens, state)
    got, _, _ = model.step(tokens[rows], select(state, rows))
    torch.testing.assert_close(got, want[rows], atol=1e-5, rtol=1e-5)


BAD = {
    "max_length must be at least 1 word, got 0": lambda: decode(Tree(), SOURCE, 0),
    "max_length must be at least 1 word, got -2": lambda: beam_search(Tree(), SOURCE, -2),
    "beams must be at least 1, got 0": lambda: beam_search(Tree(), SOURCE, 3, beams=0),
    "give a generator to draw with": lambda: decode(Tree(), SOURCE, 3, temperature=0.5),
    "shape a draw": lambda: decode(Tree(), SOURCE, 3, top_p=0.5),
    "temperature must be more than 0, got 0": lambda: chances(torch.zeros(3), 0),
    "top_k must keep at least 1 word, got 0": lambda: chances(torch.zeros(3), top_k=0),
    "top_p must be more than 0 and at most 1, got 0": lambda: chances(torch.zeros(3), top_p=0),
    "top_p must be .* at most 1, got 1.1": lambda: chances(torch.zeros(3), top_p=1.1),
}


@pytest.mark.parametrize("says", BAD)
def test_bad_input_is_named(says):
    with pytest.raises(ValueError, match=says):
        BAD[says]()
