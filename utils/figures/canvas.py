"""The paper under every figure: its look, how it is shown, and how it is collected for a slider.

A figure is shown as a PNG with a text alternative.  ``utils/figures/plots.py`` draws the course's
figures on it; ``new_figure`` and ``show`` are for a drawing of your own.
"""

import io
from base64 import b64encode
from contextlib import contextmanager

from matplotlib import rc_context
from matplotlib.figure import Figure

from utils.arrays import to_array as to_array  # every figure begins with it
from utils.fonts import font_families

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


def show(fig: Figure, alt: str, crop: bool = True) -> None:
    """Show ``fig`` as a PNG whose text alternative is ``alt``.

    ``crop`` cuts the margins off, for drawings that do not fill their figure.  It draws twice: go
    without it where a slider waits.
    """
    buffer = io.BytesIO()
    quick = {"compress_level": 6 if crop else 1}  # a tenth larger, a quarter sooner
    with course_style():
        fig.savefig(
            buffer, format="png", dpi=DPI, bbox_inches="tight" if crop else None, pil_kwargs=quick
        )
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
        _collectors.pop()


def new_figure(width: float, height: float, columns: int = 1):
    """A figure of the course's look with ``columns`` axes, for drawings made by hand.

    Draw on the axes, then call ``show(fig, alt)``.  Returns ``(fig, axes)``, axes always a list.
    """
    fig = blank_figure(width, height)
    with course_style():
        axes = [fig.add_subplot(1, columns, i + 1) for i in range(columns)]
    return fig, axes


def blank_figure(width: float, height: float) -> Figure:
    """An empty figure of the course's look; axes are added by the one who draws."""
    with course_style():
        return Figure(figsize=(width, height), layout="constrained")


def course_style():
    """A context in which matplotlib draws with the course's look and fonts."""
    return rc_context({**STYLE, "font.family": font_families()})
