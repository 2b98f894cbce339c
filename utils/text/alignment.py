"""Scoring alignments: does attention look where a translator would?  Notebook 02, section 9.

A link is ``(target position, source position)``.  Gold links are *sure* or merely *possible* (an
article belongs to "the" and to its noun); sure ones are possible too.
"""

from collections.abc import Collection, Sequence

from torch import Tensor

Link = tuple[int, int]


def links_of(weights: Tensor, target_length: int, source_length: int) -> set[Link]:
    """For each target word the source word it looks at most.  weights (M, N), padding allowed."""
    if weights.dim() != 2 or weights.shape[0] < target_length or weights.shape[1] < source_length:
        raise ValueError(
            f"weights must have shape (M, N) with M >= {target_length} and N >= {source_length}, "
            f"got {tuple(weights.shape)}"
        )
    best = weights[:target_length, :source_length].argmax(dim=-1)
    return {(i, j) for i, j in enumerate(best.tolist())}


def alignment_error_rate(
    found: Collection[Link], sure: Collection[Link], possible: Collection[Link]
) -> float:
    """1 - (|found ∩ sure| + |found ∩ possible|) / (|found| + |sure|), after Och and Ney (2003).

    0 is perfect: every sure link is found, and nothing outside the possible ones.
    """
    return corpus_error_rate([(found, sure, possible)])


def corpus_error_rate(
    sentences: Sequence[tuple[Collection[Link], Collection[Link], Collection[Link]]],
) -> float:
    """The error rate over many sentences ``(found, sure, possible)``: counts are added first."""
    hits = size = 0
    for found, sure, possible in sentences:
        found, sure, possible = set(found), set(sure), set(possible)
        if not sure <= possible:
            raise ValueError(f"every sure link must be possible too, got {sorted(sure - possible)}")
        hits += len(found & sure) + len(found & possible)
        size += len(found) + len(sure)
    if size == 0:
        raise ValueError("there is nothing to score: no links were found and none are sure")
    return 1 - hits / size


def misses(
    found: Collection[Link],
    possible: Collection[Link],
    target: Sequence[str],
    source: Sequence[str],
) -> list[str]:
    """The found links that are not even possible, in words: ``"européenne looks at Economic"``."""
    wrong = sorted(set(found) - set(possible))
    return [f"{target[i]} looks at {source[j]}" for i, j in wrong]
