"""Notebook 04's two tasks: the data are what they say, and the models can do what is claimed."""

import pytest
import torch

from utils.runtime import set_seed
from utils.tasks import neighbours, roles
from utils.train.loop import count_parameters, train


def test_every_pattern_gives_the_relations_it_promises():
    for pattern in roles.PATTERNS:
        sentence = roles.make_sentence(pattern, "visits", "Tom", "Paris", "May")
        told = [sentence.words[i] for i in sentence.answers]
        assert told == ["Tom", "Paris", "May"]
        assert sentence.words[sentence.verb] in ("visits", "visited")
        assert len(sentence.words) <= roles.LONGEST


def test_verb_and_its_place_tell_the_pattern():
    """Otherwise one layer of attention could not know where to look."""
    made = [roles.make_sentence(p, "visits", "Tom", "Paris", "May") for p in roles.PATTERNS]
    seen = [(s.words[s.verb], s.verb) for s in made]
    assert len(set(seen)) == len(seen)


def test_the_lectures_sentence():
    assert roles.LECTURE.words == ("Jane", "visits", "Africa", "in", "September", ".")
    assert (roles.LECTURE.verb, *roles.LECTURE.answers) == (1, 0, 2, 4)
    assert "who Jane, what Africa, when September" in repr(roles.LECTURE)


def test_train_and_test_share_no_sentence():
    train_set = roles.role_sentences(3000, seed=0)
    test_set = roles.role_sentences(500, seed=1, split="test")
    assert not {s.words for s in train_set} & {s.words for s in test_set}
    assert not any({"Jane", "Africa", "September"} <= set(s.words) for s in train_set)
    assert roles.held_out(roles.LECTURE.words)


def test_same_seed_same_sentences():
    assert roles.role_sentences(20, seed=3) == roles.role_sentences(20, seed=3)
    assert roles.role_sentences(20, seed=3) != roles.role_sentences(20, seed=4)


def test_every_word_plays_every_role():
    sentences = roles.role_sentences(3000, seed=0)
    for i in range(3):
        assert {s.words[s.answers[i]] for s in sentences} == set(roles.NAMES)


def test_batches_point_at_the_words():
    sentences = roles.role_sentences(50, seed=0)
    batch = roles.role_batch(sentences)
    for row, sentence in enumerate(sentences):
        ids = batch.ids[row]
        words = [roles.VOCABULARY.words[i] for i in batch.answers[row]]
        assert words == [sentence.words[i] for i in sentence.answers]
        assert roles.VOCABULARY.words[ids[batch.verb[row]]] == sentence.words[sentence.verb]


@pytest.mark.parametrize("bad", [{"count": 0}, {"count": 5, "split": "all"}])
def test_bad_requests_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        roles.role_sentences(seed=0, **bad)


def test_offset_baseline_counts_distances():
    two = [roles.make_sentence(p, "sees", "Tom", "Paris", "May") for p in roles.PATTERNS[:2]]
    best = roles.offset_baseline(roles.role_batch(two))
    assert best["who"] == (-1, 1.0)
    assert best["what"] == (1, 1.0)
    assert best["when"][1] == 0.5


def test_volume_zero_takes_a_head_out_and_one_changes_nothing():
    set_seed(0)
    model = roles.RoleModel(3)
    batch = roles.role_batch(roles.role_sentences(8, seed=0))
    plain, _ = model(batch.ids, batch.verb)
    same, _ = model(batch.ids, batch.verb, torch.ones(3))
    assert torch.allclose(plain, same)
    # heads add up: full = all heads off + what each head adds alone
    off, _ = model(batch.ids, batch.verb, torch.zeros(3))
    alone = [model(batch.ids, batch.verb, row)[0] - off for row in torch.eye(3)]
    assert torch.allclose(plain, off + sum(alone), atol=1e-5)
    assert (plain - off).abs().max() > 1e-3


def test_looks_right_reads_the_verbs_row():
    set_seed(0)
    model = roles.RoleModel(3)
    batch = roles.role_batch(roles.role_sentences(40, seed=0))
    _, weights = model(batch.ids, batch.verb)
    by_hand = torch.zeros(3, 3)
    for b in range(40):
        for head in range(3):
            best = weights[b, head, batch.verb[b]].argmax()
            by_hand[head] += (batch.places[b] == best).float() / 40
    assert torch.allclose(roles.looks_right(model, batch), by_hand, atol=1e-6)


def test_padding_is_never_looked_at():
    short = roles.LECTURE
    long = max(roles.role_sentences(50, seed=0), key=lambda s: len(s.words))
    set_seed(0)
    model = roles.RoleModel(2)
    alone = roles.role_batch([short])
    padded = roles.role_batch([short, long])
    one, _ = model(alone.ids, alone.verb)
    both, weights = model(padded.ids, padded.verb)
    assert torch.allclose(one[0], both[0], atol=1e-5)
    assert weights[0, :, :, len(short.words) :].abs().max() == 0


def test_neighbours_are_the_neighbours():
    words, targets = neighbours.neighbour_batch(4, torch.Generator().manual_seed(0))
    assert torch.equal(targets[:, 1:, 0], words[:, :-1])
    assert torch.equal(targets[:, :-1, 1], words[:, 1:])
    assert (targets[:, 0, 0] == neighbours.NOTHING).all()
    assert (targets[:, -1, 1] == neighbours.NOTHING).all()


def test_one_head_limit_is_reached_by_looking_to_one_side():
    """Name the left neighbour always, and the same word for the right one."""
    words, targets = neighbours.neighbour_batch(20000, torch.Generator().manual_seed(0))
    guess = torch.stack([words.roll(1, 1), words.roll(1, 1)], dim=-1)
    guess[:, 0, 1] = words[:, 1]  # the first place has a right neighbour only
    there = targets != neighbours.NOTHING
    got = (guess == targets)[there].float().mean().item()
    assert got == pytest.approx(neighbours.one_head_limit(), abs=0.01)


def test_two_heads_can_and_one_cannot():
    reached = {}
    for heads in (1, 2):
        set_seed(1)
        model = neighbours.NeighbourModel(heads)
        batches = neighbours.neighbour_batches(1)
        train(model, batches, neighbours.neighbour_loss, steps=300, lr=5e-3, progress=False)
        reached[heads] = neighbours.neighbour_accuracy(model), count_parameters(model)
    assert reached[1][0] < 0.66
    assert reached[2][0] > 0.98
    assert reached[1][1] == reached[2][1]
