"""X08-2: the patch embedding as a convolution."""

from __future__ import annotations

from torch import Tensor, nn

from utils.quiz.exercise import Exercise, Mistake, bug


class PatchEmbed(nn.Module):
    def __init__(self, p: int, channels: int, d_model: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, d_model, kernel_size=p, stride=p)

    def forward(self, img: Tensor) -> Tensor:
        x = self.conv(img)  # (B, D, rows, columns)
        x = x.flatten(2)  # (B, D, N)
        return x.transpose(1, 2)  # (B, N, D)


def finish(student) -> str | None:
    module = student(2, 1, 4)
    if not any(parameter.dim() == 1 for parameter in module.parameters()):
        raise Mistake("no-bias", "The layer has no bias. The projection is W patch + b.")
    if any(isinstance(layer, nn.Conv2d) for layer in module.modules()):
        return None
    return "Right, with a linear layer. Try it once with `nn.Conv2d`: cut and projection in one."


EXERCISE = Exercise(
    id="X08-2",
    title="The patch embedding as a convolution",
    see="08, section 2",
    name="PatchEmbed",
    reference=PatchEmbed,
    finish=finish,
    bugs=(
        bug(
            "stride-one",
            "The kernel moves pixel by pixel (the default), so windows overlap and there are far "
            "too many tokens. Patches do not overlap.",
            (", stride=p", ""),
        ),
        bug(
            "stride-half",
            "The kernel moves by half a patch, so neighbours share pixels. Patches do not overlap.",
            ("stride=p", "stride=p // 2"),
        ),
        bug(
            "padding-half",
            "The image is padded by p // 2, as one does to keep the size of an image. Here that "
            "moves every patch off its place.",
            ("stride=p", "stride=p, padding=p // 2"),
        ),
        bug(
            "relu",
            "There is a ReLU behind the projection. It is linear; the non-linear part comes in the "
            "encoder.",
            ("self.conv(img)", "self.conv(img).relu()"),
        ),
        bug(
            "not-turned",
            "The result is (B, D, N): joining rows and columns leaves the channels in front. "
            "Tokens come first.",
            ("x.transpose(1, 2)", "x"),
        ),
        bug(
            "reshaped",
            "The shape is right and the numbers are mixed up: `reshape` reads channel by channel. "
            "Axes that change places need a transpose.",
            ("x.transpose(1, 2)", "x.reshape(x.shape[0], x.shape[2], x.shape[1])"),
        ),
        bug(
            "columns-first",
            "The patches are numbered column by column. Left to right, then the next row.",
            ("x.flatten(2)", "x.transpose(2, 3).flatten(2)"),
        ),
    ),
    steps={
        "nn.Conv2d(channels, d_model, kernel_size=p, stride=p)": "A convolution is the projection "
        "of every patch if its windows are the patches: p pixels wide, and p pixels apart. It "
        "turns the channels of the image into d_model numbers.",
        "self.conv(img)": "The projection is linear, W patch + b, the same for all patches.",
        "x.flatten(2)": "A Transformer reads a sequence, so rows and columns become one axis.",
        "x.transpose(1, 2)": "Tokens come before features: (B, N, D).",
    },
    # three patches of one image in a row, a batch of one: no two sizes are alike
    probes=lambda r: [
        ((4, 3, 5), r(2, 3, 8, 12)),
        ((2, 2, 7), r(3, 2, 4, 10)),
        ((3, 2, 4), r(1, 2, 6, 9)),
    ],
    square=lambda r: [((2, 2, 4), r(4, 2, 4, 4))],
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
        size = (patch_size, patch_size)
        self.seq = nn.Sequential(nn.Conv2d(in_chans, embed_dim, size, size), nn.Flatten(2))
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
    ),
    blank="""class PatchEmbed(nn.Module):
    def __init__(self, p, channels, d_model):
        super().__init__()
        ...

    def forward(self, img):
        ...
""",
)
