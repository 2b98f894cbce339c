"""The still picture of many small ones: all heads, or a photograph under each head or word."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from . import selection
from .measures import sort_keys
from .selection import spelled
from .sheet import ACCENT, QUIET, RULE, STOPS, Sheet
from .still_views import heading, open_sheet

if TYPE_CHECKING:
    from .explorer import AttentionExplorer
    from .inputs import Panel

GRID_PIXELS = 50_000  # for all small maps together: the picture travels with every showing
SPOT = "#ffb454"  # the marked patch, as on the page


def heads(explorer: AttentionExplorer) -> Sheet:
    """Every head of every layer as a small map."""
    panels, in_order = selection.shown(explorer), explorer.sort == "layer"
    most = max(panel.weights.shape[1] for panel in panels)
    count = sum(panel.weights.shape[0] * panel.weights.shape[1] for panel in panels)
    side = int(max(16, min(90, 620 / most if in_order else 90, (GRID_PIXELS / count) ** 0.5)))
    foot = "down: layers · across: heads · in a map: rows = queries"
    across, down, margin, head_room = side + 9, side + 9, 36, 48
    if not in_order:  # sorted heads have their number below, not beside and above
        across, down, margin, head_room = max(across, 34), side + 21, 18, 30
        foot = f"lowest {explorer.sort} first · layer·head under each map · rows = queries"
    ruler = Sheet(1, 1)
    layout, wide, tall = [], 0.0, 0.0
    for panel in panels:
        order, columns = _order(explorer, panel, max(1, 640 // across))
        text = spelled(panel.name or "all heads", 40)
        wide = max(wide, margin + 4 + columns * across, 12 + ruler.wide(text, 13, bold=True))
        layout.append((panel, text, order, columns, tall))
        tall += head_room + 2 + -(-len(order) // columns) * down
    sheet, top = open_sheet(explorer, wide + 12, tall + 34, foot, [("scale", STOPS, "weight")])
    for panel, text, order, columns, y in layout:
        heads = panel.weights.shape[1]
        small = pooled(panel.weights.reshape(-1, *panel.weights.shape[2:]), side)
        layer, head = selection.layer_and_head(explorer, panel)
        sheet.text(12, top + y + 15, text, 13, bold=True)
        for i, number in enumerate(order):
            left = margin + (i % columns) * across
            above = top + y + head_room + (i // columns) * down
            if not in_order:
                under = f"{number // heads}·{number % heads}"
                sheet.text(left + side / 2, above + side + 8, under, 9, QUIET, "mm")
            if in_order and i < columns:
                sheet.text(left + side / 2, above - 11, str(i), 11, QUIET, "mm")
            if in_order and i % columns == 0:
                sheet.text(28, above + side / 2, str(i // columns), 11, QUIET, "rm")
            sheet.map(left, above, side, side, small[number], shades=12)
            chosen = number == layer * heads + head
            around = (left - 2, above - 2, side + 4, side + 4)
            sheet.frame(*around, ACCENT if chosen else RULE, 2 if chosen else 1)
    return sheet


def _order(explorer: AttentionExplorer, panel: Panel, fit: int) -> tuple[list[int], int]:
    """The heads of all layers in the order in which they are drawn, and how many to a row."""
    layers, heads = panel.weights.shape[:2]
    if explorer.sort == "layer":
        return list(range(layers * heads)), heads
    order = np.argsort(sort_keys(panel.weights)[explorer.sort], kind="stable")
    return order.tolist(), min(fit, layers * heads)


def pooled(weights: np.ndarray, side: int) -> np.ndarray:
    """Maps (..., M, N) made no larger than ``side``: of several weights the largest stays."""
    rows, columns = weights.shape[-2:]
    tall, wide = min(side, rows), min(side, columns)
    small = np.maximum.reduceat(weights, np.arange(tall) * rows // tall, axis=-2)
    return np.maximum.reduceat(small, np.arange(wide) * columns // wide, axis=-1)


def pictures(explorer: AttentionExplorer) -> Sheet:
    """The picture under one map after the other: the heads of a layer, or the words in time."""
    panel, (chosen,) = explorer._panels[0], selection.shown(explorer)
    picture = np.asarray(Image.open(io.BytesIO(explorer.picture)))
    high, wide = explorer._grid
    extra = len(panel.keys) - high * wide
    layer, head = selection.layer_and_head(explorer, panel)
    token, key = selection.marked(explorer, panel)
    if explorer.view == "words":
        maps = panel.weights[layer, head][:, extra:]
        names = [spelled(token) for token in panel.queries]
        words, framed = heading(explorer, panel), token
    else:
        maps = panel.weights[layer, :, token, extra:]
        names = [f"head {h}" for h in range(len(maps))]
        words, framed = f"layer {layer}: where {spelled(panel.queries[token])} looks", head
        for flow in explorer._panels:
            if flow.flow:
                framed = len(maps) if chosen is flow else head
                maps = np.concatenate([maps, flow.weights[layer, :, token, extra:]])
                names.append("rollout")
    columns = min(6, len(maps))
    rows = -(-len(maps) // columns)
    ratio = picture.shape[0] / picture.shape[1]
    side = max(1, round(min(120, 240 / ratio)))  # a tall picture is narrow, as on the page
    tall = max(1, round(side * ratio))
    least = Sheet(1, 1).wide(words, 13, bold=True) + 24
    size = (max(least, 24 + columns * (side + 10)), 32 + rows * (tall + 30) + 28)
    foot = "bright: looked at; the number is the brightest patch's weight"
    sheet, top = open_sheet(explorer, *size, foot)
    sheet.text(12, top + 16, words, 13, bold=True)
    for i, (weights, text) in enumerate(zip(maps, names)):
        x, y = 12 + (i % columns) * (side + 10), top + 34 + (i // columns) * (tall + 30)
        sheet.photograph(x, y, veiled(picture, weights.reshape(high, wide)), side, tall)
        number = f"{weights.max():.3f}"
        room = side - sheet.wide(number, 11) - 6
        sheet.text(x, y + tall + 11, sheet.short(text, 11, room), 11)
        sheet.text(x + side, y + tall + 11, number, 11, QUIET, "rm")
        if i == framed:
            sheet.frame(x - 3, y - 3, side + 6, tall + 6, ACCENT, 3)
        if i == framed and explorer.view == "image":
            looks = token if panel.keys == panel.queries else None
            for patch, colour in ((looks, "#ffffff"), (key, SPOT)):
                if patch is not None and patch >= extra:
                    row, column = divmod(patch - extra, wide)
                    w, h = side / wide, tall / high
                    _outline(sheet, x + column * w, y + row * h, w, h, colour)
    return sheet


def _outline(sheet: Sheet, x: float, y: float, wide: float, tall: float, colour: str) -> None:
    """A frame that can be seen on any picture: a bright line on a black one."""
    sheet.frame(x - 1, y - 1, wide + 2, tall + 2, "#000000", 3)
    sheet.frame(x, y, wide, tall, colour)


def veiled(picture: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The picture, dark where a patch gets nothing and clear where it gets the most."""
    tall, wide = (max(240, side) for side in picture.shape[:2])
    rows, columns = np.arange(tall), np.arange(wide)
    large = picture[rows * picture.shape[0] // tall][:, columns * picture.shape[1] // wide]
    light = np.sqrt(weights / max(float(weights.max()), 1e-9))
    light = light[rows * len(light) // tall][:, columns * light.shape[1] // wide]
    return (large * (0.23 + 0.77 * light[..., None])).astype(np.uint8)
