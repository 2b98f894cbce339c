"""Every figure is a PNG with a text alternative; curves, bars and arcs; bad input."""

import base64
import io

import matplotlib
import numpy as np
import pytest
import torch
from PIL import Image

from tests.figures import assert_apart, catcher, soft, words_at
from utils.figures import canvas, plots
from utils.figures.canvas import collect
from utils.figures.plots import plot_arcs, plot_attention, plot_bars, plot_curves, plot_heads
from utils.layers.masks import causal_mask

WORDS = ["the", "cat", "sat", "on", "mats"]


@pytest.fixture
def drawn(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "show", lambda fig, alt, crop=True: shown.append((fig, alt)))
    return catcher(shown)


# ---- the text alternative and the PNG ---------------------------------------------------------


def test_the_alternative_names_the_strongest_key_of_each_query(drawn):
    weights = soft(5, 3)
    keys = ["les", "chats", "dorment"]
    _, alt = drawn(plot_attention, weights, WORDS, keys, title="Alignment")
    assert alt.startswith("Alignment")
    for word, row in zip(WORDS, weights):
        assert f"{word} looks most at {keys[row.argmax()]} ({row.max():.2f})" in alt


def test_the_alternative_of_heads_names_each_and_a_long_one_is_cut(drawn):
    _, alt = drawn(plot_heads, soft(2, 5, 5), WORDS, titles=["near", "far"])
    assert "near. " in alt
    assert "far. " in alt
    _, alt = drawn(plot_attention, soft(15, 2), [f"word{i}" for i in range(15)], ["a", "b"])
    assert "and 3 more rows" in alt
    assert alt.count("looks most") == 12


def test_a_row_without_weight_looks_nowhere(drawn):
    weights = np.array([[0.0, 0.0], [1.0, 0.0]])
    _, alt = drawn(plot_attention, weights, ["a", "b"])
    assert "a looks nowhere" in alt
    assert "b looks most at a (1.00)" in alt


HELPERS = {
    "attention": lambda: plot_attention(soft(3, 3), list("abc")),
    "heads": lambda: plot_heads(soft(2, 3, 3), list("abc")),
    "curves": lambda: plot_curves([1, 2], {"a": [3, 4]}, xlabel="x", ylabel="y"),
    "bars": lambda: plot_bars({"a": [1, 2]}, ["u", "v"], ylabel="y"),
    "arcs": lambda: plot_arcs(soft(3, 3), list("abc")),
}


@pytest.mark.parametrize("name", HELPERS)
def test_each_helper_makes_one_png_and_leaves_no_trace(name):
    before = dict(matplotlib.rcParams)
    with collect() as figures:
        assert HELPERS[name]() is None
    ((png, alt),) = figures
    picture = Image.open(io.BytesIO(png))
    assert picture.format == "PNG"
    assert picture.width > 200
    assert len(np.unique(np.asarray(picture.convert("L")))) > 20
    assert len(alt) > 20
    assert dict(matplotlib.rcParams) == before
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []


def test_the_same_figure_is_the_same_png():
    with collect() as figures:
        HELPERS["heads"]()
        HELPERS["heads"]()
    assert figures[0] == figures[1]


def test_outside_a_block_the_figure_is_displayed_with_its_alternative(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: shown.append((a, k)))
    HELPERS["attention"]()
    (((bundle,), options),) = shown
    assert set(bundle) == {"image/png", "text/plain"}
    assert Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).format == "PNG"
    assert options["metadata"]["image/png"]["alt"] == bundle["text/plain"]
    assert options["raw"] is True


def test_blocks_may_lie_inside_each_other_and_end_in_an_error():
    with collect() as outer:
        with pytest.raises(KeyError), collect() as inner:
            raise KeyError
        with collect() as inner:
            HELPERS["arcs"]()
        HELPERS["bars"]()
    assert len(inner) == 1
    assert len(outer) == 1
    assert inner[0] != outer[0]
    assert canvas._collectors == []


# ---- curves, bars, arcs -----------------------------------------------------------------------


def test_curves_hold_their_numbers_and_say_them(drawn):
    y = torch.tensor([1.0, 4.0, 16.0], requires_grad=True)
    fig, alt = drawn(
        plot_curves, [2, 4, 8], {"squares": y, "flat": [2, 2, 2]}, xlabel="d", ylabel="value",
        log="x", target=(3.0, "goal"), title="Growth",
    )  # fmt: skip
    (ax,) = fig.axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["squares"].get_xydata().tolist() == [[2, 1], [4, 4], [8, 16]]
    assert lines["squares"].get_color() != lines["flat"].get_color()
    assert set(lines["goal"].get_ydata()) == {3.0}
    assert ax.get_xscale() == "log"
    assert words_at(ax.get_xticklabels()) == ["2", "4", "8"]
    assert words_at(ax.get_legend().get_texts()) == ["squares", "flat", "goal"]
    assert "squares goes from 1 to 16" in alt
    assert "d from 2 to 8" in alt


def test_bars_hold_their_numbers_and_say_them(drawn):
    fig, alt = drawn(plot_bars, {"a": [0.25, 0.75], "b": [0.5, 0.5]}, ["cat", "$mat"], ylabel="w")
    (ax,) = fig.axes
    assert sorted(bar.get_height() for bar in ax.patches) == [0.25, 0.5, 0.5, 0.75]
    assert "cat 0.25, $mat 0.75" in alt
    assert len({bar.get_facecolor() for bar in ax.patches}) == 2


def test_labels_of_many_bars_do_not_lie_on_each_other(drawn):
    labels = [f"longer label {i}" for i in range(12)]
    fig, _ = drawn(plot_bars, {"a": np.ones(12)}, labels, ylabel="y")
    assert words_at(fig.axes[0].get_xticklabels()) == labels
    assert_apart(fig, fig.axes[0].get_xticklabels())


def test_arcs_are_drawn_for_large_weights_only_and_the_rest_is_counted(drawn):
    weights = [[0.9, 0.1, 0.0], [0.3, 0.0, 0.7], [0.15, 0.15, 0.7]]
    fig, alt = drawn(plot_arcs, weights, list("abc"))
    (ax,) = fig.axes
    assert len(ax.patches) == 4
    assert any("5 of 9 weights" in text.get_text() for text in ax.texts)
    assert "b looks most at c (0.70)" in alt


def test_an_arc_above_goes_right_and_one_below_goes_left(drawn):
    for weights, side in (([[0, 1], [0, 0]], 1), ([[0, 0], [1, 0]], -1)):
        fig, _ = drawn(plot_arcs, weights, ["here", "there"])
        (ax,) = fig.axes
        (arc,) = ax.patches
        words = ax.transData.transform((0, 0))[1]
        box = arc.get_window_extent(fig.canvas.get_renderer())
        assert (box.y0 - words) * side > 0  # the whole of it, so that no word is struck through
        assert (box.y1 - words) * side > 0
        line = arc.get_path().vertices  # the last corner but one belongs to the arrow's head
        assert (line[-2][0] - line[0][0]) * side > 0.8


def test_words_under_arcs_do_not_lie_on_each_other(drawn):
    for words in (WORDS, ["internationalisation"] * 6, ["注意力机制"] * 5):
        n = len(words)
        fig, _ = drawn(plot_arcs, soft(n, n), words)
        assert_apart(fig, fig.axes[0].texts[:n])


# ---- bad input --------------------------------------------------------------------------------

ERRORS = {
    "map too deep": (
        lambda: plot_attention(soft(1, 4, 4), list("abcd")),
        ValueError,
        ["(4 queries, 4 keys)", "(1, 4, 4)"],
    ),
    "map of others": (
        lambda: plot_attention(soft(4, 3), list("abcd")),
        ValueError,
        ["(4 queries, 4 keys)", "(4, 3)"],
    ),
    "heads too flat": (
        lambda: plot_heads(soft(4, 4), list("abcd")),
        ValueError,
        ["(heads, 4 queries, 4 keys)", "(4, 4)"],
    ),
    "no heads": (lambda: plot_heads(np.zeros((0, 2, 2)), ["a", "b"]), ValueError, ["(0, 2, 2)"]),
    "no words": (lambda: plot_attention(np.zeros((0, 0)), []), ValueError, ["at least one"]),
    "titles": (
        lambda: plot_heads(soft(3, 2, 2), ["a", "b"], titles=["x"]),
        ValueError,
        ["title", "1", "3"],
    ),
    "float mask": (
        lambda: plot_attention(soft(2, 2), ["a", "b"], mask=torch.zeros(2, 2)),
        TypeError,
        ["boolean", "True = may look", "float32"],
    ),
    "mask of others": (
        lambda: plot_attention(soft(2, 2), ["a", "b"], mask=causal_mask(3)),
        ValueError,
        ["(1, 2, 2)", "(3, 3)"],
    ),
    "arcs": (lambda: plot_arcs(soft(2, 3), ["a", "b"]), ValueError, ["(2, 2)", "(2, 3)"]),
    "curves": (
        lambda: plot_curves([1, 2, 3], {"a": [1, 2]}, xlabel="x", ylabel="y"),
        ValueError,
        ["(3,)", "(2,)", "'a'"],
    ),
    "no curve": (
        lambda: plot_curves([], {"a": []}, xlabel="x", ylabel="y"),
        ValueError,
        ["(0,)", "'a'"],
    ),
    "bars": (lambda: plot_bars({"a": [1, 2, 3]}, ["u"], ylabel="y"), ValueError, ["1", "(3,)"]),
    "no bars": (lambda: plot_bars({}, ["u"], ylabel="y"), ValueError, ["1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_names_what_was_expected_and_what_came(name):
    call, kind, words = ERRORS[name]
    with collect() as figures, pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not figures
