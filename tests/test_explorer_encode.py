"""The bytes that carry the weights: right to three decimals, drawn to within 1/255, and few."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.explorer import encode
from utils.explorer.encode import (
    END,
    ESCAPE,
    deflate,
    pack_weights,
    quantise,
    steps_per_thousandth,
    unpack,
)


def softmax(shape, seed=0, scale=2.0):
    scores = np.random.default_rng(seed).standard_normal(shape) * scale
    weights = np.exp(scores)
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def shown(steps, m):
    """What the page writes for a step."""
    return [f"{np.floor(step / m + 0.5) / 1000:.3f}" for step in steps]


@pytest.mark.parametrize("m", [1, 3, 15])
@given(weights=st.lists(st.floats(0, 1), min_size=1, max_size=50))
@settings(max_examples=200, deadline=None)
def test_three_decimals_are_pythons_three_decimals(m, weights):
    for dtype in (np.float64, np.float32):
        array = np.array(weights, dtype)
        assert shown(quantise(array, m), m) == [f"{w:.3f}" for w in array.tolist()]


@pytest.mark.parametrize("m", [1, 3, 15])
def test_ties_and_near_ties_are_right_too(m):
    ties = np.arange(0.0005, 1, 0.001)
    for dtype in (np.float64, np.float32):
        for array in (ties.astype(dtype), np.nextafter(ties.astype(dtype), dtype(0))):
            assert shown(quantise(array, m), m) == [f"{w:.3f}" for w in array.tolist()]


def test_drawn_weight_is_within_one_255th():
    for keys in (5, 64, 65, 512, 513):
        weights, m = softmax((4, keys)), steps_per_thousandth(keys)
        assert np.abs(quantise(weights, m) / (1000 * m) - weights).max() <= 0.00051


def test_steps_are_odd_so_that_bins_nest():
    assert {steps_per_thousandth(keys) % 2 for keys in range(1, 2000)} == {1}


@pytest.mark.parametrize("pieces", [1, 3])
@given(scale=st.floats(0.1, 20), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_what_is_packed_comes_out_again(pieces, scale, seed):
    one, two = softmax((3, 5, 10, 300), seed, scale), softmax((1, 1, 4, 4), seed, scale)
    with (
        mock.patch.object(encode, "PIECE", one.size // pieces),
        mock.patch.object(encode, "_pack_part", wraps=encode._pack_part) as part,
    ):
        (plane, large), (second, more) = pack_weights(one, 3), pack_weights(two, 1)
    assert part.call_count == pieces + 1
    rest = b"".join(layer.tobytes() for layer in [*large, *more])
    stream = plane + deflate(bytes([1, 0])) + second + deflate(rest) + END
    steps, mask, others = unpack(stream, [one.size, 2, two.size])
    assert (steps == quantise(one, 3).reshape(-1)).all()
    assert (others == quantise(two, 1).reshape(-1)).all()
    assert mask.tolist() == [1, 0]
    escaped = (quantise(one, 3) >= ESCAPE).sum((1, 2, 3))
    assert [len(layer) for layer in large] == escaped.tolist()  # what the page is told


def packed_size(weights):
    plane, large = pack_weights(weights, 1)
    return len(plane) + sum(layer.nbytes for layer in large)


def test_payload_of_twelve_layers_and_heads_is_small():
    weights = softmax((12, 12, 32, 32))
    assert packed_size(weights) < 0.75 * weights.size
    causal = np.tril(np.ones((64, 64))) / np.arange(1, 65)[:, None]
    assert packed_size(causal[None, None]) < 0.3 * causal.size
