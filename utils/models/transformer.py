"""The Transformer: a feed-forward network, the two blocks, the two stacks, the whole model.

Built in notebook 07.  Rows are queries, columns are keys; a mask is boolean and True means "may
look".  Weights are stored only on request (``need_weights=True``).  The keyword ``cache`` belongs
to ``cache.py``: read past it the first time.

The model speaks the words of ``seq2seq.py``, so that training, scoring and decoding need not know
which model they have:

    logits, weights = model(source, decoder_input)            # teacher forcing, all steps at once
    state = model.start(source)                               # free running: read the source,
    logits, state, weights = model.step(tokens, state)        # then one word at a time
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask
from utils.layers.positions import RotaryAttention, SinusoidalEncoding
from utils.layers.weights import Weights
from utils.models.cache import DecoderState, KeyValueCache, self_attend
from utils.text.vocabulary import PAD, word_mask

ACTIVATIONS = {"relu": F.relu_, "gelu": F.gelu}  # relu_ works in place: no second large tensor


@dataclass(frozen=True, kw_only=True)
class BlockSizes:
    """What a block is told, encoder's or decoder's.

    ``norm_first`` puts the layer norm before each sub-layer (and one at the end of the stack);
    without it the norm comes after, as in the paper of 2017.  ``rotary`` turns the queries and keys
    of self-attention by their positions (notebook 05).
    """

    d_model: int = 128
    num_heads: int = 4
    d_ff: int = 512
    dropout: float = 0.0
    norm_first: bool = True
    activation: str = "relu"
    eps: float = 1e-5
    rotary: bool = False

    def self_attention(self) -> MultiHeadAttention:
        kind = RotaryAttention if self.rotary else MultiHeadAttention
        return kind(self.d_model, self.num_heads, dropout=self.dropout)

    def norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.d_model, eps=self.eps)


class FeedForward(nn.Module):
    """W₂ act(W₁ x + b₁) + b₂: every token by itself.  Notebook 07, section 4."""

    def __init__(self, d_model: int, d_ff: int, *, dropout: float = 0.0, activation: str = "relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {[*ACTIVATIONS]}, got {activation!r}")
        self.activation = activation
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = ACTIVATIONS[self.activation](self.up(x))  # (B, N, F)
        return self.down(self.dropout(hidden))  # (B, N, D)


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each with a residual and a norm.  Section 5.

    With a causal mask it is the block of a decoder-only model.
    """

    def __init__(self, block: BlockSizes):
        super().__init__()
        self.norm_first = block.norm_first
        self.attention = block.self_attention()
        self.feed_forward = _feed_forward(block)
        self.norm1, self.norm2 = block.norm(), block.norm()
        self.dropout = nn.Dropout(block.dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, N, D) -> ``(x, weights)`` of shapes (B, N, D) and (B, H, N, N)."""
        seen = {"cache": cache, "need_weights": need_weights}
        if self.norm_first:
            mixed, weights = self_attend(self.attention, self.norm1(x), mask, **seen)
            x = x + self.dropout(mixed)
            x = x + self.dropout(self.feed_forward(self.norm2(x)))
        else:
            mixed, weights = self_attend(self.attention, x, mask, **seen)
            x = self.norm1(x + self.dropout(mixed))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x, weights


class DecoderBlock(nn.Module):
    """Masked self-attention, cross-attention to the memory, feed-forward.  Section 6."""

    def __init__(self, block: BlockSizes):
        super().__init__()
        self.norm_first = block.norm_first
        self.attention = block.self_attention()
        self.cross_attention = MultiHeadAttention(
            block.d_model, block.num_heads, dropout=block.dropout
        )
        self.feed_forward = _feed_forward(block)
        self.norm1, self.norm2, self.norm3 = block.norm(), block.norm(), block.norm()
        self.dropout = nn.Dropout(block.dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """x (B, M, D), memory (B, N, D) -> ``(x, weights, cross_weights)``.

        The weights have shapes (B, H, M, M) and (B, H, M, N).  A ``cache`` that holds the keys and
        values of the memory stands in for ``memory``, which may then be None.
        """
        if cache is not None and cache.memory is not None:
            k, v = cache.memory
        elif memory is not None:
            k, v = self.cross_attention.keys_values(memory)
        else:
            raise ValueError(
                "a decoder block needs the encoder's memory (B, N, D), or a cache that holds its "
                "keys and values, got memory = None and no such cache"
            )
        seen = {"cache": cache, "need_weights": need_weights}
        cross_attention = self.cross_attention
        if self.norm_first:
            mixed, weights = self_attend(self.attention, self.norm1(x), mask, **seen)
            x = x + self.dropout(mixed)
            found, cross = cross_attention.look(
                self.norm2(x), k, v, memory_mask, need_weights=need_weights
            )
            x = x + self.dropout(found)
            x = x + self.dropout(self.feed_forward(self.norm3(x)))
        else:
            mixed, weights = self_attend(self.attention, x, mask, **seen)
            x = self.norm1(x + self.dropout(mixed))
            found, cross = cross_attention.look(x, k, v, memory_mask, need_weights=need_weights)
            x = self.norm2(x + self.dropout(found))
            x = self.norm3(x + self.dropout(self.feed_forward(x)))
        return x, weights, cross


class Encoder(nn.Module):
    """``num_layers`` encoder blocks, each with weights of its own.

    ``final_norm`` adds a layer norm at the end; a pre-norm stack needs it and has it by default.
    """

    def __init__(self, num_layers: int, block: BlockSizes, *, final_norm: bool | None = None):
        super().__init__()
        _check_layers(num_layers)
        self.blocks = nn.ModuleList(EncoderBlock(block) for _ in range(num_layers))
        self.norm = _final_norm(block, final_norm)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        caches: Sequence[KeyValueCache] | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Weights]:
        """x (B, N, D) -> ``(x, weights)``, the weights as the block ``encoder``."""
        layers = []
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x, weights = block(x, mask, cache=cache, need_weights=need_weights)
            layers.append(weights)
        return self.norm(x), Weights.of_layers(encoder=layers) if need_weights else Weights()


class Decoder(nn.Module):
    """``num_layers`` decoder blocks, which all look at the same memory."""

    def __init__(self, num_layers: int, block: BlockSizes, *, final_norm: bool | None = None):
        super().__init__()
        _check_layers(num_layers)
        self.blocks = nn.ModuleList(DecoderBlock(block) for _ in range(num_layers))
        self.norm = _final_norm(block, final_norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        caches: Sequence[KeyValueCache] | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Weights]:
        """x (B, M, D), memory (B, N, D) -> ``(x, weights)``: the blocks ``decoder``, ``cross``."""
        own, cross = [], []
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x, weights, to_memory = block(
                x, memory, mask, memory_mask, cache=cache, need_weights=need_weights
            )
            own.append(weights)
            cross.append(to_memory)
        x = self.norm(x)
        return x, Weights.of_layers(decoder=own, cross=cross) if need_weights else Weights()

    def start(self, memory: Tensor, memory_mask: Tensor | None, read: Weights) -> DecoderState:
        """The state before the first word: each block keeps the memory's keys and values."""
        pairs = [block.cross_attention.keys_values(memory) for block in self.blocks]
        return DecoderState(tuple(KeyValueCache(memory=p) for p in pairs), memory_mask, read)

    def step(
        self, x: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, Weights]:
        """One more word, x (B, 1, D): it may look at all that came before."""
        state = state.copied()
        x, seen = self(
            x, None, None, state.memory_mask, caches=state.caches, need_weights=need_weights
        )
        return x, state, Weights(state.read.encoder, seen.decoder, seen.cross)


class TokenEmbedding(nn.Module):
    """√D · E[token] + PE[position], then dropout.  Notebook 07, section 8."""

    def __init__(self, vocab_size: int, d_model: int, *, max_len: int, dropout: float = 0.0):
        super().__init__()
        self.words = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        nn.init.normal_(self.words.weight, std=d_model**-0.5)  # times √D: as large as the positions
        with torch.no_grad():
            self.words.weight[PAD].zero_()
        self.positions = SinusoidalEncoding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, past: int = 0) -> Tensor:
        """tokens (B, N) that stand behind ``past`` others -> (B, N, D)."""
        end, longest = past + tokens.shape[1], len(self.positions.table)
        if end > longest:
            raise ValueError(f"the model has {longest} positions, and {end} are needed: max_len?")
        words = self.words(tokens) * math.sqrt(self.words.embedding_dim)
        return self.dropout(words + self.positions.table[past:end].to(words.dtype))


class Transformer(nn.Module):
    """Encoder and decoder: from a sentence to another.  Notebook 07, section 8.

    With ``target_vocab=None`` both languages share one vocabulary and one table, as in the paper.
    The output layer is the target table once more (``tied``), or a matrix of its own.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int | None = None,
        block: BlockSizes = BlockSizes(),  # noqa: B008 (frozen)
        *,
        num_layers: int = 2,
        tied: bool = True,
        max_len: int = 256,
    ):
        super().__init__()
        table = {"max_len": max_len, "dropout": block.dropout}
        self.source_embedding = TokenEmbedding(source_vocab, block.d_model, **table)
        self.encoder = Encoder(num_layers, block)
        if target_vocab is None:
            self.target_embedding = self.source_embedding
        else:
            self.target_embedding = TokenEmbedding(target_vocab, block.d_model, **table)
        self.decoder = Decoder(num_layers, block)
        words = self.target_embedding.words.num_embeddings
        self.output = None if tied else nn.Linear(block.d_model, words, bias=False)

    def forward(
        self, source: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights]:
        """source (B, N), decoder_input (B, M): teacher forcing, all words in one pass.

        Returns ``(logits, weights)``: logits (B, M, target_vocab), weights only on request.
        """
        memory, mask, read = self.encode(source, need_weights=need_weights)
        x, seen = self.decoder(
            self.target_embedding(decoder_input),
            memory,
            causal_mask(decoder_input.shape[1], device=source.device),
            mask,
            need_weights=need_weights,
        )
        return self.logits(x), Weights(read.encoder, seen.decoder, seen.cross)

    def encode(
        self, source: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor, Weights]:
        """source (B, N) -> the memory (B, N, D), the mask of its words, and the weights."""
        mask = word_mask(source)[:, None, None, :]  # (B, 1, 1, N)
        memory, read = self.encoder(self.source_embedding(source), mask, need_weights=need_weights)
        return memory, mask, read

    def logits(self, x: Tensor) -> Tensor:
        """(B, M, D) -> (B, M, target_vocab): a score for every word."""
        table = self.target_embedding.words if self.output is None else self.output
        return F.linear(x, table.weight)

    def start(self, source: Tensor, *, need_weights: bool = False) -> DecoderState:
        """Read the source once."""
        return self.decoder.start(*self.encode(source, need_weights=need_weights))

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, Weights]:
        """tokens (B), the words said last.  Returns logits (B, target_vocab), state, weights."""
        x = self.target_embedding(tokens[:, None], state.length)
        x, state, weights = self.decoder.step(x, state, need_weights=need_weights)
        return self.logits(x)[:, 0], state, weights


def _feed_forward(block: BlockSizes) -> FeedForward:
    return FeedForward(
        block.d_model, block.d_ff, dropout=block.dropout, activation=block.activation
    )


def _final_norm(block: BlockSizes, wanted: bool | None) -> nn.Module:
    wanted = block.norm_first if wanted is None else wanted
    return block.norm() if wanted else nn.Identity()


def _check_layers(num_layers: int) -> None:
    if num_layers < 1:
        raise ValueError(f"num_layers must be at least 1, got {num_layers}")
