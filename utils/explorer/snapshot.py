"""What is shown at this moment, frozen: words and still picture are made of it and of nothing else.

The page has a live view for every choice; where no JavaScript runs, "heads" is the heatmap of the
chosen head, and blocks of which one is subtracted stand side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .panels import Panel
from .sheet import JOINERS, code_points, writable

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


def short(weight: float) -> str:
    """A limit in as few decimals as it has, but no more than five, and never less than it is."""
    return f"{math.ceil(weight * 1e5 - 1e-6) / 1e5:.5f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Snapshot:
    """The blocks and the choice; of the panels' questions each is answered for one of them."""

    name: str  # the explorer in one line
    title: str
    panels: tuple[Panel, ...]
    picture: bytes
    grid: tuple[int, int] | None
    view: str  # "heatmap", "lines", "image" or "words"
    block: str
    layer: int
    head: int
    token: int | None
    key: int | None
    threshold: float
    all_heads: bool

    @property
    def chosen(self) -> Panel:
        return next(panel for panel in self.panels if panel.name == self.block)

    @property
    def shown(self) -> list[Panel]:
        """The panels that stand side by side; in the picture views there is but one."""
        if self.view in ("image", "words"):
            return [self.chosen if self.chosen.flow and self.view == "image" else self.panels[0]]
        return [panel for panel in self.panels if not panel.flow]

    @property
    def focus(self) -> Panel:
        """The shown panel that the choice is about."""
        return self.chosen if self.chosen in self.shown else self.shown[0]

    @property
    def every_head(self) -> bool:
        return self.all_heads and self.view == "lines"

    def marked(self, panel: Panel) -> tuple[int | None, int | None]:
        """Query and key to mark: a number means a token of the chosen block, and no other's."""
        token, key = self.token, self.key
        if (panel.queries, panel.keys) != (self.chosen.queries, self.chosen.keys):
            token = key = None
        if self.view == "image":  # there one query looks, always
            token = token or 0
        return token, key

    def at(self, panel: Panel) -> tuple[int, int]:
        """Layer and head as chosen, or the last that this panel has: blocks may differ in size."""
        layers, heads = panel.weights.shape[:2]
        return min(self.layer, layers - 1), min(self.head, heads - 1)

    def place(self, panel: Panel) -> str:
        """Layer and head in words."""
        layer, head = self.at(panel)
        if panel.flow:
            return f"the rollout up to layer {layer}"
        return f"layer {layer}, " + ("all heads" if self.every_head else f"head {head}")

    def heading(self, panel: Panel) -> str:
        name = spelled(panel.name, 24) if panel.name else ""
        return ": ".join(part for part in (name, self.place(panel)) if part)

    def broken(self, panel: Panel) -> np.ndarray:
        """Where (M, N) a weight of the chosen head is not 0 although the mask forbids it."""
        weights = panel.weights[self.at(panel)]
        if panel.mask is None:
            return np.zeros(weights.shape, bool)
        forbidden = weights * ~panel.mask
        return panel.steps(forbidden) > 0 if forbidden.any() else np.zeros(weights.shape, bool)
