"""Masks are airtight: nothing leaks from a forbidden key, and rows of nothing are defined."""

import pytest
import torch
import torch.nn.functional as F

from utils.layers.attention import (
    AdditiveAttention,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from utils.layers.masks import causal_mask, padding_mask

PATHS = pytest.mark.parametrize("need_weights", [True, False], ids=["weights", "fused"])


def random(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def multi_head(d_model=8, num_heads=2, dropout=0.0, dtype=torch.float64):
    torch.manual_seed(1)
    return MultiHeadAttention(d_model, num_heads, dropout=dropout).to(dtype)


@PATHS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_future_token_cannot_change_the_past(need_weights, dtype):
    layer, mask = multi_head(dtype=dtype), causal_mask(7)
    x = random(2, 7, 8, dtype=dtype).requires_grad_()
    changed = torch.cat([x[:, :4], 100 * random(2, 3, 8, seed=5, dtype=dtype)], dim=1)
    before, _ = layer(x, mask=mask, need_weights=need_weights)
    after, _ = layer(changed, mask=mask, need_weights=need_weights)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4:], after[:, 4:])

    before[:, :4].float().pow(2).sum().backward()
    assert (x.grad[:, 4:] == 0).all()
    assert (x.grad[:, :4] != 0).any()


@PATHS
def test_a_masked_key_and_its_value_get_exactly_zero_gradient(need_weights):
    q, k, v = (random(2, 2, n, 4, seed=n).requires_grad_() for n in (3, 5, 5))
    mask = torch.tensor([True, False, True, True, False])[None]
    output, _ = scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights)
    output.pow(3).sum().backward()
    for tensor in (k, v):
        assert (tensor.grad[..., [1, 4], :] == 0).all()
        assert (tensor.grad[..., [0, 2, 3], :] != 0).all()


def test_a_key_masked_in_additive_attention_gets_exactly_zero_gradient():
    torch.manual_seed(0)
    attention = AdditiveAttention(3, 4, 5).double()
    keys = random(2, 6, 4).requires_grad_()
    attention(random(2, 2, 3), keys, mask=padding_mask([6, 4], 6)[:, 0])[0].pow(2).sum().backward()
    assert (keys.grad[1, 4:] == 0).all()
    assert (keys.grad[1, :4] != 0).any()


@PATHS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_query_that_may_look_nowhere_gets_zero_and_no_nan(need_weights, dtype):
    q, k, v = (random(2, 2, 4, 8, seed=s, dtype=dtype).requires_grad_() for s in range(3))
    mask = torch.ones(2, 1, 4, 4, dtype=torch.bool)
    mask[0, :, 1] = False  # one row
    mask[1] = False  # a whole sequence
    output, weights = scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights)
    assert (output[0, :, 1] == 0).all()
    assert (output[1] == 0).all()
    assert (output[0, :, [0, 2, 3]] != 0).all()
    if need_weights:
        assert (weights[1] == 0).all()
        assert (weights[0, :, 1] == 0).all()
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way back either
        output.float().pow(2).sum().backward()
    for tensor in (q, k, v):
        assert tensor.grad.isfinite().all()
        assert (tensor.grad[1] == 0).all()
    assert (q.grad[0, :, 1] == 0).all()


def test_rows_of_nothing_are_safe_with_kernels_that_return_nan_and_want_a_full_mask(monkeypatch):
    """Some devices' kernels divide 0 by 0 in such a row, or misread a mask that broadcasts."""

    def kernel(q, k, v, attn_mask, dropout_p=0.0):
        assert attn_mask.shape == (*q.shape[:-1], k.shape[-2])
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~attn_mask, -torch.inf)
        return scores.softmax(dim=-1) @ v

    q, k, v = (random(2, 2, 3, 4, seed=s).requires_grad_() for s in range(3))
    mask = causal_mask(3) & padding_mask([3, 0], 3)  # nothing of the second sequence
    want, _ = scaled_dot_product_attention(q, k, v, mask)
    monkeypatch.setattr(F, "scaled_dot_product_attention", kernel)
    output, _ = scaled_dot_product_attention(q, k, v, mask, need_weights=False)
    torch.testing.assert_close(output, want)
    output.pow(2).sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (q, k, v))


def test_additive_attention_over_nothing_is_zero_and_has_finite_gradients():
    torch.manual_seed(0)
    attention = AdditiveAttention(3, 4, 5)
    mask = torch.zeros(2, 6, dtype=torch.bool)
    output, weights = attention(torch.randn(2, 3), torch.randn(6, 4), mask=mask)
    assert (output == 0).all()
    assert (weights == 0).all()
    output.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


def test_the_only_visible_key_gets_all_the_weight_however_low_its_score():
    q = torch.tensor([[-255.875]], dtype=torch.float16)  # the score is the lowest float16
    k = torch.tensor([[256.0], [0.0]], dtype=torch.float16)
    mask = torch.tensor([[True, False]])
    _, weights = scaled_dot_product_attention(q, k, k, mask)
    assert weights.tolist() == [[1.0, 0.0]]


@PATHS
def test_a_padded_batch_equals_its_sentences_one_by_one(need_weights):
    layer, lengths = multi_head(), [6, 1, 4]
    x = random(3, 6, 8)
    together, _ = layer(x, mask=padding_mask(lengths, 6), need_weights=need_weights)
    both, _ = layer(x, mask=causal_mask(6) & padding_mask(lengths, 6), need_weights=need_weights)
    for b, length in enumerate(lengths):
        alone, _ = layer(x[b : b + 1, :length], need_weights=need_weights)
        torch.testing.assert_close(together[b, :length], alone[0])
        alone, _ = layer(x[b : b + 1, :length], mask=causal_mask(length), need_weights=need_weights)
        torch.testing.assert_close(both[b, :length], alone[0])


@PATHS
def test_one_new_token_with_a_cache_equals_the_last_row(need_weights):
    layer, x = multi_head(), random(2, 6, 8)
    whole, _ = layer(x, mask=causal_mask(6), need_weights=need_weights)
    step, _ = layer(x[:, 4:], x, causal_mask(2, past=4), need_weights=need_weights)
    torch.testing.assert_close(step, whole[:, 4:])
