"""Attention against independent implementations: a literal loop, and both of PyTorch's own."""

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.layers.attention import (
    AdditiveAttention,
    AttentionLayer,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from utils.layers.masks import causal_mask, padding_mask, to_additive, to_torch_blocked

DOUBLE = {"atol": 1e-12, "rtol": 1e-12}
SINGLE = {"atol": 2e-6, "rtol": 1e-5}


def random(*shape, seed=0, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)


def some_mask(*shape, seed=0):
    """About half the keys, at least one in each row."""
    mask = random(*shape, seed=seed) > 0
    mask[..., 0] |= ~mask.any(dim=-1)
    return mask


def loop_attention(q, k, v, mask=None):
    """The formula, number by number, for one sequence: no tensor operation that could be shared."""
    (m, d), (n, e) = q.shape, v.shape
    output, weights = torch.zeros(m, e, dtype=q.dtype), torch.zeros(m, n, dtype=q.dtype)
    for i in range(m):
        seen = [j for j in range(n) if mask is None or mask[i, j]]
        scores = [sum(float(q[i, c]) * float(k[j, c]) for c in range(d)) for j in seen]
        powers = [math.exp(score / d**0.5) for score in scores]
        for j, power in zip(seen, powers):
            weights[i, j] = power / sum(powers)
            for c in range(e):
                output[i, c] += float(weights[i, j]) * float(v[j, c])
    return output, weights


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_scaled_dot_product_is_the_literal_loop(masked, need_weights):
    q, k, v = random(2, 3, 4, 5), random(2, 3, 6, 5, seed=1), random(2, 3, 6, 7, seed=2)
    mask = some_mask(2, 3, 4, 6) if masked else None
    output, weights = scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights)
    assert output.shape == (2, 3, 4, 7)
    for b, h in product(range(2), range(3)):
        want, want_weights = loop_attention(
            q[b, h], k[b, h], v[b, h], None if mask is None else mask[b, h]
        )
        torch.testing.assert_close(output[b, h], want, **DOUBLE)
        if need_weights:
            torch.testing.assert_close(weights[b, h], want_weights, **DOUBLE)
    if not need_weights:
        assert weights is None


MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(6),
    "padding": lambda: padding_mask([6, 2], 6),
    "both": lambda: causal_mask(6) & padding_mask([6, 2], 6),
    "per head": lambda: some_mask(2, 3, 6, 6),
    "one for all queries": lambda: some_mask(1, 6),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", MASKS)
def test_scaled_dot_product_and_its_gradients_are_those_of_pytorch(name, need_weights, dtype):
    mask = MASKS[name]()
    ours = [random(2, 3, 6, 8, seed=s, dtype=dtype).requires_grad_() for s in range(3)]
    theirs = [x.detach().double().requires_grad_() for x in ours]  # the same, already rounded
    wish = random(2, 3, 6, 8, seed=9)

    output, _ = scaled_dot_product_attention(*ours, mask, need_weights=need_weights)
    want = F.scaled_dot_product_attention(
        *theirs, attn_mask=None if mask is None else to_additive(mask, torch.float64)
    )
    assert output.dtype == dtype
    (output.double() * wish).sum().backward()
    (want * wish).sum().backward()

    # bfloat16 keeps 8 bits: one rounding is up to 1/256 of the value
    close = {torch.float64: DOUBLE, torch.float32: SINGLE}.get(dtype, {"atol": 4e-2, "rtol": 2e-2})
    torch.testing.assert_close(output.double(), want, **close)
    for our, their in zip(ours, theirs):
        torch.testing.assert_close(our.grad.double(), their.grad, **close)


@pytest.mark.parametrize("masked", [True, False])
def test_gradients_agree_with_finite_differences(masked):
    q, k, v = (random(2, n, 3, seed=n).requires_grad_() for n in (2, 4, 4))
    mask = some_mask(2, 2, 4) if masked else None
    assert torch.autograd.gradcheck(
        lambda *qkv: scaled_dot_product_attention(*qkv, mask), (q, k, v), atol=1e-7
    )


def copied_from(theirs: nn.MultiheadAttention, dropout=0.0) -> MultiHeadAttention:
    """Our layer with the weights of PyTorch's, which stacks q, k and v in one matrix."""
    d_model = theirs.embed_dim
    has_bias = theirs.in_proj_bias is not None
    ours = MultiHeadAttention(d_model, theirs.num_heads, bias=has_bias, dropout=dropout)
    ours = ours.to(theirs.in_proj_weight.dtype)
    with torch.no_grad():
        for i, layer in enumerate((ours.w_q, ours.w_k, ours.w_v)):
            rows = slice(i * d_model, (i + 1) * d_model)
            layer.weight.copy_(theirs.in_proj_weight[rows])
            if has_bias:
                layer.bias.copy_(theirs.in_proj_bias[rows])
        ours.w_o.weight.copy_(theirs.out_proj.weight)
        if has_bias:
            ours.w_o.bias.copy_(theirs.out_proj.bias)
    return ours


def torch_layer(d_model=12, num_heads=3, bias=True, dtype=torch.float64) -> nn.MultiheadAttention:
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(d_model, num_heads, bias=bias, batch_first=True, dtype=dtype)
    with torch.no_grad():
        for parameter in layer.parameters():  # biases start at 0, which would hide a missing one
            parameter.normal_(std=0.3)
    return layer


CASES = {
    # name: (cross-attention?, our mask, their arguments for the same)
    "self": (False, None, {}),
    "cross": (True, None, {}),
    "self, causal": (
        False,
        causal_mask(5),
        {"attn_mask": to_torch_blocked(causal_mask(5))},
    ),
    "self, padded": (
        False,
        padding_mask([5, 3], 5),
        {"key_padding_mask": to_torch_blocked(padding_mask([5, 3], 5))[:, 0, 0]},
    ),
    "self, causal and padded": (
        False,
        causal_mask(5) & padding_mask([5, 3], 5),
        {
            "attn_mask": to_torch_blocked(causal_mask(5)),
            "key_padding_mask": to_torch_blocked(padding_mask([5, 3], 5))[:, 0, 0],
        },
    ),
    "cross, padded": (
        True,
        padding_mask([7, 4], 7),
        {"key_padding_mask": to_torch_blocked(padding_mask([7, 4], 7))[:, 0, 0]},
    ),
    "cross, each head its own": (
        True,
        some_mask(2, 3, 5, 7),
        {"attn_mask": to_torch_blocked(some_mask(2, 3, 5, 7)).flatten(0, 1)},
    ),
    "self, added numbers": (
        False,
        causal_mask(5),
        {"attn_mask": to_additive(causal_mask(5), torch.float64)},
    ),
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_multi_head_is_pytorchs_with_copied_weights(case, need_weights):
    cross, mask, arguments = CASES[case]
    theirs = torch_layer()
    ours = copied_from(theirs)
    x, x_their = (random(2, 5, 12).requires_grad_() for _ in range(2))
    c, c_their = (random(2, 7, 12, seed=1).requires_grad_() for _ in range(2))
    context, context_their = (c, c_their) if cross else (None, x_their)

    output, weights = ours(x, context, mask, need_weights=need_weights)
    want, want_weights = theirs(
        x_their, context_their, context_their, average_attn_weights=False, **arguments
    )
    torch.testing.assert_close(output, want, **DOUBLE)
    if need_weights:
        torch.testing.assert_close(weights, want_weights, **DOUBLE)
    else:
        assert weights is None

    wish = random(2, 5, 12, seed=9)
    (output * wish).sum().backward()
    (want * wish).sum().backward()
    torch.testing.assert_close(x.grad, x_their.grad, **DOUBLE)
    if cross:
        torch.testing.assert_close(c.grad, c_their.grad, **DOUBLE)
    stacked = (ours.w_q, ours.w_k, ours.w_v)
    for got, want in (
        (torch.cat([layer.weight.grad for layer in stacked]), theirs.in_proj_weight.grad),
        (torch.cat([layer.bias.grad for layer in stacked]), theirs.in_proj_bias.grad),
        (ours.w_o.weight.grad, theirs.out_proj.weight.grad),
        (ours.w_o.bias.grad, theirs.out_proj.bias.grad),
    ):
        torch.testing.assert_close(got, want, **DOUBLE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_parity_holds_in_lower_precision_and_without_bias(bias, dtype):
    theirs = torch_layer(bias=bias, dtype=dtype)
    ours = copied_from(theirs)
    assert (ours.w_q.bias is None) is not bias
    x, c = random(2, 5, 12, dtype=dtype), random(2, 7, 12, seed=1, dtype=dtype)
    want, want_weights = theirs(x, c, c, average_attn_weights=False)
    close = SINGLE if dtype == torch.float32 else {"atol": 4e-2, "rtol": 2e-2}
    for need_weights in (True, False):
        output, weights = ours(x, c, need_weights=need_weights)
        assert output.dtype == dtype
        torch.testing.assert_close(output, want, **close)
        if need_weights:
            torch.testing.assert_close(weights, want_weights, **close)


def test_attention_layer_is_three_matrices_around_pytorchs_attention():
    torch.manual_seed(0)
    layer = AttentionLayer(d_model=6, d_k=4, d_v=5).double()
    x, context, mask = random(2, 3, 6), random(2, 7, 6, seed=1), some_mask(2, 3, 7)
    for source, visible in ((None, None), (context, mask)):
        y = x if source is None else source
        want = F.scaled_dot_product_attention(
            x @ layer.w_q.weight.T,
            y @ layer.w_k.weight.T,
            y @ layer.w_v.weight.T,
            attn_mask=visible,
        )
        output, weights = layer(x, source, visible)
        assert weights.shape == (2, 3, y.shape[1])
        torch.testing.assert_close(output, want, **DOUBLE)


@pytest.mark.parametrize("own_values", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_additive_attention_is_the_literal_loop(masked, own_values):
    torch.manual_seed(0)
    attention = AdditiveAttention(d_query=3, d_key=4, d_hidden=5).double()
    queries, keys = random(2, 2, 3), random(2, 6, 4, seed=1)
    values = random(2, 6, 7, seed=2) if own_values else None
    mask = some_mask(2, 2, 6) if masked else None
    output, weights = attention(queries, keys, values, mask)

    w, u, bias, v = (p.detach() for p in (attention.w.weight, *attention.u.parameters(),
                                          attention.v.weight[0]))  # fmt: skip
    values = keys if values is None else values
    for b, i in product(range(2), range(2)):
        powers = []
        for j in range(6):
            score = 0.0
            for h in range(5):
                inner = float(bias[h])
                inner += sum(float(w[h, c] * queries[b, i, c]) for c in range(3))
                inner += sum(float(u[h, c] * keys[b, j, c]) for c in range(4))
                score += float(v[h]) * math.tanh(inner)
            powers.append(math.exp(score) if mask is None or mask[b, i, j] else 0.0)
        want = torch.tensor(powers, dtype=torch.float64) / sum(powers)
        torch.testing.assert_close(weights[b, i], want, **DOUBLE)
        mixed = sum(want[j] * values[b, j] for j in range(6))
        torch.testing.assert_close(output[b, i], mixed, **DOUBLE)


def test_additive_gradients_agree_with_finite_differences():
    torch.manual_seed(0)
    attention = AdditiveAttention(d_query=2, d_key=3, d_hidden=4).double()
    queries, keys = random(2, 2).requires_grad_(), random(4, 3).requires_grad_()
    mask = some_mask(2, 4)
    parameters = tuple(attention.parameters())
    assert torch.autograd.gradcheck(
        lambda *_: attention(queries, keys, mask=mask), (queries, keys, *parameters), atol=1e-7
    )
