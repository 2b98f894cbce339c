"""The still picture of a heatmap and of lines; the page draws the same, see js/."""

from __future__ import annotations

import numpy as np

from .panels import Panel
from .sheet import ACCENT, GOLD, HEAD_COLOURS, INK, LINE, QUIET, Sheet, inks, shade
from .snapshot import Snapshot, short, spelled

MOST_LINES = 150  # in the still picture: more would only be a blot
ACROSS = 158  # pixels from the queries to the keys
WIDEST = 240  # pixels of a name beside lines
SCALE = 150  # pixels of the colour scale
ROWS = "rows: queries (who looks) · columns: keys (what is looked at)"

Sample = tuple[str, str, str]  # of a legend: kind of swatch, its colour, what it means


def open_sheet(
    shot: Snapshot, width: float, height: float, foot: str,
    legend: list[Sample] = (), kind: str = "weights",
) -> tuple[Sheet, float]:  # fmt: skip
    """A sheet with the title above, legend and ``foot`` below, and where the rest may begin."""
    ruler, title = Sheet(1, 1), spelled(shot.title, 60) if shot.title else ""
    top = 30 if title else 0
    width = max(width, ruler.wide(foot, 11) + 24, ruler.wide(title, 15, bold=True) + 24)
    spots, x, line, tall = [], 12.0, 0, [18] if legend else []
    for sample, _, text in legend:
        wide = ruler.wide(text, 11) + (18 if sample != "scale" else 10 + SCALE + 4)
        if x > 12 and x + wide > width - 12:
            x, line = 12.0, line + 1
            tall.append(18)
        if sample == "scale":
            tall[line] = 30  # it has its ticks below
        spots.append((x, line))
        x += wide + 16
        width = max(width, wide + 24)
    sheet = Sheet(width, height + top + sum(tall), kind)
    sheet.text(12, 19, title, 15, bold=True)
    sheet.text(12, sheet.height - 15, foot, 11, QUIET)
    for (x, line), (sample, colour, text) in zip(spots, legend):
        y = sheet.height - 15 - sum(tall[line:])
        if sample == "scale":
            sheet.text(x, y, text, 11, QUIET)
            sheet.scale(x + sheet.wide(text, 11) + 10, y, SCALE)
        else:
            sheet.swatch(x, y, sample, colour)
            sheet.text(x + 18, y, text, 11, QUIET)
    return sheet, top


def _named(count: int, every: int, at: int | None) -> list[int]:
    """Tokens that are named: every so many, and the marked one instead of those it would touch."""
    if at is None or every == 1:
        return list(range(0, count, every))
    return [i for i in range(count) if i == at or (i % every == 0 and abs(i - at) >= every)]


# --- heatmap


def heatmaps(shot: Snapshot) -> Sheet:
    panels = shot.shown
    room = 440 if len(panels) == 1 else 320
    ruler = Sheet(1, 1)
    layout, x = [], 8.0
    for panel in panels:
        cell = max(1.0, min(38.0, room / max(panel.weights.shape[-2:])))
        cell = float(int(cell)) if cell >= 3 else cell
        size = round(max(9, min(13, cell * 0.7)))
        queries = max(ruler.wide(spelled(token), size) for token in panel.queries)
        keys = queries
        if panel.keys != panel.queries:
            keys = max(ruler.wide(spelled(token), size) for token in panel.keys)
        left = 12 + queries
        upright = keys <= cell - 3
        wide = max(
            left + cell * len(panel.keys) + 20, ruler.wide(shot.heading(panel), 13, bold=True) + 24
        )
        layout.append((panel, cell, size, x, left, upright, 20 if upright else keys + 10))
        x += wide
    above = 30 + max(entry[-1] for entry in layout)
    tall = max(cell * len(panel.queries) for panel, cell, *_ in layout)
    legend: list[Sample] = [("scale", "", "weight")]
    if any(panel.mask is not None and not panel.mask.all() for panel in panels):
        legend.append(("hatch", QUIET, "masked: may not look"))
    if any(panel.gold for panel in panels):
        legend.append(("frame", GOLD, "gold link"))
    size = (x + 8, above + tall + 36)
    sheet, top = open_sheet(shot, *size, ROWS, legend)
    for panel, cell, size, x, left, upright, _ in layout:
        sheet.text(x + 4, top + 15, shot.heading(panel), 13, bold=True)
        _one_heatmap(sheet, shot, panel, cell, size, x + left, top + above, upright)
    return sheet


def _one_heatmap(
    sheet: Sheet, shot: Snapshot, panel: Panel, cell: float, size: int,
    x: float, y: float, upright: bool,
) -> None:  # fmt: skip
    matrix, (token, key) = panel.weights[shot.at(panel)], shot.marked(panel)
    rows, columns = matrix.shape
    sheet.map(x, y, cell * columns, cell * rows, matrix)
    if panel.mask is not None:
        _hatched(sheet, matrix, panel.mask, shot.broken(panel), cell, x, y)
    sheet.frame(x - 1, y - 1, cell * columns + 2, cell * rows + 2)
    every = max(1, int(np.ceil((size + 2) / cell)))
    for row in _named(rows, every, token):
        at, ink = (x - 6, y + (row + 0.5) * cell), ACCENT if row == token else INK
        sheet.text(*at, spelled(panel.queries[row]), size, ink, "rm")
    named = _named(columns, every, key)
    for ink, some in ((INK, [k for k in named if k != key]), (ACCENT, [key])):
        if not some or some == [None]:
            continue
        middles, names = (
            [x + (k + 0.5) * cell for k in some],
            [spelled(panel.keys[k]) for k in some],
        )
        if upright:
            for middle, text in zip(middles, names):
                sheet.text(middle, y - 10, text, size, ink, "mm")
        else:
            sheet.upward(middles, y - 5, names, size, ink)
    if cell >= 30:
        _numbers(sheet, matrix, panel.mask, cell, x, y)
    for row, column in panel.gold:
        sheet.frame(x + column * cell, y + row * cell, cell, cell, GOLD, 2)
    line = 2 if cell >= 8 else 1  # a thick one would cover what it marks
    if key is not None:
        sheet.frame(x + key * cell - 1, y - 2, cell + 2, cell * rows + 4, ACCENT, line)
    if token is not None:
        sheet.frame(x - 2, y + token * cell - 1, cell * columns + 4, cell + 2, ACCENT, line)


def _hatched(
    sheet: Sheet, matrix: np.ndarray, mask: np.ndarray, broken: np.ndarray, cell: float,
    x: float, y: float,
) -> None:  # fmt: skip
    """Grey stripes where the mask forbids to look; where it is not obeyed, stripes that show."""
    sheet.hatch(x, y, cell, mask | broken)
    if not broken.any():
        return
    dark = np.array([ink == INK for ink in inks()])[shade(matrix)]
    for ink, cells in ((INK, broken & dark), ("#ffffff", broken & ~dark)):
        sheet.hatch(x, y, cell, ~cells, ink, veil=0)  # the colour stays that of the scale


def _numbers(
    sheet: Sheet, matrix: np.ndarray, mask: np.ndarray | None, cell: float, x: float, y: float
) -> None:  # fmt: skip
    """Each number in its cell, in the ink that reads best there."""
    ink, shades = inks(), shade(matrix).tolist()
    for row, weights in enumerate(matrix.tolist()):
        for column, weight in enumerate(weights):
            number = f"{weight:.3f}"
            forbidden = mask is not None and not mask[row, column]
            if forbidden and number == "0.000":
                continue
            text = number.replace("0.", ".", 1).replace("1.000", "1")  # there is little room
            at, level = (x + (column + 0.5) * cell, y + (row + 0.5) * cell), shades[row][column]
            if forbidden:  # no stripes behind it
                sheet.plate(*at, text, 10, level)
            sheet.text(*at, text, 10, ink[level], "mm")


# --- lines


def lines(shot: Snapshot) -> Sheet:
    panels = shot.shown
    longest = max(max(panel.weights.shape[-2:]) for panel in panels)
    step = max(4.0, min(24.0, 640 / longest))
    size, every = max(9, round(min(13, step * 0.8))), max(1, int(np.ceil(9 / step)))
    ruler = Sheet(1, 1)
    layout, x = [], 0.0
    for panel in panels:
        links, note = _links(shot, panel, step)
        sides = []
        for tokens, at in zip((panel.queries, panel.keys), shot.marked(panel)):
            named = _named(len(tokens), every, at)
            sides.append({i: ruler.short(spelled(tokens[i]), size, WIDEST) for i in named})
        least = ruler.wide("queries look", 11)
        left, right = (max(least, *(ruler.wide(t, size) for t in s.values())) for s in sides)
        words = (ruler.wide(shot.heading(panel), 13, bold=True), ruler.wide(note, 11))
        layout.append((panel, links, note, sides, x, x + 12 + left))
        x += max(12 + left + 6 + ACROSS + 6 + right + 12, *(wide + 24 for wide in words))
    legend: list[Sample] = []
    if shot.every_head:
        heads = max(panel.weights.shape[1] for panel in panels)
        legend += [("fill", HEAD_COLOURS[h % 12], f"head {h}") for h in range(heads)]
    if any(panel.gold for panel in panels):
        legend.append(("dash", GOLD, "gold link"))
    kind = "heads" if shot.every_head else "weights"
    sheet, top = open_sheet(shot, x, 60 + step * longest + 36, "", legend, kind)
    for panel, links, note, sides, x, left in layout:
        y, right = top + 58, left + 12 + ACROSS
        sheet.text(x + 12, top + 16, shot.heading(panel), 13, bold=True)
        sheet.text(left, top + 42, "queries look", 11, QUIET, "rm")
        sheet.text(right, top + 42, "at keys", 11, QUIET)
        sheet.curves(left + 6, y, ACROSS, step * longest, *links)
        for at, anchor, side, chosen in zip((left, right), ("rm", "lm"), sides, shot.marked(panel)):
            for i, text in side.items():
                ink = ACCENT if i == chosen else INK
                sheet.text(at, y + (i + 0.5) * step, text, size, ink, anchor)
        sheet.text(x + 12, sheet.height - 15, note, 11, QUIET)
    return sheet


def _links(shot: Snapshot, panel: Panel, step: float) -> tuple[tuple, str]:
    """What `Sheet.curves` shall draw of a panel, and how much of all there is that is."""
    layer, head = shot.at(panel)
    token, key = shot.marked(panel)
    heads = range(panel.weights.shape[1]) if shot.every_head else [head]
    weights = panel.weights[layer, list(heads)]  # (H or 1, M, N)
    asked = np.ones(weights.shape[1:], bool)
    if token is not None:  # a chosen token: its own lines only
        asked &= (np.arange(len(panel.queries)) == token)[:, None]
    elif key is not None:
        asked &= np.arange(len(panel.keys)) == key
    # As on the page: what is drawn is the weight in whole steps, and less than one is no line.
    steps = panel.steps(weights)
    lines = asked & (steps >= max(1, round(shot.threshold * panel.top, 6)))
    count, cells = int(lines.sum()), int(asked.sum()) * len(heads)
    strongest = np.argsort(np.where(lines, -weights, 1), axis=None, kind="stable")
    drawn = strongest[: min(MOST_LINES, count)]
    links = []
    for i, q, k in zip(*(at.tolist() for at in np.unravel_index(drawn, weights.shape))):
        # The heads of a layer run side by side, else the last would hide the others.
        shift = ((i - (len(heads) - 1) / 2) / len(heads) * 0.8 + 0.5) * step
        colour = HEAD_COLOURS[i % 12] if shot.every_head else LINE
        links.append((q * step + shift, k * step + shift, float(weights[i, q, k]), colour))
    thick = max(2.0, min(8.0, 1.6 * step / len(heads)))
    gold = [((q + 0.5) * step, (k + 0.5) * step) for q, k in panel.gold if asked[q, k]]
    least = max(shot.threshold, 0.5 / panel.top)
    return (links, thick, gold), _how_many(len(links), count, cells, least)


def _how_many(drawn: int, lines: int, cells: int, least: float) -> str:
    """Of these cells so many are lines, and so many of them are drawn."""
    hidden = cells - lines
    words = f"{lines:,} of {cells:,} line{'s' if cells != 1 else ''} drawn"
    if drawn < lines:
        words = f"the {drawn:,} strongest of {lines:,} lines"
    under = f"under {short(least)}"
    rest = f"1 weight {under} is" if hidden == 1 else f"{hidden:,} weights {under} are"
    return f"{words}; {rest} hidden"
