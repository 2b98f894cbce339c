"""X08-3: a small Vision Transformer from its parts."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from utils.models.transformer import BlockSizes, Encoder
from utils.models.vit import PatchEmbedding
from utils.quiz.exercise import Exercise, bug


class TinyViT(nn.Module):
    def __init__(self, embed: nn.Module, encoder: nn.Module, num_patches: int, d_model: int):
        super().__init__()
        self.embed, self.encoder = embed, encoder
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1, num_patches + 1, d_model))
        self.head = nn.Linear(d_model, 10)

    def forward(self, img: Tensor) -> Tensor:
        patches = self.embed(img)  # (B, N, D)
        cls = self.cls.expand(len(patches), -1, -1)  # (B, 1, D): the same for every image
        x = torch.cat([cls, patches], dim=1)  # (B, N + 1, D)
        x = x + self.positions
        x, _ = self.encoder(x)
        return self.head(x[:, 0])  # (B, 10)


@functools.cache
def _sizes(patch: int, side: int, d_model: int) -> tuple:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(100 * patch + d_model)
        # Pre-norm ends in a plain norm, so that one more in front of the head changes nothing.
        block = BlockSizes(d_model=d_model, num_heads=2, d_ff=2 * d_model, norm_first=True)
        parts = PatchEmbedding(patch, 1, d_model), Encoder(2, block)
        for parameter in nn.ModuleList([parts[0], *parts[1].blocks]).parameters():
            nn.init.normal_(parameter, std=0.5)  # far from the start, so that mistakes show
    return *(part.eval() for part in parts), (side // patch) ** 2, d_model


def _probe(r, patch: int, side: int, d_model: int, batch: int) -> tuple:
    return _sizes(patch, side, d_model), r(batch, 1, side, side)


EXPAND, JOIN, ADD = "self.cls.expand(len(patches), -1, -1)", "[cls, patches]", "x + self.positions"
READ = "self.head(x[:, 0])"
BUGS = (
    bug(
        "positions-before-cls",
        "The positions are added before the class token is put in front, so it has none. That "
        "could be trained as well; but the table of ViT has a row for each of the N + 1 tokens.",
        (JOIN, "[cls, patches + self.positions[:, 1:]]"),
        (ADD, "x"),
    ),
    bug(
        "cls-not-expanded",
        "The class token is (1, 1, D), and the batch has more than one image. `cat` does not "
        "broadcast: every image needs its copy.",
        (EXPAND, "self.cls"),
    ),
    bug(
        "cls-last-read-first",
        "The class token stands *last*, but the head reads token 0, which is the first patch.",
        (JOIN, "[patches, cls]"),
    ),
    bug(
        "cls-last",
        "The class token stands last and is read there. That could be trained; ViT has it first.",
        (JOIN, "[patches, cls]"),
        ("x[:, 0]", "x[:, -1]"),
    ),
    bug(
        "cls-added",
        "The class token is added to every patch. It is a token of its own, beside the patches.",
        ("torch.cat([cls, patches], dim=1)", "patches + cls"),
        (ADD, "x + self.positions[:, 1:]"),
    ),
    bug(
        "mean-of-all",
        "The head reads the mean of all tokens. That trains too; ours reads the class token.",
        ("x[:, 0]", "x.mean(dim=1)"),
    ),
)

EXERCISE = Exercise(
    id="X08-3",
    title="A Vision Transformer from its parts",
    see="08, section 5",
    name="TinyViT",
    reference=TinyViT,
    bugs=BUGS,
    steps={
        "torch.zeros(1, 1, d_model)": "The class token is one learned vector.",
        "num_patches + 1": "There are N + 1 tokens, for the class token has a position too.",
        "nn.Linear(d_model, 10)": "The head reads one token, whatever the size of the image.",
        EXPAND: "Every image of the batch gets the same class token.",
        JOIN: "The class token stands in front, so that it is token 0 of every image.",
        ADD: "Without positions the encoder sees a set and cannot tell where a patch was.",
        "self.encoder(x)": "In the encoder the class token looks at the patches.",
        READ: "Logits are read off the class token; the softmax is part of the loss.",
    },
    seconds=10.0,
    probes=lambda r: [_probe(r, 2, 8, 12, 3), _probe(r, 4, 12, 6, 2), _probe(r, 3, 6, 8, 1)],
    square=lambda r: [_probe(r, 2, 4, 10, 5)],
    hints=(
        "`__init__` makes class token, positions (`nn.Parameter`) and head. How many positions?",
        "`forward`: patches, class token in front, positions, encoder, and the head on token 0.",
        "`cls = self.cls.expand(len(x), -1, -1)`, `x = torch.cat([cls, x], dim=1) + "
        "self.positions`, `x, _ = self.encoder(x)`, `return self.head(x[:, 0])`.",
    ),
    also_right=(
        """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, n, d):
        super().__init__()
        self.patch_embed, self.blocks, self.fc = embed, encoder, nn.Linear(d, 10)
        self.cls_token, self.pos = nn.Parameter(torch.randn(d)), nn.Parameter(torch.randn(n + 1, d))
    def forward(self, img):
        tokens = self.patch_embed(img)
        tokens = torch.cat((self.cls_token.repeat(len(tokens), 1, 1), tokens), 1)
        return self.fc(self.blocks(tokens + self.pos)[0][:, 0, :])
""",
        """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, n, d):
        super().__init__()
        self.embed, self.encoder, self.head = embed, encoder, nn.Sequential(nn.Linear(d, 10))
        self.cls, self.pos = nn.Embedding(1, d), nn.Embedding(n + 1, d)
    def forward(self, img):
        x = self.embed(img)
        x = torch.cat([self.cls.weight.expand(x.size(0), 1, x.size(2)), x], dim=-2)
        return self.head(self.encoder(x + self.pos(torch.arange(x.size(1))))[0][:, 0])
""",
        """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, n, d):
        super().__init__()
        self.embed, self.encoder, self.head = embed, encoder, nn.Linear(d, 10)
        self.cls, self.pos = nn.Parameter(torch.zeros(1, d)), nn.Parameter(torch.zeros(1, 1 + n, d))
    def forward(self, img):
        x, cls = self.embed(img) + self.pos[:, 1:], self.cls + self.pos[0, 0]
        return self.head(self.encoder(torch.cat([cls.expand(len(x), 1, -1), x], 1))[0].select(1, 0))
""",
    ),
    blank="class TinyViT(nn.Module):\n    def __init__(self, embed, encoder, num_patches, d_model):"
    "\n        super().__init__()\n        ...\n\n    def forward(self, img):\n        ...\n",
)
