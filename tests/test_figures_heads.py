"""The quick bars of notebook 04: they say what they show, and refuse what does not fit."""

import io

import numpy as np
import pytest
from PIL import Image

from utils.figures.canvas import collect
from utils.figures.heads import plot_live_bars


def drawn(values, labels):
    with collect() as figures:
        plot_live_bars(values, labels, title="Title", ylabel="share")
    return figures


def test_one_picture_with_its_numbers_in_words():
    ((png, alt),) = drawn({"near": [0.25, 0.75], "far": [1.0, 0.0]}, ["a", "b"])
    assert png.startswith(b"\x89PNG")
    assert alt == "Title. near: a 0.25, b 0.75; far: a 1.00, b 0.00."


def test_a_higher_bar_covers_more_of_the_picture():
    def blue(height):
        ((png, _),) = drawn({"near": [height]}, ["a"])
        pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
        return ((pixels - np.array([0, 114, 178])) ** 2).sum(axis=-1).__lt__(100).sum()

    assert blue(1.0) > 1.8 * blue(0.5) > 1000


@pytest.mark.parametrize("values", [{}, {"near": [0.5]}])
def test_values_that_do_not_fit_are_refused(values):
    with pytest.raises(ValueError, match="2 values"):
        drawn(values, ["a", "b"])
