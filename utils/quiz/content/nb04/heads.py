"""X04-1 and X04-2: from (B, N, D) to heads and back."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise

LINE = "the order of cutting and transposing"


def split_heads(x: Tensor, h: int) -> Tensor:
    B, N, d = x.shape
    return x.reshape(B, N, h, d // h).transpose(1, 2)  # cut the width, then move the heads forward


def merge_heads(x: Tensor) -> Tensor:
    B, h, N, dh = x.shape
    return x.transpose(1, 2).reshape(B, N, h * dh)  # heads back behind the tokens, then join


def switched_split(bug, x: Tensor, h: int):
    """Cut and move; ``bug`` says which mistakes are on."""
    B, N, d = x.shape
    dh = d // h
    cut = x.reshape(B, N, h, dh)
    return bug.choose(
        lambda: cut.transpose(1, 2),
        no_transpose=lambda: x.reshape(B, h, N, dh),
        interleaved=lambda: x.reshape(B, N, dh, h).permute(0, 3, 1, 2),
        splits_sequence=lambda: torch.stack(x.chunk(h, dim=1), dim=1),
        splits_batch=lambda: x.reshape(h, B, N, dh),
        transposed_first=lambda: x.transpose(1, 2).reshape(B, h, N, dh),
        transposed_first_cut=lambda: x.transpose(1, 2).reshape(B, N, h, dh).transpose(1, 2),
        heads_stay_behind=lambda: cut,
        heads_first=lambda: cut.permute(2, 0, 1, 3),
        last_axes_swapped=lambda: cut.permute(0, 2, 3, 1),
        sizes_swapped=lambda: x.reshape(B, N, dh, h).transpose(1, 2),
        heads_into_batch=lambda: cut.transpose(1, 2).reshape(B * h, N, dh),
        heads_into_batch_mixed=lambda: x.reshape(B * h, N, dh),
        first_slice_for_all=lambda: cut[:, :, :1].transpose(1, 2).expand(B, h, N, dh),
        whole_width=lambda: x[:, None].expand(B, h, N, d),
        list_of_heads=lambda: list(cut.unbind(2)),
        heads_reversed=lambda: cut.transpose(1, 2).flip(1),
        nothing_done=lambda: x,
    )


def switched_merge(bug, x: Tensor):
    """Move back and join; ``bug`` says which mistakes are on."""
    B, h, N, dh = x.shape
    back = x.transpose(1, 2)  # (B, N, h, dh)
    return bug.choose(
        lambda: back.reshape(B, N, h * dh),
        no_transpose=lambda: x.reshape(B, N, h * dh),
        summed=lambda: x.sum(dim=1),
        averaged=lambda: x.mean(dim=1),
        largest=lambda: x.amax(dim=1),
        one_head=lambda: x[:, 0],
        last_head=lambda: x[:, -1],
        joins_sequence=lambda: x.reshape(B, h * N, dh),
        joins_sequence_by_token=lambda: back.reshape(B, N * h, dh),
        interleaved=lambda: x.permute(0, 2, 3, 1).reshape(B, N, h * dh),
        last_axes_swapped=lambda: x.transpose(2, 3).reshape(B, N, h * dh),
        outer_axes_swapped=lambda: x.transpose(1, 3).reshape(B, N, h * dh),
        not_joined=lambda: back,
        width_first=lambda: back.reshape(B, N, h * dh).transpose(1, 2),
        batch_lost=lambda: back.reshape(B * N, h * dh),
        heads_reversed=lambda: back.flip(2).reshape(B, N, h * dh),
        nothing_done=lambda: x,
    )


SPLIT = Exercise(
    id="X04-1",
    title="Cut the width into heads",
    see="04, section 4",
    name="split_heads",
    reference=split_heads,
    switched=switched_split,
    bugs=group("all", LINE)(
        no_transpose="The shape is right and the content is wrong: `reshape(B, h, N, dh)` walks on "
        "through memory, so head 0 gets the *first tokens*, cut into pieces, and not its slice of "
        "every token. Cut the width first, (B, N, h, dh), then exchange axes 1 and 2.",
        interleaved="Head i gets every h-th number, i, i + h, i + 2h, … instead of a block of "
        "neighbours. The width is h blocks of d/h: `reshape(B, N, h, d // h)`, heads first.",
        splits_sequence="The *sequence* is cut, not the width: each head gets some of the tokens, "
        "in full width. Every head has to see all tokens. Cut the last axis.",
        splits_batch="The heads are cut out of the batch: sequences are mixed up. Cut the last "
        "axis.",
        transposed_first="Tokens and width change places before the cut, so a head gets pieces of "
        "columns. Cut the last axis first, then transpose.",
        transposed_first_cut="Tokens and width change places before the cut. Cut the last axis of "
        "x as it is, then transpose.",
        heads_stay_behind="The width is cut rightly, (B, N, h, d/h), but the heads still stand "
        "behind the tokens. Attention works on the last two axes, so these must be tokens and "
        "width: `.transpose(1, 2)`.",
        heads_first="The content is right, but the heads stand before the batch. Asked for is (B, "
        "h, N, d/h).",
        last_axes_swapped="Tokens and width have changed places inside each head: (B, h, d/h, N). "
        "Asked for is (B, h, N, d/h).",
        sizes_swapped="The number of heads and the width of a head have changed places: this gives "
        "d/h heads of width h.",
        heads_into_batch="The content is right, but batch and heads are joined in one axis. Keep "
        "both: (B, h, N, d/h).",
        heads_into_batch_mixed="Batch and heads are joined in one axis, and by reshaping alone, so "
        "tokens are mixed up. Cut (B, N, h, d/h), then transpose.",
        first_slice_for_all="Every head gets the first slice of the width. Head i gets the slice "
        "from i · d/h to (i + 1) · d/h.",
        whole_width="Every head gets the whole width. The width is shared out: d/h for each.",
        list_of_heads="A list of heads comes back. The heads are right; put them into one tensor: "
        "`torch.stack(heads, dim=1)`.",
        heads_reversed="The heads are right but stand in reverse order.",
        nothing_done="x comes back as it was. Asked for is (B, h, N, d/h).",
    ),
    probes=lambda r: [(r(2, 6, 12), 3), (r(3, 8, 20), 4), (r(2, 5, 6), 1)],
    gradient=True,
    hints=(
        "Token n, head i: which numbers of `x[b, n]` belong to it?",
        "`x[b, n, i*dh : (i+1)*dh]`. Cut the last axis into (h, dh) first; that never mixes "
        "tokens.",
        "`x.reshape(B, N, h, d // h)` is nearly there. Attention needs (tokens, width) as the last "
        "two axes: exchange axes 1 and 2.",
    ),
    also_right=(
        "def split_heads(x, h):\n    return torch.stack(x.chunk(h, dim=-1), dim=1)",
        "def split_heads(x, h):\n    return x.unflatten(-1, (h, -1)).permute(0, 2, 1, 3)",
        "def split_heads(x, h):\n    B, N, d = x.size()\n"
        "    return x.view(B, -1, h, d // h).transpose(1, 2).contiguous()",
        "def split_heads(x, h):\n    dh = x.shape[-1] // h\n    parts = []\n"
        "    for i in range(h):\n        parts.append(x[:, :, i * dh:(i + 1) * dh])\n"
        "    return torch.stack(parts, 1)",
        "def split_heads(x, h):\n    B, N, d = x.shape\n"
        "    return x.mT.reshape(B, h, d // h, N).mT",
    ),
    blank="def split_heads(x, h):\n    ...",
)

MERGE = Exercise(
    id="X04-2",
    title="Put the heads side by side again",
    see="04, section 4",
    name="merge_heads",
    reference=merge_heads,
    switched=switched_merge,
    bugs=group("all", LINE)(
        no_transpose="The shape is right and the content is wrong: the heads still stand before "
        "the tokens when you join, so a row holds several tokens of one head. Exchange axes 1 and "
        "2 first.",
        summed="The heads are added up. They are to stand side by side, so that W^O can tell them "
        "apart: (B, N, h · dh).",
        averaged="The heads are averaged. They are to stand side by side, so that W^O can tell "
        "them apart: (B, N, h · dh).",
        largest="The largest entry over the heads is taken. Put them side by side.",
        one_head="Only the first head comes back.",
        last_head="Only the last head comes back.",
        joins_sequence="The heads are joined along the *sequence*: h · N tokens of width dh. They "
        "belong side by side in the width.",
        joins_sequence_by_token="The heads became more tokens: N · h of width dh. They belong side "
        "by side in the width.",
        interleaved="The numbers of the heads are mixed like a pack of cards: first of each head, "
        "second of each head, … Put whole heads side by side.",
        last_axes_swapped="Tokens and width inside a head change places before joining. Exchange "
        "heads and tokens instead: axes 1 and 2.",
        outer_axes_swapped="Heads and width change places before joining: axes 1 and 3. Exchange "
        "heads and tokens: axes 1 and 2.",
        not_joined="The heads are behind the tokens, as they should be; now join the last two "
        "axes: `.flatten(-2)` or `.reshape(B, N, h * dh)`.",
        width_first="The width stands before the tokens. Asked for is (B, N, h · dh).",
        batch_lost="Batch and tokens are joined. Keep both axes: (B, N, h · dh).",
        heads_reversed="The heads stand side by side in reverse order.",
        nothing_done="x comes back as it was. Asked for is (B, N, h · dh).",
    ),
    probes=lambda r: [(r(2, 3, 6, 4),), (r(3, 4, 5, 2),), (r(2, 1, 3, 5),)],
    gradient=True,
    hints=(
        "It is `split_heads` backwards: what was done last is undone first.",
        "Exchange axes 1 and 2, so that the heads stand behind the tokens; then join the last two.",
        "`.transpose(1, 2).flatten(-2)`. (`.view` refuses a transposed tensor: `.reshape` copies.)",
    ),
    also_right=(
        "def merge_heads(x):\n    return x.transpose(1, 2).flatten(-2)",
        "def merge_heads(x):\n    return torch.cat(list(x.unbind(1)), dim=-1)",
        "def merge_heads(x):\n    B, h, N, dh = x.shape\n"
        "    return x.permute(0, 2, 1, 3).contiguous().view(B, N, h * dh)",
        "def merge_heads(x):\n    return torch.cat([x[:, i] for i in range(x.shape[1])], -1)",
        "def merge_heads(x):\n    b, h, n, d = x.size()\n    out = x.new_zeros(b, n, h * d)\n"
        "    for i in range(h):\n        out[..., i * d:(i + 1) * d] = x[:, i]\n    return out",
    ),
    blank="def merge_heads(x):\n    ...",
)
