"""The mask laboratory: it draws what it was given, says it in words, and keeps up with a slider."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from utils.figures.canvas import collect
from utils.figures.masks import Stage, plot_mask_lab
from utils.layers.masks import causal_mask
from utils.notebook.cells import draw_once, play

WORDS = ["<bos>", "Jane", "visits", "Africa", "<pad>"]
SCORES = torch.randn(5, 5, generator=torch.Generator().manual_seed(4))
VALUES = torch.randn(5, 2, generator=torch.Generator().manual_seed(5))


def stage(mask, fill=-torch.inf) -> Stage:
    scores = SCORES.masked_fill(~mask, fill)
    return Stage(scores, scores.softmax(-1), scores.softmax(-1) @ VALUES)


def lab(mask, fill=-torch.inf) -> tuple[np.ndarray, str]:
    """The pixels and the words of the laboratory under ``mask``."""
    before = stage(torch.ones(5, 5, dtype=torch.bool))
    with collect() as figures:
        plot_mask_lab(before, stage(mask, fill), mask, WORDS, title="A mask")
    ((png, alt),) = figures
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int), alt


def orange(pixels) -> int:
    """How many pixels have the colour of a leak."""
    return int((np.abs(pixels - (213, 94, 0)).max(axis=-1) < 6).sum())


def test_a_tight_mask_in_words():
    _, alt = lab(causal_mask(5))
    assert "10 of 25 looks are forbidden" in alt
    assert "at most 0.00 of a row's weight goes to forbidden keys" in alt
    assert "sum to 1.00 up to 1.00" in alt
    assert "changes for <bos>, Jane, visits, Africa." in alt  # the last one saw everything anyway


def test_a_leak_is_framed_and_said():
    tight, _ = lab(causal_mask(5))
    leaking, alt = lab(causal_mask(5), fill=0.0)
    weights = stage(causal_mask(5), 0.0).weights.masked_fill(causal_mask(5), 0).sum(-1)
    assert f"at most {weights.max():.2f} of a row's weight" in alt
    assert orange(tight) == 0
    assert orange(leaking) > 10 * 100  # ten frames


def test_nan_is_drawn_and_counted():
    _, alt = lab(causal_mask(5), fill=torch.nan)
    assert "4 of 5 rows of weights are NaN" in alt


def test_an_open_mask_changes_nobody():
    pixels, alt = lab(torch.ones(5, 5, dtype=torch.bool))
    assert "0 of 25 looks are forbidden" in alt
    assert alt.endswith("the output changes for nobody.")
    half = len(pixels) // 2
    assert pixels[:half].std() == pytest.approx(pixels[half:].std(), rel=0.2)


def test_cross_attention_has_its_own_keys():
    mask = torch.tensor([[True, True, True, False]] * 2)
    scores = SCORES[:2, :4].masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    one = Stage(scores, weights, weights @ VALUES[:4])
    with collect() as figures:
        plot_mask_lab(one, one, mask, ["she", "sees"], ["elle", "voit", "$x", "注意"])
    assert "2 of 8 looks" in figures[0][1]


def test_wrong_shapes_are_refused():
    open_, full = stage(torch.ones(5, 5, dtype=torch.bool)), torch.ones(5, 5, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"shape \(5, 5\): queries × keys, got .*\(4, 5\)"):
        plot_mask_lab(open_, open_, full[:4], WORDS)
    with pytest.raises(ValueError, match="boolean"):
        plot_mask_lab(open_, open_, full.float(), WORDS)
    with pytest.raises(ValueError, match="scores and weights"):
        plot_mask_lab(open_, open_._replace(weights=SCORES[:3]), full, WORDS)
    with pytest.raises(ValueError, match="output must have shape"):
        plot_mask_lab(open_, open_._replace(output=VALUES[:3]), full, WORDS)


def test_it_plays():
    masks = {"causal": causal_mask(5), "none": torch.ones(5, 5, dtype=torch.bool)}

    def draw(mask):
        plot_mask_lab(stage(masks["none"]), stage(masks[mask]), masks[mask], WORDS, title=mask)

    figure = play(draw, mask=list(masks))
    first = draw_once(draw, {"mask": "causal"})
    assert repr(figure).endswith(first[1])
    figure.set(mask="none")
    assert "the output changes for nobody" in repr(figure)
