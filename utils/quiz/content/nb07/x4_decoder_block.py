"""X07-4: the decoder block, which also looks at the encoder's memory."""

from __future__ import annotations

from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask, padding_mask
from utils.quiz.content.nb07.x2_ffn import FFN
from utils.quiz.exercise import Exercise, bug


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


def _probe(r, batch: int, m: int, n: int, d: int, h: int, wide: int) -> tuple:
    masks = causal_mask(m), padding_mask([n] + [n - 2] * (batch - 1), n)
    return (d, h, wide), 1.5 * r(batch, m, d) + 0.3, r(batch, n, d) - 0.2, *masks


GIVEN = """
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FFN(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
"""
IMPORTS = "from utils.quiz.content.nb07.x4_decoder_block import FFN, MultiHeadAttention\n"
CROSS = "self.cross_attention(self.norm2(x), memory, memory_mask)"
EXERCISE = Exercise(
    id="X07-4",
    title="The decoder block",
    see="07, section 6",
    name="DecoderBlock",
    reference=DecoderBlock,
    parts=("output", "weights"),
    seconds=6.0,
    bugs=(
        bug(
            "reversed",
            "The memory asks and the decoder answers. The decoder's words want to know: they ask.",
            (CROSS, "self.cross_attention(memory, self.norm2(x), mask=None)"),
        ),
        bug(
            "memory-unused",
            "The second attention looks at x again: the decoder never sees the source sentence.",
            (CROSS, "self.cross_attention(self.norm2(x))"),
        ),
        bug(
            "no-causal-mask",
            "The self-attention has no mask: in training every word sees the ones it is to guess.",
            ("self.norm1(x), mask=mask", "self.norm1(x)"),
        ),
        bug(
            "causal-on-cross",
            "The causal mask is used in the cross-attention. The source is known in full.",
            ("memory, memory_mask)", "memory, mask)"),
        ),
        bug(
            "residual-from-normed",
            "The *normalised* x is added back. The residual carries x itself, untouched.",
            ("self.attention(self.norm1(x)", "self.attention(x := self.norm1(x)"),
            ("self.cross_attention(self.norm2(x)", "self.cross_attention(x := self.norm2(x)"),
            ("x + self.ffn(self.norm3(x))", "self.norm3(x) + self.ffn(self.norm3(x))"),
            each=True,
        ),
        bug(
            "post-norm",
            "The norms come after the sums (post-norm). Here each comes first, before its layer.",
            ("self.attention(self.norm1(x)", "self.attention(x"),
            ("x = x + mixed", "x = self.norm1(x + mixed)"),
            ("self.cross_attention(self.norm2(x)", "self.cross_attention(x"),
            ("x = x + found", "x = self.norm2(x + found)"),
            ("x + self.ffn(self.norm3(x))", "self.norm3(x + self.ffn(x))"),
        ),
        bug(
            "own-weights",
            "These are the weights of the self-attention, (B, H, M, M). Those of the "
            "cross-attention, (B, H, M, N), show where in the source each word looks.",
            ("mixed, _ =", "mixed, own ="),
            ("(self.norm3(x)), weights", "(self.norm3(x)), own"),
        ),
    ),
    steps={
        "self.attention(self.norm1(x), mask=mask)": "The words look at each other, never ahead.",
        "x = x + mixed": "What the words found in each other is added to x.",
        CROSS: "Then x asks and the memory answers: queries from the normalised x, keys and values "
        "from the memory, under the memory's own mask.",
        "x = x + found": "What was found in the source is added to x, which keeps its own words.",
        "x + self.ffn(self.norm3(x)), weights": "The network comes last, with its own norm and "
        "residual; beside x the weights of the cross-attention come back.",
    },
    probes=lambda r: [_probe(r, 2, 4, 6, 8, 2, 14), _probe(r, 3, 5, 3, 6, 3, 10)],
    square=lambda r: [_probe(r, 2, 5, 5, 8, 2, 14), _probe(r, 3, 4, 4, 6, 3, 10)],
    hints=(
        "Three sub-layers, each as in the pre-norm encoder block: x = x + f(norm(x)).",
        "In the middle x asks and the memory answers: queries from norm2(x), keys and values from "
        "`memory`, which comes normalised already. Its mask is `memory_mask`.",
        "`found, weights = self.cross_attention(self.norm2(x), memory, memory_mask)`, then `x = x "
        "+ found`; return x and these weights.",
    ),
    also_right=(
        f"""{IMPORTS}
class DecoderBlock(nn.Module):{GIVEN}
    def forward(self, x, memory, mask=None, memory_mask=None):
        h = self.norm1(x)
        x = x + self.attention(h, h, mask)[0]
        y, w = self.cross_attention(self.norm2(x), context=memory, mask=memory_mask)
        x = x + y
        return x + self.ffn(self.norm3(x)), w
""",
        f"""{IMPORTS}
class DecoderBlock(nn.Module):{GIVEN}
    def forward(self, x, memory, mask, memory_mask):
        x = self.attention(self.norm1(x), mask=mask)[0] + x
        asked = self.cross_attention(self.norm2(x), memory, mask=memory_mask)
        x = asked[0] + x
        return self.ffn(self.norm3(x)) + x, asked[1]
""",
        f"""{IMPORTS}
class DecoderBlock(nn.Module):{GIVEN}
    def forward(self, x, memory, mask, memory_mask):
        x = x + self.attention(self.norm1(x), None, mask)[0]
        k, v = self.cross_attention.keys_values(memory)
        found, cross = self.cross_attention.look(self.norm2(x), k, v, memory_mask)
        y = x + found
        return y + self.ffn(self.norm3(y)), cross
""",
    ),
    blank=f"class DecoderBlock(nn.Module):{GIVEN}\n    def forward(self, x, memory, mask, "
    "memory_mask):\n        return ...\n",
)
