"""The drawings of notebook 01: what they say in words is what they show."""

import numpy as np
import pytest
import torch
from matplotlib.patches import FancyBboxPatch, Rectangle

from tests.figures import assert_apart, catcher
from utils.figures import rnn as figures_rnn
from utils.figures.rnn import (
    plot_dependencies,
    plot_min_steps,
    plot_pieces,
    plot_receptive_field,
)


@pytest.fixture
def drawn(monkeypatch):
    shown = []
    monkeypatch.setattr(figures_rnn, "show", lambda fig, alt: shown.append((fig, alt)))
    return catcher(shown)


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def test_pieces_are_boxes_with_visible_spaces(drawn):
    fig, alt = drawn(plot_pieces, {"words": ["I", " see"], "letters": list("I see")}, title="Cut")
    assert texts(fig) == ["I", "␣see", "words: 2", "I", "␣", "s", "e", "e", "letters: 5"]
    assert alt == "Cut. words, 2 pieces: I |  see; letters, 5 pieces: I |   | s | e | e."
    assert len([p for p in fig.axes[0].patches if isinstance(p, Rectangle)]) == 7
    assert_apart(fig, fig.axes[0].texts)


STEPS = torch.arange(2)[:, None] + torch.arange(6) + 1


def test_the_wave_shows_what_is_done(drawn):
    fig, alt = drawn(plot_min_steps, STEPS, now=3)
    assert alt.startswith("Step 3: 2 computed now, 5 of 12 states are there.")
    assert "layer 2: 2, 3, 4, 5, 6, 7" in alt
    boxes = [p for p in fig.axes[0].patches if isinstance(p, FancyBboxPatch)]
    white = [b for b in boxes if b.get_facecolor() == (1, 1, 1, 1)]
    framed = [b for b in boxes if b.get_linewidth() == 3]
    assert (len(boxes), len(white), len(framed)) == (12, 7, 2)
    assert [t for t in texts(fig) if t.isdigit()] == [str(s) for s in STEPS.flatten().tolist()]


def test_without_a_step_everything_is_there(drawn):
    _, alt = drawn(plot_min_steps, STEPS)
    assert alt.startswith("Step 7: 1 computed now, 12 of 12 states are there.")


@pytest.mark.parametrize(
    ("layers", "kernel", "stride", "sees"),
    [(6, 3, 1, 13), (6, 3, 2, 127), (1, 5, 3, 5), (2, 2, 2, 4), (6, 5, 3, 1457)],
)
def test_the_field_is_counted_right(drawn, layers, kernel, stride, sees):
    fig, alt = drawn(plot_receptive_field, layers, kernel, stride)
    assert f"one output sees {sees} inputs" in alt
    assert f"input: {sees}" in texts(fig)
    assert alt.rstrip(".").split(": ")[-1].split(", ")[0] == "1"


def test_the_dots_are_the_inputs_that_are_seen(drawn):
    fig, _ = drawn(plot_receptive_field, 2, 3, 2)
    blue = [c for c in fig.axes[0].collections if c.get_facecolor()[0, 2] > 0.6]
    inputs = [c.get_offsets() for c in blue if len(c.get_offsets()) and c.get_offsets()[0, 1] == 0]
    seen = max(inputs, key=lambda o: -np.abs(o[:, 0]).max())
    assert len(seen) == 7
    assert sorted(np.diff(np.sort(seen[:, 0]))) == [1] * 6  # neighbours


def test_dependencies_are_filled_cells(drawn):
    tables = {"one way": torch.ones(3, 3).tril().bool(), "none": torch.zeros(2, 3)}
    fig, alt = drawn(plot_dependencies, tables, ["a1", "a2", "a3"])
    filled = [sum(p.get_facecolor() != (1, 1, 1, 1) for p in ax.patches) for ax in fig.axes]
    assert filled == [6, 0]
    assert "one way: b1 sees a1; b2 sees a1, a2; b3 sees a1, a2, a3." in alt
    assert "none: b1 sees nothing; b2 sees nothing." in alt


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="got layers = 0"):
        plot_receptive_field(0, 3, 1)
    with pytest.raises(ValueError, match=r"each of 2 inputs, got shape \(3, 3\)"):
        plot_dependencies({"x": torch.ones(3, 3)}, ["a", "b"])
