"""X07-2: the feed-forward network of a block."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.models.transformer import FeedForward
from utils.quiz.exercise import Exercise, Mistake, bug


class FFN(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.relu(self.up(x))  # (B, N, F)
        return self.down(wide)  # (B, N, D)


def _finish(student) -> str | None:
    size = sum(p.numel() for p in student(6, 10).parameters())
    if size < 2 * 6 * 10 + 6 + 10:
        raise Mistake("no-bias", "A bias is missing: each of the two layers adds one of its own.")
    if size > 2 * 6 * 10 + 6 + 10:
        return f"With sizes 6 and 10 it has {size} parameters; two layers and biases make 136."
    return None


OTHER = "The activation between the layers is {}. Here it is ReLU, as in the paper of 2017."
EXERCISE = Exercise(
    id="X07-2",
    title="The feed-forward network",
    see="07, section 4",
    name="FFN",
    reference=FFN,
    library=FeedForward,
    finish=_finish,
    bugs=(
        bug(
            "no-activation",
            "There is no activation between the two layers. Two matrix products in a row are *one* "
            "matrix product, so the wide layer adds nothing.",
            ("torch.relu(self.up(x))", "self.up(x)"),
        ),
        bug(
            "activation-last",
            "ReLU comes after the second layer, so no output can be negative, and the two layers "
            "before it are one matrix product.",
            ("torch.relu(self.up(x))", "self.up(x)"),
            ("self.down(wide)", "torch.relu(self.down(wide))"),
        ),
        bug(
            "activation-twice",
            "There is a second ReLU at the end, so no output can be negative.",
            ("self.down(wide)", "torch.relu(self.down(wide))"),
        ),
        bug(
            "activation-first",
            "ReLU comes before the first layer and throws away half of x.",
            ("torch.relu(self.up(x))", "self.up(torch.relu(x))"),
        ),
        bug(
            "gelu",
            OTHER.format("GELU") + " (BERT and ViT take GELU; both work.)",
            ("torch.relu", "nn.functional.gelu"),
        ),
        bug("silu", OTHER.format("SiLU"), ("torch.relu", "nn.functional.silu")),
        bug("leaky", OTHER.format("a leaky ReLU"), ("torch.relu", "nn.functional.leaky_relu")),
        bug("sigmoid", OTHER.format("a sigmoid"), ("torch.relu", "torch.sigmoid")),
        bug("tanh", OTHER.format("tanh"), ("torch.relu", "torch.tanh")),
        bug(
            "softmax",
            OTHER.format("a softmax") + " This is no attention: nothing is shared out.",
            ("torch.relu(self.up(x))", "self.up(x).softmax(-1)"),
        ),
        bug(
            "softmax-last",
            "There is a softmax at the end. A block hands on vectors, not chances.",
            ("self.down(wide)", "self.down(wide).softmax(-1)"),
        ),
        bug(
            "residual",
            "x is added to the output. That is the residual, which the block does (section 5); "
            "here only the network.",
            ("self.down(wide)", "x + self.down(wide)"),
        ),
    ),
    steps={
        "self.up = nn.Linear(d_model, d_ff)": "The first layer widens every token from d_model to "
        "d_ff; a layer is told its input width first.",
        "self.down = nn.Linear(d_ff, d_model)": "The second layer comes back from d_ff to d_model, "
        "so that the block can add x.",
        "torch.relu(self.up(x))": "Each token is widened by itself, and ReLU cuts off what is "
        "negative. Without that bend two layers would be one.",
        "self.down(wide)": "What comes back has the width of x, one vector for each token.",
    },
    probes=lambda r: [((6, 14), r(3, 5, 6)), ((8, 10), r(2, 4, 8)), ((5, 20), r(1, 3, 5))],
    square=lambda r: [((4, 9), r(4, 4, 4))],
    hints=(
        "Two `nn.Linear`: from d_model to d_ff, and from d_ff back to d_model.",
        "`nn.Linear` works on the last axis and leaves B and N alone, so every token goes through "
        "by itself. No loop, no reshape.",
        "`return self.down(torch.relu(self.up(x)))`",
    ),
    also_right=(
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)
""",
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super(FFN, self).__init__()
        self.w2 = nn.Linear(d_ff, d_model)
        self.w1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.w2(self.dropout(self.w1(x).clamp(min=0)))
""",
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(d_model, d_ff) * 0.02)
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.w2 = nn.Parameter(torch.randn(d_ff, d_model) * 0.02)
        self.b2 = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return F.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2
""",
    ),
    blank=(
        "class FFN(nn.Module):\n    def __init__(self, d_model, d_ff):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
