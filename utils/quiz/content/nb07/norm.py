"""X07-1: layer norm by hand."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise, Invariant

MEAN = "where mean and variance are taken"
ROOT = "where you divide"
AFFINE = "the last line, with g and b"


def layer_norm(x: Tensor, g: Tensor, b: Tensor, eps: float = 1e-5) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)  # one number for each token
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return g * (x - mean) / torch.sqrt(variance + eps) + b


def switched(bug, x: Tensor, g: Tensor, b: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise each token, then stretch and shift; ``bug`` says which mistakes are on."""
    eps = 1e-5 if bug("eps-ignored") else eps
    axes = bug.choose(
        lambda: (-1,),
        over_batch=lambda: (0,),
        batch_norm=lambda: tuple(range(x.dim() - 1)),
        over_tokens=lambda: (-2,),
        tokens_and_features=lambda: (-2, -1),
        everything=lambda: tuple(range(x.dim())),
    )
    loose = bug.choose(
        lambda: "",
        no_keepdim=lambda: "mean and root",
        no_keepdim_mean=lambda: "mean",
        no_keepdim_root=lambda: "root",
    )
    mean = x.mean(axes, keepdim="mean" not in loose)
    centred = x if bug("mean-kept") else x - mean
    true = x - x.mean(axes, keepdim=True)
    keep = "root" not in loose
    spread = bug.choose(
        lambda: true.square().mean(axes, keepdim=keep),
        unbiased=lambda: x.var(axes, correction=1, keepdim=keep),
        around_zero=lambda: x.square().mean(axes, keepdim=keep),
        summed=lambda: true.square().sum(axes, keepdim=keep),
        absolute=lambda: true.abs().mean(axes, keepdim=keep).square(),
    )
    size = bug.choose(
        lambda: (spread + eps).sqrt(),
        no_eps=lambda: spread.sqrt(),
        eps_outside=lambda: spread.sqrt() + eps,
        no_root=lambda: spread + eps,
    )
    y = bug.choose(
        lambda: centred / size,
        not_divided=lambda: centred,
        multiplied=lambda: centred * size,
        to_zero_one=lambda: (x - x.amin(-1, True)) / (x.amax(-1, True) - x.amin(-1, True) + eps),
    )
    return bug.choose(
        lambda: g * y + b,
        no_g=lambda: y + b,
        no_b=lambda: g * y,
        no_g_no_b=lambda: y,
        swapped=lambda: b * y + g,
        b_before_g=lambda: g * (y + b),
        g_divides=lambda: y / g + b,
        b_subtracted=lambda: g * y - b,
    )


def _probe(r, *shape: int, eps: float | None = None) -> tuple:
    d = shape[-1]
    x = 2 * r(*shape) + 1
    if eps is not None:  # a token whose features are all equal, as padding often is
        x[(0,) * (len(shape) - 1)] = 2.5
    args = (x, 1 + 0.5 * r(d), r(d))
    return args if eps is None else (*args, eps)


LAYER_NORM = Exercise(
    id="X07-1",
    title="Layer norm by hand",
    see="07, section 3",
    name="layer_norm",
    reference=layer_norm,
    switched=switched,
    gradient=True,
    tolerance=1e-5,
    bugs=(
        *group("axes", MEAN)(
            over_batch="Mean and variance run over the *batch* (dim=0). A token's result then "
            "depends on which sentences happen to lie beside it. Layer norm looks at the features "
            "of one token: dim=-1.",
            batch_norm="Mean and variance are taken for each *feature*, over all tokens of the "
            "batch: that is batch norm. Layer norm looks at the features of one token: dim=-1.",
            over_tokens="Mean and variance run over the tokens of a sentence (dim=-2): words to "
            "come change those before. Layer norm looks at the features of one token: dim=-1.",
            tokens_and_features="Mean and variance are taken of the whole sentence at once, tokens "
            "and features. Each token has its own: dim=-1 alone.",
            everything="One mean and one variance are taken of the whole tensor. Each token has "
            "its own: `x.mean(dim=-1, keepdim=True)`.",
        ),
        *group("keepdim", MEAN)(
            no_keepdim="The last axis is gone after `mean`: (B, N) cannot be taken from (B, N, D), "
            "or, if the sizes happen to fit, the wrong numbers meet. Keep it: `keepdim=True`.",
            no_keepdim_mean="The *mean* has lost its last axis: `keepdim=True`.",
            no_keepdim_root="What you divide by has lost its last axis: `keepdim=True`.",
        ),
        *group("spread", MEAN)(
            unbiased="The variance divides by D − 1. `var` and `std` do that unless told "
            "otherwise: `correction=0` (or `unbiased=False`). It is no estimate of anything here.",
            around_zero="The squares are averaged without taking the mean off first.",
            summed="The squares are summed up. The variance is their *mean*.",
            absolute="The mean distance is taken, without squares and root. σ is the root of the "
            "mean square.",
        ),
        *group("size", ROOT)(
            no_eps="ε is missing. A token whose features are all equal has variance 0, and 0/0 is "
            "NaN, which spreads through the network. Divide by √(variance + ε).",
            eps_outside="ε is added to the root. It belongs inside: √(variance + ε), as PyTorch "
            "does it. For ε = 1e-5 you would hardly see it; the check also asks with 0.1.",
            no_root="The root is missing: you divide by the variance, not by σ.",
        ),
        *group("divide", ROOT)(
            not_divided="The mean is taken off, but nothing is divided by σ.",
            multiplied="x − μ is multiplied by σ. Divide.",
            to_zero_one="The features are squeezed between 0 and 1 by minimum and maximum. Layer "
            "norm takes off the mean and divides by σ.",
        ),
        *group("affine", AFFINE)(
            no_g="g is not used. After the norm every feature is multiplied by its own g.",
            no_b="b is not used. After the norm every feature gets its own b added.",
            no_g_no_b="g and b are not used: g · (normalised x) + b.",
            swapped="g and b have changed places: multiply by g, add b.",
            b_before_g="b is added before g multiplies. First g, then b.",
            g_divides="g divides. It multiplies.",
            b_subtracted="b is subtracted. Add it.",
        ),
        *single(MEAN)(mean_kept="The mean is not taken off: x − μ."),
        *single(ROOT)(
            eps_ignored="ε is always 1e-5, whatever is handed in. Use the argument `eps`."
        ),
    ),
    probes=lambda r: [
        _probe(r, 3, 5, 6),
        _probe(r, 2, 4, 8, eps=0.1),
        _probe(r, 5, 4, eps=1e-5),
        _probe(r, 3, 2, 5, 7),
    ],
    square=lambda r: [_probe(r, 4, 4, 4), _probe(r, 3, 3, eps=0.1)],
    invariants=(
        Invariant(
            "The first sentence changes when only the others do. Every token is on its own.",
            lambda a: (torch.cat([a[0][:1], 2 * a[0][1:] + 1]), *a[1:]),
            lambda result: result[0],
        ),
    ),
    hints=(
        "Every token is on its own: take the mean and the variance of its D features.",
        "`x.mean(dim=-1, keepdim=True)` has shape (B, N, 1), so that it can be taken from x. The "
        "variance is the mean of the squares of what is left.",
        "Divide x − μ by `torch.sqrt(variance + eps)`, multiply by g, add b.",
    ),
    also_right=(
        "def layer_norm(x, g, b, eps=1e-5):\n    return F.layer_norm(x, (x.shape[-1],), g, b, eps)",
        "def layer_norm(x, g, b, eps=1e-5):\n"
        "    var, mu = torch.var_mean(x, dim=-1, keepdim=True, correction=0)\n"
        "    return (x - mu) * torch.rsqrt(var + eps) * g + b",
        "def layer_norm(x, g, b, eps=1e-5):\n"
        "    d = x.size(-1)\n"
        "    x = x - x.sum(-1, keepdim=True) / d\n"
        "    sigma = (torch.einsum('...d,...d->...', x, x) / d + eps) ** 0.5\n"
        "    return torch.addcmul(b, g, x / sigma[..., None])",
        "def layer_norm(x, g, b, eps=1e-5):\n"
        "    rows = []\n"
        "    for row in x.reshape(-1, x.shape[-1]):\n"
        "        mu = row.mean()\n"
        "        rows.append((row - mu) / (((row - mu) ** 2).mean() + eps).sqrt() * g + b)\n"
        "    return torch.stack(rows).view(x.shape)",
    ),
    blank=(
        "def layer_norm(x, g, b, eps=1e-5):\n"
        '    """x (..., D), g and b (D): every token with mean 0 and σ 1, times g, plus b"""\n'
        "    ...\n"
    ),
)
