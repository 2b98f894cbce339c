"""Which pictures and patches the explorer takes, and what it says of others."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from tests.test_explorer_inputs import GOOD, TOKENS, weights
from utils.explorer import AttentionExplorer, inputs


def test_pictures():
    for image in (
        np.zeros((8, 8)),
        torch.rand(3, 8, 8),
        np.zeros((8, 8, 3), np.uint8),
        Image.new("RGB", (900, 450)),
    ):
        png = Image.open(io.BytesIO(inputs.to_picture(image)))
        assert png.mode == "RGB"
        assert max(png.size) <= 512
    with pytest.raises(ValueError, match="undo the normalisation"):
        inputs.to_picture(torch.randn(3, 8, 8))
    with pytest.raises(ValueError, match=r"got \(2, 8, 8\)"):
        inputs.to_picture(np.zeros((2, 8, 8)))
    with pytest.raises(ValueError, match="3 × 3 makes 9 patches, but there are 5 keys"):
        AttentionExplorer.vit(weights(5, 5), np.zeros((8, 8)), (3, 3))
    with pytest.raises(ValueError, match=r"pass patch_grid=\(rows, columns\)"):
        AttentionExplorer.vit(weights(8, 8), np.zeros((8, 8)))
    with pytest.raises(ValueError, match="pass image= too"):
        AttentionExplorer(GOOD, TOKENS, patch_grid=(1, 3))


@pytest.mark.parametrize(
    ("image", "level"),
    [
        (np.ones((8, 8), bool), 255),
        (torch.ones(3, 8, 8, dtype=torch.bool), 255),
        (np.full((8, 8), 200), 200),
        (torch.full((1, 8, 8), 0.5).half(), 128),
        (Image.new("1", (8, 8), 1), 255),
        (Image.new("F", (8, 8), 0.5), 128),
        (Image.new("I", (8, 8), 200), 200),
    ],
)
def test_how_bright_a_picture_is(image, level):
    png = Image.open(io.BytesIO(inputs.to_picture(image)))
    assert png.getpixel((4, 4)) == (level, level, level)


def png_bytes():
    buffer = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (b"junk", "bytes of a PNG or JPEG file, .* cannot read: b'junk'"),
        (b"", "cannot read: b''"),
        (png_bytes()[:1000], r"cannot read: b'\\x89PNG"),
        ("cat.png", r"must be a PIL image, .*\(3, height, width\), got 'cat\.png'"),
        (io.BytesIO(png_bytes()), "must be a PIL image, .* got <_io.BytesIO"),
        ({}, "must be a PIL image, .* got {}"),
        ([["a"]], r"must be a PIL image, .* got \[\['a'\]\]"),
        ([[1], [1, 2]], r"must be a PIL image, .* got \[\[1\], \[1, 2\]\]"),
        (np.array([[None]]), "must be a PIL image, .* got object"),
        (np.zeros((8, 8), complex), "must be a PIL image, .* got complex128"),
        (torch.zeros(3, 8, 8, device="meta"), "must be a PIL image, .* meta"),
        (torch.zeros(1, 3, 8, 8), r"got \(1, 3, 8, 8\)"),
        (5, r"got \(\)"),
        (np.full((8, 8), 256), "whole numbers must lie in 0 to 255, got 256 to 256"),
        (Image.new("I;16", (8, 8), 7000), "whole numbers must lie in 0 to 255, got 7000"),
        (np.full((8, 8), np.nan), "must lie between 0 and 1, got nan"),
        (np.zeros((0, 8)), r"the image is empty: its shape is \(0, 8\)"),
        (np.zeros((8, 0, 3), np.uint8), "the image is empty"),
        (Image.new("RGB", (0, 5)), r"the image is empty: its size is \(0, 5\)"),
        (None, "image must be a PIL image, .* got None"),
    ],
)
def test_bad_pictures(image, sentence):
    for make in (
        lambda: AttentionExplorer.vit(weights(4, 4), image),
        lambda: AttentionExplorer.caption(weights(2, 4), ["a", "b"], image),
    ):
        with pytest.raises(ValueError, match=sentence):
            make()


@pytest.mark.parametrize(
    "grid",
    [
        (2.5, 2.0), (2.0, 2.0), "22", ("2", "2"), (-2, -2), (0, 4), (1, 2, 2), 2, {1, 4},
        {1: 0, 4: 0}, (np.nan, 2), (np.inf, 2), (None, 2), (10**30, 1), [[2], [2, 2]], 2j,
    ],
)  # fmt: skip
def test_bad_patch_grids(grid):
    for make in (AttentionExplorer.vit, lambda w, *rest: AttentionExplorer.caption(w, "ab", *rest)):
        with pytest.raises(ValueError, match="must be two whole numbers above 0, .* got "):
            make(weights(4, 4), np.zeros((8, 8)), grid)


@pytest.mark.parametrize("grid", [(1, 4), [1, 4], np.array([1, 4]), torch.tensor([1, 4])])
def test_good_patch_grids(grid):
    explorer = AttentionExplorer.vit(weights(4, 4), np.zeros((8, 8)), grid)
    assert explorer.meta["grid"] == [1, 4]
