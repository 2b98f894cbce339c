"""The training loop: it learns, stops, can be interrupted, and repeats itself by seed."""

import itertools
import re

import pytest
import torch
from torch import nn

from utils.runtime import set_seed
from utils.train.loop import History, count_parameters, rate_schedule, train


def line(seed=0):
    """Points of y = 2x + 1, in batches without end."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        x = torch.randn(16, 1, generator=rng)
        yield x, 2 * x + 1


def loss_of(model, batch):
    x, y = batch
    return ((model(x) - y) ** 2).mean()


def new_model():
    set_seed(0)
    return nn.Linear(1, 1)


def fit(model, **more):
    settings = {"steps": 200, "lr": 0.05, "progress": False} | more
    return train(model, line(), loss_of, **settings)


def test_it_learns_and_leaves_the_model_ready():
    model = new_model()
    history = fit(model)
    assert model.weight.item() == pytest.approx(2, abs=0.05)
    assert model.bias.item() == pytest.approx(1, abs=0.05)
    assert history.steps == 200
    assert history.losses[-1] < 0.01 < history.losses[0]
    assert not model.training
    assert history.cpu_seconds > 0


def test_the_same_seed_gives_the_same_model():
    one, two = new_model(), new_model()
    assert fit(one).losses == fit(two).losses
    assert torch.equal(one.weight, two.weight)


def test_ctrl_c_keeps_the_model_so_far(capsys):
    model = new_model()
    started = model.weight.detach().clone()

    def interrupted():
        yield from itertools.islice(line(), 30)
        raise KeyboardInterrupt

    history = train(model, interrupted(), loss_of, steps=200, lr=0.05, progress=False)
    assert history.steps == 30
    assert "stopped by hand" in history.ended
    assert not torch.equal(model.weight, started)
    assert not model.training
    assert "Stopped after 30 of 200 steps" in capsys.readouterr().out


def test_the_budget_stops_it_early():
    history = fit(new_model(), steps=10**6, budget=0.2)
    assert history.ended == "budget used up"
    assert history.steps < 10**6
    assert history.cpu_seconds < 2


def test_batches_may_run_out():
    history = train(
        new_model(), itertools.islice(line(), 7), loss_of, steps=50, lr=0.01, progress=False
    )
    assert (history.steps, history.ended) == (7, "the batches ran out")


def test_it_is_scored_every_so_often_in_evaluation_mode():
    model, modes = new_model(), []

    def evaluate(model):
        modes.append((model.training, torch.is_grad_enabled()))
        return model.weight.item()

    history = fit(model, steps=25, every=10, evaluate=evaluate)
    assert [step for step, _ in history.scores] == [10, 20, 25]
    assert modes == [(False, False)] * 3


def test_the_learning_rate_rises_and_falls_to_zero():
    factor = rate_schedule(100, 10)
    rates = [factor(step) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] or max(rates) == rates[10]
    assert all(a > b for a, b in itertools.pairwise(rates[10:]))
    assert rates[100] == pytest.approx(0, abs=1e-9)


def test_a_loss_that_explodes_is_reported():
    model = new_model()
    fit(model, steps=5)
    before = [p.clone() for p in model.parameters()]
    for factor, what in ((float("nan"), "loss became nan"), (1e38, "gradient became inf")):
        with pytest.raises(ValueError, match=f"the {what} in step 1"):
            train(model, line(), lambda m, b, f=factor: loss_of(m, b) * f, steps=3)
        assert all(map(torch.equal, before, model.parameters())), "the weights are the last good"


def test_a_long_training_shows_a_progress_bar(monkeypatch, capsys):
    monkeypatch.setattr("utils.train.loop.SHOW_AFTER", 0.0)
    fit(new_model(), steps=30, progress=True, name="my model")
    shown = capsys.readouterr().err
    assert "my model" in shown
    assert re.search(r"/30", shown)
    fit(new_model(), steps=30)
    assert capsys.readouterr().err == ""


def test_the_record_reads_well_and_holds_no_times():
    assert repr(History([0.5, 0.4])) == "History: 2 steps, all steps done"


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="must be positive, got steps = 0, lr = 0.05"):
        fit(new_model(), steps=0)


def test_parameters_are_counted():
    assert count_parameters(nn.Linear(3, 4)) == 16
