"""The drawings of notebook 07 say in words what they show."""

import torch
import torch.nn.functional as F

from utils.figures.transformer import plot_architecture, plot_norms
from utils.notebook.cells import draw_once


def words_of(draw, **values) -> str:
    png, alt = draw_once(draw, values)
    assert png.startswith(b"\x89PNG")
    return alt


def test_the_architecture_names_its_attentions():
    plain, named = (
        words_of(plot_architecture, names=None),
        words_of(plot_architecture, names={"A": "self-attention", "C": "cross-attention"}),
    )
    assert "A is self-attention; C is cross-attention" in named and "A is" not in plain


def test_the_norms_are_told_apart():
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(0)) * 2 + 1
    tables = {"raw": x, "layer": F.layer_norm(x, (8,)), "batch": (x - x.mean(0)) / x.std(0, False)}
    alt = words_of(plot_norms, tables=tables)
    assert "raw: every row normalised: no, every column: no" in alt
    assert "layer: every row normalised: yes, every column: no" in alt
    assert "batch: every row normalised: no, every column: yes" in alt
