"""Bars for the sliders of notebook 04: drawn once, with nothing to arrange, so that they keep up.

``plot_bars`` finds room for its labels by drawing several times, which a waiting hand notices.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from utils.figures.canvas import COLOURS, GRID, INK, new_figure, show


def plot_live_bars(
    values: Mapping[str, Sequence[float]], labels: Sequence[str], *, title: str, ylabel: str
) -> None:
    """Groups of bars from 0 to 1: one group for each label, one colour for each name."""
    if not values or any(len(heights) != len(labels) for heights in values.values()):
        sizes = [len(heights) for heights in values.values()]
        raise ValueError(f"there must be {len(labels)} values for each name, got {sizes}")
    fig, (ax,) = new_figure(5.2, 2.7)
    fig.set_layout_engine("none")
    ax.set_position((0.09, 0.12, 0.88, 0.74))
    ax.set_axis_off()
    ax.set_xlim(-0.6, len(labels) - 0.4)
    ax.set_ylim(-0.16, 1.12)
    width = 0.8 / len(values)
    for i, (name, heights) in enumerate(values.items()):
        at = np.arange(len(labels)) + (i - (len(values) - 1) / 2) * width
        ax.bar(at, heights, 0.94 * width, color=COLOURS[i])
        for x, height in zip(at, heights):
            ax.text(x, height + 0.02, f"{height:.2f}", ha="center", fontsize=8)
        if len(values) > 1:
            fig.text(0.97, 0.92 - 0.07 * i, name, ha="right", color=COLOURS[i])
    ax.hlines([0, 1], -0.5, len(labels) - 0.5, colors=[INK, GRID], linewidth=0.8)
    for i, label in enumerate(labels):
        ax.text(i, -0.11, label, ha="center", color=INK)
    ax.text(-0.6, 0.5, ylabel, rotation=90, va="center", ha="right", color=INK)
    fig.text(0.09, 0.92, title, weight="bold", color=INK)
    rows = (
        f"{name}: " + ", ".join(f"{w} {h:.2f}" for w, h in zip(labels, heights))
        for name, heights in values.items()
    )
    show(fig, f"{title}. " + "; ".join(rows) + ".", crop=False)
