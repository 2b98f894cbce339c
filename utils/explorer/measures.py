"""Numbers that sum up a head, and attention rollout, in plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from utils.arrays import to_array

from .inputs import one_block


def _floats(weights: Any) -> np.ndarray:
    """An array of floats, at least single precision, from whatever the explorer takes."""
    array = to_array(one_block(weights))
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def head_entropy(weights: Any) -> np.ndarray:
    """Mean over queries of -Σ w log2 w, in bits: 0 = looks at one key, log2 N = looks everywhere.

    weights (..., M, N)  ->  (...)
    """
    w = _floats(weights)
    logs = np.log(np.maximum(w, np.finfo(w.dtype).tiny))  # 0 log 0 = 0
    return -np.einsum("...qk,...qk->...", w, logs) / (np.log(2) * w.shape[-2])


def head_distance(weights: Any) -> np.ndarray:
    """Mean over queries of Σ w |i - j|, in tokens: how far a head looks on average.

    weights (..., M, N)  ->  (...)
    """
    w = _floats(weights)
    rows, columns = w.shape[-2:]
    gaps = np.abs(np.arange(rows)[:, None] - np.arange(columns)[None, :])  # (M, N)
    return np.einsum("...qk,qk->...", w, gaps.astype(w.dtype)) / rows


def sort_keys(weights: np.ndarray) -> dict[str, list[float]]:
    """What heads are sorted by, (L, H, M, N) -> a number for each head, layer by layer.

    The page gets these numbers and does not compute them from its rounded weights: a thousand
    weights that round to 0 would be missing from an entropy.
    """
    measures = {"entropy": head_entropy, "distance": head_distance}
    return {
        name: np.concatenate([measure(layer) for layer in weights]).astype(float).round(3).tolist()
        for name, measure in measures.items()
    }


def rollout(weights: Any) -> np.ndarray:
    """Attention rollout after each layer: R_l = ½(mean over heads + I) · R_{l-1}, with R_0 = I.

    Row i of R_l estimates how much of each input token has reached token i after layer l, if the
    residual connection and attention carry equal shares.  Rows sum to 1.

    weights (L, H, N, N)  ->  (L, N, N); the whole model's rollout is the last one.
    """
    w = np.asarray(to_array(one_block(weights, "encoder")), dtype=np.float64)
    if w.ndim != 4 or w.shape[-1] != w.shape[-2]:
        raise ValueError(
            f"rollout needs self-attention weights of shape (layers, heads, N, N), got {w.shape}"
        )
    tokens = w.shape[-1]
    identity = np.eye(tokens)
    reached, result = identity, []
    for layer in w.mean(1):  # (N, N)
        reached = (layer + identity) / 2 @ reached
        result.append(reached)
    return np.stack(result)
