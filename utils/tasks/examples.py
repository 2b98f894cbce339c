"""Small made-up inputs that a notebook looks at but does not teach."""

import random

import torch
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention


def hand_made_heads(belongs_to: list[int]) -> Tensor:
    """Four heads over N words, (4, N, N), each with one place that every word looks at.

    In one head word i looks at word ``belongs_to[i]``; in the others at itself, at the word before
    it (the first one at itself), and at the first word.
    """
    n = len(belongs_to)
    places = torch.arange(n)
    wanted = torch.stack(
        [torch.tensor(belongs_to), places, (places - 1).clamp(min=0), torch.zeros(n).long()]
    )  # (4, N)
    one_hot = torch.eye(n)
    _, weights = scaled_dot_product_attention(9 * one_hot[wanted], one_hot, one_hot)
    return weights


def it_sentences(count: int, seed: int = 0) -> tuple[Tensor, Tensor, list[str]]:
    """Sentences like "the animal didn't cross the street because it was too tired".

    Who *it* is depends on the last word: animals can be tired, streets can be wide.
    Returns ``(words, meant, names)``: words (count, 11) and the word that is meant (count), both as
    numbers of ``names``.
    """
    animals = "animal cat dog horse cow fox".split()
    places = "street river bridge road field square".split()
    of_animals, of_places = "tired afraid old hungry".split(), "wide narrow busy wet".split()
    frame = "the * didn't cross the * because it was too *".split()
    names = ["<pad>", *sorted({*frame, *animals, *places, *of_animals, *of_places} - {"*"})]
    rng = random.Random(seed)
    words, meant = [], []
    for _ in range(count):
        animal, place = rng.choice(animals), rng.choice(places)
        tired = rng.random() < 0.5
        fill = iter((animal, place, rng.choice(of_animals if tired else of_places)))
        words.append([names.index(next(fill) if word == "*" else word) for word in frame])
        meant.append(names.index(animal if tired else place))
    return torch.tensor(words), torch.tensor(meant), names
