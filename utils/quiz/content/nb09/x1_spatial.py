"""X09-1: one query looks at a grid of features."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def spatial_attention(h: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    # h (B, D) is the query, z (B, H, W, D) the grid of features
    scores = torch.einsum("bd,bijd->bij", h, z)  # one for each cell
    cells = scores.flatten(1)  # (B, H · W)
    weights = cells.softmax(dim=-1).reshape(scores.shape)
    context = (weights[..., None] * z).sum(dim=(1, 2))
    return context, weights


SOFTMAX = "cells.softmax(dim=-1).reshape(scores.shape)"
EXERCISE = Exercise(
    id="X09-1",
    title="Attention over a grid",
    see="09, section 5",
    name="spatial_attention",
    reference=spatial_attention,
    parts=("context", "weights"),
    bugs=(
        bug(
            "score-scaled",
            "The scores are divided by √D. That is a good habit with Transformers, but not what "
            "was asked for here: the plain dot product.",
            ('bij", h, z)', 'bij", h, z) / z.shape[-1] ** 0.5'),
        ),
        bug(
            "query-ignored",
            "The query h does not enter the scores: every word would look at the same place.",
            ('torch.einsum("bd,bijd->bij", h, z)', "z.sum(dim=-1)"),
        ),
        bug(
            "last-axis-only",
            "The softmax runs over the last axis only, so each *row* of the grid sums to 1 and the "
            "whole grid to H. There is one unit of attention for all H · W cells together.",
            (SOFTMAX, "scores.softmax(dim=-1)"),
        ),
        bug(
            "rows-only",
            "The softmax runs over the rows only, so each *column* of the grid sums to 1 and the "
            "whole grid to W. All H · W cells share one unit of attention.",
            (SOFTMAX, "scores.softmax(dim=1)"),
        ),
        bug(
            "over-all",
            "The softmax runs over the batch too: all pictures together share one unit of "
            "attention. Each picture has its own.",
            (SOFTMAX, "scores.flatten().softmax(dim=0).reshape(scores.shape)"),
        ),
        bug(
            "over-channels",
            "The softmax runs over the *channels* of each cell, so the cells do not compete at "
            "all. A cell first gets one score, then the cells compete.",
            ('"bd,bijd->bij"', '"bd,bijd->bijd"'),
            (SOFTMAX, "scores.softmax(dim=-1)"),
            ("weights[..., None]", "weights"),
        ),
        bug(
            "plain-mean",
            "The plain mean of the features is taken: the same for every word, whatever the "
            "weights say.",
            ("(weights[..., None] * z).sum(dim=(1, 2))", "z.mean(dim=(1, 2))"),
        ),
        bug(
            "query-mixed",
            "The query is mixed instead of the features, and as the weights sum to 1 the query "
            "comes back.",
            ("(weights[..., None] * z)", "(weights[..., None] * h[:, None, None])"),
        ),
        bug(
            "grid-lost",
            "The weights come back as one row of H · W numbers. With the shape of the grid, "
            "(B, H, W), they can be laid over the picture.",
            ("return context, weights", "return context, weights.flatten(1)"),
        ),
    ),
    steps={
        'torch.einsum("bd,bijd->bij", h, z)': "A score is the dot product of the query with the "
        "D channels of one cell, so there is one for each cell.",
        "cells.softmax(dim=-1)": "All H · W cells of a picture compete for one unit of attention.",
        "(weights[..., None] * z).sum(dim=(1, 2))": "The context is the sum of all cells, each "
        "multiplied by its weight; the channels stay.",
        "return context, weights": "The context comes first, then the weights as a grid.",
    },
    probes=lambda r: [
        (r(2, 5), r(2, 3, 4, 5)),
        (r(3, 6), 0.7 * r(3, 5, 2, 6)),
        (r(1, 3), r(1, 2, 5, 3)),
    ],
    square=lambda r: [(r(3, 3), r(3, 3, 3, 3))],
    hints=(
        "One number for each cell first: how well does its vector fit the query? Then the numbers "
        "compete, then the vectors are mixed.",
        "`torch.einsum('bd,bijd->bij', h, z)` gives the scores. A softmax knows one axis, and here "
        "two compete: flatten them into one.",
        "`scores.flatten(1).softmax(-1).reshape(scores.shape)`, then a weighted sum over both axes "
        "of the grid: `(weights[..., None] * z).sum(dim=(1, 2))`.",
    ),
    also_right=(
        """
def spatial_attention(h, z):
    B, H, W, D = z.shape
    cells = z.reshape(B, H * W, D)
    e = torch.bmm(cells, h.unsqueeze(-1)).squeeze(-1)
    a = torch.softmax(e, dim=1)
    c = torch.bmm(a.unsqueeze(1), cells).squeeze(1)
    return c, a.view(B, H, W)
""",
        """
def spatial_attention(h, z):
    e = (h[:, None, None] * z).sum(-1)
    x = torch.exp(e - e.amax(dim=(1, 2), keepdim=True))
    a = x / x.sum(dim=(1, 2), keepdim=True)
    return (a.unsqueeze(-1) * z).sum(dim=(1, 2)), a
""",
        """
def spatial_attention(h, z):
    contexts, maps = [], []
    for query, grid in zip(h, z):
        scores = grid @ query
        weights = F.softmax(scores.view(-1), dim=0).view_as(scores)
        maps.append(weights)
        contexts.append(torch.einsum("ij,ijd->d", weights, grid))
    return torch.stack(contexts), torch.stack(maps)
""",
    ),
    blank="def spatial_attention(h, z):\n"
    '    """h (B, D), z (B, H, W, D) -> context (B, D), weights (B, H, W)."""\n    ...\n',
)
