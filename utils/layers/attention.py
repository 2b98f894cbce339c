"""Attention: a query looks at keys and takes home a weighted mean of the values.

Everything here returns ``(output, weights)``.  Rows are queries, columns are keys; a mask is
boolean and True means "may look" (see ``utils/layers/masks.py``).  Ask for no weights
(``need_weights=False``) and PyTorch's fused kernel computes the same output without ever storing
the M × N map; ``weights`` is then None.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.masks import causal_mask, check_mask


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    dropout: float = 0.0,
    need_weights: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Mix the values ``v`` with weights softmax(q kᵀ / √d).  Built in notebook 03, section 5.

    Shapes, where ``...`` is any batch prefix (usually ``B, H``):
        q (..., M, d)    k (..., N, d)    v (..., N, e)    mask (..., M, N), boolean
    ``mask`` is True where a query may look at a key.  A query that may look nowhere gets weights
    and output 0, not NaN.  ``dropout`` is the chance to drop each weight; the weights returned are
    the ones used, after dropout.
    Returns ``(output, weights)`` of shapes (..., M, e) and (..., M, N).
    """
    shape = _scores_shape(q, k, v)
    if q.shape[-1] != k.shape[-1] or q.shape[-1] == 0:
        raise ValueError(
            "queries and keys must have the same width of at least 1 to be multiplied, "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout must be between 0 and 1, got {dropout}")
    if mask is not None:
        check_mask(mask, shape)
    if not need_weights:
        return _fused(q, k, v, mask, dropout, shape), None

    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., M, N)
    weights = _softmax_where(scores, mask)  # (..., M, N), each row sums to 1
    weights = F.dropout(weights, dropout) if dropout else weights
    return weights @ v, weights


class AdditiveAttention(nn.Module):
    """Score a query s against a key h with a small network: v · tanh(W s + U h).

    The score of Bahdanau et al. (2015).  Built in notebook 02.  Queries and keys may have
    different widths; ``d_hidden`` is the width of the network between them.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        _check_sizes(d_query=d_query, d_key=d_key, d_hidden=d_hidden)
        self.w = nn.Linear(d_query, d_hidden, bias=False)
        self.u = nn.Linear(d_key, d_hidden)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """queries (..., M, Dq), keys (..., N, Dk), values (..., N, e): the keys if not given."""
        return self.look(queries, self.project(keys), keys if values is None else values, mask)

    def project(self, keys: Tensor) -> Tensor:
        """U h of keys (..., N, Dk) -> (..., N, hidden): the same at each step, so made once."""
        _check_width(keys, self.u.in_features, "keys")
        return self.u(keys)

    def look(
        self, queries: Tensor, projected: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Let queries (..., M, Dq) look at keys that are projected already."""
        _check_width(queries, self.w.in_features, "queries")
        shape = _scores_shape(queries, projected, values)
        if mask is not None:
            check_mask(mask, shape)
        # every query meets every key: (..., M, 1, hidden) + (..., 1, N, hidden)
        hidden = torch.tanh(self.w(queries).unsqueeze(-2) + projected.unsqueeze(-3))
        scores = self.v(hidden).squeeze(-1)  # (..., M, N)
        weights = _softmax_where(scores, mask)
        return weights @ values, weights


class AttentionLayer(nn.Module):
    """One attention layer with learned queries, keys and values.  Built in notebook 03, section 7.

    ``layer(x)`` is self-attention: x asks and x answers.  ``layer(x, context)`` is
    cross-attention: x asks and the context answers.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int):
        super().__init__()
        _check_sizes(d_model=d_model, d_k=d_k, d_v=d_v)
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """x (..., M, d_model), context (..., N, d_model): x itself if not given."""
        context = x if context is None else context
        _check_width(x, self.w_q.in_features, "x")
        _check_width(context, self.w_k.in_features, "context")
        q, k, v = self.w_q(x), self.w_k(context), self.w_v(context)
        return scaled_dot_product_attention(q, k, v, mask)


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each on its own D / H wide view.  Built in notebook 04.

    ``mha(x)`` is self-attention, ``mha(x, context)`` is cross-attention.
    """

    def __init__(self, d_model: int, num_heads: int, *, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if d_model < 1 or num_heads < 1 or d_model % num_heads:
            raise ValueError(
                "d_model must be a multiple of num_heads, so that each head gets the same width, "
                f"got d_model = {d_model}, num_heads = {num_heads}"
            )
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be at least 0 and less than 1, got {dropout}")
        self.num_heads = num_heads
        self.dropout = dropout
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, M, D), context (B, N, D), mask broadcasting to (B, H, M, N).

        Returns ``(output, weights)`` of shapes (B, M, D) and (B, H, M, N).
        """
        _check_batched(x, self.w_q.in_features, "x")
        context = x if context is None else context
        return self.look(x, *self.keys_values(context), mask, need_weights=need_weights)

    def keys_values(self, context: Tensor, past: int = 0) -> tuple[Tensor, Tensor]:
        """Of a context (B, N, D) that stands behind ``past`` other tokens: (B, H, N, Dh) each."""
        _check_batched(context, self.w_k.in_features, "context")
        k, v = self.split_heads(self.w_k(context)), self.split_heads(self.w_v(context))
        return self.place(k, past), v

    def look(
        self,
        x: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        *,
        past: int = 0,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Let x (B, M, D) look at keys and values that are there already (a KV cache)."""
        _check_batched(x, self.w_q.in_features, "x")
        if mask is not None and check_mask(mask).dim() not in (2, 4):
            # (B, M, N) would silently line up its batch with our heads
            raise ValueError(
                "mask must have 2 axes (M, N) or 4 axes (B, H, M, N), with 1 where all share it, "
                f"got {tuple(mask.shape)}: did you mean mask[:, None]?"
            )
        q = self.place(self.split_heads(self.w_q(x)), past)  # (B, H, M, Dh)
        dropout = self.dropout if self.training else 0.0
        heads, weights = scaled_dot_product_attention(
            q, k, v, mask, dropout=dropout, need_weights=need_weights
        )
        return self.w_o(self.merge_heads(heads)), weights

    def place(self, heads: Tensor, past: int) -> Tensor:
        """Tell queries or keys where they stand: not here, but in ``RotaryAttention``."""
        return heads

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, N, D) -> (B, H, N, Dh).  Cut the width first, then move the heads forward."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def merge_heads(self, heads: Tensor) -> Tensor:
        """(B, H, N, Dh) -> (B, N, D).  The way back."""
        return heads.transpose(1, 2).flatten(-2)


def _softmax_where(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys a query may look at; exactly 0 elsewhere, also in rows of all False."""
    if mask is None:
        return scores.softmax(dim=-1)
    scores = scores.masked_fill(~_open_empty_rows(mask), -torch.inf)
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


def _fused(q, k, v, mask, dropout: float, shape: tuple[int, ...]) -> Tensor:
    """PyTorch's kernel, with one answer on every device for rows of all False: 0.

    The mask is handed over in its full shape (a view, no copy): not every kernel broadcasts.
    """
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    if _is_causal(mask, shape):  # the kernel knows this mask, and skips the half it hides
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
    full = _open_empty_rows(mask).expand(shape)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=full, dropout_p=dropout)
    return output.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def _is_causal(mask: Tensor, shape: tuple[int, ...]) -> bool:
    """Is it exactly ``causal_mask(N)``?  Asked on the CPU only: elsewhere the answer would wait."""
    square = mask.dim() == 2 and mask.shape == shape[-2:] and shape[-2] == shape[-1]
    if not square or mask.device.type != "cpu":
        return False
    return torch.equal(mask, causal_mask(shape[-1], device=mask.device))


def _open_empty_rows(mask: Tensor) -> Tensor:
    """The mask with rows of all False turned to all True.

    A softmax over nothing is 0 / 0, and its NaN spreads through the gradients.  So such a row is
    computed as if it saw everything, and what comes of it is set to 0 afterwards.
    """
    return mask | ~mask.any(dim=-1, keepdim=True)


def _scores_shape(q: Tensor, k: Tensor, v: Tensor) -> tuple[int, ...]:
    """The shape (..., M, N) of the scores, batch prefixes broadcast; raise if there is none."""
    for name, tensor in (("queries", q), ("keys", k), ("values", v)):
        if tensor.dim() < 2:
            shape = tuple(tensor.shape)
            raise ValueError(f"{name} must have shape (..., tokens, width), got {shape}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"there must be one value for each key, got {k.shape[-2]} keys and {v.shape[-2]} values"
        )
    if q.shape[-2] == 0 or k.shape[-2] == 0:
        raise ValueError(
            "attention needs at least one query and one key, "
            f"got {q.shape[-2]} queries and {k.shape[-2]} keys"
        )
    prefix = q.shape[:-2]
    if not prefix == k.shape[:-2] == v.shape[:-2]:  # the usual case needs no broadcasting
        try:
            prefix = torch.broadcast_shapes(prefix, k.shape[:-2])
            torch.broadcast_shapes(prefix, v.shape[:-2])
        except RuntimeError:
            shapes = " and ".join(str(tuple(tensor.shape)) for tensor in (q, k, v))
            raise ValueError(
                "the batch axes of queries, keys and values must be equal or 1, got shapes "
                + shapes
            ) from None
    return (*prefix, q.shape[-2], k.shape[-2])


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def _check_width(x: Tensor, width: int, name: str) -> None:
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (..., tokens, {width}), got {tuple(x.shape)}")


def _check_batched(x: Tensor, width: int, name: str) -> None:
    if x.dim() != 3 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (B, tokens, {width}), got {tuple(x.shape)}")
