"""X06-3: padding, and padding together with the causal mask."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def decoder_masks(lengths: Tensor, n: int) -> tuple[Tensor, Tensor]:
    place = torch.arange(n)
    real = place < lengths[:, None]  # (B, n): True for real tokens
    padding = real[:, None, None, :]  # (B, 1, 1, n): one row for all heads and queries
    causal = place <= place[:, None]  # (n, n)
    both = padding & causal  # (B, 1, n, n)
    return padding, both


REAL, KEYS, CAUSAL = "place < lengths[:, None]", "real[:, None, None, :]", "place <= place[:, None]"
BOTH, LAST = "padding & causal", "return padding, both"
BLOCKED = ((REAL, "place >= lengths[:, None]"), (CAUSAL, "place > place[:, None]"))
BUGS = (
    bug(
        "one-too-many",
        "One padding token too many is visible. With length 3 the real places are 0, 1, 2.",
        (REAL, "place <= lengths[:, None]"),
    ),
    bug(
        "inverted",
        "The padding mask says the opposite: True marks the padding. True means *may look*. "
        "(`key_padding_mask` of `nn.MultiheadAttention` wants it your way round.)",
        (REAL, "place >= lengths[:, None]"),
    ),
    bug(
        "both-inverted",
        "Both masks say the opposite: True marks what is *forbidden*. In this course True means "
        "*may look*. (Forbidden by one *or* the other is right for masks of that kind.)",
        *BLOCKED,
        (BOTH, "padding | causal"),
        see="06, section 6",
    ),
    bug(
        "no-self",
        "The causal part forbids a token to look at itself: the first one can look nowhere.",
        (CAUSAL, "place < place[:, None]"),
    ),
    bug(
        "causal-forgotten",
        "The second mask lets everyone see the future: the causal part is missing.",
        (BOTH, "padding.expand(-1, -1, n, -1)"),
    ),
    bug(
        "padding-forgotten",
        "The second mask is the causal one alone, spread over the batch: the padding is visible.",
        (BOTH, "causal.expand(len(lengths), 1, n, n)"),
    ),
    bug(
        "or-not-and",
        "The masks are combined with *or*: whatever one of them allows is allowed.",
        (BOTH, "padding | causal"),
    ),
    bug(
        "queries",
        "The mask hides the padded *queries* (rows), shape (B, 1, n, 1), and leaves the padded "
        "keys visible. It is the keys that must not be looked at.",
        (KEYS, "real[:, None, :, None]"),
    ),
    bug(
        "queries-too",
        "Padded queries are hidden as well as padded keys. Their rows have nothing to look at and "
        "become NaN after a softmax. What padded queries compute is simply not used.",
        (BOTH, "padding & causal & real[:, None, :, None]"),
    ),
    bug(
        "two-axes-combined",
        "The padding mask has shape (B, n) and is combined with the causal one as it is: the batch "
        "lines up with the queries. Axes of 1 have to keep it apart.",
        (KEYS, "real"),
    ),
    bug(
        "numbers",
        "The masks hold the numbers 1 and 0. They have to be boolean, from the comparison on.",
        (LAST, "return padding.float(), both.float()"),
    ),
    bug(
        "ones-forbidden",
        "The masks hold numbers, and 1 marks what is *forbidden*. Some tutorials write masks like "
        "that and add mask · −1e9 to the scores; here they are boolean, and True means *may look*.",
        (LAST, "return (~padding).float(), (~both).float()"),
        see="06, section 6",
    ),
)

EXERCISE = Exercise(
    id="X06-3",
    title="Padding, and both masks together",
    see="06, section 5",
    name="decoder_masks",
    reference=decoder_masks,
    bugs=BUGS,
    steps={
        REAL: "Places count from 0, so token j of a sequence is real if j is below its length; the "
        "lengths stand as a column, to be compared with every place.",
        KEYS: "It is keys that must not be looked at. The scores are (B, H, n, n): the batch stays "
        "in front, the keys stay last, and axes of 1 serve all heads and queries.",
        CAUSAL: "A token may look at itself and at the past, not at the future (06, section 1).",
        BOTH: "A look has to be allowed by the one mask *and* by the other.",
        LAST: "Two masks are asked for: padding first, then both together.",
    },
    parts=("padding mask", "combined mask"),
    # a batch of one, and n longer than the longest sentence
    probes=lambda r: [
        (torch.tensor([3, 5, 1]), 5),
        (torch.tensor([2, 6, 5, 3]), 7),
        (torch.tensor([4]), 6),
    ],
    square=lambda r: [(torch.tensor([4, 2, 1, 3]), 4)],
    hints=(
        "Token j of sequence b is real if j < lengths[b]. Compare `torch.arange(n)` with a column.",
        "That gives (B, n). Scores are (B, H, M, N): the batch stays in front, the keys stay at "
        "the end, and `[:, None, None, :]` puts two axes of 1 between them.",
        "A look has to be allowed by both masks: `padding & causal`. (B, 1, 1, n) and (n, n) "
        "broadcast to (B, 1, n, n).",
    ),
    also_right=(
        """
def decoder_masks(lengths, n):
    padding = torch.zeros(len(lengths), 1, 1, n, dtype=torch.bool)
    for b, length in enumerate(lengths):
        padding[b, 0, 0, :length] = True
    return padding, padding & torch.tril(torch.ones(n, n, dtype=torch.bool))
""",
        """
def decoder_masks(lengths, n):
    real = (torch.arange(n) < lengths.unsqueeze(1)).unsqueeze(1).unsqueeze(2)
    future = torch.triu(torch.ones(n, n), diagonal=1).bool()
    return real, torch.logical_and(real, ~future)
""",
        """
def decoder_masks(lengths, n):
    pad = torch.arange(n).view(1, 1, 1, n) < lengths.view(-1, 1, 1, 1)
    return pad, (pad.int() * torch.ones(n, n, dtype=torch.int).tril()).bool()
""",
    ),
    blank="def decoder_masks(lengths, n):\n    padding = ...\n    return padding, ...\n",
)
