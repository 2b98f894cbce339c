"""What the cells of notebook 03 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from utils.layers.attention import AttentionLayer


def _gradients(attention: Callable, r: Callable) -> tuple[Tensor, ...]:
    q, k, v = r(3, 2, 4, 5).requires_grad_().unbind()
    return torch.autograd.grad(attention(q, k, v)[0].square().sum(), (q, k, v))


def _copied(layer: nn.Module, x: Tensor) -> bool:
    """Is the library's layer the same once it has this one's matrices, one after the other?"""
    library = AttentionLayer(6, 4, 6)
    with torch.no_grad():
        for theirs, ours in zip(library.parameters(), layer.parameters(), strict=True):
            theirs.copy_(ours)
    return torch.allclose(library(x)[0], layer(x)[0], atol=1e-6)


def _looks_around(layer: Callable) -> bool:
    """As in notebook 03, section 7: drawn with seed 5, does each token look at the others, too?"""
    torch.manual_seed(5)
    fresh, batch = layer(6, 4, 6), torch.randn(2, 3, 6)
    return bool((fresh(batch)[1][0].diagonal() < 0.7).all())


BELOW = {
    "X03-1": {
        "hand over one sentence, (N, d), without a batch": lambda attention, r: attention(
            r(5, 8), r(3, 8), r(3, 6)
        ),
        "compute in float64 as well": lambda attention, r: attention(*r(3, 2, 5, 8).double()),
        "take gradients through it": _gradients,
    },
    "X03-2": {
        "name its arguments, `d_model=`, `d_k=` and `d_v=`": lambda layer, r: (
            layer(d_model=6, d_k=4, d_v=6)(r(2, 5, 6))[1].shape
        ),
        "hand over one sentence, (N, d_model), without a batch": lambda layer, r: (
            layer(6, 4, 6)(r(5, 6))[1].shape
        ),
        "copy its three matrices, w_q, w_k and w_v in this order, into the library's layer": (
            lambda layer, r: _copied(layer(6, 4, 6), r(5, 6))
        ),
        "look at it untrained, and want small numbers in its matrices, as `nn.Linear` has": (
            lambda layer, r: _looks_around(layer)
        ),
    },
}
