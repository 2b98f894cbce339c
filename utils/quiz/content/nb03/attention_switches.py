"""X03-1 with every mistake built in: what each wrong line computes.

Five stages, as in the formula: which tensors meet, how their product is taken, how it is scaled,
how scores become weights, how weights become the output. The messages stand in `attention_bugs.py`.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def switched(bug, q: Tensor, k: Tensor, v: Tensor):
    """Scaled dot-product attention; ``bug`` says which mistakes are on."""
    if bug("needs-two-axes") and q.dim() != 2:
        raise RuntimeError("t() expects a tensor with <= 2 dimensions")
    d = q.shape[-1]
    if bug("needs-equal-lengths"):
        k = torch.stack([k[..., j, :] for j in range(q.shape[-2])], -2)
    if bug("keys-and-values-swapped"):
        k, v = v, k
    if bug("softmax-on-inputs"):
        q, k = q.softmax(-1), k.softmax(-1)
    a, b = bug.choose(
        lambda: (q, k),
        swapped=lambda: (k, q),
        query_twice=lambda: (q, q),
        key_twice=lambda: (k, k),
        values_as_keys=lambda: (q, v),
        values_as_queries=lambda: (v, k),
        values_twice=lambda: (v, v),
        first_keys_for_all=lambda: (q, k[:1].expand_as(k)),
        softmax_on_queries=lambda: (q.softmax(-1), k),
        softmax_on_keys=lambda: (q, k.softmax(-1)),
        cosine=lambda: (F.normalize(q, dim=-1) * d**0.5, F.normalize(k, dim=-1)),
        cosine_scaled=lambda: (F.normalize(q, dim=-1), F.normalize(k, dim=-1)),
    )
    raw_q, raw_k = q, k
    scores = _product(bug, a, b)
    moved = ("scale-after-softmax", "times-after-softmax", "scale-after-softmax-d", "output-scaled")
    scaled = scores if any([bug(name) for name in moved]) else _scaled(bug, scores, q, k, v)
    if bug("causal-mask"):
        ones = torch.ones(scaled.shape[-2:], dtype=torch.bool)
        scaled = scaled.masked_fill(ones.triu(1), -torch.inf)
    weights = _weights(bug, scaled)
    weights = bug.choose(
        lambda: weights,
        softmax_on_inputs_only=lambda: raw_q.softmax(-1) @ raw_k.softmax(-1).mT / d**0.5,
        softmax_on_inputs_unscaled=lambda: raw_q.softmax(-1) @ raw_k.softmax(-1).mT,
        softmax_on_inputs_and_tokens=lambda: raw_q.softmax(-1) @ raw_k.softmax(-2).mT,
        softmax_on_tokens=lambda: raw_q.softmax(-2) @ raw_k.softmax(-2).mT,
        scale_after_softmax=lambda: weights / d**0.5,
        times_after_softmax=lambda: weights * d**0.5,
        scale_after_softmax_d=lambda: weights / d,
        scale_again_after_softmax=lambda: weights / d**0.5,
    )
    output = _output(bug, weights, scaled, q, k, v)
    return _returned(bug, output, weights, scaled, scores)


def _product(bug, a: Tensor, b: Tensor) -> Tensor:
    return bug.choose(
        lambda: a @ b.transpose(-2, -1),
        no_transpose=lambda: a @ b,
        all_axes_reversed=lambda: a @ b.permute(*range(b.dim() - 1, -1, -1)),
        batch_axis_moved=lambda: a @ b.transpose(0, 1),
        reshaped=lambda: a @ b.reshape(*b.shape[:-2], b.shape[-1], b.shape[-2]),
        features_against_features=lambda: a.transpose(-2, -1) @ b,
        elementwise=lambda: a * b,
        elementwise_transposed=lambda: a * b.transpose(-2, -1),
        elementwise_reversed=lambda: a * b.permute(*range(b.dim() - 1, -1, -1)),
        batch_summed=lambda: (a @ b.transpose(-2, -1)).sum(0),
        last_key_skipped=lambda: F.pad((a @ b.transpose(-2, -1))[..., :-1], (0, 1)),
        own_key_only=lambda: (a * b).sum(-1, keepdim=True),
        distance=lambda: -((a.unsqueeze(-2) - b.unsqueeze(-3)) ** 2).sum(-1),
        distance_plus=lambda: torch.cdist(a, b),
        sum_not_product=lambda: (a.unsqueeze(-2) + b.unsqueeze(-3)).sum(-1),
        difference=lambda: (a.unsqueeze(-2) - b.unsqueeze(-3)).sum(-1),
        mean_not_sum=lambda: (a.unsqueeze(-2) * b.unsqueeze(-3)).mean(-1),
        absolute_scores=lambda: (a @ b.transpose(-2, -1)).abs(),
        negative_scores=lambda: -(a @ b.transpose(-2, -1)),
    )


def _scaled(bug, scores: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    d = q.shape[-1]
    return bug.choose(
        lambda: scores / math.sqrt(d),
        no_scale=lambda: scores,
        scale_d=lambda: scores / d,
        scale_d_squared=lambda: scores / d**2,
        scale_times=lambda: scores * math.sqrt(d),
        scale_times_d=lambda: scores * d,
        scale_fourth_root=lambda: scores / d**0.25,
        scale_log=lambda: scores / math.log(d),
        scale_half=lambda: scores / (d / 2),
        scale_d_v=lambda: scores / math.sqrt(v.shape[-1]),
        scale_keys=lambda: scores / math.sqrt(k.shape[-2]),
        scale_queries=lambda: scores / math.sqrt(q.shape[-2]),
        scale_batch=lambda: scores / math.sqrt(q.shape[0]),
        scale_by_keys=lambda: scores / k.shape[-2],
        scale_by_queries=lambda: scores / q.shape[-2],
        scale_numel=lambda: scores / math.sqrt(k.numel()),
        scale_precedence=lambda: scores / d / 2,
        scale_norms=lambda: scores / k.norm(dim=-1).unsqueeze(-2),
        scale_std=lambda: scores / scores.std(),
        floor_division=lambda: (scores / math.sqrt(d)).floor(),
        scale_before_root=lambda: (scores / d).sqrt(),
    )


def _stable(x: Tensor) -> Tensor:
    return (x - x.amax(-1, keepdim=True)).exp()


def _normalised(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdim=True)


def _weights(bug, scores: Tensor) -> Tensor:
    last = range(1, scores.dim()) if scores.dim() > 2 else range(scores.dim())
    return bug.choose(
        lambda: scores.softmax(-1),
        softmax_over_queries=lambda: scores.softmax(-2),
        softmax_over_batch=lambda: scores.softmax(0),
        softmax_over_all=lambda: scores.flatten().softmax(0).reshape(scores.shape),
        softmax_over_table=lambda: (
            scores.flatten(min(last)).softmax(-1).reshape(scores.shape)
            if scores.dim() > 2
            else scores.flatten().softmax(0).reshape(scores.shape)
        ),
        no_softmax=lambda: scores,
        sigmoid=lambda: scores.sigmoid(),
        sigmoid_normalised=lambda: _normalised(scores.sigmoid()),
        tanh=lambda: scores.tanh(),
        relu=lambda: scores.relu(),
        relu_normalised=lambda: _normalised(scores.relu()),
        tanh_before_softmax=lambda: scores.tanh().softmax(-1),
        relu_before_softmax=lambda: scores.relu().softmax(-1),
        sigmoid_before_softmax=lambda: scores.sigmoid().softmax(-1),
        exp_only=lambda: scores.exp(),
        exp_sum_no_keepdim=lambda: scores.exp() / scores.exp().sum(-1),
        exp_sum_queries_no_keepdim=lambda: scores.exp() / scores.exp().sum(-2),
        sum_no_keepdim=lambda: _stable(scores) / _stable(scores).sum(-1),
        max_and_sum_no_keepdim=lambda: (e := (scores - scores.amax(-1)).exp()) / e.sum(-1),
        sum_over_queries=lambda: _stable(scores) / _stable(scores).sum(-2, keepdim=True),
        max_no_keepdim=lambda: _normalised((scores - scores.amax(-1)).exp()),
        log_softmax=lambda: scores.log_softmax(-1),
        softmax_twice=lambda: scores.softmax(-1).softmax(-1),
        divided_by_sum=lambda: _normalised(scores),
        divided_by_abs_sum=lambda: scores / scores.abs().sum(-1, keepdim=True),
        abs_normalised=lambda: _normalised(scores.abs()),
        squares_normalised=lambda: _normalised(scores**2),
        divided_by_norm=lambda: F.normalize(scores, dim=-1),
        divided_by_max=lambda: scores / scores.amax(-1, keepdim=True),
        min_max=lambda: (
            (scores - scores.amin(-1, keepdim=True))
            / (scores.amax(-1, keepdim=True) - scores.amin(-1, keepdim=True))
        ),
        power_of_two=lambda: _normalised(2.0**scores),
        exp_over_scores=lambda: scores.exp() / scores.sum(-1, keepdim=True),
        argmax=lambda: F.one_hot(scores.argmax(-1), scores.shape[-1]).float(),
        uniform=lambda: torch.full_like(scores, 1.0 / scores.shape[-1]),
        rounded_to_whole=lambda: scores.softmax(-1).round(),
        softmax_over_queries_then_keys=lambda: scores.softmax(-2).softmax(-1),
    )


def _output(bug, weights: Tensor, scaled: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    d = q.shape[-1]
    rows = weights.shape[-2]
    return bug.choose(
        lambda: weights @ v,
        weights_times_keys=lambda: weights @ k,
        weights_times_queries=lambda: weights @ q,
        weights_transposed=lambda: weights.transpose(-2, -1) @ v,
        values_first=lambda: v @ weights,
        values_transposed=lambda: weights @ v.transpose(-2, -1),
        values_reversed=lambda: weights @ v.permute(*range(v.dim() - 1, -1, -1)),
        values_elementwise=lambda: weights * v,
        scores_times_values=lambda: scaled @ v,
        mean_of_values=lambda: v.mean(-2, keepdim=True).expand(*v.shape[:-2], rows, v.shape[-1]),
        sum_of_values=lambda: v.sum(-2, keepdim=True).expand(*v.shape[:-2], rows, v.shape[-1]),
        last_value_only=lambda: weights[..., -1:] * v[..., -1:, :],
        best_value_only=lambda: F.one_hot(weights.argmax(-1), weights.shape[-1]).to(v.dtype) @ v,
        output_scaled=lambda: weights @ v / d**0.5,
        output_scaled_again=lambda: weights @ v / d**0.5,
        output_times=lambda: weights @ v * d**0.5,
        output_averaged=lambda: weights @ v / v.shape[-2],
        output_softmax=lambda: (weights @ v).softmax(-1),
        output_normalised=lambda: F.normalize(weights @ v, dim=-1),
        residual_query=lambda: weights @ v + q,
        residual_value=lambda: weights @ v + v,
        output_transposed=lambda: (weights @ v).transpose(-2, -1),
        output_summed=lambda: (weights @ v).sum(-2),
        output_mean=lambda: (weights @ v).mean(-2),
        output_beside_query=lambda: torch.cat([weights @ v, q], -1),
        values_softmax=lambda: weights @ v.softmax(-1),
    )


def _returned(bug, output: Tensor, weights: Tensor, scaled: Tensor, scores: Tensor):
    return bug.choose(
        lambda: (output, weights),
        only_output=lambda: output,
        only_weights=lambda: weights,
        order_swapped=lambda: (weights, output),
        scores_returned=lambda: (output, scaled),
        raw_scores_returned=lambda: (output, scores),
        weights_returned_transposed=lambda: (output, weights.transpose(-2, -1)),
        lists_returned=lambda: (list(output), list(weights)),
        first_sequence_only=lambda: (output[:1], weights[:1]),
        batch_flattened=lambda: (output.flatten(0, -2), weights.flatten(0, -2)),
        squeezed=lambda: (output.squeeze(), weights.squeeze()),
        three_returned=lambda: (output, weights, scaled),
        returned_dict=lambda: {"output": output, "weights": weights},
        output_twice=lambda: (output, output),
        weights_averaged=lambda: (output, weights.mean(-2)),
        no_output_step=lambda: (weights, scaled),
    )
