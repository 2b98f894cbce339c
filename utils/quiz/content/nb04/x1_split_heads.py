"""X04-1: from (B, N, D) to heads."""

from __future__ import annotations

from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def split_heads(x: Tensor, h: int) -> Tensor:
    B, N, d = x.shape
    cut = x.reshape(B, N, h, d // h)  # the width is cut
    return cut.transpose(1, 2)  # and the heads move forward


CUT, MOVE = "x.reshape(B, N, h, d // h)", "cut.transpose(1, 2)"
EXERCISE = Exercise(
    id="X04-1",
    title="Cut the width into heads",
    see="04, section 4",
    name="split_heads",
    reference=split_heads,
    gradient=True,
    bugs=(
        bug(
            "no-transpose",
            "The shape is right and the content is wrong: a reshape straight to (B, h, N, dh) "
            "walks on through memory, so head 0 gets the *first tokens*, cut into pieces, and not "
            "its slice of every token. The width has to be cut before any axis moves.",
            (CUT, "x.reshape(B, h, N, d // h)"),
            (MOVE, "cut"),
        ),
        bug(
            "interleaved",
            "Head i gets every h-th number, i, i + h, i + 2h, … instead of a block of neighbours. "
            "The width is h blocks of d/h numbers each.",
            (CUT, "x.reshape(B, N, d // h, h)"),
            (MOVE, "cut.permute(0, 3, 1, 2)"),
        ),
        bug(
            "splits-sequence",
            "The *sequence* is cut, not the width: each head gets some of the tokens, in full "
            "width. Every head has to see all tokens.",
            (CUT, "x.reshape(B, h, N // h, d) if N % h == 0 else x"),
            (MOVE, "cut"),
        ),
        bug(
            "transposed-first",
            "Tokens and width change places before the cut, so a head gets pieces of columns. "
            "What is cut is the width of each token.",
            (CUT, "x.transpose(1, 2).reshape(B, h, N, d // h)"),
            (MOVE, "cut"),
        ),
        bug(
            "heads-stay-behind",
            "The width is cut rightly, (B, N, h, d/h), but the heads still stand behind the "
            "tokens. Attention works on the last two axes, so these must be tokens and width.",
            (MOVE, "cut"),
        ),
        bug(
            "heads-into-batch",
            "The content is right, but batch and heads are joined in one axis. Asked for is "
            "(B, h, N, d/h), with both.",
            (MOVE, "cut.transpose(1, 2).reshape(B * h, N, d // h)"),
        ),
        bug(
            "heads-into-batch-mixed",
            "Batch and heads are joined in one axis, and by reshaping alone, so tokens are mixed "
            "up.",
            (CUT, "x.reshape(B * h, N, d // h)"),
            (MOVE, "cut"),
        ),
        bug(
            "first-slice-for-all",
            "Every head gets the first slice of the width. Each has its own, one after the other.",
            (MOVE, "cut[:, :, :1].expand(B, N, h, d // h).transpose(1, 2)"),
        ),
        bug(
            "whole-width",
            "Every head gets the whole width. The width is shared out: d/h for each.",
            (MOVE, "x[:, None].expand(B, h, N, d)"),
        ),
        bug(
            "list-of-heads",
            "A list of heads comes back. The heads are right; asked for is one tensor.",
            (MOVE, "list(cut.unbind(2))"),
        ),
        bug(
            "splits-batch",
            "The heads are cut out of the batch, so sequences are mixed up.",
            (CUT, "x.reshape(h, B, N, d // h)"),
            (MOVE, "cut"),
        ),
    ),
    steps={
        CUT: "The last axis is cut into h blocks of d/h numbers; that never mixes tokens.",
        MOVE: "Each head works on tokens × width, so the heads move in front of the tokens: "
        "(B, h, N, d/h).",
    },
    probes=lambda r: [(r(2, 6, 12), 3), (r(3, 8, 20), 4), (r(2, 5, 6), 1)],
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
        """
def split_heads(x, h):
    dh = x.shape[-1] // h
    parts = []
    for i in range(h):
        parts.append(x[:, :, i * dh:(i + 1) * dh])
    return torch.stack(parts, 1)
""",
        """
def split_heads(x, h):
    B, N, d = x.size()
    return x.view(B, -1, h, d // h).transpose(1, 2).contiguous()
""",
    ),
    blank="def split_heads(x, h):\n    ...",
)
