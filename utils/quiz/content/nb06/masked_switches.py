"""X06-2 with every mistake built in: what each wrong line computes.

Five stages: scaling, the mask itself, what is filled in, the softmax, what is returned.  The
messages stand in `masked.py`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def _share(x: Tensor, axis: int = -1) -> Tensor:
    return x / x.sum(axis, keepdim=True)


def switched(bug, q: Tensor, k: Tensor, v: Tensor, mask: Tensor):
    """Attention over the allowed keys; ``bug`` says which mistakes are on."""
    raw = q @ k.transpose(-2, -1)
    d = q.shape[-1]
    scores = bug.choose(lambda: raw / math.sqrt(d), no_scale=lambda: raw, scale_d=lambda: raw / d)
    mask = bug.choose(
        lambda: mask,
        transposed_mask=lambda: mask.transpose(-2, -1),
        first_row_for_all=lambda: mask[..., :1, :],
        own_causal_mask=lambda: torch.ones_like(mask).tril(),
    )
    seen = scores * 1.0
    hidden = ~mask
    filled = bug.choose(
        lambda: seen.masked_fill(hidden, -torch.inf),
        not_masked=lambda: seen,
        inverted=lambda: seen.masked_fill(mask, -torch.inf),
        inverted_large=lambda: seen.masked_fill(mask, -1e9),
        zeros=lambda: seen * mask,
        zeros_inverted=lambda: seen.masked_fill(mask, 0.0),
        ones_added=lambda: seen + mask.float(),
        nan=lambda: seen.masked_fill(hidden, torch.nan),
        ones_filled=lambda: seen.masked_fill(hidden, 1.0),
        minus_one=lambda: seen.masked_fill(hidden, -1.0),
        plus_large=lambda: seen.masked_fill(hidden, 1e9),
        infinity_times_mask=lambda: seen - torch.inf * hidden.float(),
        signs_turned=lambda: torch.where(mask, seen, -seen),
    )
    axis = -2 if bug("softmax-over-queries") else -1
    weights = filled.softmax(axis)
    plain = seen.softmax(axis)
    weights = bug.choose(
        lambda: weights,
        after_softmax=lambda: plain * mask,
        after_softmax_inverted=lambda: plain * hidden,
        after_wrong_axis=lambda: _share(plain * mask, -2),
        infinity_after=lambda: plain.masked_fill(hidden, -torch.inf),
        softmax_twice=lambda: (plain * mask).softmax(-1),
        softmax_twice_infinity=lambda: plain.masked_fill(hidden, -torch.inf).softmax(-1),
        even=lambda: _share(mask.float().expand(seen.shape)),
        scores_shared=lambda: _share(seen * mask),
        no_softmax=lambda: seen * mask,
    )
    output = weights @ v
    return bug.choose(
        lambda: (output, weights),
        output_unmasked=lambda: (plain @ v, weights),
        weights_unmasked=lambda: (output, plain),
        only_output=lambda: output,
        only_weights=lambda: weights,
        order_swapped=lambda: (weights, output),
        scores_returned=lambda: (output, filled),
        mask_returned=lambda: (output, mask),
    )


def weak_fill(probes: list, results: list) -> str | None:
    """Are the weights a softmax with one finite number in all forbidden cells? Then say it."""
    found = []
    for (q, k, _, mask), (_, weights) in zip(probes, results):
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).double().numpy()
        look = np.broadcast_to(mask.numpy(), scores.shape)
        if not np.isfinite(weights).all() or np.abs(weights.sum(-1) - 1).max() > 1e-4:
            return None
        # softmax: log weight = score − log of the row's sum; the sum shows in the allowed cells
        logs = np.log(np.maximum(weights, 1e-300))
        some = weights > 1e-35  # float32 keeps its digits down to there
        for row in np.ndindex(scores.shape[:-1]):
            if (mine := look[row] & some[row]).any() and (other := ~look[row] & some[row]).any():
                found += list(logs[row][other] - (logs[row][mine] - scores[row][mine]).mean())
    if not found or np.ptp(found) > 0.01 * (1 + abs(found[0])):
        return None
    return f"The forbidden cells seem to hold {np.median(found):.4g}."
