"""Attention maps: the right words at the right cells, readable, and safe with any token."""

import numpy as np
import pytest
import torch

from tests.figures import assert_apart, catcher, maps, soft, tick_labels, words_at
from utils.figures import plots
from utils.figures.canvas import collect
from utils.figures.plots import plot_attention, plot_curves, plot_heads
from utils.layers.masks import causal_mask

WORDS = ["the", "cat", "sat", "on", "mats"]


@pytest.fixture
def drawn(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "show", lambda fig, alt, crop=True: shown.append((fig, alt)))
    return catcher(shown)


# ---- the map ----------------------------------------------------------------------------------


def test_rows_are_queries_and_columns_are_keys_and_the_axes_say_so(drawn):
    keys = ["les", "chats", "dorment"]
    fig, _ = drawn(plot_attention, soft(5, 3), WORDS, keys, title="Alignment")
    (ax,) = maps(fig)
    assert words_at(ax.get_yticklabels()) == WORDS
    assert words_at(ax.get_xticklabels()) == keys
    assert "quer" in ax.get_ylabel()
    assert "key" in ax.get_xlabel()
    assert ax.get_title() == "Alignment"
    heights = [label.get_window_extent().y0 for label in ax.get_yticklabels()]
    assert heights == sorted(heights, reverse=True)  # the first query on top


def test_the_darkest_pixel_lies_where_query_and_key_cross(drawn):
    weights = np.full((4, 4), 0.1)
    weights[2, 1], weights[0, 3] = 0.7, 0.4
    fig, _ = drawn(plot_attention, weights, list("abcd"))
    (ax,) = maps(fig)
    np.testing.assert_allclose(ax.collections[0].get_array(), weights)

    fig.canvas.draw()
    pixels = np.asarray(fig.canvas.buffer_rgba())[..., :3].astype(float).mean(axis=-1)
    rows = {label.get_text(): y for label, y in zip(ax.get_yticklabels(), ax.get_yticks())}
    columns = {label.get_text(): x for label, x in zip(ax.get_xticklabels(), ax.get_xticks())}

    def brightness(query, key):  # beside the middle, where the number stands
        x, y = ax.transData.transform((columns[key] - 0.35, rows[query] - 0.35))
        return pixels[round(fig.bbox.height - y), round(x)]

    shades = {(q, k): brightness(q, k) for q in "abcd" for k in "abcd"}
    ordered = sorted(shades, key=shades.get)
    assert ordered[:2] == [("c", "b"), ("a", "d")]
    assert shades["c", "b"] < shades["a", "d"] - 20 < shades["b", "b"] - 40


def test_small_maps_carry_their_numbers_and_large_ones_do_not(drawn):
    fig, _ = drawn(plot_attention, soft(3, 3), list("abc"))
    assert {text.get_text() for text in maps(fig)[0].texts} == {f"{w:.2f}" for w in soft(3, 3).flat}
    fig, _ = drawn(plot_attention, soft(20, 20), [f"w{i}" for i in range(20)])
    assert not maps(fig)[0].texts


@pytest.mark.parametrize("count", [1, 4, 5])
def test_heads_stand_side_by_side_on_one_colour_scale(drawn, count):
    weights = soft(count, 5, 5)
    weights[0] *= 2  # as dropout does
    fig, _ = drawn(plot_heads, weights, WORDS)
    axes = maps(fig)
    assert [ax.get_title() for ax in axes] == [f"head {i}" for i in range(count)]
    for ax, head in zip(axes, weights):
        np.testing.assert_allclose(ax.collections[0].get_array(), head)
    assert len({ax.collections[0].get_clim() for ax in axes}) == 1
    assert axes[0].collections[0].get_clim() == (0, weights.max())
    assert len({round(ax.get_position().y0, 3) for ax in axes}) == -(-count // 4)


def test_ordinary_weights_use_the_scale_from_0_to_1(drawn):
    fig, _ = drawn(plot_attention, soft(5, 5), WORDS)
    assert maps(fig)[0].collections[0].get_clim() == (0, 1)


def test_forbidden_cells_are_hatched(drawn):
    fig, _ = drawn(plot_attention, np.tril(soft(4, 4)), list("abcd"), mask=causal_mask(4))
    hatched = {(p.get_y(), p.get_x()) for p in maps(fig)[0].patches if p.get_hatch()}
    assert hatched == {(i, j) for i in range(4) for j in range(4) if j > i}


def test_each_head_may_have_its_own_mask(drawn):
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[1, 0, 2] = False
    fig, _ = drawn(plot_heads, soft(2, 3, 3), list("abc"), mask=mask)
    hatched = [[(p.get_y(), p.get_x()) for p in ax.patches if p.get_hatch()] for ax in maps(fig)]
    assert hatched == [[], [(0, 2)]]


@pytest.mark.parametrize(
    "weights",
    [
        torch.full((2, 2), 0.5, dtype=torch.bfloat16),
        torch.full((2, 2), 0.5, requires_grad=True),
        [[0.5, 0.5], [0.5, 0.5]],
        np.full((2, 2), 0.5, dtype=np.float16),
    ],
)
def test_weights_may_be_tensors_of_any_kind_arrays_or_lists(drawn, weights):
    fig, _ = drawn(plot_attention, weights, ["a", "b"])
    assert (maps(fig)[0].collections[0].get_array() == 0.5).all()


# ---- words ------------------------------------------------------------------------------------

SENTENCES = {
    "5 words": WORDS,
    "1 word": ["word"],
    "40 words": [f"word{i}" for i in range(40)],
    "40 long words": [f"{i} internationalisation" for i in range(40)],
    "wide letters": ["WWWWWWW"] * 5,
    "Chinese": ["注意力机制"] * 5,
    "code points": ["\ue000\ue001", "\ue002", "\ue003\ue004\ue005\ue006", "a", "b"],
}


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("name", SENTENCES)
def test_labels_do_not_lie_on_each_other(drawn, name, heads):
    words = SENTENCES[name]
    n = len(words)
    fig, _ = drawn(plot_heads, soft(heads, n, n), words)
    assert len(tick_labels(fig)) == 2 * n * heads
    assert_apart(fig, tick_labels(fig))
    for ax in maps(fig):  # and the cells keep a size one can see
        assert ax.get_window_extent().width / fig.dpi >= 0.1 * n


def test_labels_of_cross_attention_do_not_lie_on_each_other(drawn):
    twenty = SENTENCES["40 words"][:20]
    for queries, keys in ((WORDS, twenty), (twenty, WORDS)):
        fig, _ = drawn(plot_attention, soft(len(queries), len(keys)), queries, keys)
        assert_apart(fig, tick_labels(fig))


def test_dangerous_tokens_are_shown_as_they_are(drawn):
    words = ["$5", "$x$ or $y$", "a\nb", "", r"\frac{", "_^{}", "<b>", "%s"]
    fig, alt = drawn(plot_attention, soft(8, 8), words)
    assert_apart(fig, tick_labels(fig))
    labels = maps(fig)[0].get_yticklabels()
    shown = [label._preprocess_math(label.get_text()) for label in labels]
    assert shown == [
        (text, False)  # False: not read as a formula
        for text in ["$5", "$x$ or $y$", "a b", "␣", r"\frac{", "_^{}", "<b>", "%s"]
    ]
    assert "$5" in alt


def test_words_of_the_same_letters_count_are_not_the_same_boxes():
    """A missing glyph would be drawn as the same box in both."""
    pictures = []
    for word in ("注意", "学习"):
        with collect() as figures:
            plot_attention([[1.0]], [word])
        pictures.append(figures[0][0])
    assert pictures[0] != pictures[1]


def test_whole_numbers_have_whole_ticks(monkeypatch):
    figures = []
    monkeypatch.setattr("utils.figures.plots.show", lambda fig, alt, **_: figures.append(fig))
    words = {"xlabel": "words", "ylabel": "right"}
    plot_curves(list(range(1, 20, 2)), {"a": list(range(10))}, **words)
    plot_curves([0, 0.2, 0.4, 0.6, 0.8], {"a": [1, 2, 3, 4, 5]}, **words)
    whole, fine = (fig.axes[0].get_xticks() for fig in figures)
    assert (whole == whole.round()).all()
    assert (fine != fine.round()).any()
