"""X08-1: cut images into patches."""

from __future__ import annotations

from torch import Tensor

from utils.models import vit
from utils.quiz.exercise import Exercise, bug


def patchify(img: Tensor, p: int) -> Tensor:
    B, C, H, W = img.shape
    rows, columns = H // p, W // p
    grid = img.reshape(B, C, rows, p, columns, p)  # each p: the pixels inside a patch
    grid = grid.permute(0, 2, 4, 1, 3, 5)  # (B, rows, columns, C, p, p)
    return grid.reshape(B, rows * columns, C * p * p)


SPLIT, ORDER = "img.reshape(B, C, rows, p, columns, p)", "permute(0, 2, 4, 1, 3, 5)"
JOIN = "grid.reshape(B, rows * columns, C * p * p)"
WINDOWS = "img.unfold(2, p, 1).unfold(3, p, 1).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)"

EXERCISE = Exercise(
    id="X08-1",
    title="Cut an image into patches",
    see="08, section 1",
    name="patchify",
    reference=patchify,
    library=vit.patchify,
    bugs=(
        bug(
            "plain-reshape",
            "The shape is right and the pixels are wrong: `reshape` reads the image line by line, "
            "so a “patch” is a strip of the first lines. Which axis counts the patches, and which "
            "the pixels in one?",
            (f"    grid = grid.{ORDER}", "    grid = grid"),
        ),
        bug(
            "strips",
            "The columns are still inside: the rows of patches are brought forward, but the "
            "columns are not, so each “patch” is a piece of a wide strip. The two axes that count "
            "patches belong beside each other.",
            (ORDER, "transpose(1, 2)"),
        ),
        bug(
            "half-permuted",
            "The axis that was brought forward is a pixel axis. After the split the axes are (B, "
            "C, rows, p, columns, p): numbers 2 and 4 count the patches.",
            (ORDER, "permute(0, 2, 3, 1, 4, 5)"),
        ),
        bug(
            "channels-stay-first",
            "The channels are still in front of the rows and columns, so the last `reshape` mixes "
            "patches of different channels.",
            (ORDER, "permute(0, 1, 2, 4, 3, 5)"),
        ),
        bug(
            "pixel-by-pixel",
            "The channels are moved to the end, but the image is then read line by line: a “patch” "
            "is a strip of a line. Split height and width first.",
            (JOIN, "img.permute(0, 2, 3, 1).reshape(B, rows * columns, C * p * p)"),
        ),
        bug(
            "grid-of-p",
            "There are p patches on each side. p counts *pixels*: a patch is p pixels high and "
            "wide, and there are H/p rows and W/p columns of them.",
            (SPLIT, "img.reshape(B, C, p, rows, p, columns)"),
            (JOIN, "grid.reshape(B, p * p, C * rows * columns)"),
        ),
        bug(
            "spread-out",
            "Height and width are split as (p, H/p), so a patch collects pixels from all over the "
            "image, each H/p apart. First comes which patch, then which pixel in it.",
            (SPLIT, "img.reshape(B, C, p, rows, p, columns)"),
            (ORDER, "permute(0, 3, 5, 1, 2, 4)"),
        ),
        bug(
            "overlapping",
            "The window moves by one pixel, so patches overlap and there are far too many. It "
            "moves by a whole patch.",
            (JOIN, WINDOWS),
        ),
        bug(
            "channels-last",
            "Inside a patch the channels come last: red, green, blue of one pixel, then the next. "
            "The right pixels in another order, and it would even train. But `Conv2d` keeps its "
            "weights as (C, p, p), so the channels come first.",
            (ORDER, "permute(0, 2, 4, 3, 5, 1)"),
        ),
        bug(
            "columns-first",
            "The patches are numbered from top to bottom, column by column. Number them as you "
            "read: left to right, then the next row.",
            (ORDER, "permute(0, 4, 2, 1, 3, 5)"),
        ),
        bug(
            "unfold-not-turned",
            "The last two axes are exchanged, (B, C·p·p, N). That is how `F.unfold` leaves them; "
            "tokens come first.",
            (JOIN, f"{JOIN}.transpose(1, 2)"),
        ),
    ),
    steps={
        "H // p, W // p": "p counts pixels, so there are H/p rows and W/p columns of patches.",
        SPLIT: "Height and width become two axes each: first which patch, then which pixel in it.",
        ORDER: "The two axes that count patches come forward, rows before columns; behind them "
        "stands what a patch holds: its channels, its pixel rows, its pixel columns.",
        JOIN: "A patch is one token with all its channels and pixels: (B, N, C·p·p).",
    },
    probes=lambda r: [(r(2, 3, 8, 12), 4), (r(3, 2, 4, 10), 2), (r(1, 2, 6, 9), 3)],
    square=lambda r: [(r(2, 2, 16, 16), 4), (r(4, 4, 16, 16), 4), (r(1, 3, 32, 32), 16)],
    hints=(
        "Think of the axis of height as two numbers: in which row of patches, and in which pixel "
        "row of it. `reshape` can split an axis in two.",
        "`img.reshape(B, C, H // p, p, W // p, p)` has the axes (B, C, rows, p, columns, p). Which "
        "two count the patches?",
        "`permute(0, 2, 4, 1, 3, 5)` brings them forward: (B, rows, columns, C, p, p). Then join "
        "rows and columns to N, and the last three to C·p·p.",
    ),
    also_right=(
        "def patchify(img, p):\n    return F.unfold(img, kernel_size=p, stride=p).transpose(1, 2)",
        """
def patchify(img, p):
    B, C, H, W = img.shape
    patches = []
    for i in range(0, H, p):
        for j in range(0, W, p):
            patches.append(img[:, :, i:i + p, j:j + p].reshape(B, -1))
    return torch.stack(patches, dim=1)
""",
        """
def patchify(img, p):
    x = img.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).contiguous()
    return x.view(x.size(0), x.size(1) * x.size(2), -1)
""",
    ),
    blank='''def patchify(img, p):
    """img (B, C, H, W) -> (B, (H/p)·(W/p), C·p·p), row by row"""
    ...
''',
)
