"""Attention: a query looks at keys and takes home a weighted mean of the values.

Everything here returns ``(output, weights)``.  Rows are queries, columns are keys; a mask is
boolean and True means "may look" (see ``utils/masks.py``).  Ask for no weights
(``need_weights=False``) and PyTorch's fused kernel computes the same output without ever storing
the M × N map; ``weights`` is then None.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.masks import check_mask


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
    _check_qkv(q, k, v)
    if mask is not None:
        check_mask(mask, _scores_shape(q, k))
    if not need_weights:
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return output, None

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
        values = keys if values is None else values
        _check_width(queries, self.w.in_features, "queries")
        _check_width(keys, self.u.in_features, "keys")
        _check_tokens(queries, keys, values)
        if mask is not None:
            check_mask(mask, _scores_shape(queries, keys))

        # every query meets every key: (..., M, 1, hidden) + (..., 1, N, hidden)
        hidden = torch.tanh(self.w(queries).unsqueeze(-2) + self.u(keys).unsqueeze(-3))
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
        context = x if context is None else context
        _check_batched(x, self.w_q.in_features, "x")
        _check_batched(context, self.w_k.in_features, "context")
        if mask is not None and isinstance(mask, Tensor) and mask.dim() == 3:
            # (B, M, N) would silently line up its batch with our heads
            raise ValueError(
                "mask must have 2 axes (M, N) or 4 axes (B, H, M, N), with 1 where all share it, "
                f"got {tuple(mask.shape)}: did you mean mask[:, None]?"
            )
        q = self.split_heads(self.w_q(x))  # (B, H, M, Dh)
        k = self.split_heads(self.w_k(context))  # (B, H, N, Dh)
        v = self.split_heads(self.w_v(context))  # (B, H, N, Dh)
        dropout = self.dropout if self.training else 0.0
        heads, weights = scaled_dot_product_attention(
            q, k, v, mask, dropout=dropout, need_weights=need_weights
        )
        return self.w_o(self.merge_heads(heads)), weights

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
    # The lowest finite number instead of -inf: a row with nothing to look at stays finite, and so
    # do its gradients.  Where a row has a key to look at, exp() of it is exactly 0 all the same.
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


def _check_qkv(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() < 2:
            raise ValueError(
                f"{name} must have shape (..., tokens, width), got {tuple(tensor.shape)}"
            )
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "queries and keys must have the same width to be multiplied, "
            f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
        )
    _check_tokens(q, k, v)


def _check_tokens(q: Tensor, k: Tensor, v: Tensor) -> None:
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"there must be one value for each key, got {k.shape[-2]} keys and {v.shape[-2]} values"
        )
    if q.shape[-2] == 0 or k.shape[-2] == 0:
        raise ValueError(
            "attention needs at least one query and one key, "
            f"got {q.shape[-2]} queries and {k.shape[-2]} keys"
        )


def _check_width(x: Tensor, width: int, name: str) -> None:
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (..., tokens, {width}), got {tuple(x.shape)}")


def _check_batched(x: Tensor, width: int, name: str) -> None:
    if x.dim() != 3 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (B, tokens, {width}), got {tuple(x.shape)}")


def _scores_shape(q: Tensor, k: Tensor) -> tuple[int, ...]:
    """The shape (..., M, N) of the scores, batch prefixes broadcast against each other."""
    prefix = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    return (*prefix, q.shape[-2], k.shape[-2])
