"""Numbers that sum up a head, and attention rollout, in plain numpy."""

from __future__ import annotations

import numpy as np


def head_entropy(weights: np.ndarray) -> np.ndarray:
    """Mean over queries of -Σ w log2 w, in bits: 0 = looks at one key, log2 N = looks everywhere.

    weights (..., M, N)  ->  (...)
    """
    w = np.asarray(weights, dtype=np.float64)
    logs = np.log2(w, out=np.zeros_like(w), where=w > 0)
    return -(w * logs).sum(-1).mean(-1)


def head_distance(weights: np.ndarray) -> np.ndarray:
    """Mean over queries of Σ w |i - j|, in tokens: how far a head looks on average.

    weights (..., M, N)  ->  (...)
    """
    w = np.asarray(weights, dtype=np.float64)
    rows, columns = w.shape[-2:]
    gaps = np.abs(np.arange(rows)[:, None] - np.arange(columns)[None, :])  # (M, N)
    return (w * gaps).sum(-1).mean(-1)


def rollout(weights: np.ndarray) -> np.ndarray:
    """Attention rollout after each layer: R_l = ½(mean over heads + I) · R_{l-1}, with R_0 = I.

    Row i of R_l estimates how much of each input token has reached token i after layer l, if the
    residual connection and attention carry equal shares.  Rows sum to 1.

    weights (L, H, N, N)  ->  (L, N, N); the whole model's rollout is the last one.
    """
    w = np.asarray(weights, dtype=np.float64)
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
