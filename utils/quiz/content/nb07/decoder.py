"""X07-4: the decoder block, which also looks at the encoder's memory."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask, padding_mask
from utils.quiz.content.nb07.block_fill import Weights, attend, run, weights
from utils.quiz.content.nb07.decoder_bugs import BUGS
from utils.quiz.content.nb07.ffn import FFN, feed_forward
from utils.quiz.content.nb07.made import made
from utils.quiz.exercise import Exercise, Invariant


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FFN(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        mixed, _ = self.attention(self.norm1(x), mask=mask)
        x = x + mixed
        found, weights = self.cross_attention(self.norm2(x), memory, memory_mask)
        x = x + found
        return x + self.ffn(self.norm3(x)), weights


def switched(bug, w: Weights, h: int, x: Tensor, memory: Tensor, mask, memory_mask):
    """Three sub-layers, pre-norm; ``bug`` says which mistakes are on."""
    start, rows = x, {}
    own_mask, cross_mask = bug.choose(
        lambda: (mask, memory_mask),
        no_causal_mask=lambda: (None, memory_mask),
        no_memory_mask=lambda: (mask, None),
        no_masks=lambda: (None, None),
        masks_exchanged=lambda: (memory_mask, mask),
        causal_on_cross=lambda: (mask, mask),
        both_on_cross=lambda: (mask, mask & memory_mask),
        memory_mask_twice=lambda: (memory_mask, memory_mask),
    )

    def norm(i: int, t: Tensor) -> Tensor:
        i = bug.choose(lambda: i, shared_norm=lambda: 0, two_share=lambda: min(i, 1))
        skip = bug.choose(
            lambda: (),
            no_norms=lambda: (0, 1, 2),
            no_norm_1=lambda: (0,),
            no_norm_2=lambda: (1,),
            no_norm_3=lambda: (2,),
        )
        return t if i in skip else F.layer_norm(t, t.shape[-1:], *w["norms"][i])

    def own(q: Tensor) -> Tensor:
        mixed, rows["own"] = attend(w["attentions"][0], h, q, q, own_mask)
        return mixed

    def cross(q: Tensor) -> Tensor:
        second = w["attentions"][0 if bug("same-attention") else 1]
        seen = norm(1, memory) if bug("memory-normed") else memory
        mixed, rows["cross"] = bug.choose(
            lambda: attend(second, h, q, seen, cross_mask),
            reversed=lambda: attend(second, h, seen, q, cross_mask),
            reversed_unmasked=lambda: attend(second, h, seen, q, None),
            value_from_decoder=lambda: attend(second, h, q, seen, cross_mask, q),
            key_from_decoder=lambda: attend(second, h, q, q, cross_mask, seen),
            memory_unused=lambda: attend(second, h, q, q, None),
            memory_unused_masked=lambda: attend(second, h, q, q, own_mask),
            all_from_memory=lambda: attend(second, h, seen, seen, cross_mask),
        )
        return mixed

    def network(q: Tensor) -> Tensor:
        return feed_forward(w["ffn"], q)

    places = {own: 0, cross: 1, network: 2}
    layers = bug.choose(
        lambda: [own, cross, network],
        cross_first=lambda: [cross, own, network],
        no_self_attention=lambda: [cross, network],
        no_cross_attention=lambda: [own, network],
        no_network=lambda: [own, cross],
        network_early=lambda: [own, network, cross],
    )
    missing = bug.choose(
        lambda: (),
        no_first_residual=lambda: (0,),
        no_middle_residual=lambda: (1,),
        no_last_residual=lambda: (2,),
        no_residuals=lambda: (0, 1, 2),
    )
    stale = bug.choose(lambda: (), stale_residual=lambda: (network,), stale_middle=lambda: (cross,))
    for layer in layers:
        i = places[layer]
        read = start if layer is cross and bug("stale-query") else x
        base = start if layer in stale else x
        base = norm(i, base) if bug("residual-from-normed") else base
        base = base.new_zeros(()) if i in missing else base
        if bug("post-norm"):
            x = norm(i, base + layer(read))
        else:
            x = base + layer(norm(i, read))
    x = norm(2, x) if bug("normed-at-the-end") else x
    seen_by = rows.get("cross", rows.get("own"))
    return bug.choose(
        lambda: (x, seen_by),
        only_output=lambda: x,
        only_weights=lambda: seen_by,
        own_weights=lambda: (x, rows.get("own", seen_by)),
        all_three=lambda: (x, rows.get("own", seen_by), seen_by),
        order_exchanged=lambda: (seen_by, x),
        weights_averaged=lambda: (x, seen_by.mean(1)),
    )


def call(student, w: Weights, h: int, x: Tensor, memory: Tensor, mask, memory_mask):
    wide, d = w["ffn"]["up"].shape
    args = (x, memory, mask, memory_mask)
    return run(made(student, d, h, wide), w, args, lambda: DECODER.right(w, h, *args))


def _probe(r, batch: int, m: int, n: int, d: int, h: int, wide: int) -> tuple:
    lengths = [n] + [n - 2] * (batch - 1)
    return (
        weights(r, d, wide, norms=3, attentions=2),
        h,
        1.5 * r(batch, m, d) + 0.3,
        r(batch, n, d) - 0.2,
        causal_mask(m),
        padding_mask(lengths, n),
    )


DECODER = Exercise(
    id="X07-4",
    title="The decoder block",
    see="07, section 6",
    name="DecoderBlock",
    reference=DecoderBlock,
    switched=switched,
    call=call,
    parts=("output", "weights"),
    rows_sum_to_one=1,
    seconds=6.0,
    bugs=BUGS,
    probes=lambda r: [_probe(r, 2, 4, 6, 8, 2, 14), _probe(r, 3, 5, 3, 6, 3, 10)],
    square=lambda r: [_probe(r, 2, 5, 5, 8, 2, 14), _probe(r, 3, 4, 4, 6, 3, 10)],
    invariants=(
        Invariant(
            "The first word's output changes when only later words do: they leak through.",
            lambda a: (*a[:2], _later(a[2]), *a[3:]),
            lambda result: result[0][:, 0],
        ),
        Invariant(
            "The output changes with the order of the memory, which is a set.",
            lambda a: (*a[:3], a[3].flip(1), a[4], a[5].flip(-1)),
            lambda result: result[0],
        ),
    ),
    hints=(
        "Three sub-layers, each as in the pre-norm encoder block: x = x + f(norm(x)). The first "
        "and the last you know.",
        "In the middle x asks and the memory answers: queries from norm2(x), keys and values from "
        "`memory`, which comes normalised already. Its mask is `memory_mask`.",
        "`found, weights = self.cross_attention(self.norm2(x), memory, memory_mask)`, then `x = x "
        "+ found`; return x and these weights.",
    ),
    also_right=(
        """
from utils.layers.attention import MultiHeadAttention

class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, mask=None, memory_mask=None):
        h = self.norm1(x)
        x = x + self.attention(h, h, mask)[0]
        y, w = self.cross_attention(self.norm2(x), context=memory, mask=memory_mask)
        x = x + y
        x = x + self.ffn(self.norm3(x))
        return x, w
""",
        """
class DecoderBlock(nn.Module):
    def __init__(self, d, h, f):
        super().__init__()
        self.h = h
        self.cross = nn.MultiheadAttention(d, h, batch_first=True)
        self.own = nn.MultiheadAttention(d, h, batch_first=True)
        self.l1, self.l2 = nn.Linear(d, f), nn.Linear(f, d)
        self.ln = nn.ModuleList(nn.LayerNorm(d) for _ in range(3))

    def forward(self, x, memory, mask, memory_mask):
        y = self.ln[0](x)
        x = x + self.own(y, y, y, attn_mask=~mask)[0]
        y, w = self.cross(self.ln[1](x), memory, memory,
                          key_padding_mask=~memory_mask[:, 0, 0], average_attn_weights=False)
        x = x + y
        return x + self.l2(F.relu(self.l1(self.ln[2](x)))), w
""",
        """
from utils.layers.attention import MultiHeadAttention

class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm3 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attn = MultiHeadAttention(d_model, num_heads, dropout=0.1)
        self.cross_attn = MultiHeadAttention(d_model, num_heads, dropout=0.1)
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, memory, mask, memory_mask):
        x = x + self.drop(self.self_attn(self.norm1(x), None, mask)[0])
        k, v = self.cross_attn.keys_values(memory)
        found, cross = self.cross_attn.look(self.norm2(x), k, v, memory_mask)
        x = x + self.drop(found)
        return x + self.drop(self.down(self.up(self.norm3(x)).relu())), cross
""",
    ),
    blank=(
        "class DecoderBlock(nn.Module):\n"
        "    def __init__(self, d_model, num_heads, d_ff):\n"
        "        super().__init__()\n"
        "        self.attention = MultiHeadAttention(d_model, num_heads)\n"
        "        self.cross_attention = MultiHeadAttention(d_model, num_heads)\n"
        "        self.ffn = FFN(d_model, d_ff)\n"
        "        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)\n"
        "        self.norm3 = nn.LayerNorm(d_model)\n\n"
        "    def forward(self, x, memory, mask, memory_mask):\n        return ...\n"
    ),
)


def _later(x: Tensor) -> Tensor:
    x = x.clone()
    x[:, 1:] += 1.0
    return x
