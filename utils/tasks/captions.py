"""Around a captioner: what its eyes learn first, where it looks, and a friendly describer.

Used in notebook 09.  The models (``utils/models``) see numbers; here numbers meet words.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.weights import Weights
from utils.tasks.scenes import (
    COLOURS,
    GRID,
    MOST,
    SHAPES,
    Scene,
    cell_labels,
    draw,
    longest_caption,
    random_scenes,
)
from utils.text.vocabulary import BOS, Vocabulary
from utils.train.generation import decode


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


def naming_batches(
    batch_size: int = 32, seed: int = 0, device: torch.device | str = "cpu"
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Crowded scenes without end for ``CellNamer``: (images, colours (B, 9), shapes (B, 9))."""
    rng = np.random.default_rng(seed)
    while True:
        scenes = random_scenes(batch_size, rng, things=(GRID**2 // 2, GRID**2))
        yield tuple(t.to(device) for t in (draw(scenes, rng), *cell_labels(scenes)))


def share_by_things(right: Tensor, scenes: Sequence[Scene]) -> dict[int, float]:
    """The share of right captions for each number of things in the scene."""
    if len(right) != len(scenes):
        raise ValueError(f"there must be one verdict a scene, got {len(right)}, {len(scenes)}")
    counts = torch.tensor([len(scene.things) for scene in scenes])
    right = right.cpu().float()
    return {int(n): right[counts == n].mean().item() for n in counts.unique()}


@torch.no_grad()
def looks(model: nn.Module, images: Tensor, decoder_input: Tensor) -> Tensor:
    """Where the model looks for each word: (B, layers, heads, M, N), no gradients."""
    was_training = model.training
    model.eval()
    try:
        _, weights = model(images, decoder_input, need_weights=True)
    finally:
        model.train(was_training)
    if weights.cross is None:
        raise ValueError(f"{type(model).__name__} has no attention: it looks nowhere")
    return weights.cross


def pointing(weights: Tensor, scenes: Sequence[Scene]) -> float:
    """How often does the largest weight lie on the thing that the word names?

    weights (B, M, N): row t belongs to word t of the caption.  Colours and shapes are counted;
    "a", "beside" and "above" name no thing.  The cell with the largest weight counts as a hit if
    the thing's box is in it.  Looking at cells by chance scores 1/9.
    """
    if weights.dim() != 3 or len(weights) != len(scenes) or weights.shape[2] != GRID**2:
        raise ValueError(
            f"weights must have shape ({len(scenes)} scenes, words, {GRID**2} cells), "
            f"got {tuple(weights.shape)}"
        )
    best, hits = weights.argmax(dim=-1).tolist(), []
    for i, scene in enumerate(scenes):
        for t, subject in enumerate(scene.subjects):
            if subject is not None:
                hits.append(best[i][t] == scene.things[subject].cell)
    return sum(hits) / len(hits)


@dataclass(frozen=True)
class Description:
    """What a captioner said about a picture, and where it looked."""

    words: list[str]
    image: Tensor  # (3, 48, 48)
    weights: Weights = Weights()  # each row of decoder and cross belongs to the word it made
    message: str = ""

    def __repr__(self) -> str:
        return " ".join(self.words) + (f"\n({self.message})" if self.message else "")


@dataclass(frozen=True)
class Describer:
    """A trained model with its vocabulary: ``describer(scene_of({(0, 1): "red circle"}))``."""

    model: nn.Module
    vocabulary: Vocabulary

    def __call__(self, scene: Scene, seed: int = 0) -> Description:
        device = next(self.model.parameters()).device
        images = draw([scene], seed).to(device)
        most = max(MOST, len(scene.things))
        ids, weights = decode(self.model, images, longest_caption(most) + 2, need_weights=True)
        words = self.vocabulary.decode(ids[0])
        message = ""
        if len(scene.things) > MOST:
            message = (
                f"{len(scene.things)} things are more than the {MOST} of the fullest training "
                "scene: do not trust this caption."
            )
        return Description(words, images[0].cpu(), weights[0].written(len(words)), message)


def greedy(
    next_logits: Callable[[Tensor, Tensor], Tensor], images: Tensor, max_length: int
) -> Tensor:
    """Decode without a cache: ``next_logits(images, tokens (B, M))`` -> (B, M, vocabulary)."""
    tokens = torch.full((len(images), 1), BOS, device=images.device)
    for _ in range(max_length):
        best = next_logits(images, tokens)[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=1)
    return tokens[:, 1:]
