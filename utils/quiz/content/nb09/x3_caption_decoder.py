"""X09-3: a Transformer decoder in place of the LSTM."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.quiz.exercise import Exercise, Mistake, bug


def caption_decoder(words: Tensor, z: Tensor, decoder: nn.TransformerDecoder, positions: Tensor):
    # words (B, M, D), z (B, D, H, W), positions (longest, D)
    memory = z.flatten(2).transpose(1, 2)  # (B, H · W, D): one row for each cell
    count = words.shape[1]
    x = words + positions[:count]
    forbidden = torch.ones(count, count, dtype=torch.bool, device=words.device).triu(1)
    return decoder(x, memory, tgt_mask=forbidden)  # (B, M, D)


TOLD = {
    "grid-as-it-is": "The features are left as a grid (B, D, H, W). Attention wants a list of "
    "vectors, one for each cell.",
    "not-transposed": "The memory is (B, D, H · W): the channels stand where the cells belong.",
    "picture-as-target": "The picture's features are handed over as `tgt`, so a vector comes out "
    "for each *cell*. The words ask: they are the target. The picture answers: it is the memory.",
    "mask-on-the-picture": "The mask is given as `memory_mask`, which hides cells of the picture. "
    "It is for the words.",
}


class Watching(nn.TransformerDecoder):
    """A decoder that knows which sizes it should be handed, and names those that are not."""

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask=None, memory_mask=None, **more):
        wrong = {
            "grid-as-it-is": 4 in (tgt.dim(), memory.dim()),
            "not-transposed": memory.shape[1:] == self.sizes,
            "picture-as-target": tgt.dim() == 3 and tgt.shape[1] == self.sizes[1],
            "mask-on-the-picture": memory_mask is not None and tgt_mask is None,
        }
        for name in (name for name in TOLD if wrong[name]):
            raise Mistake(name, TOLD[name])
        return super().forward(tgt, memory, tgt_mask, memory_mask, **more)


def _probe(r, batch: int, words: int, d: int, grid: tuple[int, int], heads: int) -> tuple:
    """A small decoder in evaluation mode whose weights come from ``r``, and what it is given."""
    layer = nn.TransformerDecoderLayer(d, heads, 2 * d, dropout=0.0, batch_first=True)
    decoder = Watching(layer, 2)
    decoder.sizes = (d, grid[0] * grid[1])  # D, H · W
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            if parameter.dim() > 1:  # larger than usual, so that looking elsewhere shows
                parameter.copy_(1.5 * r(*parameter.shape) / parameter.shape[-1] ** 0.5)
            elif "norm" not in name:  # torch draws it by chance
                parameter.zero_()
    decoder.eval().requires_grad_(False)
    return r(batch, words, d), r(batch, d, *grid), decoder, r(20, d)


EXERCISE = Exercise(
    id="X09-3",
    title="No recurrence at all",
    see="09, section 9",
    name="caption_decoder",
    reference=caption_decoder,
    tolerance=5e-4,
    seconds=10.0,
    bugs=(
        bug(
            "reshaped",
            "A `reshape` to (B, H · W, D) has the right shape and tears the cells apart: each row "
            "holds one channel's numbers of many cells.",
            ("z.flatten(2).transpose(1, 2)", "z.reshape(len(z), -1, z.shape[1])"),
        ),
        bug(
            "pooled",
            "The features are averaged into one vector. That is the fixed context again: with a "
            "single row of memory there is nothing to attend to.",
            ("z.flatten(2).transpose(1, 2)", "z.mean((2, 3))[:, None]"),
        ),
        bug(
            "no-positions",
            "The words get no positions, so the decoder does not know their order.",
            ("words + positions[:count]", "words"),
        ),
        bug(
            "no-mask",
            "There is no causal mask: in training each word would see the words that it should "
            "guess.",
            ("tgt_mask=forbidden", "tgt_mask=None"),
        ),
        bug(
            "mask-inverted",
            "The mask is the wrong way round. In this course True means *may look*; "
            "`nn.TransformerDecoder` means *must not look* by it.",
            ("tgt_mask=forbidden", "tgt_mask=~forbidden"),
        ),
        bug(
            "mask-of-ones",
            "A mask of numbers is *added* to the scores: 1 is a small bonus for what it marks, "
            "neither a permission nor a ban.",
            ("tgt_mask=forbidden", "tgt_mask=forbidden.float()"),
        ),
    ),
    steps={
        "z.flatten(2).transpose(1, 2)": "The memory is a list of vectors, one for each cell with "
        "its D channels: (B, H · W, D).",
        "words + positions[:count]": "Word t gets row t of the table, counted from 0, added to its "
        "embedding.",
        ".triu(1)": "Forbidden is what lies above the diagonal: the words to come.",
        "decoder(x, memory, tgt_mask=forbidden)": "The words ask, the picture answers, and all M "
        "vectors come back.",
    },
    probes=lambda r: [_probe(r, 2, 5, 9, (3, 4), 3), _probe(r, 3, 4, 8, (2, 3), 2)],
    hints=(
        "Who asks and who answers? `decoder(target, memory)`: words first, then the picture as a "
        "list of vectors.",
        "Memory: `z.flatten(2).transpose(1, 2)`. Words: plus `positions[: words.shape[1]]`.",
        "The mask goes in as `tgt_mask`, and here True means *forbidden*: `torch.ones(M, M, "
        "dtype=torch.bool).triu(1)`.",
    ),
    also_right=(
        """
def caption_decoder(words, z, decoder, positions):
    B, D, H, W = z.shape
    memory = z.permute(0, 2, 3, 1).reshape(B, H * W, D)
    M = words.size(1)
    mask = torch.triu(torch.full((M, M), float("-inf")), diagonal=1)
    return decoder(words + positions[None, :M], memory, tgt_mask=mask, tgt_is_causal=True)
""",
        """
def caption_decoder(words, z, decoder, positions):
    M = words.shape[1]
    memory = torch.einsum("bdij->bijd", z).flatten(1, 2)
    may_look = torch.tril(torch.ones(M, M)).bool()
    return decoder(tgt=words + positions[torch.arange(M)], memory=memory, tgt_mask=~may_look)
""",
        """
def caption_decoder(words, z, decoder, positions):
    x = words + positions[: words.shape[1]]
    forbidden = nn.Transformer.generate_square_subsequent_mask(words.shape[1])
    return decoder(x, z.flatten(2).mT, forbidden)
""",
    ),
    blank="def caption_decoder(words, z, decoder, positions):\n"
    '    """words (B, M, D), z (B, D, H, W) -> (B, M, D)."""\n    ...\n',
)
