"""Copy known weights into a student's block: its attentions, norms and feed-forward network.

The exercises hand out an ``__init__`` with these layers, and ask for ``forward``. Who builds the
layers anew (``nn.MultiheadAttention``, an ``nn.Sequential``) is compared all the same: layers are
found by their kind, and where two of a kind might have been made in another order, all are tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.quiz.bugs import told
from utils.quiz.content.nb07 import ffn
from utils.quiz.content.nb07.made import INIT, general
from utils.quiz.exercise import Bug, Mistake

FORWARD = "`forward`"
# "ffn", "norms": [(g, b), ...], "attentions": [{"q": (matrix, bias)}, ...]
Weights = dict[str, Any]


def weights(r, d: int, wide: int, norms: int, attentions: int) -> Weights:
    def matrix():
        return 1.2 * r(d, d) / d**0.5, 0.3 * r(d)

    return {
        "ffn": ffn.weights(r, d, wide),
        "norms": [(1 + 0.4 * r(d), 0.4 * r(d)) for _ in range(norms)],
        "attentions": [{name: matrix() for name in "qkvo"} for _ in range(attentions)],
    }


def attend(
    w: dict[str, tuple[Tensor, Tensor]],
    h: int,
    q: Tensor,
    k: Tensor,
    mask: Tensor | None,
    v: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Multi-head attention with the weights ``w``; values come from where the keys do."""
    source = {"q": q, "k": k, "v": k if v is None else v}
    heads = [
        (x @ w[name][0].T + w[name][1]).unflatten(-1, (h, -1)).transpose(1, 2)
        for name, x in source.items()
    ]
    mixed, rows = scaled_dot_product_attention(*heads, mask)
    return mixed.transpose(1, 2).flatten(-2) @ w["o"][0].T + w["o"][1], rows


def run(module: nn.Module, w: Weights, args: Sequence, right: Callable[[], Any]) -> Any:
    """What the student's block gives with the weights ``w``."""
    attentions = _of_kind(module, MultiHeadAttention | nn.MultiheadAttention)
    norms = _of_kind(module, nn.LayerNorm)
    if len(attentions) != len(w["attentions"]):
        raise Mistake("layers-changed", f"Attentions found: {len(attentions)}.")
    if len(norms) < len(w["norms"]):
        raise Mistake("shared-norm" if norms else "layers-changed")
    if len(norms) > len(w["norms"]):
        raise Mistake("extra-norm")
    known = {id(p) for layer in [*attentions, *norms] for p in layer.parameters()}
    ffn.fill([(n, p) for n, p in module.named_parameters() if id(p) not in known], w["ffn"])

    first, wanted = None, right()
    for a, n in itertools.product(
        itertools.permutations(attentions), itertools.permutations(norms)
    ):
        for layer, values in zip(a, w["attentions"], strict=True):
            _fill_attention(layer, values)
        with torch.no_grad():
            for norm, (g, b) in zip(n, w["norms"], strict=True):
                norm.weight.copy_(g)
                norm.bias.copy_(b)
        try:
            result = module(*args)
        except (TypeError, AttributeError) as error:
            if "tuple" in str(error):
                raise Mistake("tuple-kept") from None
            raise
        except ValueError as error:
            if str(error).startswith("context must have shape"):
                raise Mistake("mask-as-context") from None
            raise
        if first is None:
            first = result
        if _same(result, wanted):
            return result
    return first


def _of_kind(module: nn.Module, kind) -> list[nn.Module]:
    return [layer for layer in module.modules() if isinstance(layer, kind)]


def _fill_attention(layer: nn.Module, w: dict[str, tuple[Tensor, Tensor]]) -> None:
    with torch.no_grad():
        if isinstance(layer, nn.MultiheadAttention):
            if layer.in_proj_bias is None:
                raise Mistake("layers-changed", "Its attention has no biases.")
            layer.in_proj_weight.copy_(torch.cat([w[name][0] for name in "qkv"]))
            layer.in_proj_bias.copy_(torch.cat([w[name][1] for name in "qkv"]))
            layer.out_proj.weight.copy_(w["o"][0])
            layer.out_proj.bias.copy_(w["o"][1])
            return
        for name, (matrix, bias) in w.items():
            linear = getattr(layer, f"w_{name}")
            linear.weight.copy_(matrix)
            linear.bias.copy_(bias)


def _same(result: Any, right: Any) -> bool:
    if isinstance(right, tuple):
        return (
            isinstance(result, tuple | list)
            and len(result) == len(right)
            and all(map(_same, result, right))
        )
    if not isinstance(result, Tensor) or result.shape != right.shape:
        return False
    return float((result - right).abs().max()) < 1e-4


def general_bugs(key: str, name: str) -> tuple[Bug, ...]:
    """What making, filling and calling a block can find, besides its own switches."""
    return (
        *told(FORWARD)(
            tuple_kept="The attention hands out two things, `(output, weights)`, and both are used "
            "as one. Take them apart: `mixed, weights = self.attention(...)`.",
            mask_as_context="The mask is taken for the context, because it stands second. Say what "
            "it is: `self.attention(x, mask=mask)`.",
        ),
        *told(INIT)(
            extra_norm="There is a layer norm more than there are sub-layers. The final norm "
            "belongs behind the last block of a stack, not into each block.",
            layers_changed="`__init__` was changed so that its layers cannot be compared any more. "
            "Keep the ones that were given, and write `forward`.",
        ),
        *(b for b in ffn.FFN_EXERCISE.bugs if b.name in FFN_NAMES),
        *general(key, name),
    )


FFN_NAMES = (
    *("single-linear", "no-widening", "width-fixed", "extra-layer"),
    *("wrong-sizes", "no-bias", "lazy-layers"),
)
