"""Mistakes of X03-1 that no switch can make exactly, recognised by what they leave behind."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from utils.layers.attention import scaled_dot_product_attention


def any_other_scale(probes: list, results: list) -> str | None:
    """Are the weights a softmax of c · q kᵀ with some other number c? Then say the number."""
    factors = []
    for (q, k, v), (output, weights) in zip(probes, results):
        raw = (q @ k.transpose(-2, -1)).double().numpy()
        if not np.abs(weights.sum(-1) - 1).max() <= 1e-4:  # also if there is a NaN
            return None
        if not np.abs(weights @ v.double().numpy() - output).max() <= 1e-3:
            return None
        best = weights.argmax(-1)[..., None]
        clear = weights > 1e-8  # below, float32 has lost the number
        logs = np.log(np.where(clear, weights, 1.0) / np.take_along_axis(weights, best, -1))[clear]
        raw = (raw - np.take_along_axis(raw, best, -1))[clear]
        if not (raw * raw).sum() > 0:
            return None
        factor = float((raw * logs).sum() / (raw * raw).sum())
        if np.abs(factor * raw - logs).max() > 2e-3 * (1 + np.abs(logs).max()):
            return None
        factors.append(factor)
    d = [q.shape[-1] for q, _, _ in probes]
    if all(abs(f * width**0.5 - 1) < 1e-2 for f, width in zip(factors, d)):
        return None
    if np.ptp(factors) < 1e-3 * abs(factors[0]):
        return f"Yours is {factors[0]:.4g} whatever d is: take d from the shape of q."
    return f"For d = {d[0]} yours is {factors[0]:.4g}, the right one is {d[0] ** -0.5:.4g}."


def rounded(probes: list, results: list) -> bool:
    """Are the results the right ones, cut to a few digits?"""
    for decimals in range(5):
        step = 10.0**-decimals
        for whole in (np.round, np.floor, np.trunc):
            if all(
                np.abs(w - whole(_right_weights(*p) / step) * step).max() < 2e-6
                for p, (_, w) in zip(probes, results, strict=True)
            ):
                return True
    return False


def half_precision(probes: list, results: list) -> bool:
    """Are the weights nearly right, and numbers that float16 can hold?"""
    return all(
        np.abs(weights - _right_weights(*p)).max() < 5e-3
        and (weights == weights.astype(np.float16)).all()
        for p, (_, weights) in zip(probes, results, strict=True)
    )


def _right_weights(q: Tensor, k: Tensor, v: Tensor) -> np.ndarray:
    return scaled_dot_product_attention(q, k, v)[1].double().numpy()
