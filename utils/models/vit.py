"""The Vision Transformer: an image is cut into patches, and the patches are read like words.

Built in notebook 08.  S is an image's side, P a patch's side, C the channels, N = (S/P)² the
patches.  Images need not be square.  The encoder is the one of ``transformer.py``, pre-norm
and with GELU, as in Dosovitskiy et al. (2021).  A small convolutional network stands beside it,
for comparison; both answer ``model(images)`` with ``(logits, weights)``.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from utils.layers.weights import Weights
from utils.models.transformer import BlockSizes, Encoder

POOLS = ("cls", "mean")
# Positions start about as large as the patches' embeddings.  With 0.02, as in the paper, where the
# training is long, a short one needs several times as many steps before it uses them.
POSITION_STD = 0.5


# The block of the paper, without its sizes.
VIT_BLOCK = BlockSizes(activation="gelu", eps=1e-6)


def patchify(images: Tensor, patch: int) -> Tensor:
    """Cut images into patches of P × P pixels, row by row, each flattened.  Section 1.

    images (B, C, height, width)  ->  (B, N, C·P·P), where N = (height / P) · (width / P).
    Inside a patch the channels come first, then its rows, then its columns: the order of the
    weights of ``nn.Conv2d``.
    """
    batch, channels, height, width = _check_images(images, patch)
    rows, columns = height // patch, width // patch
    grid = images.reshape(batch, channels, rows, patch, columns, patch)
    grid = grid.permute(0, 2, 4, 1, 3, 5)  # (B, rows, columns, C, P, P)
    return grid.reshape(batch, rows * columns, channels * patch * patch)


def unpatchify(
    patches: Tensor, patch: int, channels: int = 1, *, size: int | Sequence[int] | None = None
) -> Tensor:
    """Put the patches back: the inverse of ``patchify``.  Section 1.

    patches (B, N, C·P·P)  ->  (B, C, height, width).  ``size`` is the height and width in pixels,
    or one number for both; without it the patches must fill a square.
    """
    if patches.dim() != 3 or patches.shape[-1] != channels * patch * patch:
        raise ValueError(
            f"patches must have shape (B, N, {channels}·{patch}·{patch} = "
            f"{channels * patch * patch}), got {tuple(patches.shape)}"
        )
    batch, count, _ = patches.shape
    if size is None:
        side = round(count**0.5)
        rows, columns = side, side
    else:
        rows, columns = (length // patch for length in _pair(size))
    if rows * columns != count:
        raise ValueError(
            f"{count} patches do not fill {rows} rows of {columns}: give size = (height, width)"
        )
    grid = patches.reshape(batch, rows, columns, channels, patch, patch)
    grid = grid.permute(0, 3, 1, 4, 2, 5)  # (B, C, rows, P, columns, P)
    return grid.reshape(batch, channels, rows * patch, columns * patch)


class PatchEmbedding(nn.Module):
    """One linear layer for all patches: x_n = W patch_n + b.  Section 2.

    images (B, C, height, width)  ->  (B, N, D).  The same as a convolution whose kernel and stride
    are both P: ``as_convolution`` is that one, with the same weights.
    """

    def __init__(self, patch: int, channels: int, d_model: int):
        super().__init__()
        if patch < 1 or channels < 1 or d_model < 1:
            raise ValueError(
                "patch, channels and d_model must be positive, "
                f"got {patch}, {channels} and {d_model}"
            )
        self.patch = patch
        self.channels = channels
        self.project = nn.Linear(channels * patch * patch, d_model)

    def forward(self, images: Tensor) -> Tensor:
        _check_images(images, self.patch, self.channels)
        return self.project(patchify(images, self.patch))  # (B, N, D)

    def as_convolution(self) -> nn.Conv2d:
        """A ``Conv2d`` with kernel = stride = P and the very same weights."""
        d_model, patch = self.project.out_features, self.patch
        weight = self.project.weight
        twin = nn.Conv2d(self.channels, d_model, kernel_size=patch, stride=patch)
        twin = twin.to(device=weight.device, dtype=weight.dtype)
        with torch.no_grad():
            twin.weight.copy_(weight.view(d_model, self.channels, patch, patch))
            twin.bias.copy_(self.project.bias)
        return twin


class VisionTransformer(nn.Module):
    """Patches, a class token, learned positions, an encoder, a linear head.  Sections 3 to 5.

    ``block`` says what its blocks are like; ``VIT_BLOCK`` is the paper's kind, to be made smaller.
    ``size`` is the image's side in pixels, or (height, width).  ``positions=False`` leaves the
    positions out.  ``pool="cls"`` classifies the class token, ``pool="mean"`` the mean of the
    patches, and then there is no class token.
    """

    def __init__(
        self,
        block: BlockSizes,
        *,
        size: int | Sequence[int],
        patch: int,
        channels: int,
        num_classes: int,
        num_layers: int,
        positions: bool = True,
        pool: str = "cls",
    ):
        super().__init__()
        if pool not in POOLS:
            raise ValueError(f"pool must be one of {POOLS}, got {pool!r}")
        self.size = _pair(size)
        if any(length % patch or length < patch for length in self.size):
            raise ValueError(f"patches of {patch} pixels do not fill an image of {self.size}")
        self.grid = tuple(length // patch for length in self.size)  # rows, columns of patches
        self.pool = pool
        self.embed = PatchEmbedding(patch, channels, block.d_model)
        self.cls = _learned(1, 1, block.d_model, std=0.02) if pool == "cls" else None
        num_tokens = self.grid[0] * self.grid[1] + (pool == "cls")
        table = _learned(1, num_tokens, block.d_model, std=POSITION_STD)
        self.positions = table if positions else None
        self.dropout = nn.Dropout(block.dropout)
        self.encoder = Encoder(num_layers, block)
        self.head = nn.Linear(block.d_model, num_classes)

    def forward(self, images: Tensor, *, need_weights: bool = False) -> tuple[Tensor, Weights]:
        """images (B, C, height, width) -> ``(logits, weights)``: logits (B, num_classes).

        On request the block ``encoder`` of the weights is (B, layers, H, N + 1, N + 1).
        """
        x, weights = self.encoder(self.tokens(images), need_weights=need_weights)
        pooled = x[:, 0] if self.pool == "cls" else x.mean(dim=1)  # (B, D)
        return self.head(pooled), weights

    def tokens(self, images: Tensor) -> Tensor:
        """What the encoder reads: [class; patch 1; ...; patch N] + positions, (B, N + 1, D)."""
        if tuple(images.shape[-2:]) != self.size:
            raise ValueError(
                f"this model reads images of {self.size} pixels, got {tuple(images.shape)}"
            )
        x = self.embed(images)  # (B, N, D)
        if self.cls is not None:
            x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1)  # (B, N + 1, D)
        if self.positions is not None:
            x = x + self.positions
        return self.dropout(x)


class SmallCNN(nn.Module):
    """Two 3 × 3 convolutions, pooling, one more, pooling, a linear head.  Section 10.

    It knows about images what the Vision Transformer has to learn: neighbours belong together,
    and a stroke is the same stroke wherever it stands.
    """

    def __init__(self, *, channels: int = 1, num_classes: int = 10, width: int = 32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(2),
            nn.Flatten(),
            nn.Linear(4 * 2 * width, num_classes),
        )

    def forward(self, images: Tensor) -> tuple[Tensor, Weights]:
        """images (B, C, height, width) -> ``(logits, weights)``: there are no weights."""
        return self.layers(images), Weights()


def attention_rollout(weights: Tensor) -> Tensor:
    """R_l = ½ (mean over heads of A_l + I) · R_{l-1}, with R_0 = I.  Section 8.

    ``weights`` (B, layers, H, N, N) are those of an encoder.  Row i of the result (B, N, N) says
    how much of each input token has reached token i, if attention and the residual carry half
    each.  Rows sum to 1.
    """
    if weights.dim() != 5 or weights.shape[-1] != weights.shape[-2]:
        shape = tuple(weights.shape)
        raise ValueError(f"weights must have shape (B, layers, H, N, N), got {shape}")
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    reached = identity
    for layer in weights.unbind(dim=1):
        reached = (layer.mean(dim=1) + identity) / 2 @ reached  # (B, N, N)
    return reached


def position_similarity(model: VisionTransformer) -> Tensor:
    """Cosine of each patch's position vector with each other's.  Section 8.

    Returns (rows, columns, rows, columns): entry [i, j] is the map of the patch at row i, column j.
    """
    if model.positions is None:
        raise ValueError("this model has no positions")
    rows, columns = model.grid
    table = model.positions[0, -rows * columns :].detach()  # without the class token
    table = nn.functional.normalize(table, dim=-1)  # (N, D), length 1
    return (table @ table.T).reshape(rows, columns, rows, columns)


def _learned(*shape: int, std: float) -> nn.Parameter:
    return nn.Parameter(nn.init.normal_(torch.empty(*shape), std=std))


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    height, width = (size, size) if isinstance(size, int) else size
    return int(height), int(width)


def _check_images(images: Tensor, patch: int, channels: int | None = None) -> torch.Size:
    if images.dim() != 4 or channels not in (None, images.shape[1]):
        raise ValueError(
            f"images must have shape (B, {'C' if channels is None else channels}, height, width), "
            f"got {tuple(images.shape)}"
        )
    if patch < 1 or images.shape[2] % patch or images.shape[3] % patch:
        raise ValueError(
            f"height and width must be multiples of the patch side {patch}, "
            f"got images {tuple(images.shape)}"
        )
    return images.shape
