"""The Transformer: encoder, decoder, encoder-decoder and decoder-only.  Built in notebook 07.

Read from top to bottom: a feed-forward network, the two blocks, the two stacks, the two models.
Rows are queries, columns are keys; a mask is boolean and True means "may look".  ``pre_norm`` puts
the layer norm before each sub-layer (and one at the end of the stack); without it the norm comes
after, as in the paper of 2017.  Weights are stored only on request (``need_weights=True``).

Both models speak the words of ``utils/models/seq2seq.py``, so that training, scoring and decoding
(``utils/train/generation.py``) need not know which model they have:

    logits, weights = model(source, decoder_input)            # teacher forcing, all steps at once
    state = model.start(source)                               # free running: read the source,
    logits, state, weights = model.step(tokens, state)        # then one word at a time
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.layers.masks import causal_mask
from utils.layers.positions import RotaryAttention, SinusoidalEncoding
from utils.text.vocabulary import PAD

KeyValues = tuple[Tensor, Tensor]  # keys and values of one attention, (B, H, N, Dh) each
ACTIVATIONS = {"relu": F.relu_, "gelu": F.gelu}  # relu_ works in place: no second large tensor


@dataclass(frozen=True)
class Weights:
    """The attention of every layer, first layer first: each (B, H, queries, keys)."""

    encoder: tuple[Tensor, ...] = ()
    decoder: tuple[Tensor, ...] = ()
    cross: tuple[Tensor, ...] = ()


class Room:
    """Room for the keys and values of words to come, so that no step copies those of the past."""

    def __init__(self, k: Tensor, v: Tensor, size: int):
        self.k, self.v = (x.new_empty(*x.shape[:2], size, x.shape[3]) for x in (k, v))
        self.used = 0

    def add(self, k: Tensor, v: Tensor) -> KeyValues:
        start, self.used = self.used, self.used + k.shape[2]
        self.k[:, :, start : self.used], self.v[:, :, start : self.used] = k, v
        return self.k[:, :, : self.used], self.v[:, :, : self.used]


@dataclass
class Cache:
    """What one decoder block need not compute again, as the words come one by one."""

    past: KeyValues | None = None  # of the words so far
    memory: KeyValues | None = None  # of the encoder's output, the same at every word
    room: Room | None = None  # where the past lies, if it lies in one

    def extend(self, k: Tensor, v: Tensor) -> KeyValues:
        """Put the newest keys and values behind those of the past."""
        if k.requires_grad:  # what is written over could not be differentiated
            parts = [self.past, (k, v)] if self.past is not None else [(k, v)]
            self.past = tuple(torch.cat(part, dim=2) for part in zip(*parts))
            return self.past
        if not self._has_room(k.shape[2]):
            length = 0 if self.past is None else self.past[0].shape[2]
            self.room = Room(k, v, 2 * (length + k.shape[2]) + 14)
            if self.past is not None:
                self.room.add(*self.past)
        self.past = self.room.add(k, v)
        return self.past

    def _has_room(self, n: int) -> bool:
        """Is the end of the past the end of its room?  Another state may have gone on there."""
        if self.room is None or self.past is None:
            return False
        mine = self.past[0].data_ptr() == self.room.k.data_ptr()
        free = self.room.k.shape[2] - self.room.used
        return mine and self.past[0].shape[2] == self.room.used and n <= free


@dataclass(frozen=True)
class State:
    """Where the decoder stands: its caches, which source words count, how many words it has."""

    caches: tuple[Cache, ...]
    memory_mask: Tensor | None
    length: int = 0


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

    With a causal mask it is the block of a decoder-only model; ``cache`` then keeps its keys and
    values from word to word.
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        pre_norm: bool = True,
        activation: str = "relu",
        eps: float = 1e-5,
        rotary: bool = False,
    ):
        super().__init__()
        self.pre_norm = pre_norm
        kind = RotaryAttention if rotary else MultiHeadAttention
        self.attention = kind(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        cache: Cache | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, N, D) -> ``(x, weights)`` of shapes (B, N, D) and (B, H, N, N)."""
        if self.pre_norm:
            mixed, weights = look(self.attention, self.norm1(x), mask, cache, need_weights)
            x = x + self.dropout(mixed)
            x = x + self.dropout(self.feed_forward(self.norm2(x)))
        else:
            mixed, weights = look(self.attention, x, mask, cache, need_weights)
            x = self.norm1(x + self.dropout(mixed))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x, weights


class DecoderBlock(nn.Module):
    """Masked self-attention, cross-attention to the memory, feed-forward.  Section 6."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        pre_norm: bool = True,
        activation: str = "relu",
        eps: float = 1e-5,
        rotary: bool = False,
    ):
        super().__init__()
        self.pre_norm = pre_norm
        kind = RotaryAttention if rotary else MultiHeadAttention
        self.attention = kind(d_model, num_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm3 = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        cache: Cache | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """x (B, M, D), memory (B, N, D) -> ``(x, weights, cross_weights)``.

        The weights have shapes (B, H, M, M) and (B, H, M, N).  A ``cache`` that holds the keys and
        values of the memory stands in for ``memory``, which may then be None.
        """
        if cache is not None and cache.memory is not None:
            remembered = cache.memory
        else:
            remembered = self.cross_attention.keys_values(memory)
        if self.pre_norm:
            mixed, weights = look(self.attention, self.norm1(x), mask, cache, need_weights)
            x = x + self.dropout(mixed)
            found, cross = self.cross_attention.look(
                self.norm2(x), *remembered, memory_mask, need_weights=need_weights
            )
            x = x + self.dropout(found)
            x = x + self.dropout(self.feed_forward(self.norm3(x)))
        else:
            mixed, weights = look(self.attention, x, mask, cache, need_weights)
            x = self.norm1(x + self.dropout(mixed))
            found, cross = self.cross_attention.look(
                x, *remembered, memory_mask, need_weights=need_weights
            )
            x = self.norm2(x + self.dropout(found))
            x = self.norm3(x + self.dropout(self.feed_forward(x)))
        return x, weights, cross


def look(attention, x, mask, cache: Cache | None, need_weights: bool):
    """Self-attention; with a cache, to the words of the past as well."""
    past = 0 if cache is None or cache.past is None else cache.past[0].shape[2]
    k, v = attention.keys_values(x, past)
    if cache is not None:
        k, v = cache.extend(k, v)
    return attention.look(x, k, v, mask, past=past, need_weights=need_weights)


class Encoder(nn.Module):
    """``num_layers`` encoder blocks, each with weights of its own.

    ``final_norm`` adds a layer norm at the end; a pre-norm stack needs it and has it by default.
    """

    def __init__(self, num_layers: int, *, final_norm: bool | None = None, **block):
        super().__init__()
        _check_layers(num_layers)
        self.blocks = nn.ModuleList(EncoderBlock(**block) for _ in range(num_layers))
        self.norm = _final_norm(self.blocks[0], final_norm)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        caches: Sequence[Cache | None] | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """x (B, N, D) -> ``(x, weights)``: the weights of every layer, or an empty tuple."""
        layers = []
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x, weights = block(x, mask, cache=cache, need_weights=need_weights)
            layers.append(weights)
        return self.norm(x), tuple(layers) if need_weights else ()


class Decoder(nn.Module):
    """``num_layers`` decoder blocks, which all look at the same memory."""

    def __init__(self, num_layers: int, *, final_norm: bool | None = None, **block):
        super().__init__()
        _check_layers(num_layers)
        self.blocks = nn.ModuleList(DecoderBlock(**block) for _ in range(num_layers))
        self.norm = _final_norm(self.blocks[0], final_norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        caches: Sequence[Cache | None] | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """x (B, M, D), memory (B, N, D) -> ``(x, weights, cross_weights)``, one of each a layer."""
        own, cross = [], []
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x, weights, to_memory = block(
                x, memory, mask, memory_mask, cache=cache, need_weights=need_weights
            )
            own.append(weights)
            cross.append(to_memory)
        return (self.norm(x), tuple(own), tuple(cross)) if need_weights else (self.norm(x), (), ())


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
    The output layer is the target table once more (``tied``), or a matrix of its own.  ``rotary``
    turns queries and keys of the self-attentions (notebook 05) on top of the added positions.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int | None = None,
        *,
        d_model: int = 128,
        num_heads: int = 4,
        num_layers: int = 2,
        d_ff: int = 512,
        dropout: float = 0.0,
        pre_norm: bool = True,
        tied: bool = True,
        rotary: bool = False,
        max_len: int = 256,
    ):
        super().__init__()
        table = {"max_len": max_len, "dropout": dropout}
        block = {
            "d_model": d_model,
            "num_heads": num_heads,
            "d_ff": d_ff,
            "dropout": dropout,
            "pre_norm": pre_norm,
            "rotary": rotary,
        }
        self.source_embedding = TokenEmbedding(source_vocab, d_model, **table)
        self.encoder = Encoder(num_layers, **block)
        if target_vocab is None:
            self.target_embedding = self.source_embedding
        else:
            self.target_embedding = TokenEmbedding(target_vocab, d_model, **table)
        self.decoder = Decoder(num_layers, **block)
        words = self.target_embedding.words.num_embeddings
        self.output = None if tied else nn.Linear(d_model, words, bias=False)

    def forward(
        self, source: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights | None]:
        """source (B, N), decoder_input (B, M): teacher forcing, all words in one pass.

        Returns ``(logits, weights)``: logits (B, M, target_vocab), weights only on request.
        """
        mask = _words(source)
        memory, seen = self.encoder(self.source_embedding(source), mask, need_weights=need_weights)
        x, own, cross = self.decoder(
            self.target_embedding(decoder_input),
            memory,
            causal_mask(decoder_input.shape[1], device=source.device),
            mask,
            need_weights=need_weights,
        )
        return self.logits(x), Weights(seen, own, cross) if need_weights else None

    def logits(self, x: Tensor) -> Tensor:
        """(B, M, D) -> (B, M, target_vocab): a score for every word."""
        table = self.target_embedding.words if self.output is None else self.output
        return F.linear(x, table.weight)

    def start(self, source: Tensor) -> State:
        """Read the source once, and keep the keys and values of the memory for each block."""
        mask = _words(source)
        memory, _ = self.encoder(self.source_embedding(source), mask)
        remembered = [b.cross_attention.keys_values(memory) for b in self.decoder.blocks]
        return State(tuple(Cache(memory=pair) for pair in remembered), mask)

    def step(
        self, tokens: Tensor, state: State, *, need_weights: bool = False
    ) -> tuple[Tensor, State, Weights | None]:
        """tokens (B), the words said last.  Returns logits (B, target_vocab), state, weights."""
        caches = tuple(replace(cache) for cache in state.caches)  # the old state stays as it was
        x, own, cross = self.decoder(
            self.target_embedding(tokens[:, None], state.length),
            None,
            None,  # the newest word may look at all that came before
            state.memory_mask,
            caches=caches,
            need_weights=need_weights,
        )
        state = replace(state, caches=caches, length=state.length + 1)
        weights = Weights((), own, cross) if need_weights else None
        return self.logits(x)[:, 0], state, weights


class LanguageModel(nn.Module):
    """Decoder-only: encoder blocks with a causal mask guess the next word.  Section 12."""

    def __init__(
        self,
        vocab_size: int,
        *,
        d_model: int = 128,
        num_heads: int = 4,
        num_layers: int = 2,
        d_ff: int = 512,
        dropout: float = 0.0,
        pre_norm: bool = True,
        rotary: bool = False,
        max_len: int = 256,
    ):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model, max_len=max_len, dropout=dropout)
        self.decoder = Encoder(
            num_layers,
            d_model=d_model,
            num_heads=num_heads,
            d_ff=d_ff,
            dropout=dropout,
            pre_norm=pre_norm,
            rotary=rotary,
        )

    def forward(
        self, tokens: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights | None]:
        """tokens (B, N) -> ``(logits, weights)``: logits (B, N, vocab_size) of each next word."""
        mask = causal_mask(tokens.shape[1], device=tokens.device)
        x, own = self.decoder(self.embedding(tokens), mask, need_weights=need_weights)
        return self.logits(x), Weights(decoder=own) if need_weights else None

    def logits(self, x: Tensor) -> Tensor:
        return F.linear(x, self.embedding.words.weight)

    def start(self, prompt: Tensor) -> State:
        """Read a prompt (B, N), which may be empty: N = 0."""
        caches = tuple(Cache() for _ in self.decoder.blocks)
        n = prompt.shape[1]
        if n:
            mask = causal_mask(n, device=prompt.device)
            self.decoder(self.embedding(prompt), mask, caches=caches)
        return State(caches, None, n)

    def step(
        self, tokens: Tensor, state: State, *, need_weights: bool = False
    ) -> tuple[Tensor, State, Weights | None]:
        """tokens (B), the words said last.  Returns logits (B, vocab_size), state, weights."""
        caches = tuple(replace(cache) for cache in state.caches)
        x, own = self.decoder(
            self.embedding(tokens[:, None], state.length), caches=caches, need_weights=need_weights
        )
        state = replace(state, caches=caches, length=state.length + 1)
        return self.logits(x)[:, 0], state, Weights(decoder=own) if need_weights else None


def _words(source: Tensor) -> Tensor:
    """(B, N) -> (B, 1, 1, N): True at words, False at padding."""
    mask = source != PAD
    if not mask.any(dim=1).all():
        raise ValueError("each source sentence must hold at least one word that is not <pad>")
    return mask[:, None, None, :]


def _final_norm(block: EncoderBlock | DecoderBlock, wanted: bool | None) -> nn.Module:
    wanted = block.pre_norm if wanted is None else wanted
    return nn.LayerNorm(block.norm1.normalized_shape, block.norm1.eps) if wanted else nn.Identity()


def _check_layers(num_layers: int) -> None:
    if num_layers < 1:
        raise ValueError(f"num_layers must be at least 1, got {num_layers}")
