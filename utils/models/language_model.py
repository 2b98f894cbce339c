"""Decoder-only: encoder blocks under a causal mask guess the next word.  Notebooks 06 and 07."""

import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.masks import causal_mask
from utils.layers.positions import LearnedEncoding
from utils.layers.weights import Weights
from utils.models.cache import DecoderState, KeyValueCache
from utils.models.transformer import BlockSizes, Encoder, TokenEmbedding


class LanguageModel(nn.Module):
    """A word is guessed from those before it.  The table of words is the output layer, too."""

    def __init__(
        self,
        vocab_size: int,
        block: BlockSizes = BlockSizes(),  # noqa: B008 (frozen)
        *,
        num_layers: int = 2,
        max_len: int = 256,
    ):
        super().__init__()
        self.embedding = TokenEmbedding(
            vocab_size, block.d_model, max_len=max_len, dropout=block.dropout
        )
        self.stack = Encoder(num_layers, block)

    def forward(self, tokens: Tensor, *, need_weights: bool = False) -> tuple[Tensor, Weights]:
        """tokens (B, N) -> ``(logits, weights)``: logits (B, N, vocab_size) of each next word."""
        mask = causal_mask(tokens.shape[1], device=tokens.device)
        x, seen = self.stack(self.embedding(tokens), mask, need_weights=need_weights)
        return self.logits(x), Weights(decoder=seen.encoder)

    def logits(self, x: Tensor) -> Tensor:
        return F.linear(x, self.embedding.words.weight)

    def start(self, prompt: Tensor, *, need_weights: bool = False) -> DecoderState:
        """Read a prompt (B, N), which may be empty: N = 0."""
        caches = tuple(KeyValueCache() for _ in self.stack.blocks)
        if prompt.shape[1]:
            mask = causal_mask(prompt.shape[1], device=prompt.device)
            self.stack(self.embedding(prompt), mask, caches=caches)
        return DecoderState(caches)

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, Weights]:
        """tokens (B), the words said last.  Returns logits (B, vocab_size), state, weights."""
        x, state = self.embedding(tokens[:, None], state.length), state.copied()
        x, seen = self.stack(x, caches=state.caches, need_weights=need_weights)
        return self.logits(x)[:, 0], state, Weights(decoder=seen.encoder)


class TinyLM(nn.Module):
    """Small enough to train while you wait, with a mask of one's own choice.  Notebook 06.

    ids (B, N) -> logits (B, N, vocab_size) for the word after each of them.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        *,
        d_model: int = 32,
        num_heads: int = 2,
        num_layers: int = 2,
    ):
        super().__init__()
        block = BlockSizes(
            d_model=d_model, num_heads=num_heads, d_ff=2 * d_model, activation="gelu"
        )
        self.words = nn.Embedding(vocab_size, d_model)
        self.positions = LearnedEncoding(max_length, d_model)
        nn.init.normal_(self.positions.table)  # as large as the words: a short training uses them
        self.stack = Encoder(num_layers, block)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """``mask`` (True = may look) goes to every layer and broadcasts to (B, H, N, N)."""
        longest = len(self.positions.table)
        if ids.dim() != 2 or not 1 <= ids.shape[1] <= longest:
            raise ValueError(
                f"ids must have shape (B, N) with N from 1 to {longest}, got {tuple(ids.shape)}"
            )
        x, _ = self.stack(self.positions(self.words(ids)), mask)
        return self.head(x)
