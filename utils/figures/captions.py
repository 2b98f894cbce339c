"""Figures of notebook 09: scenes with their captions, looks for each word, what a feature sees.

Pictures are tensors (3, S, S) or (S, S, 3) with numbers from 0 to 1.  Every helper shows a PNG with
a text alternative and returns None.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from utils.figures.canvas import COLOURS, INK, blank_figure, course_style, show, to_array
from utils.tasks.scenes import CELL, GRID, SIDE, Scene

FRAME = COLOURS[1]


def plot_scenes(images, captions: Sequence[str], *, boxes: Sequence[Scene] | None = None) -> None:
    """Pictures side by side, at most four in a row, each over its caption.

    With ``boxes`` (the scenes themselves) the box of each thing is framed.
    """
    images = [_picture(image) for image in images]
    if len(images) != len(captions) or not images:
        raise ValueError(f"there must be one caption a picture, got {len(captions)}, {len(images)}")
    columns = min(4, len(images))
    rows = -(-len(images) // columns)
    texts = [_wrapped(caption) for caption in captions]
    lines = max(text.count("\n") for text in texts) + 1
    fig = blank_figure(2.2 * columns, rows * (2.15 + 0.2 * lines))
    with course_style():
        for i, (image, text) in enumerate(zip(images, texts)):
            ax = fig.add_subplot(rows, columns, i + 1)
            _show_picture(ax, image)
            for thing in boxes[i].things if boxes is not None else ():
                _frame(ax, thing.box)
            ax.set_xlabel(text, fontsize=8)
        joined = "; ".join(captions)
        show(fig, f"{len(images)} pictures with their captions: {joined}.", crop=False)


def plot_looks(
    image, words: Sequence[str], weights, *, scene: Scene | None = None, title=""
) -> None:
    """One small picture for each word, bright where the model looks while it says the word.

    ``weights`` (M, N), N cells in reading order.  With ``scene`` the thing that a word names is
    framed (if the caption is right: word t of the scene's caption is word t).
    """
    image, weights = _picture(image), to_array(weights)
    side = round(weights.shape[-1] ** 0.5)
    if weights.shape != (len(words), side * side):
        raise ValueError(
            f"weights must have shape ({len(words)} words, a square number of cells), "
            f"got {weights.shape}"
        )
    told = scene is not None and list(words) == scene.caption
    columns = min(8, len(words) + 1)
    rows = -(-(len(words) + 1) // columns)
    fig = blank_figure(1.15 * columns, 1.4 * rows + (0.3 if title else 0))
    described = []
    with course_style():
        ax = fig.add_subplot(rows, columns, 1)
        _show_picture(ax, image)
        ax.set_title("picture", fontsize=9, fontweight="normal")
        for t, (word, row) in enumerate(zip(words, weights)):
            ax = fig.add_subplot(rows, columns, t + 2)
            _show_picture(ax, _lit(image, row.reshape(side, side)))
            ax.set_title(word, fontsize=9)
            subject = scene.subjects[t] if told else None
            if subject is not None:
                _frame(ax, scene.things[subject].box)
            best = int(row.argmax())
            described.append(f"{word}: row {best // side}, column {best % side} ({row[best]:.2f})")
        if title:
            fig.suptitle(title, fontsize=11, fontweight="bold")
        alt = f"{title or 'Where the model looks'}. Largest weight at each word: "
        show(fig, alt + "; ".join(described) + ".", crop=False)


def plot_shares(shares: Mapping[str, Mapping[int, float]]) -> None:
    """The share of right captions of each system, for each number of things in the picture."""
    counts = sorted(next(iter(shares.values())))
    width = 0.84 / max(2, len(shares))
    fig = blank_figure(7.6, 3.0)
    parts = []
    with course_style():
        ax = fig.add_subplot()
        for i, (name, of) in enumerate(shares.items()):
            at = np.arange(len(counts)) + (i - (len(shares) - 1) / 2) * width
            bars = ax.bar(at, [of[n] for n in counts], 0.92 * width, color=COLOURS[i], label=name)
            percents = [f"{100 * of[n]:.0f}" for n in counts]
            ax.bar_label(bars, percents, fontsize=8, padding=2)
            parts.append(f"{name}: " + ", ".join(f"{p} % of {n}" for n, p in zip(counts, percents)))
        ax.set_xticks(range(len(counts)), [str(n) for n in counts])
        ax.set(xlabel="things in the picture", ylabel="captions right in every word")
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        ax.set_ylim(0, 1.12)
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        show(fig, f"Captions right in every word, by things. {'; '.join(parts)}.", crop=False)


def plot_footprints(maps: Mapping[str, object], *, cells: bool = True) -> None:
    """Which pixels a number depends on: maps (S, S) of gradients, dark where there is any."""
    maps = {name: to_array(values) for name, values in maps.items()}
    fig = blank_figure(2.7 * len(maps), 2.9)
    parts = []
    with course_style():
        for i, (name, values) in enumerate(maps.items()):
            ax = fig.add_subplot(1, len(maps), i + 1)
            top = max(float(values.max()), 1e-12)
            ax.imshow((values / top) ** 0.5, cmap="Blues", vmin=0, vmax=1)
            if cells:
                _cell_lines(ax, values.shape[-1])
            ax.set_xticks([])
            ax.set_yticks([])
            count = int((values > 0).sum())
            ax.set_title(name, fontsize=10)
            ax.set_xlabel(f"{count} of {values.size} pixels", fontsize=9)
            parts.append(f"{name} depends on {count} of {values.size} pixels")
        show(fig, "; ".join(parts) + ".")


def _picture(image) -> np.ndarray:
    image = to_array(image)
    if image.ndim == 3 and image.shape[0] == 3 and image.shape[-1] != 3:
        image = image.transpose(1, 2, 0)
    if image.ndim != 3 or image.shape[-1] != 3:
        raise ValueError(f"a picture must have shape (3, S, S) or (S, S, 3), got {image.shape}")
    return image.clip(0, 1)


def _show_picture(ax, image):
    ax.imshow(image, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color("#bbbbbb")


def _lit(image, row):
    """The picture in full where all the weight lies, faded where there is none."""
    each = image.shape[0] // row.shape[0]
    light = np.kron(row.clip(0, 1) ** 0.5, np.ones((each, each)))[..., None]
    grey = 0.35 + 0.25 * image.mean(axis=-1, keepdims=True)
    return image * light + grey * (1 - light)


def _frame(ax, box):
    from matplotlib.patches import Rectangle

    top, left, bottom, right = box
    # pixel 0 is drawn from −0.5 to 0.5
    place, width, height = (left - 1.0, top - 1.0), right - left + 1, bottom - top + 1
    ax.add_patch(Rectangle(place, width, height, fill=False, edgecolor=FRAME, linewidth=1.4))


def _cell_lines(ax, side):
    for k in range(1, GRID):
        at = k * CELL * side / SIDE - 0.5
        ax.axhline(at, color=INK, linewidth=0.4, alpha=0.5)
        ax.axvline(at, color=INK, linewidth=0.4, alpha=0.5)


def _wrapped(caption: str, width: int = 30) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(caption, width))
