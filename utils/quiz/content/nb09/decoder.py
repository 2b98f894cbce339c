"""X09-3: a Transformer decoder in place of the LSTM."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.quiz.bugs import group, single, told
from utils.quiz.exercise import Exercise, Mistake

MEMORY = "how the features become the memory"
WORDS = "how the words get their positions"
MASK = "the mask of the words"
CALL = "the call of `decoder`"


def caption_decoder(words: Tensor, z: Tensor, decoder: nn.TransformerDecoder, positions: Tensor):
    # words (B, M, D), z (B, D, H, W), positions (longest, D)
    memory = z.flatten(2).transpose(1, 2)  # (B, H · W, D): one row for each cell
    x = words + positions[: words.shape[1]]
    forbidden = nn.Transformer.generate_square_subsequent_mask(words.shape[1], device=words.device)
    return decoder(x, memory, tgt_mask=forbidden)  # (B, M, D)


def switched(bug, words: Tensor, z: Tensor, decoder, positions: Tensor):
    """Rows of cells, positions, a causal mask, the decoder; ``bug`` says what goes wrong."""
    count = words.shape[1]
    memory = bug.choose(
        lambda: z.flatten(2).transpose(1, 2),
        reshaped=lambda: z.reshape(len(z), -1, z.shape[1]),
        pooled=lambda: z.mean((2, 3))[:, None],
    )
    table = positions[:count]
    x = bug.choose(
        lambda: words + table,
        no_positions=lambda: words,
        positions_only=lambda: table.expand_as(words),
        positions_from_one=lambda: words + positions[1 : count + 1],
        last_positions=lambda: words + positions[-count:],
        same_position=lambda: words + positions[0],
        multiplied=lambda: words * table,
        whole_table=lambda: words + positions,
    )
    if bug("positions-on-memory"):
        memory = memory + positions[: memory.shape[1]]
    above = torch.ones(count, count, dtype=torch.bool).triu(1)
    forbidden = bug.choose(
        lambda: above,
        no_mask=lambda: None,
        mask_inverted=lambda: ~above,
        mask_with_diagonal=lambda: torch.ones_like(above).triu(0),
        mask_to_the_past=lambda: above.T,
        mask_added_as_numbers=lambda: (~above).float(),
    )
    if bug("words-as-memory"):
        memory = x
    out = decoder(x, memory, tgt_mask=forbidden)
    return bug.choose(
        lambda: out,
        last_word_only=lambda: out[:, -1],
        words_added=lambda: out + words,
        transposed=lambda: out.transpose(0, 1),
    )


class _Watching(nn.TransformerDecoder):
    """A decoder that knows which sizes it should be handed, and names those that are not."""

    sizes: tuple[int, int, int, int] = (0, 0, 0, 0)  # B, M, D, H · W

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask=None, memory_mask=None, **more):
        batch, words, d, cells = self.sizes
        if 4 in (tgt.dim(), memory.dim()):
            raise Mistake("grid-as-it-is")
        if memory.dim() == 2:
            raise Mistake("flattened-whole")
        if memory.shape[1:] == (d, cells):
            raise Mistake("not-transposed")
        if memory.dim() == 3 and memory.shape[1] * memory.shape[2] == cells:
            raise Mistake("channels-averaged")
        if tgt.shape[1] == cells:
            raise Mistake("picture-as-target")
        if memory_mask is not None and tgt_mask is None:
            raise Mistake("mask-on-the-picture")
        if tgt.shape == (words, batch, d):
            raise Mistake("words-first")
        return super().forward(tgt, memory, tgt_mask, memory_mask, **more)


def _probe(r, batch: int, words: int, d: int, grid: tuple[int, int], heads: int) -> tuple:
    """A small decoder in evaluation mode whose weights come from ``r``, and what it is given."""
    layer = nn.TransformerDecoderLayer(d, heads, 2 * d, dropout=0.0, batch_first=True)
    decoder = _Watching(layer, 2)
    decoder.sizes = (batch, words, d, grid[0] * grid[1])
    with torch.no_grad():
        for parameter in decoder.parameters():
            if parameter.dim() > 1:  # larger than usual, so that looking elsewhere shows
                parameter.copy_(1.5 * r(*parameter.shape) / parameter.shape[-1] ** 0.5)
    decoder.eval().requires_grad_(False)
    return r(batch, words, d), r(batch, d, *grid), decoder, r(20, d)


CAPTION_DECODER = Exercise(
    id="X09-3",
    title="No recurrence at all",
    see="09, section 9",
    name="caption_decoder",
    reference=caption_decoder,
    switched=switched,
    tolerance=5e-4,
    seconds=10.0,
    bugs=(
        *group("memory", MEMORY)(
            reshaped="A `reshape` to (B, H · W, D) has the right shape and tears the cells apart: "
            "each row holds one channel's numbers of many cells. Flatten H and W, then transpose.",
            pooled="The features are averaged into one vector. That is the fixed context again: "
            "with a single row of memory there is nothing to attend to.",
        ),
        *group("words", WORDS)(
            no_positions="The words get no positions, so the decoder does not know their order. "
            "Add the first M rows of `positions`.",
            positions_only="The words themselves have got lost: add the positions to them.",
            positions_from_one="The first word gets row 1 of the table. Positions count from 0.",
            last_positions="The *last* M rows of the table are added. Take the first M.",
            same_position="All words get the same position.",
            multiplied="The words are multiplied by the positions. Add them.",
            whole_table="The whole table is added to M words. Cut it to its first M rows.",
        ),
        *single(MEMORY)(
            positions_on_memory="The words' positions are added to the picture as well. The table "
            "numbers words; the features come with positions of their own where they need them."
        ),
        *group("mask", MASK)(
            no_mask="There is no causal mask: in training each word would see the words that it "
            "should guess.",
            mask_inverted="The mask is the wrong way round. In this course True means *may look*; "
            "`nn.TransformerDecoder` means *must not look* by it. Turn it over with `~`.",
            mask_with_diagonal="A word may not even look at itself, and the first one nowhere.",
            mask_to_the_past="The past is forbidden and the future allowed. Forbidden is what lies "
            "*above* the diagonal: `triu(1)`.",
            mask_added_as_numbers="A mask of numbers is added to the scores: 1 is a small bonus, "
            "not a permission. Use a boolean mask, or 0 and −inf.",
        ),
        *told(CALL)(
            grid_as_it_is="The features are left as a grid (B, D, H, W). Attention wants a list of "
            "vectors, (B, H · W, D): `z.flatten(2).transpose(1, 2)`.",
            not_transposed="The memory has shape (B, D, H · W): the channels stand where the cells "
            "belong. Swap the last two axes.",
            channels_averaged="The channels are averaged away. Each cell keeps its D channels.",
            flattened_whole="The picture is flattened into one long row. The decoder wants a "
            "vector for each cell: (B, H · W, D).",
            picture_as_target="The picture's features are handed over as `tgt` and the words as "
            "memory, so a vector comes out for each *cell*. The words ask: they are the target. "
            "The picture answers: it is the memory.",
            mask_on_the_picture="The mask is given as `memory_mask`, which hides cells of the "
            "picture. It is for the words: `tgt_mask`.",
            words_first="Words come as (M, B, D): batch and words have changed places before the "
            "call. This decoder is batch-first.",
        ),
        *single(CALL)(words_as_memory="The words look at themselves; the picture is never seen."),
        *group("returned", "the last line")(
            last_word_only="Only the last word's vector comes back. In training all M are needed.",
            words_added="The words are added once more at the end. The decoder has its residuals "
            "inside.",
            transposed="Batch and words have changed places. The decoder here is batch-first.",
        ),
    ),
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
    memory = torch.stack([z[:, :, i, j] for i in range(z.shape[2]) for j in range(z.shape[3])], 1)
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    for layer in decoder.layers:
        x = layer(x, memory, tgt_mask=mask)
    return x if decoder.norm is None else decoder.norm(x)
""",
    ),
    blank=(
        "def caption_decoder(words, z, decoder, positions):\n"
        '    """words (B, M, D), z (B, D, H, W) -> (B, M, D)."""\n    ...\n'
    ),
)
