"""What the selection means for each panel: is it shown, at which layer and head, what is marked.

The words (static.py) and the still picture (still_views.py) both ask here, so that they agree with
each other and with the page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .encode import quantise
from .sheet import JOINERS, code_points, writable

if TYPE_CHECKING:
    from .explorer import AttentionExplorer
    from .inputs import Panel

LONGEST = 18  # letters of a token in the picture


def label(token: str, longest: int = LONGEST) -> str:
    """A token as one short line: invisible letters made visible, long ones cut."""
    text = token
    if not text.isprintable():
        for hidden, sign in (("\r\n", "⏎"), ("\n", "⏎"), ("\r", "⏎"), ("\t", "⇥")):
            text = text.replace(hidden, sign)
        text = "".join(c if c.isprintable() or c in JOINERS else "·" for c in text)
    if not text.strip(" " + JOINERS):
        text = "␣" * min(len(text), 3) or "∅"
    return text if len(text) <= longest else text[: longest - 1] + "…"


def spelled(token: str, longest: int = LONGEST) -> str:
    """The label as the picture can have it: the token's code points if no font here will do."""
    text = label(token, longest)
    return text if writable(text) else code_points(token)


def chosen_block(explorer: AttentionExplorer) -> Panel:
    return next(panel for panel in explorer._panels if panel.name == explorer.block)


def shown(explorer: AttentionExplorer) -> list[Panel]:
    """The panels that stand side by side; in the picture views there is but one."""
    panels = explorer._panels
    if explorer.view in ("image", "words"):
        block = chosen_block(explorer)
        return [block if block.flow and explorer.view == "image" else panels[0]]
    # What is subtracted from its partner does not stand beside it too.
    last = explorer._own if explorer.difference and explorer.view == "heatmap" else len(panels)
    return [p for i, p in enumerate(panels) if not p.flow and (i < last or p.partner is None)]


def focus(explorer: AttentionExplorer) -> Panel:
    """The shown panel that the selection is about."""
    panels, chosen = shown(explorer), chosen_block(explorer)
    for panel in panels:  # what is subtracted has no picture of its own: then its partner is meant
        if panel is chosen or subtracted(explorer, panel) is chosen:
            return panel
    return panels[0]


def subtracted(explorer: AttentionExplorer, panel: Panel) -> Panel | None:
    """The panel whose weights are taken away from those of ``panel``, if that is asked for."""
    if not explorer.difference or explorer.view != "heatmap" or panel.partner is None:
        return None
    return explorer._panels[panel.partner]


def marked(explorer: AttentionExplorer, panel: Panel) -> tuple[int | None, int | None]:
    """Query and key to mark: a number means a token of the chosen block, and no other's."""
    block = chosen_block(explorer)
    token, key = explorer.token, explorer.key
    if (panel.queries, panel.keys) != (block.queries, block.keys):
        token = key = None
    if explorer.view == "image":  # there one query looks, always
        token = token or 0
    return token, key


def layer_and_head(explorer: AttentionExplorer, panel: Panel) -> tuple[int, int]:
    """As chosen, or the last that this panel has: blocks may differ in size."""
    layers, heads = panel.weights.shape[:2]
    return min(explorer.layer, layers - 1), min(explorer.head, heads - 1)


def every_head(explorer: AttentionExplorer) -> bool:
    return explorer.all_heads and explorer.view == "lines"


def place(explorer: AttentionExplorer, panel: Panel) -> str:
    """Layer and head in words."""
    layer, head = layer_and_head(explorer, panel)
    if panel.flow:
        return f"the rollout up to layer {layer}"
    return f"layer {layer}, " + ("all heads" if every_head(explorer) else f"head {head}")


def name(explorer: AttentionExplorer, panel: Panel, longest: int = 24, write=spelled) -> str:
    """The panel's name, and what is subtracted from it."""
    other = subtracted(explorer, panel)
    minus = f" − {write(other.name, longest)}" if other else ""
    return (write(panel.name, longest) if panel.name else "") + minus


def values(explorer: AttentionExplorer, panel: Panel) -> np.ndarray:
    """The chosen head's weights (M, N), less those of the other panel if that is asked for."""
    at, other = layer_and_head(explorer, panel), subtracted(explorer, panel)
    return panel.weights[at] if other is None else panel.weights[at] - other.weights[at]


def gaps(explorer: AttentionExplorer, panel: Panel, *where: int | slice) -> np.ndarray:
    """How many thousandths the two panels differ by: their weights as read, with three decimals."""
    at, other = layer_and_head(explorer, panel), subtracted(explorer, panel)
    ours, theirs = (
        quantise(np.atleast_1d(p.weights[at][where]), 1).astype(int) for p in (panel, other)
    )
    return ours - theirs


def steps(panel: Panel, weights: np.ndarray) -> np.ndarray:
    """Weights of this panel in whole steps, as they travel to the page."""
    return quantise(weights, panel.m)


def half_step(panel: Panel) -> float:
    """The least weight that is told from 0."""
    return 0.5 / panel.top


def short(weight: float) -> str:
    """A limit in as few decimals as it has, but no more than five, and never less than it is."""
    return f"{math.ceil(weight * 1e5 - 1e-6) / 1e5:.5f}".rstrip("0").rstrip(".")


def broken(explorer: AttentionExplorer, panel: Panel) -> np.ndarray:
    """Where (M, N) a weight of the chosen head is not 0 although the mask forbids it."""
    weights = panel.weights[layer_and_head(explorer, panel)]
    if panel.mask is None:
        return np.zeros(weights.shape, bool)
    forbidden = weights * ~panel.mask
    return steps(panel, forbidden) > 0 if forbidden.any() else np.zeros(weights.shape, bool)
