"""Notebook 04's exercises: solutions as students write them, and what its questions promise."""

import re

import pytest
import torch
from torch import nn

from tests.test_quiz_corpus import fits, read, verdict_on
from utils.quiz import registry
from utils.training import count_parameters

ITEMS = registry.load("04")
RIGHT = read("nb04_right.txt")
WRONG = [(*head.split(" ", 1), source) for head, source in read("nb04_wrong.txt")]


@pytest.mark.parametrize(
    ("key", "source"), RIGHT, ids=[f"{k}-{i}" for i, (k, _) in enumerate(RIGHT)]
)
def test_a_right_solution_passes(key, source):
    verdict = verdict_on(key, source)
    assert verdict.status == "passed", verdict


@pytest.mark.parametrize(
    ("key", "expected", "source"), WRONG, ids=[f"{k}-{i}-{e}" for i, (k, e, _) in enumerate(WRONG)]
)
def test_a_wrong_solution_is_named(key, expected, source):
    verdict = verdict_on(key, source)
    assert not verdict.passed
    assert fits(verdict, expected), verdict


def test_everything_that_was_asked_for_is_there():
    kinds = {kind: sorted(k for k in ITEMS if k.startswith(kind)) for kind in "XQGP"}
    assert kinds["X"] == [f"X04-{i}" for i in range(1, 5)]
    assert kinds["Q"][:5] == [f"Q04-{i}" for i in range(1, 6)]
    assert len(kinds["G"]) >= 1
    assert len(kinds["P"]) >= 1


def test_counted_parameters_are_pytorchs():
    for seed in range(30):
        asked = ITEMS["G04-1"].with_seed(seed)
        d, h = (int(x) for x in re.search(r"= (\d+) and (\d+) heads", asked.text).groups())
        layer = nn.MultiheadAttention(d, h, bias="with biases" in asked.text)
        right = next(o for o in asked.options if o.right)
        assert int(right.text.replace(",", "")) == count_parameters(layer)


def test_the_shape_marked_right_is_pytorchs():
    for seed in range(30):
        asked = ITEMS["G04-2"].with_seed(seed)
        b, n, d, h = (int(x) for x in re.findall(r"\d+", asked.text)[:4])
        x = torch.zeros(b, n, d)
        layer = nn.MultiheadAttention(d, h, batch_first=True)
        weights = layer(x, x, x, average_attn_weights=False)[1]
        right = next(o for o in asked.options if o.right)
        assert right.text == str(tuple(weights.shape))
