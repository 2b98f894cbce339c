"""Everything around a translation model: its words, its score by length, and a friendly translator.

Used from notebook 02 on.  The models (``utils/models``) see numbers; here numbers meet words.
"""

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from utils.layers.weights import Weights
from utils.text.grammar import LONGEST, Pair, spell
from utils.text.vocabulary import Vocabulary, tokenize
from utils.train.generation import decode

Encoded = tuple[list[int], list[int]]


def vocabularies(pairs: Sequence[Pair]) -> tuple[Vocabulary, Vocabulary]:
    """The words of both languages.  In the source The and the are one word; the target is exact."""
    source = Vocabulary((word for pair in pairs for word in pair.source), fold_case=True)
    return source, Vocabulary(word for pair in pairs for word in pair.target)


def encode_pairs(pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary) -> list[Encoded]:
    return [(source.encode(pair.source), target.encode(pair.target)) for pair in pairs]


def fingerprint(*words: Vocabulary) -> str:
    """A short text that changes with any word: weights fit only the words they were made for."""
    text = "\n\n".join("\n".join(vocabulary.words) for vocabulary in words)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def share_by_length(
    right: Sequence[bool] | Tensor, pairs: Sequence[Encoded], groups: Sequence[tuple[int, int]]
) -> list[float]:
    """The share of right translations among source lengths ``first``..``last``, for each group."""
    shares = []
    for first, last in groups:
        inside = [r for r, pair in zip(right, pairs) if first <= len(pair[0]) <= last]
        if not inside:
            raise ValueError(f"no sentence has {first} to {last} words")
        shares.append(float(sum(inside)) / len(inside))
    return shares


@dataclass(frozen=True)
class Translation:
    """A translation with the weights that made it, or a friendly sentence why there is none."""

    source: list[str]
    target: list[str]
    weights: Weights = Weights()  # each row of decoder and cross belongs to the word it made
    message: str = ""

    def __repr__(self) -> str:
        if not self.target:
            return self.message
        return f"{spell(self.source)} → {spell(self.target)}" + (
            f"\n({self.message})" if self.message else ""
        )


@dataclass(frozen=True)
class Translator:
    """A trained model with its two vocabularies: ``translator("Jane visits Africa.")``."""

    model: nn.Module
    source: Vocabulary
    target: Vocabulary
    longest: int = LONGEST  # words of the longest sentence in training
    table: str = "en_fr.tsv"  # where the words come from, for those who miss one

    def __call__(self, text: str) -> Translation:
        words = tokenize(str(text))
        while words and not any(letter.isalnum() for letter in words[-1]):
            words.pop()
        if not words:
            return _no("Type an English sentence, for example: Jane visits Africa in September.")
        words.append(".")  # whatever ended the sentence: "!" is a full stop to us
        if len(words) > 2 * self.longest:
            return _no(
                f"That sentence has {len(words)} words. In training no sentence was longer than "
                f"{self.longest}; try one of at most {2 * self.longest}."
            )
        strange = list(dict.fromkeys(word for word in words if word not in self.source))
        if strange:
            return _no(self._strangers(strange))
        device = next(self.model.parameters()).device
        ids = torch.tensor([self.source.encode(words)], device=device)
        said, weights = decode(self.model, ids, 2 * len(words) + 5, need_weights=True)
        target = self.target.decode(said[0])
        message = ""
        if len(words) > self.longest:
            message = (
                f"{len(words)} words are more than the {self.longest} of the longest training "
                "sentence: do not trust this translation."
            )
        return Translation(words, target, weights[0].written(len(target)), message)

    def _strangers(self, words: list[str]) -> str:
        known = [word for word in self.source.words if word.isalpha()]
        parts = []
        for word in words[:5]:
            near = difflib.get_close_matches(word.lower(), known, n=2, cutoff=0.7)
            parts.append(f"{word} (do you mean {' or '.join(near)}?)" if near else word)
        more = f" and {len(words) - 5} more" if len(words) > 5 else ""
        return (
            f"Not in my vocabulary of {len(known)} English words: {', '.join(parts)}{more}. "
            f"data/{self.table} lists all words; a new row there and a new training add one."
        )


def _no(message: str) -> Translation:
    return Translation([], [], message=message)
