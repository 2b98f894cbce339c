"""X08-2: the patch embedding as a convolution."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.quiz.bugs import group, single, told
from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.modules import made

INIT = "`__init__`, where the convolution is made"
FORWARD = "`forward`, after the convolution"


class PatchEmbed(nn.Module):
    def __init__(self, p: int, channels: int, d_model: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, d_model, kernel_size=p, stride=p)

    def forward(self, img: Tensor) -> Tensor:
        x = self.conv(img)  # (B, D, rows, columns)
        return x.flatten(2).transpose(1, 2)  # (B, N, D)


def switched(bug, p: int, weight: Tensor, bias: Tensor, img: Tensor) -> Tensor:
    """weight (D, C, p, p), bias (D), img (B, C, H, W) -> (B, N, D), with the mistakes built in."""
    stride = bug.choose(lambda: p, stride_one=lambda: 1, stride_half=lambda: max(1, p // 2))
    padding = bug.choose(
        lambda: 0, padding_half=lambda: p // 2, padding_one=lambda: 1, padding_whole=lambda: p
    )
    bias = torch.zeros_like(bias) if bug("bias-left-out") else bias
    x = F.conv2d(img, weight, bias, stride=stride, padding=padding)  # (B, D, rows, columns)
    x = bug.choose(
        lambda: x,
        relu=lambda: x.relu(),
        gelu=lambda: F.gelu(x),
        scaled=lambda: x * len(bias) ** 0.5,
    )
    batch, width, rows, columns = x.shape
    return bug.choose(
        lambda: x.flatten(2).transpose(1, 2),
        not_turned=lambda: x.flatten(2),
        reshaped=lambda: x.reshape(batch, rows * columns, width),
        not_flattened=lambda: x,
        grid_kept=lambda: x.permute(0, 2, 3, 1),
        columns_first=lambda: x.transpose(2, 3).flatten(2).transpose(1, 2),
        all_flattened=lambda: x.flatten(1),
        tokens_first=lambda: x.flatten(2).permute(2, 0, 1),
        batch_merged=lambda: x.permute(0, 2, 3, 1).reshape(-1, width),
        averaged=lambda: x.mean((2, 3)),
        largest=lambda: x.amax((2, 3)),
        pixels_for_width=lambda: x.flatten(2).mean(1),
    )


def call(student, p: int, weight: Tensor, bias: Tensor, img: Tensor):
    """Make the student's module, copy the weights into its one layer, and run it."""
    d_model, channels = weight.shape[:2]
    module = made(student, p, channels, d_model)
    layers = [m for m in module.modules() if isinstance(m, nn.Conv2d | nn.Linear | nn.Conv1d)]
    if not layers:
        raise Mistake("no-layer")
    if len(layers) > 1:
        raise Mistake("two-layers")
    layer = layers[0]
    if isinstance(layer, nn.Conv2d) and layer.weight.shape == (channels, d_model, p, p):
        raise Mistake("channels-swapped")
    if layer.weight.numel() != weight.numel() or layer.weight.shape[0] != d_model:
        raise Mistake("wrong-sizes", f"Yours: {tuple(layer.weight.shape)}.")
    if layer.bias is None:
        raise Mistake("no-bias")
    with torch.no_grad():
        layer.weight.copy_(weight.reshape(layer.weight.shape))
        layer.bias.copy_(bias)
    return module(img)


def finish(student) -> str | None:
    if any(isinstance(m, nn.Conv2d) for m in student(2, 1, 4).modules()):
        return None
    return "Right, with a linear layer. Try it once with `nn.Conv2d`: cut and projection in one."


EMBED = Exercise(
    id="X08-2",
    title="The patch embedding as a convolution",
    see="08, section 2",
    name="PatchEmbed",
    reference=PatchEmbed,
    switched=switched,
    call=call,
    finish=finish,
    bugs=(
        *group("stride", INIT)(
            stride_one="The kernel moves pixel by pixel, so windows overlap and there are far too "
            "many tokens. Patches do not overlap: `stride=p`. (The default is 1.)",
            stride_half="The kernel moves by half a patch, so neighbours share pixels: `stride=p`.",
        ),
        *group("padding", INIT)(
            padding_half="The image is padded by p // 2, as one does to keep the size of an image. "
            "Here that moves every patch off its place. No padding.",
            padding_one="The image is padded by one pixel, so every patch is moved off its place. "
            "No padding.",
            padding_whole="The image is padded by a whole patch: a frame of empty patches. No "
            "padding.",
        ),
        *group("after", FORWARD)(
            relu="There is a ReLU behind the projection. It is linear; the non-linear part comes "
            "in the encoder.",
            gelu="There is a GELU behind the projection. It is linear; the non-linear part comes "
            "in the encoder.",
            scaled="The result is multiplied by √d_model. That is for word embeddings; here "
            "nothing is scaled.",
        ),
        *group("shape", FORWARD)(
            not_turned="The result is (B, D, N): `flatten(2)` alone leaves the channels in front. "
            "Tokens come first: `.transpose(1, 2)`.",
            reshaped="The shape is right and the numbers are mixed up: `reshape` reads channel by "
            "channel. First `flatten(2)`, then exchange the last two axes.",
            not_flattened="The result is still an image, (B, D, rows, columns). Join rows and "
            "columns to N and put the width last.",
            grid_kept="Rows and columns are still two axes. Join them to N.",
            columns_first="The patches are numbered column by column. Left to right, then the next "
            "row: `flatten(2)` does it.",
            all_flattened="Everything behind the batch is joined. Keep one vector for each patch.",
            tokens_first="The tokens stand in front of the batch, (N, B, D). The batch comes "
            "first.",
            batch_merged="The images of the batch are joined into one. Keep B in front.",
            averaged="All patches are averaged to one vector. Keep one for each.",
            largest="Only the largest value over all patches is kept. Keep one vector for each.",
            pixels_for_width="The width is averaged away. Keep D numbers for each patch.",
        ),
        *single(FORWARD)(bias_left_out="The bias is missing: W patch + b."),
        *told(INIT)(
            no_bias="The layer has no bias. The projection is W patch + b: leave `bias` out.",
            wrong_sizes="The layer has the wrong sizes. Its weights are (d_model, channels, p, p): "
            "`nn.Conv2d(channels, d_model, kernel_size=p, ...)`.",
            channels_swapped="Input and output channels have changed places: `nn.Conv2d(channels, "
            "d_model, ...)`.",
            two_layers="There is more than one layer. One projection is all.",
            no_layer="There is no layer in the module: `self.conv = nn.Conv2d(...)`.",
            no_super_init="Call `super().__init__()` first: it prepares the module.",
            not_a_module="The class does not build on `nn.Module`: `class PatchEmbed(nn.Module):`",
        ),
        *told("the call of `check`")(
            instance_given='`check` needs the class itself, to build its own: `check("X08-2", '
            "PatchEmbed)`."
        ),
    ),
    # three patches of one image in a row, and others: no two sizes are alike
    probes=lambda r: [
        (4, r(5, 3, 4, 4), r(5), r(2, 3, 8, 12)),
        (2, r(7, 2, 2, 2), r(7), r(3, 2, 4, 10)),
    ],
    square=lambda r: [(2, r(4, 2, 2, 2), r(4), r(4, 2, 4, 4))],
    hints=(
        "A convolution multiplies a window of pixels with its weights. When are the windows "
        "exactly the patches?",
        "`nn.Conv2d(channels, d_model, kernel_size=p, stride=p)` gives (B, D, H/p, W/p).",
        "Then join the last two axes with `flatten(2)` and exchange the last two with "
        "`transpose(1, 2)`.",
    ),
    also_right=(
        """
class PatchEmbed(nn.Module):
    def __init__(self, p, channels, d_model):
        super().__init__()
        self.projection = nn.Conv2d(channels, d_model, p, p)

    def forward(self, img):
        x = self.projection(img).permute(0, 2, 3, 1)
        return x.reshape(x.shape[0], -1, x.shape[-1])
""",
        """
class PatchEmbed(nn.Module):
    def __init__(self, patch_size, in_chans, embed_dim):
        super().__init__()
        self.seq = nn.Sequential(
            nn.Conv2d(in_chans, embed_dim, (patch_size, patch_size), (patch_size, patch_size)),
            nn.Flatten(2))

    def forward(self, x):
        return self.seq(x).mT
""",
        """
class PatchEmbed(nn.Module):
    def __init__(self, p, c, d):
        super().__init__()
        self.p = p
        self.lin = nn.Linear(c * p * p, d)

    def forward(self, img):
        return self.lin(F.unfold(img, self.p, stride=self.p).transpose(1, 2))
""",
        """
class PatchEmbed(nn.Module):
    def __init__(self, p, channels, d_model):
        super().__init__()
        self.conv = nn.Conv2d(channels, d_model, kernel_size=p, stride=p, padding="valid")

    def forward(self, img):
        return torch.einsum("bdhw->bhwd", self.conv(img)).flatten(1, 2)
""",
    ),
    blank=(
        "class PatchEmbed(nn.Module):\n    def __init__(self, p, channels, d_model):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, img):\n        ...\n"
    ),
)
