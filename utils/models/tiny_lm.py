"""A language model small enough to train while you wait.

Notebook 06 trains it with a mask and without one.  The parts of a Transformer (residual paths,
normalisation, feed-forward layers) are built and explained in notebook 07; here they only have to
be there.
"""

import torch
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention


class TinyLM(nn.Module):
    """Words in, scores for the word after each of them out: ids (B, N) -> logits (B, N, vocab)."""

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
        self.words = nn.Embedding(vocab_size, d_model)
        self.places = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(Layer(d_model, num_heads) for _ in range(num_layers))
        self.head = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size))

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """``mask`` (True = may look) goes to every layer and broadcasts to (B, H, N, N)."""
        longest = self.places.num_embeddings
        if ids.dim() != 2 or not 1 <= ids.shape[1] <= longest:
            raise ValueError(
                f"ids must have shape (B, N) with N from 1 to {longest}, got {tuple(ids.shape)}"
            )
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.words(ids) + self.places(places)  # (B, N, D)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


class Layer(nn.Module):
    """Attention mixes the words; then a small network works on each of them alone."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.network = nn.Sequential(
            nn.LayerNorm(d_model),
            nn.Linear(d_model, 2 * d_model),
            nn.GELU(),
            nn.Linear(2 * d_model, d_model),
        )

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + self.attention(self.norm(x), mask=mask, need_weights=False)[0]
        return x + self.network(x)
