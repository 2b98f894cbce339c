"""The recall task, its models, and that they can learn it where they should."""

import pytest
import torch

from utils.tasks.recall import (
    CHANCE,
    MIXERS,
    NUM_VALUES,
    QUESTION,
    RecallModel,
    recall_accuracy,
    recall_batch,
    recall_batches,
    recall_loss,
)
from utils.train.loop import train


def batch(size, distance, seed=0):
    return recall_batch(size, distance, torch.Generator().manual_seed(seed))


def test_a_batch_is_value_noise_question():
    tokens, answers = batch(200, 7)
    assert tokens.shape == (200, 9)
    assert torch.equal(tokens[:, 0], answers)
    assert set(answers.tolist()) == set(range(NUM_VALUES))
    noise = tokens[:, 1:-1]
    assert noise.min() == NUM_VALUES
    assert noise.max() == QUESTION - 1
    assert (tokens[:, -1] == QUESTION).all()


def test_the_noise_says_nothing_about_the_answer():
    tokens, answers = batch(4000, 1)
    for value in range(NUM_VALUES):
        share = (tokens[answers == value, 1] == NUM_VALUES).float().mean()
        assert abs(share - 1 / NUM_VALUES) < 0.06


def test_a_batch_depends_on_its_seed_alone():
    torch.manual_seed(0)
    first = batch(5, 4, seed=3)
    torch.manual_seed(1)
    assert torch.equal(first[0], batch(5, 4, seed=3)[0])
    assert not torch.equal(first[0], batch(5, 4, seed=4)[0])


def test_no_noise_is_allowed():
    assert batch(2, 0)[0].shape == (2, 2)


@pytest.mark.parametrize("mixer", MIXERS)
def test_all_models_have_one_face(mixer):
    model = RecallModel(mixer)
    tokens, _ = batch(3, 6)
    x = model.embedding(tokens)
    assert model.mixer(x)[0].shape == x.shape == (3, 8, 32)
    assert model(tokens).shape == (3, NUM_VALUES)


@pytest.mark.parametrize("mixer", MIXERS)
def test_the_answer_depends_on_the_first_token(mixer):
    model = RecallModel(mixer)
    tokens, _ = batch(1, 3)
    other = tokens.clone()
    other[0, 0] = (other[0, 0] + 1) % NUM_VALUES
    assert (model(tokens) - model(other)).abs().max() > 1e-4


def test_attention_learns_it_at_any_distance_and_stops_early():
    torch.manual_seed(1)
    model = RecallModel("attention")
    assert recall_accuracy(model, 30) < 0.4
    batches = recall_batches(30, seed=1)
    history = train(model, batches, recall_loss, steps=300, lr=3e-3, stop_below=0.05)
    assert history.ended == "solved" and history.steps < 300
    assert recall_accuracy(model, 30) >= 0.98


def test_batches_are_drawn_from_their_seed():
    first, again, other = (next(recall_batches(5, 4, seed=seed)) for seed in (1, 1, 2))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])


def test_an_untrained_model_is_near_chance():
    torch.manual_seed(0)
    assert abs(recall_accuracy(RecallModel("lstm"), 20) - CHANCE) < 0.1


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one of rnn, gru, lstm, attention, got 'cnn'"):
        RecallModel("cnn")
    with pytest.raises(ValueError, match="got batch_size = 2, distance = -1"):
        batch(2, -1)
