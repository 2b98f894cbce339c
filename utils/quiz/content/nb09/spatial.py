"""X09-1: one query looks at a grid of features."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise

SCORES = "where the scores are made"
SOFTMAX = "where scores become weights"
MIX = "where the features are mixed"


def spatial_attention(h: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    # h (B, D) is the query, z (B, H, W, D) the grid of features
    scores = torch.einsum("bd,bijd->bij", h, z)  # one for each cell
    weights = scores.flatten(1).softmax(dim=-1).reshape(scores.shape)  # over all H · W cells
    context = torch.einsum("bij,bijd->bd", weights, z)
    return context, weights


def switched(bug, h: Tensor, z: Tensor):
    """Dot products, a softmax over the grid, a weighted sum; ``bug`` says what goes wrong."""
    size = z.shape[1:3]
    product = h[:, None, None, :] * z  # (B, H, W, D)
    scores = bug.choose(
        lambda: product.sum(-1),
        score_averaged=lambda: product.mean(-1),
        score_scaled=lambda: product.sum(-1) / z.shape[-1] ** 0.5,
        query_ignored=lambda: z.sum(-1),
        cosine=lambda: torch.cosine_similarity(h[:, None, None, :], z, dim=-1),
        negative=lambda: -product.sum(-1),
    )
    weights = bug.choose(
        lambda: scores.flatten(1).softmax(-1).reshape(scores.shape),
        last_axis_only=lambda: scores.softmax(-1),
        rows_only=lambda: scores.softmax(1),
        over_batch=lambda: scores.softmax(0),
        over_all=lambda: scores.flatten().softmax(0).reshape(scores.shape),
        row_then_column=lambda: scores.softmax(-1).softmax(-2),
        sigmoid=lambda: scores.sigmoid(),
        exp_only=lambda: scores.exp(),
        no_softmax=lambda: scores,
        argmax=lambda: (scores == scores.amax((1, 2), keepdim=True)).float(),
        log_softmax=lambda: scores.flatten(1).log_softmax(-1).reshape(scores.shape),
        over_channels=lambda: product.softmax(-1),
        channels_flattened=lambda: product.flatten(1).softmax(-1).reshape(z.shape),
    )
    wide = weights if weights.dim() == 4 else weights[..., None]
    context = bug.choose(
        lambda: (wide * z).sum((1, 2)),
        plain_mean=lambda: z.mean((1, 2)),
        plain_sum=lambda: z.sum((1, 2)),
        averaged=lambda: (wide * z).mean((1, 2)),
        best_only=lambda: z.flatten(1, 2)[torch.arange(len(z)), scores.flatten(1).argmax(-1)],
        not_summed=lambda: wide * z,
        one_axis_summed=lambda: (wide * z).sum(1),
        columns_summed=lambda: (wide * z).sum(2),
        channels_summed=lambda: (wide * z).sum(-1),
        scores_used=lambda: (scores[..., None] * z).sum((1, 2)),
        query_mixed=lambda: (wide * h[:, None, None, :]).sum((1, 2)),
        all_summed=lambda: (wide * z).sum((1, 2, 3)),
    )
    return bug.choose(
        lambda: (context, weights),
        order_swapped=lambda: (weights, context),
        only_context=lambda: context,
        only_weights=lambda: weights,
        scores_returned=lambda: (context, scores),
        grid_lost=lambda: (context, weights.reshape(len(h), size.numel(), *weights.shape[3:])),
    )


SPATIAL = Exercise(
    id="X09-1",
    title="Attention over a grid",
    see="09, section 5",
    name="spatial_attention",
    reference=spatial_attention,
    switched=switched,
    parts=("context", "weights"),
    bugs=(
        *group("scores", SCORES)(
            score_averaged="The products are averaged over the channels. A dot product sums them.",
            score_scaled="The scores are divided by √D. That is a good habit with Transformers, "
            "but not what was asked for here: the plain dot product.",
            query_ignored="The query h does not enter the scores: every word would look at the "
            "same place.",
            cosine="The scores are cosines: both lengths are divided out. Take the dot product.",
            negative="The sign of the scores is turned round: it looks where the picture fits "
            "least.",
        ),
        *group("softmax", SOFTMAX)(
            last_axis_only="The softmax runs over the last axis only, so each *row* of the grid "
            "sums to 1 and the whole grid to H. There is one unit of attention for all H · W "
            "cells: flatten the grid, softmax, reshape back.",
            rows_only="The softmax runs over the rows only, so each *column* of the grid sums to 1 "
            "and the whole grid to W. All H · W cells share one unit: flatten them first.",
            over_batch="The softmax runs over the batch: the weights of different pictures sum to "
            "1.",
            over_all="The softmax runs over the batch too: all pictures together share one unit of "
            "attention. Keep the first axis: `flatten(1)`.",
            row_then_column="Two softmaxes, over the columns and then over the rows, are not one "
            "softmax over the grid. Flatten the two axes into one.",
            sigmoid="A sigmoid decides about each cell alone; the weights do not sum to 1.",
            exp_only="The exps are not divided by their sum.",
            no_softmax="There is no softmax: the scores themselves are used as weights.",
            argmax="All weight goes to the best cell: hard attention. Ours is soft, so that "
            "gradients flow.",
            log_softmax="`log_softmax` gives logarithms. Use `softmax`.",
            over_channels="The softmax runs over the *channels* of each cell, so the cells do not "
            "compete at all. First one score per cell (sum over the channels), then a softmax over "
            "the cells.",
            channels_flattened="The channels are flattened together with rows and columns, so that "
            "single numbers compete instead of cells. A cell's D channels stay together: flatten H "
            "and W only.",
        ),
        *group("mix", MIX)(
            plain_mean="The plain mean of the features is taken: the same for every word, whatever "
            "the weights say. Multiply each cell by its weight and sum.",
            plain_sum="The features are summed without their weights.",
            averaged="The weighted features are averaged. The weights sum to 1 already: sum.",
            best_only="Only the best cell is taken. The context is a mixture of all cells.",
            not_summed="Each cell is multiplied by its weight, but nothing is added up.",
            one_axis_summed="The sum runs over the rows only, and leaves a context for each "
            "column. Sum over both axes of the grid: `.sum(dim=(1, 2))`.",
            columns_summed="The sum runs over the columns only, and leaves a context for each row. "
            "Sum over both axes of the grid: `.sum(dim=(1, 2))`.",
            channels_summed="The sum runs over the channels. Sum over the cells and keep the "
            "channels.",
            scores_used="The context is mixed with the scores. Mix with the weights, which sum to "
            "1.",
            query_mixed="The query is mixed instead of the features, and as the weights sum to 1 "
            "the query comes back.",
            all_summed="The sum runs over the channels too: one number is left of the context.",
        ),
        *group("returned", "the last line")(
            order_swapped="Both are there but swapped: return the context first, then the weights.",
            only_context="Only the context comes back. Return `(context, weights)`.",
            only_weights="Only the weights come back. Return `(context, weights)`.",
            scores_returned="The second result are the scores. Return the weights.",
            grid_lost="The weights come back as one row of H · W numbers. Give them the shape of "
            "the grid again, (B, H, W), so that they can be laid over the picture.",
        ),
    ),
    probes=lambda r: [(r(2, 5), r(2, 3, 4, 5)), (r(3, 6), 0.7 * r(3, 5, 2, 6))],
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
        contexts.append(sum(weights[i, j] * grid[i, j]
                            for i in range(grid.shape[0]) for j in range(grid.shape[1])))
    return torch.stack(contexts), torch.stack(maps)
""",
    ),
    blank=(
        "def spatial_attention(h, z):\n"
        '    """h (B, D), z (B, H, W, D) -> context (B, D), weights (B, H, W)."""\n    ...\n'
    ),
)
