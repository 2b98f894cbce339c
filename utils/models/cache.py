"""The key-value cache: what a decoder need not compute again, as the words come one by one.

Notebook 07 builds the Transformer without it; here is what makes writing fast.  The keys and values
of earlier words stay as they are, so each step computes those of its own word alone.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from utils.layers.attention import MultiHeadAttention
from utils.layers.weights import Weights

KeyValues = tuple[Tensor, Tensor]  # keys and values of one attention, (B, H, N, Dh) each


@dataclass
class KeyValueCache:
    """The keys and values that one block has computed already."""

    past: KeyValues | None = None  # of the words so far
    memory: KeyValues | None = None  # of the encoder's output, the same at every word

    @property
    def length(self) -> int:
        """How many words are in it."""
        return 0 if self.past is None else self.past[0].shape[2]

    def extend(self, k: Tensor, v: Tensor) -> KeyValues:
        """Put the newest keys and values behind those of the past."""
        if self.past is not None:
            k, v = torch.cat([self.past[0], k], dim=2), torch.cat([self.past[1], v], dim=2)
        self.past = k, v
        return self.past


@dataclass(frozen=True)
class DecoderState:
    """Where a Transformer that writes stands: a cache for each block, and what it has read."""

    caches: tuple[KeyValueCache, ...]
    memory_mask: Tensor | None = None  # which source words count
    read: Weights = Weights()  # how the source looked at itself, if that was asked for

    @property
    def length(self) -> int:
        """How many words have been written, or read as a prompt."""
        return self.caches[0].length

    def copied(self) -> "DecoderState":
        """The same state with caches of its own: extending them leaves the old state as it was."""
        return replace(self, caches=tuple(replace(cache) for cache in self.caches))


def self_attend(
    attention: MultiHeadAttention,
    x: Tensor,
    mask: Tensor | None = None,
    *,
    cache: KeyValueCache | None = None,
    need_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Self-attention of x (B, N, D); with a cache, x looks at the words of the past as well."""
    past = 0 if cache is None else cache.length
    k, v = attention.keys_values(x, past)
    if cache is not None:
        k, v = cache.extend(k, v)
    return attention.look(x, k, v, mask, past=past, need_weights=need_weights)
