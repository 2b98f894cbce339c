"""Figures of notebook 08: images in a row, their patches laid apart, and maps laid over them."""

from collections.abc import Sequence

import numpy as np

from utils.figures.canvas import COLOURS, blank_figure, course_style, show, to_array

BETWEEN = "#dfe6ee"  # between white patches


def plot_images(
    images, titles: Sequence[str] | None = None, *, per_row: int = 8, size: float = 1.1
) -> None:
    """Images (B, C, height, width) side by side; one channel is drawn dark on light."""
    images = to_array(images)
    if images.ndim != 4 or images.shape[1] not in (1, 3) or not len(images):
        raise ValueError(f"images must have shape (B, 1 or 3, height, width), got {images.shape}")
    titles = [""] * len(images) if titles is None else [str(t) for t in titles]
    if len(titles) != len(images):
        raise ValueError(f"there must be one title for each of {len(images)}, got {len(titles)}")
    columns = min(per_row, len(images))
    rows = -(-len(images) // columns)
    fig = blank_figure(columns * size, rows * (size + (0.25 if any(titles) else 0.0)))
    with course_style():
        for i, (image, title) in enumerate(zip(images, titles)):
            ax = fig.add_subplot(rows, columns, i + 1)
            _picture(ax, image)
            ax.set_title(title, fontsize=9, weight="normal")
        named = ": " + ", ".join(titles) if any(titles) else ""
        show(fig, f"{len(images)} images of {images.shape[2]} × {images.shape[3]} pixels{named}.")


def plot_patches(image, patch: int, *, title: str | None = None, size: float = 2.6) -> None:
    """An image (C, height, width), and beside it its patches, laid apart and numbered."""
    image = to_array(image)
    channels, height, width = image.shape
    if height % patch or width % patch:
        raise ValueError(f"patches of {patch} do not fill {height} × {width}")
    rows, columns = height // patch, width // patch
    gap = max(1, patch // 4)
    apart = np.full((channels, rows * (patch + gap), columns * (patch + gap)), np.nan)
    for i in range(rows):
        for j in range(columns):
            top, left = i * (patch + gap), j * (patch + gap)
            piece = image[:, i * patch : (i + 1) * patch, j * patch : (j + 1) * patch]
            apart[:, top : top + patch, left : left + patch] = piece
    low, high = float(image.min()), float(image.max())
    fig = blank_figure(2 * size + 0.4, size + 0.3)
    with course_style():
        left_ax, right_ax = (fig.add_subplot(1, 2, i) for i in (1, 2))
        _picture(left_ax, image)
        left_ax.set_title(title or f"{height} × {width} pixels", fontsize=10)
        _picture(right_ax, apart[:, : -gap or None, : -gap or None], low, high)
        count = f"{rows} × {columns} = {rows * columns} patches"
        right_ax.set_title(count, fontsize=10)
        if rows * columns <= 16 and channels == 1:  # on a photograph they could not be read
            for n in range(rows * columns):
                right_ax.text(
                    (n % columns) * (patch + gap) - 0.45,
                    (n // columns) * (patch + gap) - 0.45,
                    n,
                    fontsize=8,
                    color=COLOURS[1],
                    ha="left",
                    va="top",
                    weight="bold",
                )
        words = f"{title}. " if title else ""
        words += f"An image of {height} × {width} pixels, and beside it its {count}, "
        show(fig, words + f"each of {patch} × {patch} pixels.")


def plot_overlays(
    image, maps, titles: Sequence[str], *, per_row: int = 5, size: float = 1.5
) -> None:
    """Maps (K, rows, columns) of weights laid over one image (C, height, width).

    Each map has its own colours: dark orange is where its largest weight is, clear where it is 0.
    Ink is drawn in grey, or the orange upon it could not be seen.
    """
    image, maps = to_array(image), to_array(maps)
    if maps.ndim != 3 or len(maps) != len(titles):
        raise ValueError(f"maps must be (K, rows, columns) with K titles, got {maps.shape}")
    columns = min(per_row, len(maps))
    rows = -(-len(maps) // columns)
    fig = blank_figure(columns * size, rows * (size + 0.3))
    height, width = image.shape[1:]
    low, high = float(image.min()), float(image.max())
    words = []
    with course_style():
        for i, (weights, title) in enumerate(zip(maps, titles)):
            ax = fig.add_subplot(rows, columns, i + 1)
            _picture(ax, image, low, 2 * high - low)
            cells = np.kron(weights, np.ones((height // len(weights), width // weights.shape[1])))
            top = max(float(cells.max()), 1e-12)
            shade = np.zeros((height, width, 4))
            shade[..., :3] = [int(COLOURS[1][k : k + 2], 16) / 255 for k in (1, 3, 5)]
            shade[..., 3] = 0.8 * np.clip(cells / top, 0, 1)
            ax.imshow(shade, interpolation="nearest")
            ax.set_title(title, fontsize=9, weight="normal")
            row, column = np.unravel_index(int(weights.argmax()), weights.shape)
            words.append(f"{title}: most ({weights.max():.2f}) at row {row}, column {column}")
        show(fig, "Weights laid over an image. " + "; ".join(words) + ".")


def plot_similarities(similarity, *, size: float = 5.2) -> None:
    """For each patch a small map of its similarity (cosine) to all: (rows, columns, rows, columns).

    The maps stand where their patches are in the image.
    """
    similarity = to_array(similarity)
    if similarity.ndim != 4 or similarity.shape[:2] != similarity.shape[2:]:
        raise ValueError(
            f"similarity must be (rows, columns, rows, columns), got {similarity.shape}"
        )
    rows, columns = similarity.shape[:2]
    gap = 1 if rows <= 8 else 2
    joined = np.full((rows * (rows + gap) - gap, columns * (columns + gap) - gap), np.nan)
    for i in range(rows):
        for j in range(columns):
            top, left = i * (rows + gap), j * (columns + gap)
            joined[top : top + rows, left : left + columns] = similarity[i, j]
    fig = blank_figure(size + 0.9, size * rows / columns + 0.3)
    with course_style():
        ax = fig.add_subplot()
        picture = ax.imshow(joined, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        ax.set_xticks(
            [j * (columns + gap) + (columns - 1) / 2 for j in range(columns)], range(columns)
        )
        ax.set_yticks([i * (rows + gap) + (rows - 1) / 2 for i in range(rows)], range(rows))
        ax.set_xlabel("column of the patch")
        ax.set_ylabel("row of the patch")
        for spine in ax.spines.values():
            spine.set_visible(False)
        bar = fig.colorbar(picture, ax=ax, fraction=0.046, pad=0.02)
        bar.set_label("cosine of two position vectors")
        bar.outline.set_visible(False)
        near = np.mean(
            [similarity[i, j, i, j + 1] for i in range(rows) for j in range(columns - 1)]
        )
        far = similarity[0, 0, -1, -1]
        show(
            fig,
            f"Similarity of {rows} × {columns} positions, one small map for each. Neighbours in a "
            f"row: {near:.2f} on average; opposite corners: {far:.2f}.",
        )


def _picture(ax, image, low: float | None = None, high: float | None = None) -> None:
    """Draw (C, height, width): colours as they are, one channel dark on light, NaN not at all."""
    if image.shape[0] == 3:
        colours = np.clip(np.nan_to_num(image), 0, 1)
        there = (~np.isnan(image)).all(axis=0, keepdims=True)  # what is NaN stays clear
        ax.set_facecolor("white")
        ax.imshow(np.concatenate([colours, there]).transpose(1, 2, 0), interpolation="nearest")
    else:
        ax.set_facecolor(BETWEEN)  # what is NaN stays clear
        ax.imshow(image[0], cmap="Greys", vmin=low, vmax=high, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color("#bbbbbb")
