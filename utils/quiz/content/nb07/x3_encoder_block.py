"""X07-3: the encoder block, with the norm before or after."""

from __future__ import annotations

from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask, padding_mask
from utils.quiz.content.nb07.x2_ffn import FFN
from utils.quiz.exercise import Exercise, bug


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


def _probe(r, pre_norm: bool, batch: int, n: int, d: int, h: int, wide: int, masked: bool = True):
    mask = causal_mask(n) & padding_mask([n] + [n - 2] * (batch - 1), n)
    return (d, h, wide, pre_norm), 1.5 * r(batch, n, d) + 0.3, *([mask] if masked else [])


GIVEN = """
    def __init__(self, d_model, num_heads, d_ff, pre_norm):
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FFN(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
"""
IMPORTS = "from utils.quiz.content.nb07.x3_encoder_block import FFN, MultiHeadAttention\n"
PRE = "self.attention(self.norm1(x), mask=mask)"
EXERCISE = Exercise(
    id="X07-3",
    title="The encoder block",
    see="07, section 5",
    name="EncoderBlock",
    reference=EncoderBlock,
    bugs=(
        bug(
            "mask-inverted",
            "The mask means the opposite of what the attention takes. In this course True is *may "
            'look*; `nn.MultiheadAttention` says True for "forbidden".',
            ("mask=mask", "mask=None if mask is None else ~mask"),
        ),
        bug(
            "residual-from-normed",
            "In pre-norm the *normalised* x is added back. The residual carries x itself: "
            "otherwise nothing of the input comes through unchanged.",
            ("self.attention(self.norm1(x), mask", "self.attention(x := self.norm1(x), mask"),
            ("x + self.ffn(self.norm2(x))", "self.norm2(x) + self.ffn(self.norm2(x))"),
            each=True,
        ),
        bug(
            "norm-before-add",
            "In post-norm f(x) is normalised and then added. The norm takes the sum.",
            ("self.norm1(x + mixed)", "x + self.norm1(mixed)"),
            ("self.norm2(x + self.ffn(x))", "x + self.norm2(self.ffn(x))"),
            each=True,
        ),
        bug(
            "no-residuals",
            "Nothing is added back: with many layers the gradient dies on its way (section 2).",
            ("x + mixed", "mixed"),
            ("x + self.ffn", "self.ffn"),
            each=True,
        ),
        bug(
            "ffn-first",
            "The feed-forward network comes before the attention. First the tokens look around.",
            (f"mixed, _ = {PRE}", "mixed = self.ffn(self.norm1(x))"),
            ("x + self.ffn(self.norm2(x))", f"x + {PRE.replace('1', '2')}[0]"),
            ("mixed, _ = self.attention(x, mask=mask)", "mixed = self.ffn(x)"),
            ("self.norm2(x + self.ffn(x))", "self.norm2(x + self.attention(x, mask=mask)[0])"),
        ),
        bug(
            "stale-residual",
            "The second residual adds the block's *input*: what the attention found is lost there.",
            ("x = x + mixed", "start, x = x, x + mixed"),
            ("return x + self.ffn", "return start + self.ffn"),
            ("x = self.norm1(x + mixed)", "start, x = x, self.norm1(x + mixed)"),
            ("self.norm2(x + self.ffn", "self.norm2(start + self.ffn"),
        ),
    ),
    steps={
        PRE: "In pre-norm the attention reads the normalised x, under the mask that was handed in.",
        "x = x + mixed": "The residual adds what the attention found to x itself.",
        "x + self.ffn(self.norm2(x))": "The network reads the normalised x; x itself goes past it.",
        "self.norm1(x + mixed)": "In post-norm the norm takes the sum of x and what was found.",
        "self.norm2(x + self.ffn(x))": "In post-norm the block ends with the norm of a sum.",
    },
    probes=lambda r: [
        _probe(r, True, 2, 5, 8, 2, 14),
        _probe(r, False, 3, 4, 6, 3, 10),
        _probe(r, True, 2, 6, 9, 3, 12, masked=False),
        _probe(r, False, 2, 3, 8, 4, 11, masked=False),
    ],
    square=lambda r: [_probe(r, True, 4, 4, 4, 2, 9), _probe(r, False, 4, 4, 4, 2, 9)],
    hints=(
        "Two sub-layers, attention and feed-forward network. Around each: a residual and a norm.",
        "Pre-norm: x = x + f(norm(x)). Post-norm: x = norm(x + f(x)). First with f = attention and "
        "norm1, then with f = ffn and norm2.",
        "`mixed, _ = self.attention(self.norm1(x), mask=mask)`, then `x = x + mixed`, then `return "
        "x + self.ffn(self.norm2(x))`; the post-norm branch likewise.",
    ),
    also_right=(
        f"""{IMPORTS}
class EncoderBlock(nn.Module):{GIVEN}
    def sublayer(self, x, norm, f):
        return x + f(norm(x)) if self.pre_norm else norm(x + f(x))

    def forward(self, x, mask=None):
        x = self.sublayer(x, self.norm1, lambda y: self.attention(y, y, mask)[0])
        return self.sublayer(x, self.norm2, self.ffn)
""",
        f"""{IMPORTS}
class EncoderBlock(nn.Module):{GIVEN}
    def forward(self, x, mask=None):
        y = self.norm1(x) if self.pre_norm else x
        x = x + self.attention(y, mask=mask)[0]
        x = x if self.pre_norm else self.norm1(x)
        y = self.norm2(x) if self.pre_norm else x
        x = x + self.ffn(y)
        return x if self.pre_norm else self.norm2(x)
""",
        f"""{IMPORTS}
class EncoderBlock(nn.Module):{GIVEN}
    def forward(self, x, mask=None):
        look = lambda t: self.attention(t, mask=mask)[0]
        for norm, f in ((self.norm1, look), (self.norm2, self.ffn)):
            x = f(norm(x)) + x if self.pre_norm else norm(f(x) + x)
        return x
""",
    ),
    blank=f"class EncoderBlock(nn.Module):{GIVEN}\n    def forward(self, x, mask=None):\n"
    "        return ...\n",
)
