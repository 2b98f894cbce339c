"""The figures of notebook 05: what they say in words, and what they refuse."""

import pytest
import torch

from utils.figures.canvas import collect
from utils.figures.positions import plot_tables, plot_turn
from utils.layers.positions import sinusoidal_encoding


def drawn(draw, *args, **options):
    with collect() as figures:
        draw(*args, **options)
    ((png, alt),) = figures
    assert png.startswith(b"\x89PNG")
    return alt


@pytest.mark.parametrize(("n", "d"), [(1, 2), (50, 128), (200, 8)])
def test_a_table_is_told_in_words(n, d):
    alt = drawn(plot_tables, {"PE": sinusoidal_encoding(n, d)})
    assert alt.startswith(f"PE: {n} rows × {d} columns, values from ")
    assert ("row 1 begins 0.84, 0.54" if n > 1 else "row 0 begins 0.00, 1.00") in alt


def test_tables_stand_side_by_side():
    alt = drawn(plot_tables, {"a": torch.zeros(3, 4), "b": torch.ones(2, 5)}, limit=2.0)
    assert "a: 3 rows × 4 columns" in alt
    assert "b: 2 rows × 5 columns" in alt


@pytest.mark.parametrize("tables", [{}, {"a": torch.zeros(3)}, {"a": torch.zeros(0, 4)}])
def test_what_is_no_table_is_refused(tables):
    with pytest.raises(ValueError, match="tables of two axes, got"):
        plot_tables(tables)


def test_the_turn_depends_on_the_shift_and_not_on_the_position():
    here, there = (drawn(plot_turn, position, 3, 32) for position in (5, 29))
    assert here.split(": ", 1)[0] == "From position 5 to 8"
    assert here.split(": ", 1)[1] == there.split(": ", 1)[1]
    assert "pair 0 turns by 171.9 degrees" in here
    assert "pair 8 turns by 1.7 degrees" in here
    assert drawn(plot_turn, 5, 4, 32).split(": ", 1)[1] != here.split(": ", 1)[1]
