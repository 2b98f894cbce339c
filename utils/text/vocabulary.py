"""From words to numbers and back: vocabulary, padding, batches.  Notebook 02, section 2.

Every sequence model of the course uses the same four special tokens.  ``<pad>`` fills short
sentences up, ``<bos>`` starts the decoder, ``<eos>`` ends a sentence (the lectures' [START] and
[STOP]), ``<unk>`` stands for words that no training sentence held.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
# l' and qu' are words of their own; a full stop is one too.
_TOKEN = re.compile(r"[^\W\d_]+'(?=\w)|[\w-]+|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Cut a sentence into words: ``"L'accord."`` gives ``["L'", "accord", "."]``."""
    return _TOKEN.findall(text.replace("’", "'"))


class Vocabulary:
    """Words and their numbers.  With ``fold_case``, The and the share a number."""

    def __init__(self, words: Iterable[str], *, fold_case: bool = False):
        self.fold_case = fold_case
        self.words = [*SPECIAL, *sorted({self._key(word) for word in words} - set(SPECIAL))]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self._key(word) in self._ids

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} words, {len(SPECIAL)} of them special"

    def encode(self, words: Sequence[str]) -> list[int]:
        """The number of each word; a word that is not known becomes ``<unk>``."""
        return [self._ids.get(self._key(word), UNK) for word in words]

    def decode(self, ids: Sequence[int] | Tensor) -> list[str]:
        """The words up to the first ``<eos>``, without padding."""
        words = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            if i == EOS:
                break
            if i not in (PAD, BOS):
                words.append(self.words[i])
        return words

    def _key(self, word: str) -> str:
        return word.lower() if self.fold_case else word


@dataclass(frozen=True)
class Batch:
    """B sentence pairs as tensors, short ones padded."""

    source: Tensor  # (B, N)
    decoder_input: Tensor  # (B, M): <bos> y1 y2 ...
    target: Tensor  # (B, M): y1 y2 ... <eos>, what the decoder should say

    def to(self, device: torch.device | str) -> "Batch":
        return Batch(*(t.to(device) for t in (self.source, self.decoder_input, self.target)))


def pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Lists of numbers as one tensor (B, longest), filled up with ``<pad>``."""
    if not sequences or not all(len(sequence) for sequence in sequences):
        raise ValueError("pad needs at least one sequence, and each must hold at least one token")
    longest = max(map(len, sequences))
    return torch.tensor([[*sequence, *[PAD] * (longest - len(sequence))] for sequence in sequences])


def word_mask(source: Tensor) -> Tensor:
    """(B, N) -> (B, N): True at words, False at padding.  A sentence without words is refused."""
    mask = source != PAD
    if not mask.any(dim=1).all():
        raise ValueError("each source sentence must hold at least one word that is not <pad>")
    return mask


def make_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Encoded (source, target) pairs as one batch; the decoder's input is shifted by one."""
    sources, targets = zip(*pairs)
    return Batch(
        source=pad(sources),
        decoder_input=pad([[BOS, *target] for target in targets]),
        target=pad([[*target, EOS] for target in targets]),
    )


def batches(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    batch_size: int,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Iterator[Batch]:
    """Batches without end, shuffled anew in each round by ``seed``.

    Sentences of about the same length share a batch, so that little is spent on padding.
    """
    if not pairs or batch_size < 1:
        raise ValueError(
            f"batches needs pairs and a batch_size of at least 1, got {len(pairs)} pairs and "
            f"batch_size {batch_size}"
        )
    rng = random.Random(seed)
    order = list(range(len(pairs)))
    while True:
        rng.shuffle(order)
        for first in range(0, len(order), 50 * batch_size):  # sort within pools, not over all
            pool = sorted(order[first : first + 50 * batch_size], key=lambda i: len(pairs[i][0]))
            groups = [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
            rng.shuffle(groups)
            for group in groups:
                yield make_batch([pairs[i] for i in group]).to(device)
