"""PyTorch's own modules with our weights: the independent implementation to compare with."""

from __future__ import annotations

import copy
from functools import singledispatch

import torch
from torch import nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.positions import RotaryAttention
from utils.models.transformer import Decoder, DecoderBlock, Encoder, EncoderBlock


def to_torch(ours: nn.Module) -> nn.Module:
    """The module of ``torch.nn`` that does the same, batch-first, with copies of our weights.

    Takes attention, a block or a stack.  It stands where ours stands: on the same device, in the
    same precision, in the same mode.
    """
    with torch.no_grad():
        return _twin(ours).train(ours.training)


@singledispatch
def _twin(ours: nn.Module) -> nn.Module:
    raise TypeError(
        "expected MultiHeadAttention, a block or a stack of blocks, which torch.nn has too, "
        f"got {type(ours).__name__}"
    )


@_twin.register
def _(ours: RotaryAttention) -> nn.Module:
    raise TypeError("torch.nn has no rotary attention")


@_twin.register
def _(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    bias = ours.w_q.bias is not None
    theirs = nn.MultiheadAttention(
        ours.w_q.in_features, ours.num_heads, dropout=ours.dropout, bias=bias, **_where(ours)
    )
    three = (ours.w_q, ours.w_k, ours.w_v)  # theirs are stacked into one matrix
    theirs.in_proj_weight.copy_(torch.cat([w.weight for w in three]))
    if bias:
        theirs.in_proj_bias.copy_(torch.cat([w.bias for w in three]))
    theirs.out_proj.load_state_dict(ours.w_o.state_dict())
    return theirs


@_twin.register
def _(ours: EncoderBlock) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(**_sizes(ours))
    theirs.self_attn = _twin(ours.attention)
    return _with_the_rest(theirs, ours)


@_twin.register
def _(ours: DecoderBlock) -> nn.TransformerDecoderLayer:
    theirs = nn.TransformerDecoderLayer(**_sizes(ours))
    theirs.self_attn = _twin(ours.attention)
    theirs.multihead_attn = _twin(ours.cross_attention)
    return _with_the_rest(theirs, ours)


@_twin.register(Encoder)
@_twin.register(Decoder)
def _(ours: Encoder | Decoder) -> nn.TransformerEncoder | nn.TransformerDecoder:
    layers = [_twin(block) for block in ours.blocks]
    norm = copy.deepcopy(ours.norm) if isinstance(ours.norm, nn.LayerNorm) else None
    if isinstance(ours, Encoder):
        theirs = nn.TransformerEncoder(layers[0], len(layers), norm, enable_nested_tensor=False)
    else:
        theirs = nn.TransformerDecoder(layers[0], len(layers), norm)
    theirs.layers = nn.ModuleList(layers)
    return theirs


def _sizes(ours: EncoderBlock | DecoderBlock) -> dict:
    return {
        "d_model": ours.attention.w_q.in_features,
        "nhead": ours.attention.num_heads,
        "dim_feedforward": ours.feed_forward.up.out_features,
        "dropout": ours.dropout.p,
        "activation": ours.feed_forward.activation,
        "layer_norm_eps": ours.norm1.eps,
        "norm_first": ours.norm_first,
        **_where(ours),
    }


def _where(ours: nn.Module) -> dict:
    """On the device and in the precision of ours, from the start: nothing is rounded."""
    weight = next(ours.parameters())
    return {"batch_first": True, "device": weight.device, "dtype": weight.dtype}


def _with_the_rest(theirs: nn.Module, ours: EncoderBlock | DecoderBlock) -> nn.Module:
    """Copy the feed-forward network and the norms."""
    theirs.linear1.load_state_dict(ours.feed_forward.up.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.down.state_dict())
    for name, norm in ours.named_children():
        if name.startswith("norm"):
            getattr(theirs, name).load_state_dict(norm.state_dict())
    return theirs
