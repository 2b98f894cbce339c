"""Masks: who may look at whom.

Every mask is boolean and **True means "may look"**.  Rows are queries, columns are keys.  Because
all masks speak the same language they are combined with ``&``:

    mask = causal_mask(N) & padding_mask(lengths, N)      # (N, N) & (B, 1, 1, N) -> (B, 1, N, N)

torch has three other dialects: ``F.scaled_dot_product_attention`` agrees with ours,
``nn.MultiheadAttention`` means the opposite (True = forbidden), and float masks are added to the
scores (0 = may look, -inf = forbidden).  ``to_torch_blocked`` and ``to_additive`` translate.
"""

from numbers import Integral

import torch
from torch import Tensor


def causal_mask(n: int, past: int = 0, device: torch.device | str | None = None) -> Tensor:
    """Each token may look at itself and at what came before it.  Returns (n, past + n).

    With ``past`` keys that were computed earlier (a KV cache), query i stands at position
    ``past + i``; the past is visible to every query.
    """
    _check_whole(n, 1, "n")
    _check_whole(past, 0, "past")
    queries = torch.arange(past, past + n, device=device)[:, None]  # (n, 1)
    keys = torch.arange(past + n, device=device)[None, :]  # (1, past + n)
    return keys <= queries


def local_mask(n: int, window: int, device: torch.device | str | None = None) -> Tensor:
    """Each token may look at most ``window`` steps to either side: a band 2·window + 1 wide.

    Returns (n, n).
    """
    _check_whole(n, 1, "n")
    _check_whole(window, 0, "window")
    position = torch.arange(n, device=device)
    return (position[:, None] - position[None, :]).abs() <= window


def padding_mask(
    lengths: Tensor | list[int], n: int, device: torch.device | str | None = None
) -> Tensor:
    """Nobody may look at padding.  Returns (B, 1, 1, n): the same for all heads and all queries.

    ``lengths`` holds the true length of each sequence of the batch, ``n`` is the padded length.
    The mask is over keys.  Padded *queries* still compute something; ignore their output.
    For a layer without heads take ``padding_mask(...)[:, 0]``, of shape (B, 1, n).
    """
    _check_whole(n, 1, "n")
    if not isinstance(lengths, Tensor):
        lengths = torch.tensor(lengths, device=device)
    elif device is not None:
        lengths = lengths.to(device)
    if lengths.dim() != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise TypeError(
            "lengths must be one whole number per sequence, "
            f"got shape {tuple(lengths.shape)} of {lengths.dtype}"
        )
    # meta tensors have no values to look at
    if not lengths.is_meta and ((lengths < 0).any() or (lengths > n).any()):
        raise ValueError(f"each length must be between 0 and n = {n}, got {lengths.tolist()}")
    keys = torch.arange(n, device=lengths.device)
    return (keys < lengths[:, None])[:, None, None, :]


def to_torch_blocked(mask: Tensor) -> Tensor:
    """Our mask in the dialect of ``nn.MultiheadAttention``: boolean, True = forbidden."""
    return ~check_mask(mask)


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Our mask as numbers to add to the scores: 0 = may look, -inf = forbidden."""
    blocked = ~check_mask(mask)
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type, which has -inf, got {dtype}")
    zeros = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return zeros.masked_fill(blocked, -torch.inf)


def check_mask(mask: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return ``mask`` if it is boolean and broadcasts to ``shape`` = (..., M, N); raise if not."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor (True = may look), got {got}")
    if shape is not None:
        fits = mask.dim() <= len(shape) and all(
            have in (1, want) for have, want in zip(reversed(mask.shape), reversed(shape))
        )
        if not fits:
            raise ValueError(
                f"mask must broadcast to (..., M queries, N keys) = {tuple(shape)}, "
                f"got {tuple(mask.shape)}"
            )
    return mask


def _check_whole(value: int, least: int, name: str) -> None:
    if not isinstance(value, Integral) or value < least:
        kind = ValueError if isinstance(value, Integral) else TypeError
        raise kind(f"{name} must be a whole number of at least {least}, got {value!r}")
