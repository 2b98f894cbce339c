"""X04-2: from heads back to (B, N, D)."""

from __future__ import annotations

from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def merge_heads(x: Tensor) -> Tensor:
    B, h, N, dh = x.shape
    back = x.transpose(1, 2)  # heads back behind the tokens
    return back.reshape(B, N, h * dh)  # and joined


BACK, JOIN = "x.transpose(1, 2)", "back.reshape(B, N, h * dh)"
EXERCISE = Exercise(
    id="X04-2",
    title="Put the heads side by side again",
    see="04, section 4",
    name="merge_heads",
    reference=merge_heads,
    gradient=True,
    bugs=(
        bug(
            "no-transpose",
            "The shape is right and the content is wrong: the heads still stand before the tokens "
            "when they are joined, so a row holds several tokens of one head.",
            (BACK, "x"),
        ),
        bug(
            "summed",
            "The heads are added up. They are to stand side by side, so that W^O can tell them "
            "apart.",
            (JOIN, "x.sum(dim=1)"),
        ),
        bug(
            "averaged",
            "The heads are averaged. They are to stand side by side, so that W^O can tell them "
            "apart.",
            (JOIN, "x.mean(dim=1)"),
        ),
        bug("one-head", "Only the first head comes back.", (JOIN, "x[:, 0]")),
        bug(
            "joins-sequence",
            "The heads are joined along the *sequence*: h · N tokens of width dh. They belong side "
            "by side in the width.",
            (JOIN, "x.reshape(B, h * N, dh)"),
        ),
        bug(
            "joins-sequence-by-token",
            "The heads became more tokens: N · h of width dh. They belong side by side in the "
            "width.",
            (JOIN, "back.reshape(B, N * h, dh)"),
        ),
        bug(
            "interleaved",
            "The numbers of the heads are mixed like a pack of cards: first of each head, second "
            "of each head, … Whole heads stand side by side.",
            (JOIN, "back.transpose(-2, -1).reshape(B, N, h * dh)"),
        ),
        bug(
            "last-axes-swapped",
            "Tokens and width inside a head change places before joining. It is heads and tokens "
            "that have to.",
            (BACK, "x.transpose(2, 3)"),
        ),
        bug(
            "not-joined",
            "The heads are behind the tokens, as they should be; what is missing is joining them "
            "in one axis.",
            (JOIN, "back"),
        ),
        bug(
            "batch-lost",
            "Batch and tokens are joined. Asked for is (B, N, h · dh), with both.",
            (JOIN, "back.reshape(B * N, h * dh)"),
        ),
    ),
    steps={
        BACK: "What was done last by the split is undone first: the heads go back behind the "
        "tokens.",
        JOIN: "Then the heads of one token stand side by side, h · dh numbers.",
    },
    probes=lambda r: [(r(2, 3, 6, 4),), (r(3, 4, 5, 2),), (r(2, 1, 3, 5),)],
    hints=(
        "It is `split_heads` backwards: what was done last is undone first.",
        "Exchange axes 1 and 2, so that the heads stand behind the tokens; then join the last two.",
        "`.transpose(1, 2).flatten(-2)`. (`.view` refuses a transposed tensor: `.reshape` copies.)",
    ),
    also_right=(
        "def merge_heads(x):\n    return x.transpose(1, 2).flatten(-2)",
        "def merge_heads(x):\n    return torch.cat(list(x.unbind(1)), dim=-1)",
        """
def merge_heads(x):
    B, h, N, dh = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(B, N, h * dh)
""",
        "def merge_heads(x):\n    return torch.cat([x[:, i] for i in range(x.shape[1])], -1)",
    ),
    blank="def merge_heads(x):\n    ...",
)
