"""The Vision Transformer against torch's own modules, and against what its docstrings promise."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.explorer.measures import rollout
from utils.models.to_torch import to_torch
from utils.models.transformer import Encoder
from utils.models.vit import (
    VIT_BLOCK,
    PatchEmbedding,
    SmallCNN,
    VisionTransformer,
    attention_rollout,
    patchify,
    position_similarity,
    unpatchify,
)
from utils.train.loop import count_parameters

BLOCK = replace(VIT_BLOCK, d_model=16, num_heads=4, d_ff=32)
SIZES = {"patch": 2, "channels": 1, "num_classes": 10, "num_layers": 2}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def small(**changes) -> VisionTransformer:
    return VisionTransformer(BLOCK, **({"size": 8} | SIZES | changes)).eval()


@pytest.mark.parametrize(("height", "width", "channels", "patch"), [(8, 8, 1, 2), (8, 20, 3, 4)])
def test_patches_are_torchs_unfold_and_go_back(height, width, channels, patch):
    images = torch.randn(2, channels, height, width)
    patches = patchify(images, patch)
    assert torch.equal(patches, F.unfold(images, patch, stride=patch).transpose(1, 2))
    assert torch.equal(patches[:, 1], images[:, :, :patch, patch : 2 * patch].flatten(1))
    assert torch.equal(unpatchify(patches, patch, channels, size=(height, width)), images)


def test_a_square_needs_no_size():
    images = torch.randn(2, 1, 8, 8)
    assert torch.equal(unpatchify(patchify(images, 2), 2), images)


def test_the_embedding_is_a_convolution():
    embed, images = PatchEmbedding(16, 3, 48), torch.randn(1, 3, 64, 32)
    wanted = embed.as_convolution()(images).flatten(2).transpose(1, 2)
    assert torch.allclose(embed(images), wanted, atol=1e-5)


def test_the_encoder_is_torchs_pre_norm_encoder():
    """nn.Conv2d, nn.TransformerEncoder(norm_first) and nn.LayerNorm, with our weights in them."""
    model = small()
    for parameter in model.encoder.parameters():
        nn.init.normal_(parameter, std=0.3)  # not the zeros and ones of the start
    theirs = to_torch(model.encoder)
    assert theirs.layers[0].norm_first and theirs.layers[0].norm1.eps == 1e-6
    images = torch.randn(3, 1, 8, 8)
    x = model.embed.as_convolution()(images).flatten(2).transpose(1, 2)
    x = torch.cat([model.cls.expand(3, 1, 16), x], dim=1) + model.positions
    wanted = F.linear(theirs.eval()(x)[:, 0], model.head.weight, model.head.bias)
    for need_weights in (False, True):
        logits, _ = model(images, need_weights=need_weights)
        assert torch.allclose(logits, wanted, atol=1e-5)


def test_weights_come_on_request():
    model, images = small(), torch.randn(3, 1, 8, 8)
    assert not model(images)[1]
    logits, weights = model(images, need_weights=True)
    assert logits.shape == (3, 10)
    assert weights.encoder.shape == (3, 2, 4, 17, 17)
    assert torch.allclose(weights.encoder.sum(-1), torch.ones(()))


def test_the_base_model_has_its_published_size():
    base = replace(VIT_BLOCK, d_model=768, num_heads=12, d_ff=3072)
    sizes = {"size": 224, "patch": 16, "channels": 3, "num_classes": 1000, "num_layers": 12}
    with torch.device("meta"):
        model = VisionTransformer(base, **sizes)
    assert count_parameters(model) == 86_567_656
    assert model.positions.shape == (1, 197, 768)


def test_without_positions_order_does_not_count():
    images, order = torch.randn(2, 1, 8, 8), torch.randperm(16)
    shuffled = unpatchify(patchify(images, 2)[:, order], 2)
    blind, seeing = small(positions=False), small()
    assert torch.allclose(blind(images)[0], blind(shuffled)[0], atol=1e-5)
    assert (seeing(images)[0] - seeing(shuffled)[0]).abs().max() > 0.05


def test_the_mean_pool_has_no_class_token():
    model = small(pool="mean")
    assert model.cls is None
    assert model.positions.shape == (1, 16, 16)
    assert model(torch.randn(2, 1, 8, 8), need_weights=True)[1].encoder.shape == (2, 2, 4, 16, 16)


def test_images_need_not_be_square():
    model = small(size=(4, 8))
    assert model.grid == (2, 4)
    assert model(torch.randn(2, 1, 4, 8))[0].shape == (2, 10)


def test_everything_learns():
    model = small().train()
    model(torch.randn(4, 1, 8, 8))[0].logsumexp(-1).sum().backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # a bias on the keys changes no softmax: its gradient is 0 but for rounding
    assert [n for n in silent if "w_k.bias" not in n] == []


def test_rollout_is_the_explorers():
    weights = torch.randn(3, 2, 4, 5, 5).softmax(-1)  # layers, batch, heads
    reached = attention_rollout(weights.transpose(0, 1))
    for b in range(2):
        assert np.allclose(reached[b], rollout(weights[:, b].numpy())[-1], atol=1e-6)
    assert torch.allclose(reached.sum(-1), torch.ones(2, 5))


def test_position_similarity_is_the_cosine():
    model = small()
    maps, table = position_similarity(model), model.positions[0, 1:].detach()
    assert maps.shape == (4, 4, 4, 4)
    wanted = F.cosine_similarity(table[5], table[14], dim=0)
    assert maps[1, 1, 3, 2].item() == pytest.approx(wanted.item(), abs=1e-6)


@pytest.mark.parametrize("side", [8, 12])
def test_the_small_cnn_answers_like_a_vit(side):
    logits, weights = SmallCNN()(torch.randn(2, 1, side, side))
    assert logits.shape == (2, 10)
    assert not weights


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: patchify(torch.zeros(1, 1, 8, 9), 2), "multiples of the patch side 2, got"),
        (lambda: patchify(torch.zeros(8, 8), 2), r"\(B, C, height, width\), got \(8, 8\)"),
        (lambda: unpatchify(torch.zeros(1, 6, 4), 2), "6 patches do not fill"),
        (lambda: unpatchify(torch.zeros(1, 4, 5), 2), r"= 4\), got \(1, 4, 5\)"),
        (lambda: PatchEmbedding(2, 3, 8)(torch.zeros(1, 1, 4, 4)), r"\(B, 3, height"),
        (lambda: PatchEmbedding(0, 3, 8), "must be positive, got 0"),
        (lambda: small(patch=3), "patches of 3 pixels do not fill"),
        (lambda: small(pool="max"), "got 'max'"),
        (lambda: small()(torch.zeros(1, 1, 12, 12)), r"images of \(8, 8\) pixels, got"),
        (lambda: attention_rollout(torch.zeros(4, 3)), r"\(B, layers, H, N, N\), got \(4, 3\)"),
        (lambda: position_similarity(small(positions=False)), "no positions"),
    ],
)
def test_what_does_not_fit_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_it_is_the_courses_encoder():
    assert isinstance(small().encoder, Encoder)
