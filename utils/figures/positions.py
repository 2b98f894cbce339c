"""Figures of notebook 05: tables of positions as heat maps, and a shift as a turn on a circle.

They sit behind sliders and are drawn anew at every move, so they are kept light: places fixed by
hand instead of a layout engine, and few words, for in a small figure most time goes into text.
"""

from collections.abc import Mapping

import numpy as np

from utils.figures.canvas import COLOURS, INK, new_figure, show, to_array
from utils.fonts import BASE


def plot_tables(
    tables: Mapping[str, object],
    *,
    xlabel: str = "column",
    ylabel: str = "position",
    limit: float = 1.0,
) -> None:
    """Named tables (rows, columns) side by side as heat maps: red up to +limit, blue to −limit."""
    arrays = {name: to_array(table) for name, table in tables.items()}
    if not arrays or any(array.ndim != 2 or array.size == 0 for array in arrays.values()):
        raise ValueError(
            "plot_tables draws tables of two axes, got shapes "
            + (", ".join(str(array.shape) for array in arrays.values()) or "none at all")
        )
    count = len(arrays)
    width = 5.8 if count == 1 else 4.0 * count  # inches
    fig, axes = new_figure(width, 2.7, count)
    fig.set_layout_engine("none")
    words = []
    for i, (ax, (name, array)) in enumerate(zip(axes, arrays.items())):
        ax.set_position([i / count + 0.7 / width, 0.19, 1 / count - 0.9 / width, 0.69])
        ax.imshow(
            array, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest"
        )
        rows, columns = array.shape
        ax.set_xticks(_few(columns))
        ax.set_yticks(_few(rows))
        ax.tick_params(labelfontfamily=BASE)  # one font to look up is faster than ten
        ax.set_title(name, family=BASE)
        ax.set_xlabel(f"{xlabel}   (blue −{limit:g}, white 0, red +{limit:g})", family=BASE)
        ax.set_ylabel(ylabel, family=BASE)
        first = ", ".join(f"{value:.2f}" for value in array[min(1, rows - 1), :4])
        words.append(
            f"{name}: {rows} rows × {columns} columns, values from {array.min():.2f} to "
            f"{array.max():.2f}; row {min(1, rows - 1)} begins {first}."
        )
    show(fig, " ".join(words), crop=False)


def plot_turn(position: int, shift: int, d_model: int, *, base: float = 10000.0) -> None:
    """Three pairs of columns as clock hands: at ``position``, and ``shift`` steps later.

    The slower the pair, the smaller its turn; where the hand stood before makes no difference.
    """
    fig, (ax,) = new_figure(7.2, 2.7)
    fig.set_layout_engine("none")
    ax.set_position([0.01, 0.01, 0.98, 0.98])
    around = np.linspace(0, 2 * np.pi, 90)
    words = []
    for place, pair in enumerate((0, d_model // 8, d_model // 4)):
        frequency = base ** (-2 * pair / d_model)
        before, turn = position * frequency, shift * frequency
        middle = 2.7 * place
        ax.plot(middle + np.sin(around), np.cos(around), color="#cccccc", linewidth=1)
        path = before + turn * np.linspace(0, 1, 60)
        ax.plot(middle + 0.6 * np.sin(path), 0.6 * np.cos(path), color=INK, linestyle=":")
        for angle, colour in ((before, COLOURS[0]), (before + turn, COLOURS[1])):
            tip = (middle + np.sin(angle), np.cos(angle))
            ax.plot([middle, tip[0]], [0, tip[1]], color=colour, linewidth=3)
            ax.plot(*tip, "o", color=colour, markersize=7)
        degrees = f"{np.degrees(turn):.1f}"
        ax.text(middle, 1.15, f"pair {pair}: {degrees}°", ha="center", weight="bold")
        words.append(f"pair {pair} turns by {degrees} degrees")
    ax.text(-1.1, -1.35, f"● position {position}", color=COLOURS[0])
    ax.text(0.9, -1.35, f"● position {position + shift}", color=COLOURS[1])
    ax.text(2.9, -1.35, "to the right: sine, upwards: cosine")
    ax.set_xlim(-1.3, 6.7)
    ax.set_ylim(-1.5, 1.4)
    ax.set_aspect("equal")
    ax.axis("off")
    alt = f"From position {position} to {position + shift}: " + "; ".join(words) + "."
    show(fig, alt, crop=False)


def _few(count: int) -> list[int]:
    """At most three places from 0 on, a power of two apart."""
    step = 1
    while 3 * step < count:
        step *= 2
    return list(range(0, count, step))
