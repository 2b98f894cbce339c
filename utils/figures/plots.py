"""Figures of the course, one line each: attention with words on both axes, curves, bars, arcs.

Every helper shows its figure as a PNG with a text alternative and returns None.  Rows are queries
and columns are keys, and the axes say so.  Colours stay apart for colour-blind readers.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from utils.figures.canvas import (
    COLOURS,
    GRID,
    INK,
    MARKERS,
    blank_figure,
    course_style,
    show,
    to_array,
)
from utils.fonts import readable, widest
from utils.layers.weights import Weights


def plot_attention(
    weights,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    title: str | None = None,
    mask=None,
) -> None:
    """Heatmap of one attention map (M, N), with words on both axes.

    ``weights`` may also be the ``Weights`` of a translation, if there is but one map in them.
    ``keys`` are the queries if not given.  Small maps carry their numbers.  With ``mask`` (True =
    may look) the forbidden cells are hatched.
    """
    weights, keys = _maps(weights, 2), queries if keys is None else keys
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights must have shape ({len(queries)} queries, {len(keys)} keys), "
            f"got {weights.shape}"
        )
    plot_heads(weights[None], queries, keys, titles=[title or ""], mask=mask)


def plot_heads(
    weights,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] | None = None,
    mask=None,
) -> None:
    """Several attention maps (H, M, N) side by side, at most four in a row, on one colour scale.

    ``mask`` (True = may look) is boolean and broadcasts to (H, M, N).
    """
    weights = _maps(weights, 3)
    keys = queries if keys is None else keys
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights must have shape (heads, {len(queries)} queries, {len(keys)} keys), "
            f"got {weights.shape}"
        )
    if weights.size == 0:
        raise ValueError(f"there must be at least one head, query and key, got {weights.shape}")
    count, num_queries, num_keys = weights.shape
    mask = None if mask is None else _full_mask(mask, weights.shape)
    titles = [f"head {i}" for i in range(count)] if titles is None else list(titles)
    if len(titles) != count:
        raise ValueError(f"there must be one title for each map, got {len(titles)} for {count}")

    columns = min(count, 4)
    rows = -(-count // columns)
    cell = _cell_size(max(num_queries, num_keys), count)
    size = 9 if cell >= 0.3 else 7
    # measured, not guessed from the letters: a Chinese word is twice as wide as an English one
    left, below = widest(readable(queries), size), widest(readable(keys), size)
    flat = below < 0.85 * cell
    width = columns * (num_keys * cell + 0.65 + left) + 0.8
    height = rows * (num_queries * cell + 1.0 + (0.15 if flat else below))
    fig = blank_figure(max(width, 3.2), max(height, 2.4))
    finite = weights[np.isfinite(weights)]
    top = max(1.0, float(finite.max(initial=0)))  # weights that dropout has scaled exceed 1
    with course_style():
        for i in range(count):
            ax = fig.add_subplot(rows, columns, i + 1)
            image = _draw_map(ax, weights[i], top, cell)
            if mask is not None:
                for row, column in np.argwhere(~mask[i]):
                    ax.add_patch(_hatched(column, row))
            _write_words(ax, queries, keys, size, flat)
            _axes(ax, "keys: looked at", "queries: who looks", titles[i])
        bar = fig.colorbar(image, ax=fig.axes, fraction=0.04, pad=0.02)
        bar.set_label("weight")
        bar.outline.set_visible(False)
        show(fig, "\n".join(_describe(weights[i], queries, keys, titles[i]) for i in range(count)))


def plot_curves(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    title: str | None = None,
    log: str = "",
    target: tuple[float, str] | None = None,
    ylim: tuple[float, float] | None = None,
) -> None:
    """Named curves over ``x``, with a legend beside them if there are several.

    ``log`` may hold "x" and "y".  ``target`` draws a dashed line at a height, with its meaning.
    """
    x, curves = to_array(x), {name: to_array(y) for name, y in curves.items()}
    for name, y in curves.items():
        if y.shape != x.shape or x.ndim != 1 or x.size == 0:
            raise ValueError(
                f"x and each curve must be rows of equally many numbers, got {x.shape} for x "
                f"and {y.shape} for {name!r}"
            )
    fig = blank_figure(6.4, 3.4)
    with course_style():
        ax = fig.add_subplot()
        for i, (name, y) in enumerate(curves.items()):
            colour = COLOURS[i % len(COLOURS)]
            ax.plot(x, y, color=colour, marker=MARKERS[i % len(MARKERS)], markersize=5, label=name)
        if target is not None:
            ax.axhline(target[0], color=INK, linestyle="--", linewidth=1, label=target[1])
        _axes(ax, xlabel, ylabel, title)
        ax.grid(color=GRID, linewidth=0.6)
        if "x" in log:
            ax.set_xscale("log", base=2)
            ax.set_xticks(list(x))
            ax.minorticks_off()
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        elif (x == np.rint(x)).all():  # there is no sentence of 2.5 words
            ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
        if "y" in log:
            ax.set_yscale("log")
        if ylim is not None:
            ax.set_ylim(ylim)
        if len(curves) > 1 or target is not None:
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        parts = [
            f"{name} goes from {_number(y[0])} to {_number(y[-1])}" for name, y in curves.items()
        ]
        span = f"{xlabel} from {_number(x[0])} to {_number(x[-1])}"
        alt = f"{title or ylabel}. For {span}: " + "; ".join(parts) + "."
        show(fig, alt, crop=False)


def plot_bars(
    values: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    *,
    ylabel: str,
    xlabel: str = "",
    title: str | None = None,
    ylim: tuple[float, float] | None = None,
) -> None:
    """Groups of bars: one group for each label, one colour for each name."""
    values = {name: to_array(heights) for name, heights in values.items()}
    for name, heights in values.items() or [("nothing", np.zeros(0))]:
        if heights.shape != (len(labels),) or not labels:
            raise ValueError(
                f"there must be one height for each of the {len(labels)} labels, "
                f"got {heights.shape} for {name!r}"
            )
    count, words = len(labels) * len(values), readable(labels)
    width = min(8.0, max(4.0, 0.5 * count + 1.6))
    flat = widest(words, 10) < 0.85 * (width - 1.6) / len(labels)
    fig = blank_figure(width, 3.0)
    with course_style():
        ax = fig.add_subplot()
        width = 0.8 / len(values)
        for i, (name, heights) in enumerate(values.items()):
            at = np.arange(len(labels)) + (i - (len(values) - 1) / 2) * width
            bars = ax.bar(at, heights, width * 0.94, color=COLOURS[i % len(COLOURS)], label=name)
            if count <= 16:  # more numbers would run into each other
                ax.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
        ax.set_xticks(range(len(labels)), words, rotation=0 if flat else 90)
        ax.margins(y=0.15)
        if ylim is not None:
            ax.set_ylim(ylim)
        _axes(ax, xlabel, ylabel, title)
        if len(values) > 1:
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        rows = (
            f"{name}: " + ", ".join(f"{w} {h:.2f}" for w, h in zip(labels, heights))
            for name, heights in values.items()
        )
        show(fig, f"{title or ylabel}. " + "; ".join(rows) + ".", crop=False)


def plot_arcs(
    weights, tokens: Sequence[str], *, title: str | None = None, least: float = 0.2
) -> None:
    """Arcs from each token (query) to the tokens it looks at (keys), thicker for larger weights.

    Weights under ``least`` are left out, and the figure says how many.  An arc above the words
    goes to the right, one below goes to the left; a ring is a look at itself.
    """
    weights = to_array(weights)
    n = len(tokens)
    if weights.shape != (n, n) or n == 0:
        raise ValueError(f"weights must have shape ({n}, {n}) for {n} tokens, got {weights.shape}")
    words = readable(tokens)
    fig = blank_figure(max(5.0, max(0.95, widest(words, 11) + 0.15) * n + 0.6), 2.6)
    with course_style():
        ax = fig.add_subplot()
        for i in range(n):
            for j in range(n):
                if weights[i, j] >= least:
                    _draw_arc(ax, i, j, weights[i, j])
            ax.text(i, 0, words[i], ha="center", va="center", fontsize=11)
        hidden = int((weights < least).sum())
        ax.set_xlim(-0.6, n - 0.4)
        ax.set_ylim(-1.0, 1.0)
        ax.axis("off")
        ax.set_title(title or "Who looks at whom")
        ax.text(
            0.5,
            -0.02,
            f"{hidden} of {n * n} weights lie under {least:g} and are not drawn",
            transform=ax.transAxes,
            ha="center",
            fontsize=8,
        )
        show(fig, _describe(weights, tokens, tokens, title or "Who looks at whom"))


def _draw_map(ax, weights, top, cell):
    import seaborn as sns  # takes a second to import: only when a map is drawn

    small = weights.size <= 100 and cell >= 0.4
    sns.heatmap(
        weights,
        ax=ax,
        cmap="Blues",
        vmin=0,
        vmax=top,
        square=True,
        cbar=False,
        annot=small,
        fmt=".2f",
        annot_kws={"fontsize": 8},
        linewidths=0.5 if cell >= 0.25 else 0,
        linecolor="white",
    )
    return ax.collections[0]


def _write_words(ax, queries, keys, size, flat):
    ax.set_xticks(np.arange(len(keys)) + 0.5, readable(keys), fontsize=size)
    ax.set_yticks(np.arange(len(queries)) + 0.5, readable(queries), fontsize=size)
    ax.tick_params(axis="x", rotation=0 if flat else 90, length=0)
    ax.tick_params(axis="y", rotation=0, length=0)


def _maps(weights, axes: int) -> np.ndarray:
    """An array; of ``Weights`` the one block, without the axes of one example, one layer."""
    if not isinstance(weights, Weights):
        return to_array(weights)
    weights = to_array(weights.only())
    while weights.ndim > axes and len(weights) == 1:
        weights = weights[0]
    return weights


def _full_mask(mask, shape):
    mask = to_array(mask)
    if mask.dtype != bool:
        raise TypeError(f"mask must be boolean (True = may look), got {mask.dtype}")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(
            f"mask must broadcast to (heads, queries, keys) = {shape}, got {mask.shape}"
        ) from None


def _hatched(x, y):
    from matplotlib.patches import Rectangle

    return Rectangle(
        (x, y), 1, 1, facecolor="#eeeeee", edgecolor="#999999", hatch="///", linewidth=0
    )


def _draw_arc(ax, i, j, weight):
    from matplotlib.patches import Circle, FancyArrowPatch

    look = {"linewidth": 0.5 + 4 * weight, "color": COLOURS[0], "alpha": 0.35 + 0.6 * weight}
    if i == j:
        ax.add_patch(Circle((i, 0.24), 0.12, fill=False, **look))
        return
    side = 1 if j > i else -1  # rightward arcs above, leftward arcs below
    bend = -0.55 if abs(j - i) == 1 else -0.9 / abs(j - i) ** 0.75
    ends = ((i, 0.16 * side), (j, 0.16 * side))
    ax.add_patch(
        FancyArrowPatch(
            *ends, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=11, **look
        )
    )


def _describe(weights, queries, keys, title):
    """The text alternative of a map: for each query the key it looks at most."""
    rows = []
    for word, row in zip(queries, weights):
        best = int(np.nanargmax(row)) if np.isfinite(row).any() else 0
        if row[best] > 0:
            rows.append(f"{word} looks most at {keys[best]} ({row[best]:.2f})")
        else:
            rows.append(f"{word} looks nowhere")
    if len(rows) > 12:
        rows = rows[:12] + [f"and {len(queries) - 12} more rows"]
    return (
        f"{title + '. ' if title else ''}Attention map, rows are queries: " + "; ".join(rows) + "."
    )


def _axes(ax, xlabel, ylabel, title):
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if title:
        ax.set_title(title)


def _cell_size(n, count):
    """Inches for one cell: large for a few tokens, small for forty, smaller side by side."""
    return max(0.16, min(0.55, 5.5 / n)) if count == 1 else max(0.11, min(0.45, 3.2 / n))


def _number(value) -> str:
    return f"{float(value):.4g}"
