"""Everything around a translation model: its loss, its score, and a friendly translator.

Used from notebook 02 on.  The models (``utils/models``) see numbers; here numbers meet words.
"""

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.text.grammar import LONGEST, Pair, spell
from utils.text.vocabulary import EOS, PAD, Batch, Vocabulary, make_batch, tokenize
from utils.train.distributed import mean_over_all
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


def translation_loss(model: nn.Module, batch: Batch, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of the right next word, given the right words before it (teacher forcing).

    ``smoothing`` wants that much probability spread over all words (notebook 07, section 9).
    """
    logits, _ = model(batch.source, batch.decoder_input)  # (B, M, vocabulary)
    total = F.cross_entropy(
        logits.flatten(0, 1),
        batch.target.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return mean_over_all(total, (batch.target != PAD).sum())


def exact_matches(model: nn.Module, pairs: Sequence[Encoded], batch_size: int = 128) -> list[bool]:
    """For each pair: is the free-running translation right in every word?"""
    device = next(model.parameters()).device
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
    right = [False] * len(pairs)
    for first in range(0, len(order), batch_size):
        chosen = order[first : first + batch_size]
        batch = make_batch([pairs[i] for i in chosen]).to(device)
        ids, _ = decode(model, batch.source, batch.target.shape[1] + 2)
        for i, row in zip(chosen, ids.tolist()):
            said = row[: row.index(EOS)] if EOS in row else row
            right[i] = said == pairs[i][1]
    return right


def share_by_length(
    right: Sequence[bool], pairs: Sequence[Encoded], groups: Sequence[tuple[int, int]]
) -> list[float]:
    """The share of right translations among source lengths ``first``..``last``, for each group."""
    shares = []
    for first, last in groups:
        inside = [r for r, pair in zip(right, pairs) if first <= len(pair[0]) <= last]
        if not inside:
            raise ValueError(f"no sentence has {first} to {last} words")
        shares.append(sum(inside) / len(inside))
    return shares


@dataclass(frozen=True)
class Translation:
    """A translation with its alignment, or a friendly sentence saying why there is none."""

    source: list[str]
    target: list[str]
    weights: Tensor | None = None  # (M, N): rows are the target words
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

    def __call__(self, text: str) -> Translation:
        words = tokenize(str(text))
        if not any(word.isalnum() for word in words):
            return _no("Type an English sentence, for example: Jane visits Africa in September.")
        if words[-1] != "." and words[-1] not in self.source:
            words = [*words[:-1], "."] if not words[-1].isalnum() else [*words, "."]
        elif words[-1] != ".":
            words.append(".")
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
        said, weights = decode(self.model, ids, 2 * len(words) + 5)
        target = self.target.decode(said[0])
        message = ""
        if len(words) > self.longest:
            message = (
                f"{len(words)} words are more than the {self.longest} of the longest training "
                "sentence: do not trust this translation."
            )
        weights = None if weights is None else weights[0, : len(target)].cpu()
        return Translation(words, target, weights, message)

    def _strangers(self, words: list[str]) -> str:
        known = [word for word in self.source.words if word.isalpha()]
        parts = []
        for word in words[:5]:
            near = difflib.get_close_matches(word.lower(), known, n=2, cutoff=0.7)
            parts.append(f"{word} (do you mean {' or '.join(near)}?)" if near else word)
        more = f" and {len(words) - 5} more" if len(words) > 5 else ""
        return (
            f"Not in my vocabulary of {len(known)} English words: {', '.join(parts)}{more}. "
            "data/en_fr.tsv lists all words; a new row there and a new training add one."
        )


def _no(message: str) -> Translation:
    return Translation([], [], None, message)
