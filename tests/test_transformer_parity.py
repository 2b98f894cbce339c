"""The Transformer's blocks and stacks against PyTorch's own, with copied weights."""

from itertools import product

import pytest
import torch
from torch import nn

from tests.test_attention_parity import random, some_mask
from utils.layers.masks import causal_mask, padding_mask, to_torch_blocked
from utils.models.transformer import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
)
from utils.train.loop import count_parameters

D, H, WIDE, LAYERS = 12, 3, 20, 3  # width, heads, feed-forward width, layers
B, M, N = 2, 5, 7  # sentences, words of the target, words of the source
CLOSE = {
    torch.float64: {"atol": 1e-10, "rtol": 1e-10},
    torch.float32: {"atol": 1e-5, "rtol": 1e-5},
}
# our name of a layer, PyTorch's
NAMES = {
    "attention": "self_attn",
    "cross_attention": "multihead_attn",
    "feed_forward.up": "linear1",
    "feed_forward.down": "linear2",
    "norm1": "norm1",
    "norm2": "norm2",
    "norm3": "norm3",
}


def alike(ours, theirs):
    """(our parameters, the one of PyTorch that stacks them) of two modules of the same kind."""
    if isinstance(theirs, nn.MultiheadAttention):
        stacked = (ours.w_q, ours.w_k, ours.w_v)
        yield [layer.weight for layer in stacked], theirs.in_proj_weight
        yield [layer.bias for layer in stacked], theirs.in_proj_bias
        yield from alike(ours.w_o, theirs.out_proj)
    elif isinstance(theirs, nn.Linear | nn.LayerNorm):
        yield [ours.weight], theirs.weight
        yield [ours.bias], theirs.bias
    elif hasattr(theirs, "layers"):
        for block, layer in zip(ours.blocks, theirs.layers, strict=True):
            yield from alike(block, layer)
        if theirs.norm is not None:
            yield from alike(ours.norm, theirs.norm)
    elif isinstance(theirs, nn.Transformer):
        yield from alike(ours["encoder"], theirs.encoder)
        yield from alike(ours["decoder"], theirs.decoder)
    else:
        for our, their in NAMES.items():
            if hasattr(theirs, their):
                yield from alike(ours.get_submodule(our), theirs.get_submodule(their))


def copy_weights(ours, theirs):
    """Random weights, the same in both; also where they start at 0 or 1, which hides mistakes."""
    generator = torch.Generator().manual_seed(0)
    copied = 0
    with torch.no_grad():
        for parts, whole in alike(ours, theirs):
            whole += 0.2 * torch.randn(whole.shape, generator=generator, dtype=whole.dtype)
            for part, rows in zip(parts, whole.split(len(whole) // len(parts)), strict=True):
                part.copy_(rows)
            copied += whole.numel()
    assert copied == count_parameters(ours) == count_parameters(theirs)


def pair(kind, *, pre_norm=True, activation="relu", final_norm=None, dtype, dropout=0.0):
    """Our module and PyTorch's, as functions of (x, memory, mask, memory_mask, need_weights)."""
    torch.manual_seed(0)
    block = {"d_model": D, "num_heads": H, "d_ff": WIDE, "dropout": dropout}
    block |= {"pre_norm": pre_norm, "activation": activation}
    layer = {"d_model": D, "nhead": H, "dim_feedforward": WIDE, "dropout": dropout, "dtype": dtype}
    layer |= {"norm_first": pre_norm, "activation": activation, "batch_first": True}
    encodes = "encoder" in kind
    one = (nn.TransformerEncoderLayer if encodes else nn.TransformerDecoderLayer)(**layer)
    norm = nn.LayerNorm(D, dtype=dtype) if final_norm else None
    if kind == "model":
        stacks = {"encoder": Encoder(LAYERS, final_norm=True, **block)}
        ours = nn.ModuleDict(stacks | {"decoder": Decoder(LAYERS, final_norm=True, **block)})
        theirs = nn.Transformer(num_encoder_layers=LAYERS, num_decoder_layers=LAYERS, **layer)
    elif kind.endswith("block"):
        ours, theirs = (EncoderBlock if encodes else DecoderBlock)(**block), one
    elif encodes:
        ours = Encoder(LAYERS, final_norm=final_norm, **block)
        theirs = nn.TransformerEncoder(one, LAYERS, norm, enable_nested_tensor=False)
    else:
        ours = Decoder(LAYERS, final_norm=final_norm, **block)
        theirs = nn.TransformerDecoder(one, LAYERS, norm)
    copy_weights(ours.to(dtype), theirs)

    def run_ours(x, memory, mask, memory_mask, need_weights=False):
        if encodes:
            return ours(x, mask, need_weights=need_weights)[0]
        decoder = ours
        if kind == "model":
            decoder, encoder = ours["decoder"], ours["encoder"]
            memory = encoder(memory, memory_mask, need_weights=need_weights)[0]
        return decoder(x, memory, mask, memory_mask, need_weights=need_weights)[0]

    def run_theirs(x, memory, mask, memory_mask):
        if encodes:
            return theirs(x, blocked(mask, M, M))
        over = [blocked(mask, M, M), blocked(memory_mask, M, N)]
        over = [blocked(memory_mask, N, N), *over] if kind == "model" else over
        return theirs(*([memory, x] if kind == "model" else [x, memory]), *over)

    return ours, theirs, run_ours, run_theirs


def blocked(mask, m, n):
    """A mask of ours as PyTorch's: True = forbidden, one table for each sentence and head."""
    return None if mask is None else to_torch_blocked(mask.expand(B, H, m, n)).flatten(0, 1)


MASKS = {
    "none": lambda: (None, None),
    "causal": lambda: (causal_mask(M), None),
    "padding": lambda: (padding_mask([5, 2], M), padding_mask([3, 7], N)),
    "causal and padding": lambda: (
        causal_mask(M) & padding_mask([5, 2], M),
        padding_mask([3, 7], N),
    ),
    "of each head": lambda: (some_mask(B, H, M, M), padding_mask([4, 7], N)),
}
KINDS = ("encoder block", "encoder", "decoder block", "decoder", "model")


def compare(kind, masks, dtype, train=True, need_weights=False, **how):
    """Outputs, and the gradients of inputs and of every parameter."""
    ours, theirs, run_ours, run_theirs = pair(kind, dtype=dtype, **how)
    ours.train(train), theirs.train(train)
    inputs = [random(B, M, D, dtype=dtype), random(B, N, D, seed=1, dtype=dtype)]
    mine, others = ([x.clone().requires_grad_() for x in inputs] for _ in range(2))
    output, want = run_ours(*mine, *masks, need_weights), run_theirs(*others, *masks)
    torch.testing.assert_close(output, want, **CLOSE[dtype])
    wish = random(B, M, D, seed=2, dtype=dtype)
    (output * wish).sum().backward()
    (want * wish).sum().backward()
    for got, want in zip(mine, others):
        assert (got.grad is None) == (want.grad is None)
        if want.grad is not None:
            same_gradient(got.grad, want.grad)
    for parts, whole in alike(ours, theirs):
        same_gradient(torch.cat([part.grad for part in parts]), whole.grad)


def same_gradient(got, want):
    """A gradient is a long sum: in float32 it is judged by the size of its largest entry."""
    size = 1.0 if want.dtype == torch.float64 else max(1.0, float(want.abs().max()))
    close = CLOSE[want.dtype]
    torch.testing.assert_close(got, want, atol=close["atol"] * size, rtol=close["rtol"])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("pre_norm", [True, False], ids=["pre", "post"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_pytorchs_with_copied_weights(kind, pre_norm, mask):
    for activation, train in product(("relu", "gelu"), (True, False)):
        how = {"pre_norm": pre_norm, "activation": activation, "train": train}
        compare(kind, MASKS[mask](), torch.float64, **how, final_norm=pre_norm)
    how = {"pre_norm": pre_norm, "final_norm": pre_norm}
    compare(kind, MASKS[mask](), torch.float32, **how)
    compare(kind, MASKS[mask](), torch.float64, need_weights=True, **how)


@pytest.mark.parametrize("pre_norm", [True, False], ids=["pre", "post"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_final_norm_is_there_on_request_and_in_a_pre_norm_stack(kind, pre_norm):
    for final_norm in (True, False):
        compare(kind, MASKS["padding"](), torch.float64, pre_norm=pre_norm, final_norm=final_norm)
    stack = {"encoder": Encoder, "decoder": Decoder}[kind]
    by_default = stack(2, d_model=D, num_heads=H, d_ff=WIDE, pre_norm=pre_norm, eps=1e-3).norm
    assert isinstance(by_default, nn.LayerNorm if pre_norm else nn.Identity)
    assert not pre_norm or by_default.eps == 1e-3


@pytest.mark.parametrize("pre_norm", [True, False], ids=["pre", "post"])
@pytest.mark.parametrize("kind", KINDS[:4])
def test_dropout_stands_where_pytorch_has_it(kind, pre_norm):
    """The same seed drops the same numbers; those of one sentence lie alike in memory."""
    ours, theirs, run_ours, run_theirs = pair(
        kind, pre_norm=pre_norm, dtype=torch.float64, dropout=0.3, final_norm=pre_norm
    )
    inputs = random(1, M, D), random(1, N, D, seed=1), None, None
    outputs = []
    for train, run in product((True, False), (run_ours, run_theirs)):
        ours.train(train), theirs.train(train)
        torch.manual_seed(5)
        outputs.append(run(*inputs))
    torch.testing.assert_close(outputs[0], outputs[1], **CLOSE[torch.float64])
    torch.testing.assert_close(outputs[2], outputs[3], **CLOSE[torch.float64])
    assert (outputs[0] - outputs[2]).abs().max() > 0.1
    torch.manual_seed(6)
    assert torch.equal(run_ours(*inputs), outputs[2])  # in evaluation no seed matters
