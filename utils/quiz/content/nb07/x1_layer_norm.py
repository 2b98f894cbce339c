"""X07-1: layer norm by hand."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, Mistake, bug


def layer_norm(x: Tensor, g: Tensor, b: Tensor, eps: float = 1e-5) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)  # one number for each token
    centred = x - mean
    variance = centred.square().mean(dim=-1, keepdim=True)
    root = torch.sqrt(variance + eps)
    return g * (centred / root) + b


def _probe(r, *shape: int, eps: float | None = None) -> tuple:
    """With a token whose features are nearly equal: there ε matters, and rounding does not."""
    x = 2 * r(*shape) + 1
    x[(0,) * (len(shape) - 1)] = 1.5 + 0.1 * r(shape[-1])
    args = (x, 1 + 0.5 * r(shape[-1]), r(shape[-1]))
    return args if eps is None else (*args, eps)


def _finish(student) -> None:
    """A token whose features are all equal is no trap: 0 / √ε is 0."""
    x = torch.full((1, 2, 4), 2.5)
    if not torch.isfinite(student(x, torch.ones(4), torch.zeros(4), 1e-5)).all():
        raise Mistake("no-eps", NO_EPS)


NO_EPS = (
    "ε has no effect. A token whose features are all equal has variance 0, and 0/0 is NaN, which "
    "spreads through the whole network. ε under the root keeps the divisor above 0."
)
EXERCISE = Exercise(
    id="X07-1",
    title="Layer norm by hand",
    see="07, section 3",
    name="layer_norm",
    reference=layer_norm,
    gradient=True,
    finish=_finish,
    bugs=(
        bug(
            "over-batch",
            "Mean and variance run over the *batch*. A token's result then depends on which "
            "sentences happen to lie beside it. Layer norm looks at the features of one token.",
            ("dim=-1", "dim=0"),
        ),
        bug(
            "batch-norm",
            "Mean and variance are taken for each *feature*, over all tokens of the batch: that is "
            "batch norm. Layer norm looks at the features of one token alone.",
            ("dim=-1", "dim=tuple(range(x.dim() - 1))"),
        ),
        bug(
            "over-tokens",
            "Mean and variance run over the tokens of a sentence: words to come change those "
            "before. Layer norm looks at the features of one token.",
            ("dim=-1", "dim=-2"),
        ),
        bug(
            "everything",
            "One mean and one variance are taken of the whole tensor. Each token has its own.",
            ("x.mean(dim=-1, keepdim=True)", "x.mean()"),
            ("square().mean(dim=-1, keepdim=True)", "square().mean()"),
        ),
        bug(
            "unbiased",
            "The variance divides by D − 1, as `var` and `std` do unless told otherwise. It is no "
            "estimate of anything here: the D features are all there is.",
            ("centred.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
        ),
        bug("no-eps", NO_EPS, ("variance + eps", "variance")),
        bug(
            "eps-outside",
            "ε is added to the root. It belongs under it. For ε = 1e-5 you would hardly see the "
            "difference; the check also asks with 0.1.",
            ("torch.sqrt(variance + eps)", "torch.sqrt(variance) + eps"),
        ),
        bug(
            "eps-ignored",
            "ε is always 1e-5, whatever is handed in. Use the argument.",
            ("variance + eps", "variance + 1e-5"),
        ),
        bug(
            "to-zero-one",
            "The features are squeezed between 0 and 1 by minimum and maximum. Layer norm takes "
            "off the mean and divides by the standard deviation.",
            ("centred / root", "(x - x.amin(-1, True)) / (x.amax(-1, True) - x.amin(-1, True))"),
        ),
        bug(
            "rms-norm",
            "The mean is never taken off, only the size is made 1. That is RMSNorm, which later "
            "models use; layer norm centres the features first.",
            ("x - mean", "x"),
        ),
    ),
    steps={
        "x.mean(dim=-1, keepdim=True)": "Every token is on its own: the mean is of its features.",
        "x - mean": "After the norm the features of a token have mean 0.",
        "centred.square().mean(dim=-1, keepdim=True)": "The variance is the mean of the squares of "
        "what is left when the mean is gone, one number for each token.",
        "torch.sqrt(variance + eps)": "The divisor is the standard deviation, the root of the "
        "variance; ε under the root keeps it above 0.",
        "g * (centred / root) + b": "Each feature is divided by the standard deviation of its "
        "token, then stretched by its own g and shifted by its own b.",
    },
    probes=lambda r: [_probe(r, 3, 5, 6), _probe(r, 2, 4, 8, eps=0.1), _probe(r, 1, 5, 4)],
    square=lambda r: [_probe(r, 4, 4, 4), _probe(r, 3, 3, 3, eps=0.1)],
    wider=lambda r: {
        "It takes (B, N, D) only. Axes counted from the end (`-1`) would also take tokens without "
        "a batch, (N, D), and a cell below has some.": (r(5, 4), r(4), r(4)),
        "It takes no axis more than (B, N, D).": (r(3, 2, 5, 7), r(7), r(7)),
    },
    hints=(
        "Every token is on its own: take the mean and the variance of its D features.",
        "`x.mean(dim=-1, keepdim=True)` has shape (B, N, 1), so that it can be taken from x. The "
        "variance is the mean of the squares of what is left.",
        "Divide x − μ by `torch.sqrt(variance + eps)`, multiply by g, add b.",
    ),
    also_right=(
        "def layer_norm(x, g, b, eps=1e-5):\n    return F.layer_norm(x, (x.shape[-1],), g, b, eps)",
        """
def layer_norm(x, g, b, eps=1e-5):
    var, mu = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return (x - mu) * torch.rsqrt(var + eps) * g + b
""",
        """
def layer_norm(x, g, b, eps=1e-5):
    d = x.size(-1)
    x = x - x.sum(-1, keepdim=True) / d
    sigma = (torch.einsum('...d,...d->...', x, x) / d + eps) ** 0.5
    return torch.addcmul(b, g, x / sigma[..., None])
""",
        """
def layer_norm(x, g, b, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True, unbiased=False)
    return g * (x - mean) / (std ** 2 + eps) ** 0.5 + b
""",
    ),
    blank="def layer_norm(x, g, b, eps=1e-5):\n"
    '    """x (..., D), g and b (D): every token with mean 0 and σ 1, times g, plus b"""\n'
    "    ...\n",
)
