"""What must hold for any attention: the maps shown are the ones used; symmetries; shapes."""

import pytest
import torch
import torch.nn.functional as F

from utils.layers.attention import (
    AdditiveAttention,
    AttentionLayer,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from utils.layers.masks import causal_mask, local_mask, padding_mask

PATHS = pytest.mark.parametrize("need_weights", [True, False], ids=["weights", "fused"])


def random(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def multi_head(d_model=8, num_heads=2, dropout=0.0, dtype=torch.float64):
    torch.manual_seed(1)
    return MultiHeadAttention(d_model, num_heads, dropout=dropout).to(dtype)


def by_hand(layer, weights, source):
    """The output that ``weights`` must give, head by head, through slices of the matrices."""
    width = layer.w_v.out_features // layer.num_heads
    heads = []
    for h in range(layer.num_heads):
        part = slice(h * width, (h + 1) * width)
        values = source @ layer.w_v.weight[part].T + layer.w_v.bias[part]
        heads.append(weights[:, h] @ values)
    return torch.cat(heads, dim=-1) @ layer.w_o.weight.T + layer.w_o.bias


# ---- the weights are the ones used ------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_weights_sum_to_one_are_zero_where_masked_and_make_the_output(dtype):
    q, k, v = (random(2, 3, n, 4, seed=n, dtype=dtype) for n in (5, 6, 6))
    mask = (random(5, 6) > 0) | (torch.arange(6) == 2)
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert (weights.masked_select(~mask) == 0).all()
    assert (weights.masked_select(mask) > 0).all()
    exact = 1e-12 if dtype == torch.float64 else 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(
        weights.double().sum(-1), torch.ones(2, 3, 5, dtype=torch.float64), atol=exact, rtol=0
    )
    assert torch.equal(output, weights @ v)


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_the_heads_maps_lead_to_the_output_also_while_dropping(cross, training):
    layer = multi_head(dropout=0.4).train(training)
    x, context = random(2, 5, 8), random(2, 6, 8, seed=1) if cross else None
    n = 6 if cross else 5
    mask = padding_mask([n, 3], n)
    output, weights = layer(x, context, mask)
    assert weights.shape == (2, 2, 5, n)
    torch.testing.assert_close(output, by_hand(layer, weights, x if context is None else context))
    assert (weights.masked_select(~mask) == 0).all()
    dropped = (weights.masked_select(mask) == 0).any()
    assert dropped == training


def test_dropout_zeroes_weights_and_scales_the_rest():
    torch.manual_seed(0)
    q, k, v = random(1, 400, 4), random(1, 25, 4, seed=1), random(1, 25, 3, seed=2)
    _, full = scaled_dot_product_attention(q, k, v)
    output, weights = scaled_dot_product_attention(q, k, v, dropout=0.3)
    kept = weights != 0
    torch.testing.assert_close(weights[kept], full[kept] / 0.7)
    assert abs(kept.double().mean().item() - 0.7) < 0.02  # four standard deviations
    assert torch.equal(output, weights @ v)


def test_the_fused_path_drops_weights_too_and_only_in_training():
    layer = multi_head(dropout=0.5)
    x = random(1, 6, 8)
    layer.train()
    assert not torch.equal(layer(x, need_weights=False)[0], layer(x, need_weights=False)[0])
    layer.eval()
    assert torch.equal(layer(x, need_weights=False)[0], layer(x, need_weights=False)[0])
    torch.testing.assert_close(layer(x, need_weights=False)[0], layer(x)[0])

    torch.manual_seed(0)  # looking everywhere alike at values of 1: each output has mean 1
    q, k, v = torch.zeros(2000, 4), torch.zeros(50, 4), torch.ones(50, 1)
    for mask in (None, torch.ones(2000, 50, dtype=torch.bool)):
        output, _ = scaled_dot_product_attention(q, k, v, mask, dropout=0.5, need_weights=False)
        assert abs(output.mean().item() - 1) < 0.015
        assert abs(output.std().item() - (0.5 / 0.5 / 50) ** 0.5) < 0.02


def test_without_weights_pytorchs_kernel_does_the_work_and_with_them_it_does_not(monkeypatch):
    calls = []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or kernel(*a, **k)
    )
    layer, x = multi_head(), random(2, 5, 8)
    layer(x)
    assert not calls
    assert layer(x, need_weights=False)[1] is None
    assert calls == [1]


@PATHS
def test_autocast_to_bfloat16_keeps_the_meaning(need_weights):
    layer = multi_head(dtype=torch.float32)
    x, mask = random(2, 5, 8, dtype=torch.float32), causal_mask(5)
    want, want_weights = layer(x, mask=mask)
    with torch.autocast("cpu", torch.bfloat16):
        output, weights = layer(x, mask=mask, need_weights=need_weights)
    torch.testing.assert_close(output.float(), want, atol=3e-2, rtol=3e-2)
    if need_weights:
        torch.testing.assert_close(weights.float(), want_weights, atol=3e-2, rtol=3e-2)
        assert (weights.masked_select(~mask) == 0).all()


# ---- symmetries, shapes and state -------------------------------------------------------------


@PATHS
def test_self_attention_is_equivariant_and_cross_attention_blind_to_order(need_weights):
    layer, order = multi_head(), torch.tensor([3, 0, 4, 1, 2])
    x, queries = random(2, 5, 8), random(2, 3, 8, seed=1)
    output, weights = layer(x, need_weights=need_weights)
    moved, moved_weights = layer(x[:, order], need_weights=need_weights)
    torch.testing.assert_close(moved, output[:, order])
    assert not torch.allclose(moved, output)
    if need_weights:
        torch.testing.assert_close(moved_weights, weights[:, :, order][..., order])

    torch.testing.assert_close(
        layer(queries, x[:, order], need_weights=need_weights)[0],
        layer(queries, x, need_weights=need_weights)[0],
    )


def test_a_mask_breaks_the_symmetry_unless_it_moves_along():
    layer, order = multi_head(), torch.tensor([3, 0, 4, 1, 2])
    x, mask = random(2, 5, 8), local_mask(5, 1)
    output, _ = layer(x, mask=mask)
    torch.testing.assert_close(layer(x[:, order], mask=mask[order][:, order])[0], output[:, order])
    assert not torch.allclose(layer(x[:, order], mask=mask)[0], output[:, order])


@PATHS
def test_strange_strides_make_no_difference(need_weights):
    q, k, v = random(4, 2, 3, 5), random(4, 2, 6, 5), random(4, 2, 6, 7)
    mask = random(3, 6) > 0
    mask[:, 0] = True
    want, _ = scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights)
    strange = [x.mT.contiguous().mT for x in (q, k, v)]
    strange_mask = mask.T.contiguous().T
    assert not any(x.is_contiguous() for x in (*strange, strange_mask))
    got, _ = scaled_dot_product_attention(*strange, strange_mask, need_weights=need_weights)
    torch.testing.assert_close(got, want)
    layer, x = multi_head(), random(2, 5, 8)
    torch.testing.assert_close(
        layer(x.transpose(0, 1).contiguous().transpose(0, 1), need_weights=need_weights)[0],
        layer(x, need_weights=need_weights)[0],
    )


@PATHS
@pytest.mark.parametrize(
    ("q_prefix", "k_prefix", "v_prefix", "mask_shape"),
    [
        ((), (), (), (3, 5)),
        ((), (), (), (5,)),
        ((2, 4), (1, 4), (1, 4), (2, 1, 3, 5)),
        ((4,), (2, 4), (2, 4), (4, 1, 5)),
        ((2, 4), (2, 4), (2, 4), (5,)),
        ((2, 4), (), (), (3, 1)),
        ((), (), (2, 4), (3, 5)),
        ((1, 2, 2), (1, 2, 2), (1, 2, 2), (2, 1, 1, 5)),
    ],
)
def test_batch_axes_broadcast(need_weights, q_prefix, k_prefix, v_prefix, mask_shape):
    q, k, v = random(*q_prefix, 3, 4), random(*k_prefix, 5, 4), random(*v_prefix, 5, 2)
    mask = random(*mask_shape) > -0.5
    mask[..., 0] = True
    prefix = torch.broadcast_shapes(q_prefix, k_prefix, v_prefix, mask_shape[:-2])
    want, _ = scaled_dot_product_attention(
        q.expand(*prefix, 3, 4).clone(),
        k.expand(*prefix, 5, 4).clone(),
        v.expand(*prefix, 5, 2).clone(),
        mask.expand(*prefix, 3, 5).clone(),
    )
    got, _ = scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights)
    torch.testing.assert_close(got, want)


def test_heads_are_cut_from_the_width_and_put_back_in_place():
    layer = MultiHeadAttention(6, 3)
    x = torch.arange(2 * 4 * 6).reshape(2, 4, 6)
    heads = layer.split_heads(x)
    assert heads.shape == (2, 3, 4, 2)
    for h in range(3):
        assert torch.equal(heads[:, h], x[..., 2 * h : 2 * h + 2])
    assert torch.equal(layer.merge_heads(heads), x)


def test_arguments_are_never_written_to():
    layer, x, context, mask = multi_head(), random(2, 5, 8), random(2, 6, 8), random(5, 6) > 0
    copies = [tensor.clone() for tensor in (x, context, mask)]
    layer(x, context, mask)
    layer(x, context, mask, need_weights=False)
    assert all(torch.equal(a, b) for a, b in zip((x, context, mask), copies))


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (
            lambda: MultiHeadAttention(8, 2),
            {f"w_{letter}.{part}" for letter in "qkvo" for part in ("weight", "bias")},
        ),
        (lambda: AttentionLayer(8, 4, 4), {"w_q.weight", "w_k.weight", "w_v.weight"}),
        (lambda: AdditiveAttention(8, 8, 4), {"w.weight", "u.weight", "u.bias", "v.weight"}),
    ],
)
def test_a_saved_layer_comes_back_the_same(make, names, tmp_path):
    saved, fresh = make(), make()
    x = torch.randn(2, 5, 8)
    arguments = (x, x) if isinstance(saved, AdditiveAttention) else (x,)
    assert set(saved.state_dict()) == names
    assert not torch.equal(saved(*arguments)[0], fresh(*arguments)[0])
    torch.save(saved.state_dict(), tmp_path / "layer.pt")
    fresh.load_state_dict(torch.load(tmp_path / "layer.pt", weights_only=True))
    assert torch.equal(saved(*arguments)[0], fresh(*arguments)[0])
