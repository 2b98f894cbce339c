"""Eyes: a picture becomes N annotation vectors, one for each cell.  Notebook 09, sections 3 and 11.

``GridEyes`` are a small convolutional network, ``PatchEyes`` a linear layer on patches with an
encoder layer.  Both turn pictures (B, 3, 48, 48) into (B, 9, D).
``utils/tasks/captions.py`` pretrains the CNN to name what is in each cell.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.models.transformer import BlockSizes, Encoder
from utils.models.vit import PatchEmbedding


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
        side: int = 48,
        patch: int = 16,
        num_heads: int = 4,
        num_layers: int = 1,
        d_ff: int = 128,
    ):
        super().__init__()
        self.d_features = d_features
        self.embed = PatchEmbedding(patch, 3, d_features)
        self.positions = nn.Parameter(0.02 * torch.randn((side // patch) ** 2, d_features))
        block = BlockSizes(d_model=d_features, num_heads=num_heads, d_ff=d_ff, activation="gelu")
        self.encoder = Encoder(num_layers, block)

    def forward(self, images: Tensor) -> Tensor:
        return self.encoder(self.embed(_centred(images)) + self.positions)[0]


def _centred(images: Tensor) -> Tensor:
    """0 … 1 to −1 … 1."""
    if images.dim() != 4 or images.shape[1] != 3:
        raise ValueError(f"images must have shape (B, 3, height, width), got {tuple(images.shape)}")
    return 2 * images - 1
