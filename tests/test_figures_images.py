"""The figures of notebook 08: what they say in words, and what they refuse."""

import pytest
import torch

from utils.figures.canvas import collect
from utils.figures.images import plot_images, plot_overlays, plot_patches, plot_similarities


def drawn(draw, *args, **options):
    with collect() as figures:
        draw(*args, **options)
    ((png, alt),) = figures
    assert png.startswith(b"\x89PNG")
    return alt


@pytest.mark.parametrize(("count", "channels"), [(1, 1), (9, 3)])
def test_images_are_told_in_words(count, channels):
    images = torch.rand(count, channels, 8, 6)
    assert drawn(plot_images, images) == f"{count} images of 8 × 6 pixels."
    names = [f"n{i}" for i in range(count)]
    assert drawn(plot_images, images, names).endswith(", ".join(names) + ".")


@pytest.mark.parametrize(("channels", "patch", "grid"), [(1, 2, "4 × 6 = 24"), (3, 4, "2 × 3 = 6")])
def test_patches_are_counted(channels, patch, grid):
    alt = drawn(plot_patches, torch.rand(channels, 8, 12), patch, title="a thing")
    assert alt == (
        f"a thing. An image of 8 × 12 pixels, and beside it its {grid} patches, "
        f"each of {patch} × {patch} pixels."
    )


def test_overlays_say_where_the_weight_is():
    maps = torch.zeros(2, 4, 4)
    maps[0, 1, 2], maps[1, 3, 0] = 0.5, 0.25
    alt = drawn(plot_overlays, torch.rand(1, 8, 8), maps, ["a", "b"])
    assert "a: most (0.50) at row 1, column 2; b: most (0.25) at row 3, column 0" in alt


def test_similarities_say_how_alike_neighbours_are():
    vectors = torch.nn.functional.one_hot(torch.arange(4) // 2).float()  # alike along a row
    maps = (vectors @ vectors.T).reshape(2, 2, 2, 2)
    alt = drawn(plot_similarities, maps)
    assert "Neighbours in a row: 1.00 on average; opposite corners: 0.00." in alt


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_images(torch.rand(8, 8)), r"got \(8, 8\)"),
        (lambda: plot_images(torch.rand(0, 1, 8, 8)), r"got \(0, 1, 8, 8\)"),
        (lambda: plot_images(torch.rand(2, 1, 8, 8), ["one"]), "each of 2, got 1"),
        (lambda: plot_patches(torch.rand(1, 8, 9), 2), "do not fill 8 × 9"),
        (lambda: plot_overlays(torch.rand(1, 8, 8), torch.rand(4, 4), ["a"]), r"got \(4, 4\)"),
        (lambda: plot_similarities(torch.rand(4, 4)), r"got \(4, 4\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
