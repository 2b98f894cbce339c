"""The explorer as a still picture and as words, for places where no JavaScript runs."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from .sheet import ACCENT, GOLD, INK, QUIET, RULE, Sheet

if TYPE_CHECKING:
    from .explorer import AttentionExplorer
    from .inputs import Panel

LONGEST = 18  # letters of a token in the picture
MOST_LINES = 150  # in the still picture: more would only be a blot
GRID_PIXELS = 50_000  # for all small maps together: the picture travels with every showing
ROWS = "rows: queries (who looks) · columns: keys (what is looked at)"


def label(token: str, longest: int = LONGEST) -> str:
    """A token as one short line: invisible letters made visible, long ones cut."""
    text = token.replace("\n", "⏎").replace("\t", "⇥").replace("\r", "⏎")
    text = "".join(letter if letter.isprintable() else "·" for letter in text)
    if not text.strip():
        text = "␣" * min(len(text), 3) or "∅"
    return text if len(text) <= longest else text[: longest - 1] + "…"


def summary(explorer: AttentionExplorer) -> str:
    """The explorer in two lines, the same on every machine."""
    words = {
        "heatmap": "a heatmap of {at}",
        "lines": "lines from queries to keys for {at}",
        "heads": "all heads as small maps",
        "image": "the picture under the attention of {at}",
        "words": "one picture for each word under the attention of {at}",
    }[explorer.view]
    at = "all heads" if explorer.all_heads else f"head {explorer.head}"
    view = words.format(at=f"layer {explorer.layer}, {at}")
    return f"{explorer!r}\nShows {view}. Rows are queries (who looks), columns are keys."


def describe(explorer: AttentionExplorer) -> str:
    """What there is to see, in words: for each query the key it looks at most."""
    parts = [f"{explorer._title}." if explorer._title else "", summary(explorer).split("\n")[1]]
    for panel in _shown(explorer):
        matrix = _head(panel, explorer)
        rows = range(len(panel.queries)) if explorer.token is None else [explorer.token]
        rows = [row for row in rows if row < len(panel.queries)]
        looks = []
        for row in rows[:12]:
            best = int(matrix[row].argmax())
            query, key = label(panel.queries[row], 40), label(panel.keys[best], 40)
            looks.append(f"{query} looks most at {key} ({matrix[row, best]:.3f})")
        more = f"; and {len(rows) - 12} more rows" if len(rows) > 12 else ""
        parts.append(f"{panel.name + ': ' if panel.name else ''}{'; '.join(looks)}{more}.")
    return " ".join(part for part in parts if part)


def _shown(explorer: AttentionExplorer) -> list[Panel]:
    """The panels that stand side by side; the rollout has its place in the image view only."""
    return [panel for panel in explorer._panels if panel.name != "rollout"]


def _head(panel: Panel, explorer: AttentionExplorer) -> np.ndarray:
    layers, heads = panel.weights.shape[:2]
    return panel.weights[min(explorer.layer, layers - 1), min(explorer.head, heads - 1)]


def draw(explorer: AttentionExplorer) -> bytes:
    """The current view as PNG bytes."""
    painters = {"heatmap": _heatmaps, "lines": _lines, "heads": _grid_of_heads}
    return painters.get(explorer.view, _pictures)(explorer).png()


def _open(
    explorer: AttentionExplorer, width: float, height: float, foot: str
) -> tuple[Sheet, float]:
    """A sheet with the title above and ``foot`` below, and where the rest may begin."""
    ruler, title = Sheet(1, 1), label(explorer._title, 60) if explorer._title else ""
    top = 30 if title else 0
    width = max(width, ruler.wide(foot, 11) + 24, ruler.wide(title, 15, bold=True) + 24)
    sheet = Sheet(width, height + top)
    sheet.text(12, 19, title, 15, bold=True)
    sheet.text(12, sheet.height - 15, foot, 11, QUIET)
    return sheet, top


def _heading(explorer: AttentionExplorer, panel: Panel) -> str:
    layers, heads = panel.weights.shape[:2]
    at = f"layer {min(explorer.layer, layers - 1)}, head {min(explorer.head, heads - 1)}"
    return f"{label(panel.name, 24)}: {at}" if panel.name else at


def _heatmaps(explorer: AttentionExplorer) -> Sheet:
    panels = _shown(explorer)
    room = 440 if len(panels) == 1 else 320
    ruler = Sheet(1, 1)
    layout, x = [], 8.0
    for panel in panels:
        cell = max(1.0, min(38.0, room / max(panel.weights.shape[-2:])))
        cell = float(int(cell)) if cell >= 3 else cell
        size = round(max(9, min(13, cell * 0.7)))
        left = 12 + max(ruler.wide(label(token), size) for token in panel.queries)
        keys = max(ruler.wide(label(token), size) for token in panel.keys)
        upright = keys <= cell - 3
        wide = max(
            left + cell * len(panel.keys) + 20,
            ruler.wide(_heading(explorer, panel), 13, bold=True) + 24,
        )
        layout.append((panel, cell, size, x, left, upright, 20 if upright else keys + 10))
        x += wide
    above = 30 + max(entry[-1] for entry in layout)
    tall = max(cell * len(panel.queries) for panel, cell, *_ in layout)
    sheet, top = _open(explorer, x + 8, above + tall + 36, ROWS)
    for panel, cell, size, x, left, upright, _ in layout:
        sheet.text(x + 4, top + 15, _heading(explorer, panel), 13, bold=True)
        _one_heatmap(sheet, explorer, panel, cell, size, x + left, top + above, upright)
    return sheet


def _one_heatmap(
    sheet: Sheet, explorer: AttentionExplorer, panel: Panel, cell: float, size: int,
    x: float, y: float, upright: bool,
) -> None:  # fmt: skip
    matrix = _head(panel, explorer)
    rows, columns = matrix.shape
    sheet.map(x, y, cell * columns, cell * rows, matrix)
    if panel.mask is not None:
        sheet.hatch(x, y, cell, panel.mask)
    sheet.frame(x - 1, y - 1, cell * columns + 2, cell * rows + 2)
    every = max(1, int(np.ceil((size + 2) / cell)))
    for row in range(0, rows, every):
        sheet.text(x - 6, y + (row + 0.5) * cell, label(panel.queries[row]), size, anchor="rm")
    for column in range(0, columns, every):
        middle = x + (column + 0.5) * cell
        if upright:
            sheet.text(middle, y - 10, label(panel.keys[column]), size, anchor="mm")
        else:
            sheet.upward(middle, y - 5, label(panel.keys[column]), size)
    if cell >= 30:
        for (row, column), weight in np.ndenumerate(matrix):
            if panel.mask is None or panel.mask[row, column]:
                at = (x + (column + 0.5) * cell, y + (row + 0.5) * cell)
                ink = "#ffffff" if weight > 0.3 else INK
                sheet.text(*at, f"{weight:.2f}", 10, ink, "mm")
    for row, column in panel.gold:
        sheet.frame(x + column * cell, y + row * cell, cell, cell, GOLD, 2)
    if explorer.token is not None and explorer.token < rows:
        sheet.frame(x - 2, y + explorer.token * cell - 1, cell * columns + 4, cell + 2, ACCENT, 2)


def _lines(explorer: AttentionExplorer) -> Sheet:
    panels = _shown(explorer)
    longest = max(max(panel.weights.shape[-2:]) for panel in panels)
    step = max(4.0, min(24.0, 640 / longest))
    size = round(min(13, step * 0.8))
    sheet, top = _open(explorer, 430 * len(panels), 60 + step * longest + 36, "")
    for i, panel in enumerate(panels):
        x, y, matrix = 430 * i, top + 58, _head(panel, explorer)
        sheet.text(x + 12, top + 16, _heading(explorer, panel), 13, bold=True)
        sheet.text(x + 130, top + 42, "queries look", 11, QUIET, "rm")
        sheet.text(x + 300, top + 42, "at keys", 11, QUIET)
        drawn = matrix >= max(explorer.threshold, 1e-9)
        if explorer.token is not None and explorer.token < len(panel.queries):
            drawn &= (np.arange(len(panel.queries)) == explorer.token)[:, None]
        links = [
            ((q + 0.5) * step, (k + 0.5) * step, float(matrix[q, k])) for q, k in np.argwhere(drawn)
        ]
        links = sorted(links, key=lambda link: -link[2])[:MOST_LINES]
        sheet.curves(x + 136, y, 158, step * longest, links)
        every = max(1, int(np.ceil(9 / step)))
        for q in range(0, len(panel.queries), every):
            chosen = q == explorer.token
            at = (x + 130, y + (q + 0.5) * step)
            sheet.text(*at, label(panel.queries[q]), max(9, size), ACCENT if chosen else INK, "rm")
        for k in range(0, len(panel.keys), every):
            sheet.text(x + 300, y + (k + 0.5) * step, label(panel.keys[k]), max(9, size))
        words = f"the {len(links)} strongest of {int(drawn.sum())} lines"
        if len(links) == drawn.sum():
            hidden = int((matrix < explorer.threshold).sum())
            words = f"{hidden} of {matrix.size} weights lie under {explorer.threshold:g}: not drawn"
        sheet.text(x + 12, sheet.height - 15, words, 11, QUIET)
    return sheet


def _grid_of_heads(explorer: AttentionExplorer) -> Sheet:
    panels = _shown(explorer)
    most = max(panel.weights.shape[1] for panel in panels)
    count = sum(panel.weights.shape[0] * panel.weights.shape[1] for panel in panels)
    side = int(max(16, min(90, 620 / most, (GRID_PIXELS / count) ** 0.5)))
    step = side + 9
    wide = 40 + max(panel.weights.shape[1] for panel in panels) * step
    tall = sum(50 + panel.weights.shape[0] * step for panel in panels)
    foot = "down: layers · across: heads · in a map: rows = queries"
    sheet, y = _open(explorer, wide + 12, tall + 34, foot)
    for panel in panels:
        layers, heads = panel.weights.shape[:2]
        small = pooled(panel.weights, side)
        sheet.text(12, y + 15, label(panel.name or "all heads", 40), 13, bold=True)
        for h in range(heads):
            sheet.text(36 + h * step + side / 2, y + 37, str(h), 11, QUIET, "mm")
        for i in range(layers):
            at = y + 48 + i * step
            sheet.text(28, at + side / 2, str(i), 11, QUIET, "rm")
            for h in range(heads):
                sheet.map(36 + h * step, at, side, side, small[i, h], shades=12)
                chosen = (i, h) == (min(explorer.layer, layers - 1), min(explorer.head, heads - 1))
                around = (34 + h * step, at - 2, side + 4, side + 4)
                sheet.frame(*around, ACCENT if chosen else RULE, 2 if chosen else 1)
        y += 50 + layers * step
    return sheet


def pooled(weights: np.ndarray, side: int) -> np.ndarray:
    """Maps (..., M, N) made no larger than ``side``: of several weights the largest stays."""
    rows, columns = weights.shape[-2:]
    tall, wide = min(side, rows), min(side, columns)
    small = np.maximum.reduceat(weights, np.arange(tall) * rows // tall, axis=-2)
    return np.maximum.reduceat(small, np.arange(wide) * columns // wide, axis=-1)


def _pictures(explorer: AttentionExplorer) -> Sheet:
    """The picture under one map after the other: the heads of a layer, or the words in time."""
    from PIL import Image

    panel = explorer._panels[0]
    picture = np.asarray(Image.open(io.BytesIO(explorer.picture)))
    high, wide = explorer._grid
    extra = len(panel.keys) - high * wide
    layer = panel.weights[min(explorer.layer, panel.weights.shape[0] - 1)]  # (H, M, N)
    if explorer.view == "words":
        maps = layer[min(explorer.head, len(layer) - 1)][:, extra:]
        names = [label(token, 10) for token in panel.queries]
        words = _heading(explorer, panel)
    else:
        row = explorer.token or 0
        maps = layer[:, row, extra:]
        names = [f"head {h}" for h in range(len(layer))]
        words = f"layer {explorer.layer}: where {label(panel.queries[row])} looks"
        for flow in explorer._panels:
            if flow.name == "rollout":
                maps = np.concatenate([maps, flow.weights[explorer.layer, :, row, extra:]])
                names.append("rollout")
    columns = min(6, len(maps))
    rows = -(-len(maps) // columns)
    side = 120
    tall = round(side * picture.shape[0] / picture.shape[1])
    size = (24 + columns * (side + 10), 32 + rows * (tall + 30) + 28)
    foot = "bright: looked at; the number is the brightest patch's weight"
    sheet, top = _open(explorer, *size, foot)
    sheet.text(12, top + 16, words, 13, bold=True)
    for i, (values, name) in enumerate(zip(maps, names)):
        x, y = 12 + (i % columns) * (side + 10), top + 34 + (i // columns) * (tall + 30)
        sheet.photograph(x, y, veiled(picture, values.reshape(high, wide)), side, tall)
        sheet.text(x, y + tall + 11, name, 11)
        sheet.text(x + side, y + tall + 11, f"{values.max():.3f}", 11, QUIET, "rm")
    return sheet


def veiled(picture: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The picture, dark where a patch gets nothing and clear where it gets the most."""
    tall, wide = (max(240, side) for side in picture.shape[:2])
    rows, columns = np.arange(tall), np.arange(wide)
    large = picture[rows * picture.shape[0] // tall][:, columns * picture.shape[1] // wide]
    light = np.sqrt(weights / max(float(weights.max()), 1e-9))
    light = light[rows * len(light) // tall][:, columns * light.shape[1] // wide]
    return (large * (0.23 + 0.77 * light[..., None])).astype(np.uint8)
