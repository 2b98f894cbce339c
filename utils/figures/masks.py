"""The mask laboratory's figure: scores, weights and output without a mask and with one.

It is drawn again at every move of a slider.  Ordinary matplotlib text takes about a millisecond
for each number and there are 200 of them, so all letters of one colour are joined into one shape.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from utils.figures.canvas import COLOURS, DPI, INK, new_figure, show, to_array
from utils.fonts import font_families, readable

FAINT, LEAK = "#666666", COLOURS[1]
# Lengths in cells.  Everything sits on whole pixels: letters then repeat exactly, and the PNG is a
# third as large.
PIXELS = 44  # of one cell
LEFT, TOP, HEAD, GAP = 2.5, 1.0, 1.75, 1.75  # words, title, above a table, between two tables
TEXT = 8 / 0.636 / PIXELS  # a digit, 0.636 of the font's size wide, becomes 8 pixels wide


class Stage(NamedTuple):
    """One way through a layer: scores (M, N) -> weights (M, N) -> output (M, e)."""

    scores: object
    weights: object
    output: object


def plot_mask_lab(
    before: Stage,
    after: Stage,
    mask,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    title: str = "",
) -> None:
    """Upper row: no mask.  Lower row: with ``mask`` (M, N), True = may look; forbidden is hatched.

    A forbidden cell that still gets weight is framed: it leaks.  Beside the weights stand their
    row sums.  ``keys`` are the queries if not given.
    """
    keys = queries if keys is None else keys
    mask = to_array(mask)
    shape = (len(queries), len(keys))
    if mask.dtype != bool or mask.shape != shape:
        raise ValueError(
            f"mask must be boolean of shape {shape}: queries × keys, got {mask.dtype} {mask.shape}"
        )
    stages = [Stage(*(to_array(table) for table in stage)) for stage in (before, after)]
    for stage in stages:
        if stage.scores.shape != shape or stage.weights.shape != shape:
            raise ValueError(
                f"scores and weights must have shape {shape}: queries × keys, "
                f"got {stage.scores.shape} and {stage.weights.shape}"
            )
        if stage.output.ndim != 2 or len(stage.output) != len(queries):
            raise ValueError(
                f"output must have shape ({len(queries)}, width), got {stage.output.shape}"
            )

    width = LEFT + 2 * len(keys) + stages[0].output.shape[1] + 2 * GAP
    height = 2 * (len(queries) + HEAD) + TOP
    fig, (ax,) = new_figure(width * PIXELS / DPI, height * PIXELS / DPI)
    fig.set_layout_engine("none")  # one drawing: there is nothing to arrange
    ax.set_position((0.0, 0.0, 1.0, 1.0))
    ax.axis("off")
    letters = _Letters()
    letters.add(width / 2 - LEFT, 0.4, title, size=0.45, room=width)
    for row, (stage, name) in enumerate(zip(stages, ("without a mask", "with the mask"))):
        top = TOP + HEAD + row * (len(queries) + HEAD)
        _draw_stage(ax, letters, stage, top, name, queries, keys, mask if row else None)
    letters.draw(ax)
    ax.set(xlim=(-LEFT, width - LEFT), ylim=(height, 0), aspect="equal")
    show(fig, _describe(title, *stages, mask, queries), crop=False)


def _draw_stage(ax, letters, stage, top, name, queries, keys, mask):
    """One row of the figure; ``mask`` is None in the upper one."""
    rows, columns = len(queries), len(keys)
    second = columns + GAP
    third = second + columns + GAP
    for i, word in enumerate(readable(queries)):
        letters.add(-0.15, top + i + 0.5, word, align="right", room=2.2)
    for left, heading in ((0, f"scores, {name}"), (second, "weights"), (third, "output")):
        letters.add(left, top - 1.15, heading, size=0.38, align="left", room=columns + 1.6)
        if heading != "output":
            for j, word in enumerate(readable(keys)):
                letters.add(left + j + 0.5, top - 0.35, word, room=0.94)
    letters.add(second + columns + 0.55, top - 0.35, "row sum", colour=FAINT)
    letters.add(-0.15, top - 0.35, "query ↓  key →", align="right", room=2.2, colour=FAINT)

    _draw_table(ax, stage.scores, 0, top, "PuOr", (-3, 3))
    _draw_table(ax, stage.weights, second, top, "Blues", (0, 1))
    _draw_table(ax, stage.output, third, top, "BrBG", (-2, 2))
    forbidden = np.zeros((rows, columns), bool) if mask is None else ~mask
    leaks = forbidden & ((stage.weights > 0) | np.isnan(stage.weights))
    _hatch(ax, forbidden, 0, top)
    _hatch(ax, forbidden & ~leaks, second, top)
    _frame(ax, leaks, second, top)
    for i in range(rows):
        for j in range(columns):
            dark = stage.weights[i, j] > 0.55
            dim = FAINT if forbidden[i, j] else INK
            colour = LEAK if leaks[i, j] else "white" if dark else dim
            letters.add(j + 0.5, top + i + 0.5, _number(stage.scores[i, j]), colour=dim)
            at = second + j + 0.5
            letters.add(at, top + i + 0.5, _number(stage.weights[i, j]), colour=colour)
        total = stage.weights[i].sum()
        wrong = not abs(total - 1) < 1e-3
        at = second + columns + 0.55
        letters.add(at, top + i + 0.5, _number(total), colour=LEAK if wrong else FAINT)
        for j, value in enumerate(stage.output[i]):
            letters.add(third + j + 0.5, top + i + 0.5, _number(value))


def _draw_table(ax, table, left, top, colours, limits):
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    rows, columns = table.shape
    i, j = np.mgrid[:rows, :columns].reshape(2, -1)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    cells = corners[None] + np.stack([left + j, top + i], axis=-1)[:, None]  # (cells, 4, 2)
    low, high = limits
    share = (np.nan_to_num(table.ravel(), nan=low, posinf=high, neginf=low) - low) / (high - low)
    faces = colormaps[colours](0.85 * np.clip(share, 0, 1) + (0.075 if low else 0))
    _put(ax, PolyCollection(cells, facecolors=faces, edgecolors="white", linewidths=1))


def _squares(where, left, top, inset=0.0):
    """One path around all cells that are True."""
    from matplotlib.path import Path

    low, high = inset, 1 - inset
    corners = [(low, low), (high, low), (high, high), (low, high), (low, low)]
    square = Path(corners, closed=True)
    cells = [
        Path(square.vertices + (left + j, top + i), square.codes) for i, j in np.argwhere(where)
    ]
    return Path.make_compound_path(*cells)


def _hatch(ax, where, left, top):
    from matplotlib.patches import PathPatch

    if where.any():
        look = {"facecolor": "#eeeeee", "edgecolor": "#cccccc", "hatch": "///", "linewidth": 0}
        _put(ax, PathPatch(_squares(where, left, top, 0.02), **look))


def _frame(ax, where, left, top):
    from matplotlib.patches import PathPatch

    if where.any():
        path = _squares(where, left, top, 0.06)
        _put(ax, PathPatch(path, fill=False, edgecolor=LEAK, linewidth=1.6))


def _put(ax, shape):
    """Add a shape without asking how far each of its curves reaches, which would take a second."""
    shape.set_in_layout(False)
    ax.add_artist(shape)


class _Letters:
    """Collects words and draws all of one colour as one shape."""

    def __init__(self):
        self._paths: dict[str, list] = {}

    def add(self, x, y, text, *, size=TEXT, colour=INK, align="center", room=0.9):
        """``size`` is the height of the letters in cells; text too wide for ``room`` shrinks."""
        from matplotlib.path import Path

        vertices, codes, width = _outline(text)
        scale = min(size, room / width) if width else size
        start = x - {"left": 0, "center": 0.5, "right": 1}[align] * width * scale
        # the y axis of a table points down, that of a letter up; 0.36 is half a digit's height
        place = np.round(np.array([start, y + 0.36 * scale]) * PIXELS) / PIXELS
        moved = vertices * (scale, -scale) + place
        self._paths.setdefault(colour, []).append(Path(moved, codes))

    def draw(self, ax):
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        for colour, paths in self._paths.items():
            shape = Path.make_compound_path(*paths)
            _put(ax, PathPatch(shape, facecolor=colour, linewidth=0, zorder=4))


@lru_cache(maxsize=2048)
def _outline(text):
    """The letters' outline at size 1, and how wide it is."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text:
        return np.zeros((0, 2)), np.zeros(0, np.uint8), 0.0
    path = TextPath((0, 0), text, size=1, prop=FontProperties(family=font_families()))
    return path.vertices, path.codes, float(path.vertices[:, 0].max())


def _number(value) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "−∞" if value < 0 else "∞"
    if abs(value) >= 1000:
        return f"{value:.0e}".replace("e+0", "e").replace("e+", "e").replace("-", "−")
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _describe(title, before, after, mask, queries):
    """The figure in words: what leaks, what the rows sum to, whose output changed."""
    hidden = int((~mask).sum())
    parts = [f"{hidden} of {mask.size} looks are forbidden"]
    if np.isnan(after.weights).any():
        rows = np.isnan(after.weights).any(axis=1)
        parts.append(f"{int(rows.sum())} of {len(rows)} rows of weights are NaN")
    else:
        leak = float(np.where(mask, 0, after.weights).sum(axis=1).max())
        parts.append(f"at most {leak:.2f} of a row's weight goes to forbidden keys")
        low, high = after.weights.sum(axis=1).min(), after.weights.sum(axis=1).max()
        parts.append(f"rows of weights sum to {low:.2f} up to {high:.2f}")
    with np.errstate(invalid="ignore"):
        same = np.abs(after.output - before.output).max(axis=1) < 1e-6
    changed = [word for word, equal in zip(queries, same) if not equal]
    parts.append("the output changes for " + (", ".join(changed) if changed else "nobody"))
    return f"{title or 'Mask laboratory'}: " + "; ".join(parts) + "."
