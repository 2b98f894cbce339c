"""X08-1: cut images into patches."""

from __future__ import annotations

from torch import Tensor

from utils.models import vit
from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

CUT = "where height and width are split"
ORDER = "the `permute`, which brings the axes into order"
RETURN = "the last `reshape`"


def patchify(img: Tensor, p: int) -> Tensor:
    B, C, H, W = img.shape
    grid = img.reshape(B, C, H // p, p, W // p, p)  # rows, pixels in a row, columns, pixels
    grid = grid.permute(0, 2, 4, 1, 3, 5)  # (B, rows, columns, C, p, p)
    return grid.reshape(B, (H // p) * (W // p), C * p * p)


def switched(bug, img: Tensor, p: int) -> Tensor:
    """The patches; ``bug`` says which mistakes are on."""
    batch, channels, height, width = img.shape
    rows, columns = height // p, width // p
    wanted = (batch, rows * columns, channels * p * p)
    grid = bug.choose(
        lambda: img.unfold(2, p, p).unfold(3, p, p),
        grid_of_p=lambda: img.unfold(2, rows, rows).unfold(3, columns, columns),
        overlapping=lambda: img.unfold(2, p, 1).unfold(3, p, 1),
        half_overlapping=lambda: img.unfold(2, p, p // 2).unfold(3, p, p // 2),
        spread_out=lambda: img.reshape(batch, channels, p, rows, p, columns).permute(
            0, 1, 3, 5, 2, 4
        ),
        upside_down=lambda: img.flip(2).unfold(2, p, p).unfold(3, p, p),
    )  # (B, C, rows, columns, p, p)
    grid = grid.transpose(2, 3) if bug("columns-first") else grid
    grid = bug.choose(
        lambda: grid.permute(0, 2, 3, 1, 4, 5),
        channels_last=lambda: grid.permute(0, 2, 3, 4, 5, 1),
        channels_between=lambda: grid.permute(0, 2, 3, 4, 1, 5),
        pixels_transposed=lambda: grid.permute(0, 2, 3, 1, 5, 4),
    )  # (B, rows, columns, C, p, p)
    patches = grid.flatten(3).flatten(1, 2)  # (B, N, C·p·p)
    split = img.reshape(batch, channels, rows, p, columns, p)
    return bug.choose(
        lambda: patches,
        plain_reshape=lambda: img.reshape(wanted),
        strips=lambda: split.transpose(1, 2).reshape(wanted),
        half_permuted=lambda: split.permute(0, 2, 3, 1, 4, 5).reshape(wanted),
        channels_stay_first=lambda: split.permute(0, 1, 2, 4, 3, 5).reshape(wanted),
        pixel_by_pixel=lambda: img.permute(0, 2, 3, 1).reshape(wanted),
        unfold_not_turned=lambda: patches.transpose(1, 2),
        grid_kept=lambda: grid.flatten(3),
        not_flattened=lambda: grid.flatten(1, 2),
        nothing_flattened=lambda: grid,
        channels_as_tokens=lambda: split.permute(0, 1, 2, 4, 3, 5).reshape(
            batch, channels * rows * columns, p * p
        ),
        channels_apart=lambda: split.permute(0, 1, 2, 4, 3, 5).flatten(4).flatten(2, 3),
        first_channel=lambda: patches.unflatten(2, (channels, -1))[:, :, 0],
        mean_of_channels=lambda: patches.unflatten(2, (channels, -1)).mean(2),
        batch_merged=lambda: patches.flatten(0, 1),
        first_image=lambda: patches[0],
        last_patch=lambda: patches[:, -1],
        mean_of_patch=lambda: patches.mean(-1),
    )


PATCHES = Exercise(
    id="X08-1",
    title="Cut an image into patches",
    see="08, section 1",
    name="patchify",
    reference=patchify,
    library=vit.patchify,
    switched=switched,
    bugs=(
        *group("cut", CUT)(
            grid_of_p="There are p patches on each side. p counts *pixels*: a patch is p pixels "
            "high and wide, and there are H/p rows and W/p columns of them.",
            overlapping="The window moves by one pixel, so patches overlap and there are far too "
            "many. It moves by a whole patch: stride p.",
            half_overlapping="The window moves by half a patch, so neighbours share pixels. It "
            "moves by a whole patch: stride p.",
            spread_out="Height and width are split as (p, H/p), so a patch collects pixels from "
            "all over the image, each H/p apart. Split as (H/p, p): first which patch, then which "
            "pixel in it.",
            upside_down="The rows of the image come from the bottom up.",
        ),
        *group("inside", ORDER)(
            channels_last="Inside a patch the channels come last: red, green, blue of one pixel, "
            "then the next. The right pixels in another order, and it would even train. But "
            "`Conv2d` keeps its weights as (C, p, p), so put the channels first.",
            channels_between="Inside a patch the channels stand between the pixel's row and its "
            "column. The order is (C, p, p).",
            pixels_transposed="Every patch is mirrored along its diagonal: its rows and columns "
            "have changed places. The order inside is (C, row, column).",
        ),
        *group("result", RETURN)(
            plain_reshape="The shape is right and the pixels are wrong: `reshape` reads the image "
            "line by line, so a “patch” is a strip of the first lines. Split height and width "
            "first, then `permute` so that the two pixel axes stand last.",
            strips="The columns are still inside: the rows of patches are brought forward, but the "
            "columns are not, so each “patch” is a piece of a wide strip. The two counting axes "
            "belong beside each other: `permute(0, 2, 4, 1, 3, 5)`.",
            half_permuted="The axis that was brought forward is a pixel axis. After the split the "
            "axes are (B, C, rows, p, columns, p): numbers 2 and 4 count the patches.",
            channels_stay_first="The channels are still in front of the rows and columns, so the "
            "last `reshape` mixes patches of different channels. Bring axes 2 and 4 before axis 1: "
            "`permute(0, 2, 4, 1, 3, 5)`.",
            pixel_by_pixel="The channels are moved to the end, but the image is then read line by "
            "line: a “patch” is a strip of a line. Split height and width first.",
            unfold_not_turned="The last two axes are exchanged, (B, C·p·p, N). That is how "
            "`F.unfold` leaves them; tokens come first: `.transpose(1, 2)`.",
            grid_kept="Rows and columns of patches are still two axes. A Transformer reads a "
            "sequence: join them to one axis of N.",
            not_flattened="The patches are not flattened, (B, N, C, p, p). Join the last three "
            "axes.",
            nothing_flattened="The cut is right, but all six axes are still there. Join them to "
            "(B, N, C·p·p).",
            channels_as_tokens="Each channel of a patch became a token of its own. A patch holds "
            "all its channels.",
            channels_apart="The channels are an axis of their own. A patch holds all its channels.",
            first_channel="Only the first channel is there. A patch holds all its channels.",
            mean_of_channels="The channels are averaged. A patch holds all of them.",
            batch_merged="The images of the batch are joined into one long sequence. Keep B in "
            "front.",
            first_image="Only the first image of the batch comes back.",
            last_patch="Only one patch of each image comes back. Is the `return` inside the loop?",
            mean_of_patch="Each patch is averaged to one number. Keep its pixels.",
        ),
        *single(ORDER)(
            columns_first="The patches are numbered from top to bottom, column by column. Number "
            "them as you read: left to right, then the next row."
        ),
    ),
    probes=lambda r: [(r(2, 3, 8, 12), 4), (r(3, 2, 4, 10), 2)],
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
        """
def patchify(img, p):
    return F.unfold(img, kernel_size=p, stride=p).transpose(1, 2)
""",
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
    x = img.unfold(2, p, p).unfold(3, p, p)
    x = x.permute(0, 2, 3, 1, 4, 5).contiguous()
    return x.view(x.size(0), x.size(1) * x.size(2), -1)
""",
        """
def patchify(img, p):
    rows = torch.stack(img.split(p, dim=2), dim=1)
    cells = torch.stack(rows.split(p, dim=4), dim=2)
    return cells.flatten(1, 2).flatten(2)
""",
    ),
    blank=(
        "def patchify(img, p):\n"
        '    """img (B, C, H, W) -> (B, (H/p)·(W/p), C·p·p), row by row"""\n    ...\n'
    ),
)
