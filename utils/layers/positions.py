"""Positions: how a token is told where it stands.

Attention sees a set (notebook 03, section 10).  Three ways to give it order, all built in
notebook 05: a fixed table of sines and cosines that is added to the embeddings, a learned table
that is added, and a rotation of queries and keys.  Positions count from 0.  Columns come in pairs:
2i and 2i + 1 hold the sine and the cosine of the same angle.
"""

from functools import lru_cache

import torch
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention


def sinusoidal_encoding(
    positions: int | Tensor,
    d_model: int,
    *,
    base: float = 10000.0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """PE(pos, 2i) = sin(pos / base^(2i/D)), PE(pos, 2i+1) = cos(the same).

    Built in notebook 05, section 4.  ``positions`` is a number N, for the positions 0 … N−1, or a
    tensor (N) of any positions.  Returns (N, D).
    """
    check_even_width(d_model)
    if not base > 0:
        raise ValueError(f"base must be a positive number, got {base}")
    if isinstance(positions, Tensor):
        if positions.dim() != 1:
            raise ValueError(f"positions must have shape (N), got {tuple(positions.shape)}")
        device = positions.device if device is None else device
        positions = positions.to(device=device, dtype=_precise(device))
    elif isinstance(positions, bool) or not isinstance(positions, int) or positions < 1:
        raise ValueError(f"positions must be at least 1 position, got {positions!r}")
    else:
        positions = torch.arange(positions, dtype=_precise(device), device=device)
    pairs = torch.arange(d_model // 2, dtype=positions.dtype, device=positions.device)
    frequencies = base ** (-2.0 * pairs / d_model)  # (D/2): from 1 down to nearly 1 / base
    angles = positions[:, None] * frequencies  # (N, D/2)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (N, D/2, 2)
    return table.flatten(1).to(dtype)  # (N, D): sin cos sin cos …


class SinusoidalEncoding(nn.Module):
    """x + PE: add the fixed table of sines and cosines.  Built in notebook 05, section 7.

    The table is a buffer: it is saved and moved with the model, and never trained.
    """

    def __init__(self, max_len: int, d_model: int, *, base: float = 10000.0):
        super().__init__()
        check_max_len(max_len)
        self.register_buffer("table", sinusoidal_encoding(max_len, d_model, base=base))

    def forward(self, x: Tensor) -> Tensor:
        """x (..., N, D) with N ≤ max_len -> the same shape."""
        check_fits(x, *self.table.shape)
        return x + self.table[: x.shape[-2]].to(x.dtype)


class LearnedEncoding(nn.Module):
    """x + P: add a table with one learned row per position.  Built in notebook 05, section 7.

    ``max_len`` · D parameters, and no row for any position from ``max_len`` on.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_max_len(max_len)
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.table, std=0.02)  # small: at first the words speak louder

    def forward(self, x: Tensor) -> Tensor:
        """x (..., N, D) with N ≤ max_len -> the same shape."""
        check_fits(x, *self.table.shape)
        return x + self.table[: x.shape[-2]]


def rotary(x: Tensor, positions: Tensor | None = None, *, base: float = 10000.0) -> Tensor:
    """Turn each pair (2i, 2i+1) of x by the angle pos / base^(2i/d).  Notebook 05, section 10.

    x is a tensor of queries or keys (..., N, d); ``positions`` (N) are 0 … N−1 if not given.  Turn
    both queries and keys (not the values), and each score depends on what the two tokens are and on
    how far they are apart, but not on where they stand:
        rotary(q, m) · rotary(k, n) = rotary(q, m + s) · rotary(k, n + s)
    Turning keeps lengths.  Nothing is added and there is nothing to learn (Su et al. 2021).
    """
    if x.dim() < 2:
        raise ValueError(f"x must have shape (..., tokens, width), got {tuple(x.shape)}")
    positions = x.shape[-2] if positions is None else positions
    if isinstance(positions, Tensor) and positions.shape != x.shape[-2:-1]:
        raise ValueError(
            f"there must be one position for each of the {x.shape[-2]} tokens, "
            f"got shape {tuple(positions.shape)}"
        )
    table = sinusoidal_encoding(positions, x.shape[-1], base=base, dtype=x.dtype, device=x.device)
    return _turn(x, table)


class RotaryAttention(MultiHeadAttention):
    """Multi-head attention whose queries and keys are turned by their positions, head by head.

    Built in notebook 05, section 10.  Takes the place of ``MultiHeadAttention`` wherever tokens
    have an order; same call, same parameters, same names in ``state_dict``.
    """

    def __init__(self, d_model: int, num_heads: int, *, dropout: float = 0.0, bias: bool = True):
        super().__init__(d_model, num_heads, dropout=dropout, bias=bias)
        check_even_width(d_model // num_heads, "the width of a head, d_model / num_heads,")

    def place(self, heads: Tensor, past: int) -> Tensor:
        """heads (B, H, N, Dh), standing behind ``past`` other tokens -> the same, turned."""
        return _turn(heads, _turns(past, heads.shape[-2], heads.shape[-1], heads.device))


@lru_cache(maxsize=256)
def _turns(past: int, n: int, width: int, device: torch.device) -> Tensor:
    """The table of sines and cosines for positions past … past + n − 1, made once."""
    with torch.inference_mode(False):  # else it could not take part in a later training
        positions = torch.arange(past, past + n, device=device)
        return sinusoidal_encoding(positions, width, device=device)


def _turn(x: Tensor, table: Tensor) -> Tensor:
    """Turn the pairs of x (..., N, d) by the angles whose sines and cosines the table holds."""
    sin, cos = table[:, 0::2].to(x.dtype), table[:, 1::2].to(x.dtype)  # (N, d/2) each
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def _precise(device: torch.device | str | None) -> torch.dtype:
    """Angles need float64: at position 10⁶ float32 is off by a twentieth of a radian.

    Apple's GPUs have float32 only.
    """
    kind = torch.get_default_device() if device is None else torch.device(device)
    return torch.float32 if kind.type == "mps" else torch.float64


def check_even_width(width: int, name: str = "d_model") -> None:
    """Sines and cosines come in pairs."""
    if isinstance(width, bool) or not isinstance(width, int) or width < 2 or width % 2:
        raise ValueError(f"{name} must be an even number of at least 2, got {width!r}")


def check_max_len(max_len: int) -> None:
    if isinstance(max_len, bool) or not isinstance(max_len, int) or max_len < 1:
        raise ValueError(f"max_len must be at least 1 position, got {max_len!r}")


def check_fits(x: Tensor, max_len: int, d_model: int) -> None:
    """x must be (..., N, D) with N rows of the table to add."""
    if x.dim() < 2 or x.shape[-1] != d_model:
        raise ValueError(f"x must have shape (..., tokens, {d_model}), got {tuple(x.shape)}")
    if x.shape[-2] > max_len:
        raise ValueError(
            f"the table has {max_len} positions and x has {x.shape[-2]} tokens: "
            "make it with a larger max_len"
        )
