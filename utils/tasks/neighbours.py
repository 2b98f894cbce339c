"""A task for two heads: name the word before *and* the word after every place of a sequence.

The queries and keys are made of places alone, the values of words alone, so a head has one table of
weights whatever the words are.  Made for notebook 04, section 6, together with the limit that one
head cannot pass.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention, scaled_dot_product_attention

NUM_WORDS = 8  # different words
LENGTH = 8  # words in a sequence
SIDES = ("before", "after")
NOTHING = -100  # the target where there is no neighbour; cross_entropy passes over it


def one_head_limit(num_words: int = NUM_WORDS, length: int = LENGTH) -> float:
    """The best accuracy of one head with a linear layer after it.

    In the middle it can be right about one side, and about the other only where both words are the
    same; at the two ends there is one neighbour only, and that is no problem.
    """
    middle = 0.5 * (1 + 1 / num_words)
    ends, all_targets = 2, 2 * (length - 1)
    return (ends + (all_targets - ends) * middle) / all_targets


def neighbour_batch(batch_size: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random words (B, N) and their neighbours (B, N, 2): the word before and the word after."""
    words = torch.randint(0, NUM_WORDS, (batch_size, LENGTH), generator=rng)
    targets = torch.full((batch_size, LENGTH, 2), NOTHING)
    targets[:, 1:, 0] = words[:, :-1]
    targets[:, :-1, 1] = words[:, 1:]
    return words, targets


class NeighbourModel(nn.Module):
    """One multi-head attention, then one linear layer for each side."""

    def __init__(self, num_heads: int, *, d_model: int = 32):
        super().__init__()
        self.words = nn.Embedding(NUM_WORDS, d_model)
        self.places = nn.Embedding(LENGTH, d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.out_layer = nn.Linear(d_model, 2 * NUM_WORDS)

    def forward(self, words: Tensor) -> Tensor:
        """words (B, N) -> logits (B, N, 2, NUM_WORDS)."""
        mha = self.attention
        value = mha.split_heads(mha.w_v(self.words(words)))  # (B, H, N, Dh)
        heads = self.weights() @ value
        out = mha.w_o(mha.merge_heads(heads))  # (B, N, D)
        return self.out_layer(out).unflatten(-1, (2, NUM_WORDS))

    def weights(self) -> Tensor:
        """The table of weights of each head (H, N, N): the same for all inputs."""
        mha, places = self.attention, self.places.weight[None]  # (1, N, D)
        query, key = mha.split_heads(mha.w_q(places)), mha.split_heads(mha.w_k(places))
        return scaled_dot_product_attention(query, key, key)[1][0]


def neighbour_loss(model: NeighbourModel, batch: tuple[Tensor, Tensor]) -> Tensor:
    words, targets = batch
    return F.cross_entropy(model(words).flatten(0, 2), targets.flatten(), ignore_index=NOTHING)


def neighbour_batches(seed: int, batch_size: int = 64):
    """Batches without end."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        yield neighbour_batch(batch_size, rng)


@torch.no_grad()
def neighbour_accuracy(model: NeighbourModel, trials: int = 1000) -> float:
    """The share of neighbours named rightly in new sequences."""
    words, targets = neighbour_batch(trials, torch.Generator().manual_seed(2**31))
    there = targets != NOTHING
    return (model(words).argmax(dim=-1) == targets)[there].float().mean().item()
