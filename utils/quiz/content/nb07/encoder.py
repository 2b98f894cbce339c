"""X07-3: the encoder block, with the norm before or after."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask, padding_mask
from utils.quiz.content.nb07.block_fill import Weights, attend, run, weights
from utils.quiz.content.nb07.encoder_bugs import BUGS
from utils.quiz.content.nb07.ffn import FFN, feed_forward
from utils.quiz.content.nb07.made import made
from utils.quiz.exercise import Exercise, Invariant


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, pre_norm: bool):
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FFN(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.pre_norm:
            mixed, _ = self.attention(self.norm1(x), mask=mask)
            x = x + mixed
            return x + self.ffn(self.norm2(x))
        mixed, _ = self.attention(x, mask=mask)
        x = self.norm1(x + mixed)
        return self.norm2(x + self.ffn(x))


def switched(bug, w: Weights, h: int, pre_norm: bool, x: Tensor, mask: Tensor | None = None):
    """Two sub-layers, each with a residual and a norm; ``bug`` says which mistakes are on."""
    pre = bug.choose(
        lambda: pre_norm,
        always_pre=lambda: True,
        always_post=lambda: False,
        orders_exchanged=lambda: not pre_norm,
    )
    mask = bug.choose(
        lambda: mask,
        mask_ignored=lambda: None,
        mask_inverted=lambda: None if mask is None else ~mask,
    )
    start, rows = x, None

    def norm(i: int, t: Tensor) -> Tensor:
        i = bug.choose(lambda: i, shared_norm=lambda: 0)
        skip = bug.choose(
            lambda: (),
            no_norms=lambda: (0, 1),
            no_first_norm=lambda: (0,),
            no_second_norm=lambda: (1,),
        )
        return t if i in skip else F.layer_norm(t, t.shape[-1:], *w["norms"][i])

    def attention(t: Tensor, plain: Tensor) -> Tensor:
        nonlocal rows
        keys = plain if pre and bug("keys-not-normed") else t
        mixed, rows = attend(w["attentions"][0], h, t, keys, mask)
        return mixed

    def network(t: Tensor, plain: Tensor) -> Tensor:
        return feed_forward(w["ffn"], t)

    layers = bug.choose(
        lambda: [attention, network],
        network_first=lambda: [network, attention],
        no_network=lambda: [attention],
        no_attention=lambda: [network],
        attention_twice=lambda: [attention, attention],
    )
    missing = bug.choose(
        lambda: (),
        no_residuals=lambda: (attention, network),
        no_network_residual=lambda: (network,),
        no_attention_residual=lambda: (attention,),
    )
    post = bug.choose(
        lambda: "",
        norm_before_add=lambda: "before",
        norm_of_x_only=lambda: "x only",
        unnormed_residual=lambda: "unnormed",
    )
    normed_back = bug.choose(
        lambda: (),
        residual_from_normed=lambda: (attention, network),
        residual_from_normed_once=lambda: (network,),
    )
    unnormed = x
    for layer in layers:
        i = int((layer is network) != bug("network-first"))
        read = start if layer is network and bug("parallel") else x
        base = start if layer is network and bug("stale-residual") else x
        base = base.new_zeros(()) if layer in missing else base
        if pre:
            base = norm(i, base) if layer in normed_back and base.dim() else base
            x = base + layer(norm(i, read), read)
            x = norm(i, x) if bug("normed-twice") else x
        elif post == "before":
            x = base + norm(i, layer(read, read))
        elif post == "x only":
            x = (norm(i, base) if base.dim() else base) + layer(read, read)
        else:
            base = unnormed if post == "unnormed" and layer is network else base
            unnormed = base + layer(read, read)
            x = norm(i, unnormed)
    x = norm(1, x) if pre and bug("normed-at-the-end") else x
    return bug.choose(lambda: x, weights_too=lambda: (x, rows), only_weights=lambda: rows)


def call(student, w: Weights, h: int, pre_norm: bool, x: Tensor, mask: Tensor | None = None):
    wide, d = w["ffn"]["up"].shape
    module = made(student, d, h, wide, pre_norm)
    args = (x,) if mask is None else (x, mask)
    return run(module, w, args, lambda: ENCODER.right(w, h, pre_norm, x, mask))


def _probe(r, pre_norm: bool, batch: int, n: int, d: int, h: int, wide: int, masked: bool = True):
    mask = causal_mask(n) & padding_mask([n] + [n - 2] * (batch - 1), n) if masked else None
    return weights(r, d, wide, norms=2, attentions=1), h, pre_norm, 1.5 * r(batch, n, d) + 0.3, mask


ENCODER = Exercise(
    id="X07-3",
    title="The encoder block",
    see="07, section 5",
    name="EncoderBlock",
    reference=EncoderBlock,
    switched=switched,
    call=call,
    bugs=BUGS,
    probes=lambda r: [
        _probe(r, True, 2, 5, 8, 2, 14),
        _probe(r, False, 3, 4, 6, 3, 10),
        _probe(r, True, 2, 6, 9, 3, 12, masked=False),
        _probe(r, False, 2, 3, 8, 4, 11, masked=False),
    ],
    square=lambda r: [_probe(r, True, 4, 4, 4, 2, 9), _probe(r, False, 4, 4, 4, 2, 9)],
    invariants=(
        Invariant(
            "The first token changes when only later ones do, which the mask forbids to look at.",
            lambda a: (*a[:3], torch.cat([a[3][:, :1], a[3][:, 1:] + 1], dim=1), a[4]),
            lambda result: result[:, 0],
        ),
    ),
    hints=(
        "Two sub-layers, attention and feed-forward network. Around each: a residual and a norm.",
        "Pre-norm: x = x + f(norm(x)). Post-norm: x = norm(x + f(x)). First with f = attention and "
        "norm1, then with f = ffn and norm2.",
        "`mixed, _ = self.attention(self.norm1(x), mask=mask)`, then `x = x + mixed`, then `return "
        "x + self.ffn(self.norm2(x))`; the post-norm branch likewise.",
    ),
    also_right=(
        """
from utils.layers.attention import MultiHeadAttention

class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, pre_norm):
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(0.1)

    def sublayer(self, x, norm, f):
        if self.pre_norm:
            return x + self.dropout(f(norm(x)))
        return norm(x + self.dropout(f(x)))

    def forward(self, x, mask=None):
        x = self.sublayer(x, self.norm1, lambda y: self.attention(y, y, mask)[0])
        return self.sublayer(x, self.norm2, self.ffn)
""",
        """
class EncoderBlock(nn.Module):
    def __init__(self, d, h, d_ff, pre_norm):
        super().__init__()
        self.mha = nn.MultiheadAttention(d, h, batch_first=True)
        self.lin1, self.lin2 = nn.Linear(d, d_ff), nn.Linear(d_ff, d)
        self.ln_ffn = nn.LayerNorm(d)
        self.ln_att = nn.LayerNorm(d)
        self.pre, self.h = pre_norm, h

    def forward(self, x, mask=None):
        if mask is not None:
            B, N, _ = x.shape
            mask = ~mask.expand(B, self.h, N, N).reshape(B * self.h, N, N)
        y = self.ln_att(x) if self.pre else x
        x = x + self.mha(y, y, y, attn_mask=mask, need_weights=False)[0]
        x = x if self.pre else self.ln_att(x)
        y = self.ln_ffn(x) if self.pre else x
        x = x + self.lin2(self.lin1(y).relu())
        return x if self.pre else self.ln_ffn(x)
""",
        """
from utils.layers.attention import MultiHeadAttention

class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, pre_norm):
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=0.1)
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(2)])

    def forward(self, x, mask=None):
        n1, n2 = self.norms
        a = lambda t: self.attention(t, mask=mask, need_weights=False)[0]
        f = lambda t: self.down(F.relu(self.up(t)))
        if not self.pre_norm:
            h = n1(a(x) + x)
            return n2(f(h) + h)
        h = a(n1(x)) + x
        return f(n2(h)) + h
""",
    ),
    blank=(
        "class EncoderBlock(nn.Module):\n"
        "    def __init__(self, d_model, num_heads, d_ff, pre_norm):\n"
        "        super().__init__()\n        self.pre_norm = pre_norm\n"
        "        self.attention = MultiHeadAttention(d_model, num_heads)\n"
        "        self.ffn = FFN(d_model, d_ff)\n"
        "        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)\n\n"
        "    def forward(self, x, mask=None):\n        return ...\n"
    ),
)
