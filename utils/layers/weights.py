"""Attention weights in one form, whoever made them: layers × heads × queries × keys, by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, eq=False)  # tensors have no single answer to ==
class Weights:
    """Who looked at whom: one tensor for each block of attention, or None where there is none.

    From a model each is (B, layers, heads, queries, keys); ``weights[i]`` is one example of the
    batch, (layers, heads, queries, keys).  Rows are queries, columns are keys.  Recurrent attention
    has one layer and one head.  A model without attention, or one that was not asked for its
    weights, returns the empty ``Weights()``, which is false.
    """

    encoder: Tensor | None = None  # the source looks at itself
    decoder: Tensor | None = None  # the target looks at itself, and at nothing that comes later
    cross: Tensor | None = None  # the target looks at the source

    def __post_init__(self):
        for name, block in self.blocks().items():
            if len(block.shape) not in (4, 5):
                raise ValueError(
                    f"{name} must be (B, layers, heads, queries, keys), or one example of it "
                    f"without B, got {tuple(block.shape)}"
                )

    @classmethod
    def of_layers(cls, **blocks: Sequence[Tensor | None]) -> Weights:
        """From what the layers return, first layer first, (B, heads, queries, keys) each."""
        kept = {name: layers for name, layers in blocks.items() if len(layers)}
        return cls(**{name: torch.stack(tuple(layers), dim=1) for name, layers in kept.items()})

    @classmethod
    def of_map(cls, table: Tensor) -> Weights:
        """From the one table of a recurrent decoder, (B, queries, keys): one layer, one head."""
        return cls(cross=table[:, None, None])

    @classmethod
    def of_steps(cls, steps: Sequence[Weights]) -> Weights:
        """From words that were written one by one: the rows of each step, put below each other.

        A later word sees more words than an earlier one; what did not exist yet has weight 0.  The
        source is read once, before the first word.
        """

        def below(name: str) -> Tensor | None:
            rows = [step.blocks()[name] for step in steps if name in step.blocks()]
            most = max((row.shape[-1] for row in rows), default=0)
            padded = [F.pad(row, (0, most - row.shape[-1])) for row in rows]
            return torch.cat(padded, dim=-2) if padded else None

        return cls(steps[0].encoder if steps else None, below("decoder"), below("cross"))

    def blocks(self) -> dict[str, Tensor]:
        """The blocks that are there, by name: encoder, decoder, cross."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: block for name, block in named.items() if block is not None}

    def map(self, change: Callable[[Tensor], Tensor]) -> Weights:
        """The same with every block changed: ``weights.map(Tensor.cpu)``."""
        return Weights(**{name: change(block) for name, block in self.blocks().items()})

    def written(self, words: int) -> Weights:
        """One example up to the last of ``words`` written words, on the CPU: no <eos>, no <pad>."""
        decoder, cross = self.decoder, self.cross
        return Weights(
            self.encoder,
            None if decoder is None else decoder[..., :words, :words],
            None if cross is None else cross[..., :words, :],
        ).map(Tensor.cpu)

    def only(self) -> Tensor:
        """The one block that is there, for those who can show just one."""
        blocks = self.blocks()
        if len(blocks) != 1:
            there = " and ".join(blocks) or "none"
            raise ValueError(f"expected weights with exactly one block, got {there}: name one")
        return next(iter(blocks.values()))

    def __getitem__(self, example: int) -> Weights:
        if any(block.dim() != 5 for block in self.blocks().values()):
            raise IndexError("these weights are of one example already: name a block, then a layer")
        return self.map(lambda block: block[example])

    def __iter__(self):
        raise TypeError("weights are no sequence: weights.blocks() has them by name")

    def __bool__(self) -> bool:
        return bool(self.blocks())

    def __repr__(self) -> str:
        shapes = (f"{name} {tuple(block.shape)}" for name, block in self.blocks().items())
        return f"Weights({', '.join(shapes)})"
