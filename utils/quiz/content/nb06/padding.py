"""X06-3: padding, and padding together with the causal mask."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.layers.masks import causal_mask, padding_mask
from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise


def decoder_masks(lengths: Tensor, n: int) -> tuple[Tensor, Tensor]:
    padding = torch.arange(n) < lengths[:, None]  # (B, n): True for real tokens
    padding = padding[:, None, None, :]  # (B, 1, 1, n): one row for all heads and queries
    causal = torch.ones(n, n, dtype=torch.bool).tril()  # (n, n)
    return padding, padding & causal  # (B, 1, n, n)


def _library_masks(lengths: Tensor, n: int) -> tuple[Tensor, Tensor]:
    padding = padding_mask(lengths, n)
    return padding, padding & causal_mask(n)


def switched(bug, lengths: Tensor, n: int):
    """Padding mask and its combination with the causal one; ``bug`` says which mistakes are on."""
    place, size = torch.arange(n), lengths[:, None]
    real = bug.choose(
        lambda: place < size,
        one_too_many=lambda: place <= size,
        one_too_few=lambda: place < size - 1,
        inverted=lambda: place >= size,
        left_padded=lambda: place >= n - size,
        only_last=lambda: place == size - 1,
        not_used=lambda: (place >= 0).expand(len(lengths), n),
    )  # (B, n)
    keys = real[:, None, None, :]
    ones = torch.ones(n, n, dtype=torch.bool)
    causal = bug.choose(
        lambda: ones.tril(),
        causal_inverted=lambda: ones.triu(1),
        causal_transposed=lambda: ones.triu(),
        no_self=lambda: ones.tril(-1),
        causal_forgotten=lambda: ones,
    )
    shown = bug.choose(
        lambda: keys,
        queries=lambda: real[:, None, :, None],
        queries_too=lambda: keys & real[:, None, :, None],
        spread=lambda: keys.expand(-1, -1, n, -1),
    )
    both = bug.choose(
        lambda: shown & causal,
        or_not_and=lambda: shown | causal,
        xor_not_and=lambda: shown ^ causal,
        padding_forgotten=lambda: causal.expand(len(lengths), 1, n, n),
    )
    both = bug.choose(
        lambda: both,
        both_queries=lambda: real[:, None, :, None] & causal,
        both_no_head_axis=lambda: (shown & causal)[:, 0],
    )
    first = bug.choose(
        lambda: shown,
        two_axes=lambda: real,
        three_axes=lambda: real[:, None, :],
        three_axes_column=lambda: real[:, :, None],
        axes_moved=lambda: real[:, :, None, None],
        batch_moved=lambda: real[None, None],
    )
    if bug("two-axes-combined"):
        first, both = real, real & causal
    if bug("three-axes-combined"):
        first, both = real[:, None], real[:, None] & causal
    result = bug.choose(
        lambda: (first, both),
        only_both=lambda: both,
        only_padding=lambda: first,
        order_swapped=lambda: (both, first),
        causal_second=lambda: (first, causal),
    )
    if bug("numbers"):
        numbers = [part.float() for part in (result if isinstance(result, tuple) else (result,))]
        return tuple(numbers)
    return result


PADDING = Exercise(
    id="X06-3",
    title="Padding, and both masks together",
    see="06, section 5",
    name="decoder_masks",
    reference=decoder_masks,
    library=_library_masks,
    switched=switched,
    bugs=(
        *group("real", "the comparison with the lengths")(
            one_too_many="One padding token too many is visible: places count from 0, so with "
            "length 3 the real places are 0, 1, 2. `<`, not `<=`.",
            one_too_few="The last real token of each sequence is hidden as well.",
            inverted="The mask says the opposite: True marks the padding. True means *may look*. "
            "(`key_padding_mask` of `nn.MultiheadAttention` wants it your way round.)",
            left_padded="The padding is taken to stand in front. Here it stands at the end.",
            only_last="Only the last real token of each sequence is visible.",
            not_used="The lengths have no effect: padding is visible.",
        ),
        *group("causal", "the causal part")(
            causal_inverted="The causal part allows the future and nothing else. True means may "
            "look: the lower triangle.",
            causal_transposed="The causal part is the upper triangle: rows and columns are mixed "
            "up.",
            no_self="The causal part forbids a token to look at itself; the first one has nothing "
            "left to look at.",
            causal_forgotten="The second mask lets everyone see the future: the causal part is "
            "missing.",
        ),
        *group("axis", "the axes of the padding mask")(
            queries="The mask hides the padded *queries* (rows), shape (B, 1, n, 1), and leaves "
            "the padded keys visible. It is the keys that must not be looked at: (B, 1, 1, n).",
            queries_too="Padded queries are hidden as well as padded keys. Their rows have nothing "
            "to look at and become NaN after a softmax. Hide the keys only; what padded queries "
            "compute is simply not used.",
            spread="The padding mask is right, but spelled out to (B, 1, n, n). One row serves all "
            "queries: (B, 1, 1, n).",
        ),
        *group("combine", "how the two are combined")(
            or_not_and="The masks are combined with *or*: whatever one of them allows is allowed. "
            "A look has to be allowed by both: `&`.",
            xor_not_and="The masks are combined with *exclusive or*. A look has to be allowed by "
            "both: `&`.",
            padding_forgotten="The second mask is the causal one alone, spread over the batch: the "
            "padding is visible.",
            both_queries="The first mask is right, but in the second the padded *queries* are "
            "hidden: their rows have nothing to look at and become NaN after a softmax. Hide "
            "padded keys only.",
            both_no_head_axis="The second mask has no axis for the heads, (B, n, n). Against "
            "scores (B, H, n, n) its batch would line up with the heads: keep (B, 1, n, n).",
        ),
        *group("shape", "the axes of the padding mask")(
            two_axes="The padding mask has shape (B, n). Against scores (B, H, n, n) its batch "
            "would line up with the queries. Two axes of 1 keep it apart: `[:, None, None, :]`.",
            three_axes="The padding mask has shape (B, 1, n). Against scores (B, H, n, n) its "
            "batch would line up with the heads. It needs one more axis: `[:, None, None, :]`.",
            three_axes_column="The padding mask has shape (B, n, 1): a column, which hides "
            "queries, and an axis is missing. `[:, None, None, :]`.",
            axes_moved="The new axes stand behind the places, (B, n, 1, 1). They belong between "
            "batch and keys: (B, 1, 1, n).",
            batch_moved="The new axes stand in front, (1, 1, B, n): the batch would line up with "
            "the queries. They belong between batch and keys: (B, 1, 1, n).",
            two_axes_combined="The padding mask has shape (B, n) and is combined with the causal "
            "one as it is: the batch lines up with the queries. Two axes of 1 keep it apart: `[:, "
            "None, None, :]`.",
            three_axes_combined="Both masks lack an axis: (B, 1, n) and (B, n, n). Against scores "
            "(B, H, n, n) the batch would line up with the heads: `[:, None, None, :]`.",
        ),
        *group("return", "the last line")(
            only_both="Only one mask comes back, the combined one. Two are asked for: `return "
            "padding, both`.",
            only_padding="Only the padding mask comes back. Two are asked for: `return padding, "
            "both`.",
            order_swapped="The two masks have changed places: padding first.",
            causal_second="The second result is the causal mask alone. Combine the two: `padding & "
            "causal`.",
        ),
        *single("what the entries are")(
            numbers="The masks hold the numbers 1 and 0. They have to be boolean: compare, combine "
            "with `&`, and leave them so."
        ),
    ),
    parts=("padding mask", "combined mask"),
    probes=lambda r: [
        (torch.tensor([3, 5, 1]), 5),
        (torch.tensor([7, 2, 5, 3]), 7),
    ],
    square=lambda r: [(torch.tensor([4, 2, 1, 3]), 4)],
    hints=(
        "Token j of sequence b is real if j < lengths[b]. `torch.arange(n)` holds all j; the "
        "lengths have to stand as a column for a comparison with all of them.",
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
    real = torch.arange(n).expand(len(lengths), n) < lengths.unsqueeze(1)
    real = real.unsqueeze(1).unsqueeze(2)
    future = torch.triu(torch.ones(n, n), diagonal=1).bool()
    return real, torch.logical_and(real, ~future)
""",
        """
def decoder_masks(lengths, n):
    j = torch.arange(n)
    pad = (j.view(1, 1, 1, n) < lengths.view(-1, 1, 1, 1))
    return pad, (pad.int() * torch.ones(n, n, dtype=torch.int).tril()).bool()
""",
    ),
    blank="def decoder_masks(lengths, n):\n    padding = ...\n    return padding, ...\n",
)
