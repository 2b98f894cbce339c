"""Cutting text into pieces: sub-words learnt from a text, or looked up in a given vocabulary.

Learning is byte-pair encoding on characters: start with single characters and join, again and
again, the two neighbours that stand together most often.  A word keeps the space in front of it,
so the pieces joined together are always exactly the text.  Built in notebook 01, section 4.
"""

import re
from collections import Counter

Pair = tuple[str, str]
UNKNOWN = "<unk>"


def learn_merges(text: str, count: int) -> list[Pair]:
    """The first ``count`` joins that ``text`` teaches, the most frequent first.

    Of equally frequent pairs the alphabetically first is taken, so the result is always the same.
    It may be shorter than ``count``: once no pair occurs twice, there is nothing left to learn.
    """
    if count < 0:
        raise ValueError(f"count must be 0 or more joins, got {count}")
    words = {tuple(word): times for word, times in Counter(_words(text)).items()}
    merges: list[Pair] = []
    while len(merges) < count:
        pairs: Counter[Pair] = Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < 2:
            break
        merges.append(best)
        # two different cuttings of a word cannot become the same, so no word is lost here
        words = {tuple(_join(list(word), best)): times for word, times in words.items()}
    return merges


def split_pieces(text: str, merges: list[Pair]) -> list[str]:
    """Cut ``text`` by joins learnt before.  ``"".join(pieces)`` is always ``text`` again."""
    pieces: list[str] = []
    for word in _words(text):
        letters = list(word)
        for pair in merges:  # in the order in which they were learnt
            letters = _join(letters, pair)
        pieces += letters
    return pieces


def longest_match(text: str, vocabulary: set[str]) -> list[str]:
    """Cut each word of ``text`` from the left, each time by the longest piece in ``vocabulary``.

    A character that begins no known piece becomes ``<unk>``.  Spaces part words and are dropped.
    """
    if "" in vocabulary:
        raise ValueError("a piece must have at least one character, the vocabulary holds ''")
    longest = max(map(len, vocabulary), default=0)
    pieces: list[str] = []
    for word in text.split():
        start = 0
        while start < len(word):
            ends = range(min(len(word), start + longest), start, -1)  # the longest first
            end = next((end for end in ends if word[start:end] in vocabulary), None)
            pieces.append(word[start:end] if end else UNKNOWN)
            start = end or start + 1
    return pieces


def _words(text: str) -> list[str]:
    """The words of ``text``, each with the white space before it; nothing is lost."""
    return re.findall(r"\s*\S+|\s+", text)


def _join(letters: list[str], pair: Pair) -> list[str]:
    """``letters`` with every neighbouring ``pair`` made one, from left to right."""
    joined: list[str] = []
    for letter in letters:
        if joined and (joined[-1], letter) == pair:
            joined[-1] += letter
        else:
            joined.append(letter)
    return joined
