"""The Transformer's blocks and stacks against PyTorch's own, with copied weights."""

from itertools import product

import pytest
import torch
from torch import nn

from tests.test_attention_parity import random, some_mask
from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask, padding_mask, to_torch_blocked
from utils.models.to_torch import to_torch
from utils.models.transformer import (
    BlockSizes,
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
STACKS = {"encoder": Encoder, "decoder": Decoder}


def shaken(ours):
    """Random weights also where they start at 0 or 1, which hides mistakes."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in ours.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += 0.2 * noise.to(parameter.dtype)
    return ours


def whole_twin(encoder, decoder):
    """``nn.Transformer`` with our stacks; put in afterwards, as it shakes what it is made with."""
    theirs = nn.Transformer(D, H, 1, 1, WIDE, batch_first=True)
    theirs.encoder, theirs.decoder = to_torch(encoder), to_torch(decoder)
    return theirs


def pair(kind, *, final_norm=None, dtype, **how):
    """Our module and PyTorch's, as functions of (x, memory, mask, memory_mask, need_weights)."""
    torch.manual_seed(0)
    block = BlockSizes(d_model=D, num_heads=H, d_ff=WIDE, **how)
    encodes = "encoder" in kind
    if kind == "model":
        stacks = {name: make(LAYERS, block, final_norm=True) for name, make in STACKS.items()}
        ours = shaken(nn.ModuleDict(stacks).to(dtype))
        theirs = whole_twin(*ours.values())
    else:
        make = (EncoderBlock if encodes else DecoderBlock) if "block" in kind else None
        ours = make(block) if make else STACKS[kind](LAYERS, block, final_norm=final_norm)
        theirs = to_torch(shaken(ours.to(dtype)))
    assert count_parameters(ours) == count_parameters(theirs)

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


def gradients(module):
    """Of every parameter, in one order for both: attention by attention, block by block."""
    if isinstance(module, nn.MultiheadAttention):
        stacked = [module.in_proj_weight.grad, module.in_proj_bias.grad]
        return stacked + gradients(module.out_proj)
    if isinstance(module, MultiHeadAttention):
        three = (module.w_q, module.w_k, module.w_v)
        stacked = [torch.cat([getattr(w, name).grad for w in three]) for name in ("weight", "bias")]
        return stacked + gradients(module.w_o)
    if isinstance(module, nn.Linear | nn.LayerNorm):
        return [module.weight.grad, module.bias.grad]
    if isinstance(module, DecoderBlock | EncoderBlock):  # in PyTorch's order
        crossed = [module.cross_attention] if isinstance(module, DecoderBlock) else []
        norms = [part for name, part in module.named_children() if name.startswith("norm")]
        feed_forward = [module.feed_forward.up, module.feed_forward.down]
        parts = [module.attention, *crossed, *feed_forward, *norms]
    else:
        parts = module.children()
    return [gradient for part in parts for gradient in gradients(part)]


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
    for got, want in zip(gradients(ours), gradients(theirs), strict=True):
        same_gradient(got, want)


def same_gradient(got, want):
    """A gradient is a long sum: in float32 it is judged by the size of its largest entry."""
    size = 1.0 if want.dtype == torch.float64 else max(1.0, float(want.abs().max()))
    close = CLOSE[want.dtype]
    torch.testing.assert_close(got, want, atol=close["atol"] * size, rtol=close["rtol"])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("norm_first", [True, False], ids=["pre", "post"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_pytorchs_with_copied_weights(kind, norm_first, mask):
    for activation, train in product(("relu", "gelu"), (True, False)):
        how = {"norm_first": norm_first, "activation": activation, "train": train}
        compare(kind, MASKS[mask](), torch.float64, **how, final_norm=norm_first)
    how = {"norm_first": norm_first, "final_norm": norm_first}
    compare(kind, MASKS[mask](), torch.float32, **how)
    compare(kind, MASKS[mask](), torch.float64, need_weights=True, **how)


@pytest.mark.parametrize("norm_first", [True, False], ids=["pre", "post"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_final_norm_is_there_on_request_and_in_a_norm_first_stack(kind, norm_first):
    for final_norm in (True, False):
        compare(
            kind, MASKS["padding"](), torch.float64, norm_first=norm_first, final_norm=final_norm
        )
    block = BlockSizes(d_model=D, num_heads=H, d_ff=WIDE, norm_first=norm_first, eps=1e-3)
    by_default = STACKS[kind](2, block).norm
    assert isinstance(by_default, nn.LayerNorm if norm_first else nn.Identity)
    assert not norm_first or by_default.eps == 1e-3


@pytest.mark.parametrize("norm_first", [True, False], ids=["pre", "post"])
@pytest.mark.parametrize("kind", KINDS[:4])
def test_dropout_stands_where_pytorch_has_it(kind, norm_first):
    """The same seed drops the same numbers; those of one sentence lie alike in memory."""
    ours, theirs, run_ours, run_theirs = pair(
        kind, norm_first=norm_first, dtype=torch.float64, dropout=0.3, final_norm=norm_first
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


def test_what_torch_does_not_have_is_refused():
    with pytest.raises(TypeError, match="expected MultiHeadAttention, a block .* got Linear"):
        to_torch(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="no rotary attention"):
        to_torch(EncoderBlock(BlockSizes(d_model=D, num_heads=H, d_ff=WIDE, rotary=True)))
