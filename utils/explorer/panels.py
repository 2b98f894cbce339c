"""From what an explorer is given to its panels, and from panels to what the page is sent.

A panel is one attention block with its own tokens: the only one of a plain call, or the encoder,
the decoder and the cross-attention of a Transformer, or the same block of a second model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from utils.layers.weights import Weights

from . import inputs
from .encode import END, deflate, pack_weights, quantise, steps_per_thousandth
from .measures import rollout, sort_keys


@dataclass(frozen=True, eq=False)
class Panel:
    """One block of weights (L, H, M, N) with the words for its rows and columns."""

    name: str
    weights: np.ndarray
    queries: list[str]
    keys: list[str]
    mask: np.ndarray | None = None  # (M, N) boolean, True = may look
    gold: tuple[tuple[int, int], ...] = ()  # (query, key) pairs
    partner: int | None = None  # number of the panel whose weights stand for the same links
    flow: bool = False  # the rollout: shown in the picture view only

    @property
    def m(self) -> int:
        """How many steps a thousandth has on its way to the page: see encode.py."""
        return steps_per_thousandth(self.weights.shape[-1])

    @property
    def top(self) -> int:
        """How many steps a weight of 1 has; half a step is the least that is told from 0."""
        return 1000 * self.m

    @property
    def tokens(self) -> tuple[list[str], list[str]]:
        return self.queries, self.keys

    def steps(self, weights: np.ndarray) -> np.ndarray:
        """Weights of this panel in whole steps, as they travel to the page."""
        return quantise(weights, self.m)


def make_panel(
    name: str, weights: Any, queries: Any, keys: Any = None, mask: Any = None, gold: Any = None
) -> Panel:
    """Check one block and put it into a `Panel`."""
    where = f" of block {name!r}" if name else ""
    array = inputs.to_weights(weights, where)
    rows, columns = array.shape[-2:]
    queries = inputs.to_tokens(queries, rows, "queries", "rows", where)
    if keys is None:
        if rows != columns:
            raise ValueError(
                f"the weights{where} have {inputs.counted(rows, 'rows')} (queries) and "
                f"{inputs.counted(columns, 'columns')} (keys): this is cross-attention, so pass "
                f"keys= with {inputs.counted(columns, 'tokens')}"
            )
        keys = queries
    keys = inputs.to_tokens(keys, columns, "keys", "columns", where)
    may_look = None if mask is None else inputs.to_mask(mask, rows, columns, where)
    inputs.check_rows(array, may_look, where)
    links = inputs.to_gold(gold, rows, columns, where)
    return Panel(name, array, queries, keys, may_look, tuple(links))


def of_blocks(
    weights: Any, queries: Any, keys: Any, source: Any, target: Any, mask: Any, gold: Any
) -> list[Panel]:
    """One panel, or one for each named block."""
    if isinstance(weights, Weights):
        weights, queries, keys = with_tokens(weights, queries, keys, source, target)
    elif source is not None or target is not None:
        raise ValueError(
            "source= and target= are for Weights, whose blocks say who looks at whom: pass queries "
            "and keys"
        )
    if not isinstance(weights, Mapping):
        return [make_panel("", weights, queries, keys, mask, gold)]
    if not weights:
        raise ValueError("the weights are an empty dict: there must be a block")
    parts = (queries, keys, mask, gold)
    for part in parts:
        if isinstance(part, Mapping) and (unknown := set(part) - set(weights)):
            raise ValueError(f"there is no block {unknown.pop()!r}; there are {list(weights)}")
    return [
        make_panel(inputs.to_text(name), block, *(_part(part, name) for part in parts))
        for name, block in weights.items()
    ]


def with_tokens(weights: Weights, queries: Any, keys: Any, source: Any, target: Any) -> tuple:
    """The blocks of ``Weights`` and who looks at whom in each; a block alone needs no name."""
    blocks = inputs.example(weights)
    if source is None and target is None:
        if len(blocks) > 1 and not isinstance(queries, Mapping):
            raise ValueError(
                f"the weights have the blocks {', '.join(blocks)}: pass source= and target="
            )
    elif queries is not None or keys is not None:
        raise ValueError("pass source= and target=, or queries and keys, but not both")
    else:
        sides = {
            "encoder": (source, source),
            "decoder": (target, target),
            "cross": (target, source),
        }
        for name in blocks:
            if any(side is None for side in sides[name]):
                missing = "source" if source is None else "target"
                raise ValueError(f"the weights have a block {name!r}: pass {missing}= too")
        queries, keys = ({name: sides[name][i] for name in blocks} for i in (0, 1))
    if len(blocks) > 1:
        return blocks, queries, keys
    ((name, block),) = blocks.items()
    return block, _part(queries, name), _part(keys, name)


def _part(value: Any, name: str) -> Any:
    """The part of ``value`` for one block: its own entry of a dict, else the value itself."""
    return value.get(name) if isinstance(value, Mapping) else value


def with_compared(own: list[Panel], name: str, theirs: Any) -> list[Panel]:
    """Our panels and those of a second model or input, named so that they can be told apart.

    ``theirs`` are the panels of another explorer, or weights for our tokens.
    """
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], Panel):
        copies = [replace(p, name=f"{name}: {p.name}" if p.name else name) for p in theirs]
    elif len(own) > 1:
        raise ValueError("to compare several blocks, pass another AttentionExplorer")
    else:
        bare = inputs.one_block(theirs)
        copies = [make_panel(name, bare, *own[0].tokens, own[0].mask, own[0].gold)]
    own = [replace(own[0], name=own[0].name or "this"), *own[1:]]
    for i, (mine, other) in enumerate(zip(own, copies)):
        same = mine.weights.shape == other.weights.shape and mine.tokens == other.tokens
        own[i] = replace(mine, partner=len(own) + i if same else None)
        copies[i] = replace(other, partner=i if same else None)
    return own + copies


def rollout_of(panels: list[Panel]) -> Panel:
    """The rollout of the first panel, (L, 1, N, N), as a panel beside the others."""
    if any(panel.name == "rollout" for panel in panels):
        raise ValueError(
            "with image= the explorer adds a block of the name 'rollout': call your own something "
            "else"
        )
    flow = rollout(panels[0].weights)[:, None].astype(np.float32)
    return Panel("rollout", flow, *panels[0].tokens, flow=True)


def check_together(panels: list[Panel]) -> None:
    """What must hold of all panels at once: names of their own, and not too many weights."""
    names = [panel.name for panel in panels]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"every block needs a name of its own, {name!r} is there twice")
    total = sum(panel.weights.size for panel in panels)
    if total > inputs.MAX_WEIGHTS:
        raise ValueError(
            f"{total:,} weights in {len(panels)} blocks are too many to send to the page (the "
            f"limit is {inputs.MAX_WEIGHTS:,}): pass fewer layers or fewer tokens"
        )


# --- what the page is sent


def describe(
    panels: list[Panel], own: int, grid: tuple[int, int] | None, title: str,
    escaped: list[list[int]],
) -> dict[str, Any]:  # fmt: skip
    """What the page is told of the panels, all but the weights."""
    described = []
    for i, panel in enumerate(panels):
        entry = {
            "name": panel.name, "shape": list(panel.weights.shape), "flow": panel.flow,
            "compared": i >= own and not panel.flow, "partner": panel.partner,
            "m": panel.m, "masked": panel.mask is not None,
            "queries": panel.queries, "gold": [list(pair) for pair in panel.gold],
            "escaped": escaped[i],
        }  # fmt: skip
        if panel.keys != panel.queries:
            entry["keys"] = panel.keys
        if not panel.flow:
            entry["measures"] = sort_keys(panel.weights)
        described.append(entry)
    meta: dict[str, Any] = {"title": title, "panels": described}
    if grid:
        meta["grid"] = list(grid)
    return meta


def encode(panels: list[Panel]) -> tuple[bytes, list[list[int]]]:
    """All weights and masks as one stream, and how many 16-bit values each layer has."""
    stream, large = [], []
    for panel in panels:
        plane, rest = pack_weights(panel.weights, panel.m)
        stream.append(plane)
        large.append(rest)
        if panel.mask is not None:
            stream.append(deflate(panel.mask.astype(np.uint8).tobytes()))
    rest = b"".join(layer.tobytes() for layers in large for layer in layers)
    escaped = [[len(layer) for layer in layers] for layers in large]
    return b"".join([*stream, deflate(rest), END]), escaped
