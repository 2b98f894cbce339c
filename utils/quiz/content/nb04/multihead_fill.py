"""Copy known weights into a student's multi-head attention, however it keeps its heads.

One matrix for all heads, one for each head (in a list, or stacked in a parameter), or queries, keys
and values fused: all are the same layer, and all are filled so that they can be compared.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.quiz.bugs import told
from utils.quiz.exercise import Mistake
from utils.quiz.modules import fill, holds_layers, made, role

INIT = "`__init__`, where the layers are made"
FORWARD = "`forward`, where the layers are used"


def call(student, w: dict[str, Tensor], h: int, x: Tensor):
    """Make the student's module, copy the weights into it, and run it."""
    module = _learning(student, w, h)
    try:
        known, roles = _fill_heads(module, w, h)
        rest = {name: matrix for name, matrix in w.items() if name not in roles}
        filled = fill(_Rest(module, known), rest)
    except LookupError as error:
        raise Mistake("wrong-sizes", str(error)) from None
    mine = known | {id(p) for p in filled.values()}
    extra = [n for n, p in module.named_parameters() if p.dim() > 1 and id(p) not in mine]
    result = module(x)
    right = _right(w, h, x)
    if not _same(result, right) and "qkv" in filled:
        _fuse_by_head(filled["qkv"], w, h)  # [q k v] of head 0, of head 1, …: as good a layout
        again = module(x)
        result = again if _same(again, right) else result
    if extra and not _same(result, right):
        raise Mistake("extra-layer", f"Yours: {', '.join(f'`{name}`' for name in extra)}.")
    return result


class _Rest(nn.Module):
    """A module without the parameters that are filled already."""

    def __init__(self, module: nn.Module, known: set[int]):
        super().__init__()
        self.left = [(n, p) for n, p in module.named_parameters() if id(p) not in known]

    def named_parameters(self, *args, **kwargs):
        return iter(self.left)


def _learning(student, w: dict[str, Tensor], h: int) -> nn.Module:
    module = made(student, w["q"].shape[1], h)
    loose = [n for n, v in vars(module).items() if isinstance(v, Tensor) and v.dim() > 1]
    if loose:
        raise Mistake("plain-tensors", f"Yours: {', '.join(f'`{name}`' for name in loose)}.")
    lists = [v for n, v in vars(module).items() if not n.startswith("_") and holds_layers(v)]
    if lists:
        raise Mistake("plain-list")
    if not list(module.parameters()):
        raise Mistake("no-parameters")
    return module


def _fill_heads(module: nn.Module, w: dict[str, Tensor], h: int) -> tuple[set[int], set[str]]:
    """Fill matrices that belong to one head each, or are stacked by head.

    Returns the ids of the parameters filled, and which of q, k, v they were.
    """
    d = w["q"].shape[1]
    dh = d // h
    known: set[int] = set()
    roles: set[str] = set()
    by_role: dict[str, list[tuple[str, nn.Parameter]]] = {}
    for name, parameter in module.named_parameters():
        letter = role(name)
        if letter in ("q", "k", "v") and parameter.dim() > 1:
            by_role.setdefault(letter, []).append((name, parameter))
    with torch.no_grad():
        for letter, found in by_role.items():
            parts = w[letter].reshape(h, dh, d)  # rows of an nn.Linear: head by head
            if any(p.shape == (dh, dh) for _, p in found):
                raise Mistake("slices-of-x")
            for i, (name, p) in enumerate(found):
                if p.shape == (h, d, dh):
                    p.copy_(parts.transpose(1, 2))
                elif p.shape == (h, dh, d):
                    p.copy_(parts)
                elif {p.shape[0], p.shape[-1]} == {d, dh} and p.dim() == 2:
                    if len(found) == 1:
                        raise Mistake("one-projection", f"Yours: `{name}`.")
                    if i < h:
                        p.copy_(parts[i] if name.endswith(".weight") else parts[i].T)
                else:
                    continue
                known.add(id(p))
                roles.add(letter)
        for parameter in module.parameters():
            if parameter.dim() < 2:
                parameter.zero_()
    return known, roles


def _fuse_by_head(parameter: nn.Parameter, w: dict[str, Tensor], h: int) -> None:
    d = w["q"].shape[1]
    blocks = torch.stack([w[name].reshape(h, d // h, d) for name in "qkv"], dim=1)
    blocks = blocks.reshape(3 * d, d)
    with torch.no_grad():
        parameter.copy_(blocks if parameter.shape == blocks.shape else blocks.T)


def _right(w: dict[str, Tensor], h: int, x: Tensor) -> Tensor:
    q, k, v = ((x @ w[n].T).unflatten(-1, (h, -1)).transpose(1, 2) for n in "qkv")
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(-2) @ w["o"].T


def _same(result, right: Tensor) -> bool:
    output = result[0] if isinstance(result, tuple | list) and result else result
    if not isinstance(output, Tensor) or output.shape != right.shape:
        return False
    return float((output - right).abs().max()) < 1e-3


TOLD = (
    *told(INIT)(
        slices_of_x="The layers of a head go from d_model/h to d_model/h: each head sees only a "
        "*slice of x*. Every head reads the whole x; what is split is Q, K and V, after the "
        "projection.",
        one_projection="There is one projection of a head's width, used for all heads, so all "
        "heads are the same. Make it d_model wide and cut it, or give each head its own.",
        wrong_sizes="One of the layers has the wrong sizes. All four go from d_model to d_model.",
        extra_layer="There is a further layer besides W^Q, W^K, W^V and W^O. Two matrix products "
        "in a row are one matrix product: a second projection per head adds nothing (section 3).",
        plain_tensors="The matrices are plain tensors, so no optimiser will ever change them. Use "
        "`nn.Linear`.",
        plain_list="The layers sit in a plain list or dict, where the module does not see them. "
        "Use `nn.ModuleList`.",
        no_parameters="The module has nothing to learn: no layer is stored on `self` in "
        "`__init__`.",
        no_super_init="Call `super().__init__()` first: it prepares the module.",
        not_a_module="The class does not build on `nn.Module`: `class MHA(nn.Module):`",
    ),
    *told("the call of `check`")(
        instance_given='`check` needs the class itself, to build its own: `check("X04-3", MHA)`.'
    ),
)
