"""Notebook 04's exercises: what its questions promise; solutions are in test_quiz_corpus."""

import re

import torch
from torch import nn

from utils.quiz import registry
from utils.train.loop import count_parameters

ITEMS = registry.load("04")


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
