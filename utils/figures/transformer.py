"""Drawings for notebook 07: the whole Transformer, and what a norm does to a table of numbers.

Each helper draws one figure with a text alternative and returns None, like those of plots.py.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.patches import FancyBboxPatch

from utils.figures.canvas import COLOURS, INK, new_figure, show, to_array

_SKIP = "#8a8a8a"  # residuals, beside the main way
_KINDS = {"attention": COLOURS[5], "norm": COLOURS[4], "feed": COLOURS[2], "other": "#bbbbbb"}


def plot_architecture(names: Mapping[str, str] | None = None) -> None:
    """Encoder (left) and decoder (right) of the Transformer, from the words up to the next word.

    The three attentions carry the letters A, B and C; ``names`` writes beside each what it is.
    """
    names = dict(names or {})
    fig, (ax,) = new_figure(8.9, 6.6)
    left = [
        ("other", "source words"),
        ("other", "embedding + position"),
        ("attention", "A   attention"),
        ("norm", "add & norm"),
        ("feed", "feed-forward"),
        ("norm", "add & norm"),
    ]
    right = [
        ("other", "target words, shifted right"),
        ("other", "embedding + position"),
        ("attention", "B   attention"),
        ("norm", "add & norm"),
        ("attention", "C   attention"),
        ("norm", "add & norm"),
        ("feed", "feed-forward"),
        ("norm", "add & norm"),
        ("other", "linear, softmax"),
        ("other", "next word"),
    ]
    for x, column in ((0.0, left), (5.0, right)):
        for row, (kind, text) in enumerate(column):
            _box(ax, x, row, text, _KINDS[kind])
            if row:
                _arrow(ax, (x, row - 0.66), (x, row - 0.34))
    for x, side, rows in ((0.0, -1, (2, 4)), (5.0, 1, (2, 4, 6))):
        for row in rows:
            _skip(ax, x, row, side)
    _frame(ax, 0.0, 2, 5, "encoder block, N times", side=-1)
    _frame(ax, 5.0, 2, 7, "decoder block, N times", side=1)
    # the encoder's output goes to attention C of every decoder block
    ax.plot([0, 0, 2.5, 2.5], [5.36, 5.9, 5.9, 4], color=INK, linewidth=1.4)
    _arrow(ax, (2.5, 4), (3.52, 4))
    ax.text(1.2, 6.05, "memory", ha="center", va="bottom", fontsize=9)
    for letter, (x, row, side) in {"A": (0, 2, -1), "B": (5, 2, 1), "C": (5, 4, 1)}.items():
        if letter in names:
            place = x + side * 2.05
            where = "right" if side < 0 else "left"
            ax.text(place, row, names[letter], ha=where, va="center", fontsize=9, color=COLOURS[1])
    ax.set_xlim(-4.6, 9.6)
    ax.set_ylim(-0.6, 9.6)
    ax.axis("off")
    title = "The Transformer"
    ax.set_title(title)
    said = "; ".join(f"{letter} is {name}" for letter, name in names.items())
    show(
        fig,
        f"{title}. Encoder block: attention A, add and norm, feed-forward, add and norm; a line "
        "leads past each of the two and is added behind it. Decoder "
        "block: attention B, add and norm, attention C, which also gets the encoder's output, add "
        f"and norm, feed-forward, add and norm; then linear and softmax. {said}".strip(),
    )


def _skip(ax, x: float, row: int, side: int) -> None:
    """The residual: past the sub-layer in ``row``, into the "add" above it."""
    out, edge = x + side * 1.72, x + side * 1.46
    ax.plot([x, out, out], [row - 0.5, row - 0.5, row + 1], color=_SKIP, linewidth=1.2)
    _arrow(ax, (out, row + 1), (edge, row + 1), colour=_SKIP)


def plot_norms(tables: Mapping[str, object]) -> None:
    """Tables (samples, features) side by side, with mean and deviation of every row and column."""
    fig, axes = new_figure(3.1 * len(tables), 3.3, len(tables))
    said = []
    for ax, (name, table) in zip(axes, tables.items()):
        table = to_array(table)
        top = np.abs(table).max()
        ax.imshow(table, cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto")
        rows = _all(table.mean(1), table.std(1))
        columns = _all(table.mean(0), table.std(0))
        ax.set_title(name)
        ax.set_xlabel(f"feature\nevery column μ = 0, σ = 1: {columns}")
        ax.set_ylabel(f"sample\nevery row μ = 0, σ = 1: {rows}")
        ax.set_xticks(range(table.shape[1]))
        ax.set_yticks(range(table.shape[0]))
        said.append(f"{name}: every row normalised: {rows}, every column: {columns}")
    show(fig, "Tables of samples by features. " + "; ".join(said) + ".")


def _all(mean, std) -> str:
    return "yes" if np.allclose(mean, 0, atol=1e-3) and np.allclose(std, 1, atol=1e-2) else "no"


def _box(ax, x: float, row: float, text: str, colour: str) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - 1.4, row - 0.26), 2.8, 0.52, boxstyle="round,pad=0.06",
            facecolor=colour, alpha=0.35, edgecolor=colour,
        )
    )  # fmt: skip
    ax.text(x, row, text, ha="center", va="center", fontsize=9)


def _frame(ax, x: float, first: int, last: int, text: str, side: int) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - 1.92, first - 0.55), 3.84, last - first + 1.05, boxstyle="round,pad=0.04",
            facecolor="none", edgecolor=INK, linestyle=":",
        )
    )  # fmt: skip
    where = "right" if side < 0 else "left"
    ax.text(x + side * 2.05, last, text, ha=where, va="center", fontsize=9)


def _arrow(ax, start, end, colour: str = INK) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.4})
