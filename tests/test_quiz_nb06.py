"""Notebook 06's exercises: what its questions promise; solutions are in test_quiz_corpus."""

import re

import pytest
import torch

from tests.test_quiz_corpus import verdict_on
from utils.layers.masks import causal_mask, padding_mask
from utils.quiz import registry

ITEMS = registry.load("06")


def test_everything_that_was_asked_for_is_there():
    kinds = {kind: sorted(k for k in ITEMS if k.startswith(kind)) for kind in "XQGP"}
    assert kinds["X"] == [f"X06-{i}" for i in range(1, 5)]
    assert kinds["Q"] == [f"Q06-{i}" for i in range(1, 7)]
    assert len(kinds["G"]) >= 1
    assert len(kinds["P"]) >= 1


def test_the_number_that_is_filled_in_is_named():
    source = """
def masked_attention(q, k, v, mask):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    w = s.masked_fill(~mask, -7.5).softmax(-1)
    return w @ v, w
"""
    assert "-7.5" in verdict_on("X06-2", source).message


@pytest.mark.parametrize(("fill", "word"), [("-torch.inf", "NaN"), ("-1e9", "everywhere")])
def test_a_row_with_nothing_to_look_at_earns_a_remark(fill, word):
    source = f"""
def masked_attention(q, k, v, mask):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    w = s.masked_fill(~mask, {fill}).softmax(-1)
    return w @ v, w
"""
    verdict = verdict_on("X06-2", source)
    assert verdict.passed
    assert any(word in remark for remark in verdict.remarks)


def test_counted_looks_are_the_librarys():
    for seed in range(50):
        question = ITEMS["G06-1"].with_seed(seed)
        length, n = (int(x) for x in re.findall(r"\d+", question.text)[:2])
        right = next(o for o in question.options if o.right)
        assert int(right.text) == int((padding_mask([length], n) & causal_mask(n)).sum())


def test_leaking_weight_is_computed_from_the_questions_own_text():
    for seed in range(50):
        question = ITEMS["G06-2"].with_seed(seed)
        scores = torch.tensor(
            [float(s) for s in re.search(r"\[(.*?)\]", question.text)[1].split(",")]
        )
        hidden = [int(k) - 1 for k in re.search(r"Keys (\d), (\d)", question.text).groups()]
        scores[hidden] = 0.0
        right = next(o for o in question.options if o.right)
        assert float(right.text) == pytest.approx(float(scores.softmax(-1)[hidden].sum()), abs=6e-4)
