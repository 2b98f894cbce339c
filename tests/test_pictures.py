"""The course's pictures: what they are, and that augmentation and splits keep their promises."""

import subprocess
import sys

import pytest
import torch

from utils.models.vit import SmallCNN
from utils.tasks.pictures import (
    as_pixels,
    augment,
    load_digits,
    photograph,
    picture_accuracy,
    picture_batches,
    picture_loss,
)


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_split_holds_every_digit_once(digits):
    from sklearn.datasets import load_digits as read

    assert digits.images.shape == (1347, 1, 8, 8)
    assert digits.test_images.shape == (450, 1, 8, 8)
    every = torch.cat([digits.images, digits.test_images])
    pixels = (as_pixels(every)[:, 0] * 16).round().flatten(1)
    raw = torch.tensor(read().images).float().flatten(1)
    assert sorted(map(tuple, pixels.tolist())) == sorted(map(tuple, raw.tolist()))
    assert digits.labels.bincount().min() > 100


def test_the_digits_are_centred_and_scaled(digits):
    assert abs(digits.images.mean()) < 0.02
    assert abs(digits.images.std() - 1) < 0.02


def test_another_seed_is_another_split(digits):
    assert torch.equal(load_digits().labels, digits.labels)
    assert not torch.equal(load_digits(1).labels, digits.labels)


def test_few_keeps_so_many_of_each(digits):
    few = digits.few(20)
    assert few.labels.bincount().tolist() == [20] * 10
    assert few.test_images is digits.test_images
    for bad in (0, 1000):
        with pytest.raises(ValueError, match=f"asked: {bad}"):
            digits.few(bad)


@pytest.mark.parametrize("name", ["flower", "china"])
def test_a_photograph_is_a_square_of_colours(name):
    photo = photograph(name, 64)
    assert photo.shape == (1, 3, 64, 64)
    assert 0 <= photo.min() and photo.max() <= 1
    assert photo.std() > 0.1
    with pytest.raises(ValueError, match="got 'cat'"):
        photograph("cat")


def test_augmentation_moves_a_little_and_is_seeded(digits):
    images = digits.images[:50]
    changed = augment(images, rng())
    assert changed.shape == images.shape
    assert torch.equal(changed, augment(images, rng()))
    assert not torch.equal(changed, augment(images, rng(1)))
    assert 0.05 < (changed - images).abs().mean() < 0.5
    still = augment(images, rng(), move=0, turn=0, zoom=0)
    assert torch.allclose(still, images, atol=1e-5)


def test_a_move_is_at_most_so_many_pixels():
    dot = torch.zeros(200, 1, 9, 9)
    dot[:, :, 4, 4] = 1
    moved = augment(dot, rng(), move=1, turn=0, zoom=0)
    near = moved[:, :, 3:6, 3:6].sum((1, 2, 3))
    assert torch.allclose(near, torch.ones(200), atol=1e-5)
    assert (moved[:, 0, 4, 4] < 0.9).any()


def test_batches_go_round_and_keep_image_and_label_together():
    images = torch.arange(10.0).view(10, 1, 1, 1)
    stream = picture_batches(images, torch.arange(10), 4, rng())
    rounds = [[next(stream) for _ in range(3)] for _ in range(2)]
    for parts in rounds:
        assert [len(labels) for _, labels in parts] == [4, 4, 2]
        assert sorted(torch.cat([labels for _, labels in parts]).tolist()) == list(range(10))
        for pictures, labels in parts:
            assert torch.equal(pictures.flatten().long(), labels)
    first, second = (torch.cat([labels for _, labels in parts]) for parts in rounds)
    assert not torch.equal(first, second)
    with pytest.raises(ValueError, match="size = 0"):
        next(picture_batches(images, torch.arange(10), 0, rng()))


def test_loss_and_accuracy_of_a_classifier(digits):
    torch.manual_seed(0)
    model = SmallCNN().train()
    loss = picture_loss(model, (digits.images[:8], digits.labels[:8]))
    assert 1.5 < loss.item() < 3.5
    assert 0 <= picture_accuracy(model, digits.test_images, digits.test_labels) < 0.5
    assert model.training


def test_importing_reads_nothing():
    code = "import sys, utils.tasks.pictures, utils.models.vit; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
