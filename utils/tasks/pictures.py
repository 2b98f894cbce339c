"""Real pictures that scikit-learn carries: 1,797 handwritten digits, and two photographs.

Nothing is downloaded, and nothing is read before you ask.  Images have shape (B, C, height, width),
channels first, as ``nn.Conv2d`` wants them.  Photographs are floats from 0 (black) to 1.  Digits
are ready for a network: mean 0 and spread 1; ``as_pixels`` leads back to 0 (paper) … 1 (ink).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PHOTOGRAPHS = ("flower", "china")
TEST_DIGITS = 450  # of 1,797: a quarter is kept for the test
MEAN, SPREAD = 0.305, 0.376  # of all pixels of the training digits, as floats from 0 to 1


@dataclass(frozen=True)
class Digits:
    """Handwritten digits of 8 × 8 pixels, cut into a training and a test set."""

    images: Tensor  # (1347, 1, 8, 8)
    labels: Tensor  # (1347)
    test_images: Tensor  # (450, 1, 8, 8)
    test_labels: Tensor  # (450)

    def few(self, per_digit: int) -> "Digits":
        """The same test set, and only ``per_digit`` training images of each of the ten digits."""
        chosen = [torch.where(self.labels == digit)[0] for digit in range(10)]
        fewest = min(len(indices) for indices in chosen)
        if not 1 <= per_digit <= fewest:
            raise ValueError(f"there are 1 to {fewest} images of each digit, asked: {per_digit}")
        keep = torch.cat([indices[:per_digit] for indices in chosen]).sort().values
        return Digits(self.images[keep], self.labels[keep], self.test_images, self.test_labels)

    def to(self, device: torch.device | str) -> "Digits":
        return Digits(*(part.to(device) for part in vars(self).values()))


def load_digits(seed: int = 0) -> Digits:
    """The 1,797 digits of scikit-learn, shuffled with ``seed`` and cut: 1,347 and 450."""
    from sklearn.datasets import load_digits as read  # half a second: only when it is used

    raw = read()
    pixels = torch.tensor(raw.images, dtype=torch.float32)[:, None] / 16  # (1797, 1, 8, 8)
    images = (pixels - MEAN) / SPREAD
    labels = torch.tensor(raw.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    test, train = order[:TEST_DIGITS], order[TEST_DIGITS:]
    return Digits(images[train], labels[train], images[test], labels[test])


def as_pixels(images: Tensor) -> Tensor:
    """Digits of a ``Digits`` as they were: 0 for paper, 1 for ink."""
    return (images * SPREAD + MEAN).clamp(0, 1)


def photograph(name: str = "flower", size: int = 224) -> Tensor:
    """One photograph of scikit-learn, its middle square scaled to (1, 3, size, size)."""
    if name not in PHOTOGRAPHS:
        raise ValueError(f"the photographs are {PHOTOGRAPHS}, got {name!r}")
    from sklearn.datasets import load_sample_image

    pixels = torch.tensor(load_sample_image(f"{name}.jpg")).permute(2, 0, 1)  # (3, height, width)
    side = min(pixels.shape[1:])
    top, left = (pixels.shape[1] - side) // 2, (pixels.shape[2] - side) // 2
    square = pixels[None, :, top : top + side, left : left + side].float() / 255
    scaled = F.interpolate(square, size=(size, size), mode="bilinear", antialias=True)
    return scaled.clamp(0, 1)


def augment(
    images: Tensor,
    rng: torch.Generator,
    *,
    move: float = 0.5,
    turn: float = 0.2,
    zoom: float = 0.1,
    still: float = 0.25,
) -> Tensor:
    """Move, turn and zoom each image a little, differently at every call: (B, C, S, S) -> same.

    At most ``move`` pixels in each direction, ``turn`` radians and a share of ``zoom`` larger or
    smaller.  A digit stays the same digit, so the label stays too.  A share of ``still`` images
    stays as it is: moving by part of a pixel blurs, and the test images are sharp.
    """
    count, side = len(images), images.shape[-1]
    drawn = torch.rand(5, count, generator=rng, device=rng.device).to(images)
    noise = (2 * drawn[:4] - 1) * (drawn[4] >= still)  # from -1 to 1, or 0 for those left alone
    angle, scale = turn * noise[0], 1 + zoom * noise[1]
    across, along = noise[2:] * move * 2 / side  # grids count from -1 to 1: a pixel is 2 / side
    cos, sin = scale * angle.cos(), scale * angle.sin()
    rows = [torch.stack([cos, -sin, across], 1), torch.stack([sin, cos, along], 1)]
    grid = F.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def picture_batches(
    images: Tensor,
    labels: Tensor,
    size: int,
    rng: torch.Generator,
    change: Callable[[Tensor, torch.Generator], Tensor] | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches without end, in a new order each time round; ``change`` is ``augment``, or None."""
    if not 1 <= size:
        raise ValueError(f"a batch must hold at least one image, got size = {size}")
    while True:
        order = torch.randperm(len(images), generator=rng, device=rng.device).to(images.device)
        for chosen in order.split(size):
            batch = images[chosen]
            yield (batch if change is None else change(batch, rng)), labels[chosen]


def picture_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Cross-entropy of a classifier that answers ``(logits, weights)``: for ``train``."""
    images, labels = batch
    return F.cross_entropy(model(images)[0], labels)


def picture_accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of images that the model names rightly."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        right = model(images)[0].argmax(dim=-1) == labels
    model.train(was_training)
    return right.float().mean().item()
