"""The still picture of many small ones: a photograph under each head, or under each word."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from .sheet import ACCENT, QUIET, Sheet
from .snapshot import Snapshot, spelled
from .still_views import open_sheet

SPOT = "#ffb454"  # the marked patch, as on the page


def pictures(shot: Snapshot) -> Sheet:
    """The picture under one map after the other: the heads of a layer, or the words in time."""
    panel, (chosen,) = shot.panels[0], shot.shown
    picture = np.asarray(Image.open(io.BytesIO(shot.picture)))
    high, wide = shot.grid
    extra = len(panel.keys) - high * wide
    layer, head = shot.at(panel)
    token, key = shot.marked(panel)
    if shot.view == "words":
        maps = panel.weights[layer, head][:, extra:]
        names = [spelled(token) for token in panel.queries]
        words, framed = shot.heading(panel), token
    else:
        maps = panel.weights[layer, :, token, extra:]
        names = [f"head {h}" for h in range(len(maps))]
        words, framed = f"layer {layer}: where {spelled(panel.queries[token])} looks", head
        for flow in shot.panels:
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
    sheet, top = open_sheet(shot, *size, foot)
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
        if i == framed and shot.view == "image":
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
