"""What the tests of figures share: weights to draw, and a look at what was drawn."""

import warnings
from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg


def soft(*shape, seed=0):
    scores = np.random.default_rng(seed).normal(size=shape) * 2
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def catcher(shown: list):
    """A function that calls a plot helper and returns its figure, laid out, and its alternative.

    ``shown`` is where the patched ``utils.figures.plots.show`` puts them.
    """

    def draw(helper, *args, **options):
        shown.clear()
        assert helper(*args, **options) is None
        ((fig, alt),) = shown
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a letter without a glyph is a warning
            FigureCanvasAgg(fig)
            fig.draw_without_rendering()
        return fig, alt

    return draw


def maps(fig):
    """The axes of the maps, without the colour bar."""
    return [ax for ax in fig.axes if ax.get_xlabel()]


def words_at(labels):
    return [label.get_text() for label in labels]


def boxes(fig, labels):
    renderer = fig.canvas.get_renderer()
    return [label.get_window_extent(renderer) for label in labels if label.get_text()]


def assert_apart(fig, labels):
    for a, b in combinations(boxes(fig, labels), 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert width <= 0.5 or height <= 0.5, "two labels lie on each other"


def tick_labels(fig):
    return [
        label for ax in maps(fig) for label in (*ax.get_xticklabels(), *ax.get_yticklabels())
    ]  # fmt: skip
