"""Masks against literal loops.  True = may look, rows are queries, columns are keys."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F

from utils.layers.masks import (
    causal_mask,
    check_mask,
    local_mask,
    padding_mask,
    to_additive,
    to_torch_blocked,
)


@pytest.mark.parametrize(("n", "past"), [(1, 0), (5, 0), (3, 4), (1, 6)])
def test_causal_mask_is_the_literal_loop(n, past):
    mask = causal_mask(n, past)
    assert mask.dtype == torch.bool
    assert mask.shape == (n, past + n)
    for i, j in product(range(n), range(past + n)):
        assert mask[i, j] == (j <= past + i)


def test_with_a_cache_the_rows_are_the_last_of_the_full_mask():
    full = causal_mask(7)
    for past in range(7):
        assert torch.equal(causal_mask(7 - past, past), full[past:])


@pytest.mark.parametrize(("n", "window"), [(1, 0), (5, 0), (6, 1), (6, 2), (4, 9)])
def test_local_mask_is_the_literal_loop(n, window):
    mask = local_mask(n, window)
    assert mask.dtype == torch.bool
    assert mask.shape == (n, n)
    for i, j in product(range(n), range(n)):
        assert mask[i, j] == (i - window <= j <= i + window)
    if n > 2 * window:
        assert mask[window].sum() == 2 * window + 1 or n < 2 * window + 1


@pytest.mark.parametrize("kind", [list, torch.tensor, lambda x: torch.tensor(x, dtype=torch.int32)])
def test_padding_mask_is_the_literal_loop(kind):
    lengths = [4, 0, 6, 1]
    mask = padding_mask(kind(lengths), 6)
    assert mask.dtype == torch.bool
    assert mask.shape == (4, 1, 1, 6)
    for b, j in product(range(4), range(6)):
        assert mask[b, 0, 0, j] == (j < lengths[b])


def test_masks_are_composed_with_and():
    lengths = [5, 2]
    mask = causal_mask(5) & local_mask(5, 2) & padding_mask(lengths, 5)
    assert mask.shape == (2, 1, 5, 5)
    for b, i, j in product(range(2), range(5), range(5)):
        assert mask[b, 0, i, j] == (j <= i and abs(i - j) <= 2 and j < lengths[b])


def test_to_torch_blocked_turns_the_meaning_around():
    mask = causal_mask(4)
    blocked = to_torch_blocked(mask)
    assert blocked.dtype == torch.bool
    for i, j in product(range(4), range(4)):
        assert blocked[i, j] == (j > i)
    assert torch.equal(mask, causal_mask(4))  # the argument is untouched


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_to_additive_is_zero_or_minus_infinity(dtype):
    mask = causal_mask(3) & padding_mask([3, 1], 3)
    added = to_additive(mask, dtype)
    assert added.dtype == dtype
    assert added.shape == mask.shape
    assert (added[mask] == 0).all()
    assert (added[~mask] == -torch.inf).all()
    assert to_additive(mask).dtype == torch.float32


def test_the_dialects_mean_the_same_to_pytorch():
    q, k, v = torch.randn(3, 2, 2, 5, 4, dtype=torch.float64)
    mask = causal_mask(5) & padding_mask([5, 3], 5)
    torch.testing.assert_close(
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        F.scaled_dot_product_attention(q, k, v, attn_mask=to_additive(mask, torch.float64)),
    )


@pytest.mark.parametrize(
    "shape", [(5, 6), (1, 6), (5, 1), (6,), (), (1, 5, 6), (2, 1, 1, 6), (2, 3, 5, 6)]
)
def test_check_mask_lets_through_what_broadcasts(shape):
    mask = torch.ones(shape, dtype=torch.bool)
    assert check_mask(mask, (2, 3, 5, 6)) is mask


ERRORS = {
    "no tokens": (lambda: causal_mask(0), ValueError, ["n ", "1", "0"]),
    "half a token": (lambda: causal_mask(2.5), TypeError, ["n ", "whole", "2.5"]),
    "negative past": (lambda: causal_mask(3, past=-1), ValueError, ["past", "0", "-1"]),
    "half a past": (lambda: causal_mask(3, past=0.5), TypeError, ["past", "whole", "0.5"]),
    "no local tokens": (lambda: local_mask(-3, 1), ValueError, ["n ", "1", "-3"]),
    "negative window": (lambda: local_mask(3, -2), ValueError, ["window", "0", "-2"]),
    "half a window": (lambda: local_mask(3, 1.5), TypeError, ["window", "whole", "1.5"]),
    "too long": (lambda: padding_mask([3, 7], 6), ValueError, ["0", "n = 6", "[3, 7]"]),
    "too short": (lambda: padding_mask([3, -1], 6), ValueError, ["0", "n = 6", "[3, -1]"]),
    "no padded tokens": (lambda: padding_mask([0], 0), ValueError, ["n ", "1", "0"]),
    "float lengths": (lambda: padding_mask([3.0], 6), TypeError, ["whole number", "torch.float32"]),
    "bool lengths": (lambda: padding_mask([True], 6), TypeError, ["whole number", "torch.bool"]),
    "lengths in rows": (lambda: padding_mask([[3], [2]], 6), TypeError, ["(2, 1)"]),
    "one length": (lambda: padding_mask(torch.tensor(3), 6), TypeError, ["()"]),
    "float mask to blocked": (
        lambda: to_torch_blocked(torch.ones(2, 2)),
        TypeError,
        ["boolean", "torch.float32"],
    ),
    "list to blocked": (lambda: to_torch_blocked([[True]]), TypeError, ["boolean", "list"]),
    "float mask to added": (
        lambda: to_additive(torch.ones(2, 2)),
        TypeError,
        ["boolean", "torch.float32"],
    ),
    "list to added": (lambda: to_additive([[True]]), TypeError, ["boolean", "list"]),
    "whole numbers to add": (
        lambda: to_additive(causal_mask(2), torch.int64),
        TypeError,
        ["torch.int64"],
    ),
    "wrong keys": (
        lambda: check_mask(causal_mask(4), (2, 3, 4, 5)),
        ValueError,
        ["(2, 3, 4, 5)", "(4, 4)"],
    ),
    "too many axes": (
        lambda: check_mask(causal_mask(4)[None], (4, 4)),
        ValueError,
        ["(4, 4)", "(1, 4, 4)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_names_what_was_expected_and_what_came(name):
    call, kind, words = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
