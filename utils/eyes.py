"""Eyes: a picture becomes N annotation vectors, one for each cell.  Notebook 09, sections 3 and 11.

``GridEyes`` are a small convolutional network, ``PatchEyes`` a linear layer on patches with an
encoder layer.  Both turn pictures (B, 3, 48, 48) into (B, 9, D).  The CNN is pretrained to name
what is in each cell (``CellNamer``).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.scenes import CELL, COLOURS, SHAPES, SIDE
from utils.transformer import Encoder
from utils.vit import PatchEmbedding


class SceneCNN(nn.Module):
    """Three convolutions: a picture (B, 3, 48, 48) becomes a grid of features (B, D, 3, 3).

    Strides 2, 2 and 4 make one feature vector for each cell of 16 pixels.
    """

    def __init__(self, d_features: int = 64):
        super().__init__()
        self.d_features = d_features
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),  # (B, 16, 24, 24)
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),  # (B, 32, 12, 12)
            nn.ReLU(),
            nn.Conv2d(32, d_features, 4, stride=4),  # (B, D, 3, 3)
            nn.ReLU(),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(_centred(images))


def grid_to_rows(z: Tensor) -> Tensor:
    """(B, D, H, W) -> (B, H·W, D): one annotation vector for each cell, in reading order."""
    return z.flatten(2).transpose(1, 2)


class GridEyes(nn.Module):
    """The CNN's grid as annotation vectors: pictures -> (B, 9, D).

    Each vector is normalised (mean 0, variance 1), so that those who read it need not know how
    large the CNN's numbers happen to be.
    """

    def __init__(self, d_features: int = 64):
        super().__init__()
        self.d_features = d_features
        self.cnn = SceneCNN(d_features)

    def forward(self, images: Tensor) -> Tensor:
        z = grid_to_rows(self.cnn(images))
        return F.layer_norm(z, z.shape[-1:])


class PatchEyes(nn.Module):
    """No convolution: one linear layer for all patches, positions, and an encoder, as in a ViT."""

    def __init__(
        self,
        d_features: int = 64,
        *,
        patch: int = CELL,
        num_heads: int = 4,
        num_layers: int = 1,
        d_ff: int = 128,
    ):
        super().__init__()
        self.d_features = d_features
        self.embed = PatchEmbedding(patch, 3, d_features)
        self.positions = nn.Parameter(0.02 * torch.randn((SIDE // patch) ** 2, d_features))
        block = {"d_model": d_features, "num_heads": num_heads, "d_ff": d_ff}
        self.encoder = Encoder(num_layers, activation="gelu", **block)

    def forward(self, images: Tensor) -> Tensor:
        return self.encoder(self.embed(_centred(images)) + self.positions)[0]


class CellNamer(nn.Module):
    """What eyes are pretrained on: which colour and which shape are in each cell?"""

    def __init__(self, eyes: nn.Module):
        super().__init__()
        self.eyes = eyes
        self.colour = nn.Linear(eyes.d_features, 1 + len(COLOURS))  # 0 = nothing there
        self.shape = nn.Linear(eyes.d_features, 1 + len(SHAPES))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the colour (B, 9, 7) and of the shape (B, 9, 5) of each cell."""
        z = self.eyes(images)
        return self.colour(z), self.shape(z)


def naming_loss(model: CellNamer, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Cross-entropy of both names; batch is (images, colours (B, 9), shapes (B, 9))."""
    images, *labels = batch
    pairs = zip(model(images), labels, strict=True)
    return sum(F.cross_entropy(logits.flatten(0, 1), names.flatten()) for logits, names in pairs)


def _centred(images: Tensor) -> Tensor:
    """0 … 1 to −1 … 1."""
    if images.dim() != 4 or images.shape[1] != 3:
        raise ValueError(f"images must have shape (B, 3, height, width), got {tuple(images.shape)}")
    return 2 * images - 1
