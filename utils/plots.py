"""Figures of the course, one line each: attention with words on both axes, curves, bars, arcs.

Every helper shows its figure as a PNG with a text alternative and returns None.  Rows are queries
and columns are keys, and the axes say so.  Colours stay apart for colour-blind readers.
"""

import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from utils.fonts import font_families, readable

# Okabe and Ito's palette without its yellow, which is too faint for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPX"
INK, GRID = "#333333", "#dddddd"
STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": "white",
}
DPI = 110
_collectors: list[list[tuple[bytes, str]]] = []  # open `collect()` blocks, the innermost last


def plot_attention(
    weights,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    title: str | None = None,
    mask=None,
) -> None:
    """Heatmap of one attention map (M, N), with words on both axes.

    ``keys`` are the queries if not given.  Small maps carry their numbers.  With ``mask`` (True =
    may look) the forbidden cells are hatched.
    """
    plot_heads(np.asarray(to_array(weights))[None], queries, keys, titles=[title or ""], mask=mask)


def plot_heads(
    weights,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] | None = None,
    mask=None,
) -> None:
    """Several attention maps (H, M, N) side by side, at most four in a row, on one colour scale."""
    weights = to_array(weights)
    keys = queries if keys is None else keys
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights must have shape (heads, {len(queries)} queries, {len(keys)} keys), "
            f"got {weights.shape}"
        )
    count, num_queries, num_keys = weights.shape
    titles = [f"head {i}" for i in range(count)] if titles is None else list(titles)
    if len(titles) != count:
        raise ValueError(f"there must be one title for each map, got {len(titles)} for {count}")

    columns = min(count, 4)
    rows = -(-count // columns)
    cell = _cell_size(max(num_queries, num_keys), count)
    longest = max((len(str(word)) for word in queries), default=1)
    width = columns * (num_keys * cell + 0.55 + 0.085 * min(longest, 14)) + 0.6
    height = rows * (num_queries * cell + 1.05 + 0.05 * min(longest, 14))
    fig = _figure(max(width, 3.2), max(height, 2.4))
    with _style():
        for i in range(count):
            ax = fig.add_subplot(rows, columns, i + 1)
            image = _draw_map(ax, weights[i], queries, keys, titles[i], mask, cell)
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
    """Named curves over ``x``, each named where it ends.

    ``log`` may hold "x" and "y".  ``target`` draws a dashed line at a height, with its meaning.
    """
    fig = _figure(6.4, 3.4)
    with _style():
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
        show(fig, f"{title or ylabel}. For {span}: " + "; ".join(parts) + ".")


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
    count = len(labels) * len(values)
    fig = _figure(min(8.0, max(4.0, 0.5 * count + 1.6)), 3.0)
    with _style():
        ax = fig.add_subplot()
        width = 0.8 / len(values)
        for i, (name, heights) in enumerate(values.items()):
            at = np.arange(len(labels)) + (i - (len(values) - 1) / 2) * width
            bars = ax.bar(at, heights, width * 0.94, color=COLOURS[i % len(COLOURS)], label=name)
            if count <= 16:  # more numbers would run into each other
                ax.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
        ax.set_xticks(range(len(labels)), readable(labels))
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
        show(fig, f"{title or ylabel}. " + "; ".join(rows) + ".")


def plot_arcs(
    weights, tokens: Sequence[str], *, title: str | None = None, least: float = 0.2
) -> None:
    """Arcs from each token (query) to the tokens it looks at (keys), thicker for larger weights.

    Weights under ``least`` are left out, and the figure says how many.  An arc above the words
    goes to the right, one below goes to the left; a ring is a look at itself.
    """
    weights = to_array(weights)
    n = len(tokens)
    if weights.shape != (n, n):
        raise ValueError(f"weights must have shape ({n}, {n}) for {n} tokens, got {weights.shape}")
    fig = _figure(max(5.0, 0.95 * n + 0.6), 2.6)
    with _style():
        ax = fig.add_subplot()
        for i in range(n):
            for j in range(n):
                if weights[i, j] >= least:
                    _draw_arc(ax, i, j, weights[i, j])
            ax.text(i, 0, readable([tokens[i]])[0], ha="center", va="center", fontsize=11)
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


def show(fig: Figure, alt: str) -> None:
    """Show ``fig`` as a PNG whose text alternative is ``alt``."""
    buffer = io.BytesIO()
    with _style():
        fig.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight")
    png = buffer.getvalue()
    if _collectors:
        _collectors[-1].append((png, alt))
        return
    from IPython.display import display  # only a notebook needs it

    bundle = {"image/png": b64encode(png).decode(), "text/plain": alt}
    display(bundle, raw=True, metadata={"image/png": {"alt": alt}})


@contextmanager
def collect():
    """Inside this block figures are not shown but collected as (png, alt) pairs."""
    figures: list[tuple[bytes, str]] = []
    _collectors.append(figures)
    try:
        yield figures
    finally:
        _collectors.remove(figures)


def new_figure(width: float, height: float, columns: int = 1):
    """A figure of the course's look with ``columns`` axes, for drawings made by hand.

    Draw on the axes, then call ``show(fig, alt)``.  Returns ``(fig, axes)``, axes always a list.
    """
    fig = _figure(width, height)
    with _style():
        axes = [fig.add_subplot(1, columns, i + 1) for i in range(columns)]
    return fig, axes


def _draw_map(ax, weights, queries, keys, title, mask, cell):
    import seaborn as sns  # takes a second to import: only when a map is drawn

    small = weights.size <= 100 and cell >= 0.4
    sns.heatmap(
        weights,
        ax=ax,
        cmap="Blues",
        vmin=0,
        vmax=max(1.0, float(np.nanmax(weights))),
        square=True,
        cbar=False,
        annot=small,
        fmt=".2f",
        annot_kws={"fontsize": 8},
        linewidths=0.5 if cell >= 0.25 else 0,
        linecolor="white",
    )
    if mask is not None:
        for i, j in np.argwhere(~np.broadcast_to(to_array(mask).astype(bool), weights.shape)):
            ax.add_patch(_hatched(j, i))
    size = 9 if cell >= 0.3 else 7
    ax.set_xticks(np.arange(len(keys)) + 0.5, readable(keys), fontsize=size)
    ax.set_yticks(np.arange(len(queries)) + 0.5, readable(queries), fontsize=size)
    flat = max((len(str(word)) for word in keys), default=1) * 0.075 < cell
    ax.tick_params(axis="x", rotation=0 if flat else 90, length=0)
    ax.tick_params(axis="y", rotation=0, length=0)
    _axes(ax, "keys: looked at", "queries: who looks", title)
    return ax.collections[0]


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
        rows.append(f"{word} looks most at {keys[best]} ({row[best]:.2f})")
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


def _figure(width, height):
    with _style():
        return Figure(figsize=(width, height), layout="constrained")


def _style():
    return rc_context({**STYLE, "font.family": font_families()})


def _cell_size(n, count):
    """Inches for one cell: large for a few tokens, small for forty, smaller side by side."""
    return max(0.16, min(0.55, 5.5 / n)) if count == 1 else max(0.11, min(0.45, 3.2 / n))


def to_array(values) -> np.ndarray:
    """NumPy from a tensor (any device, bfloat16 too), an array or nested lists."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() else values
    return np.asarray(values)


def _number(value) -> str:
    return f"{float(value):.4g}"
