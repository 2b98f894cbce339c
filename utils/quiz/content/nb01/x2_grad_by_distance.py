"""X01-2: how much the last output depends on a token n steps back."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from utils.quiz.exercise import Exercise, Mistake, bug


def grad_by_distance(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.detach().clone().requires_grad_()
    last = model(x)[:, -1]  # (B, H)
    (grad,) = torch.autograd.grad(last.sum(), x)  # (B, N, D)
    sizes = grad.norm(dim=-1)  # (B, N)
    influence = sizes.mean(dim=0)  # (N), in the order of time
    return influence.flip(0)  # (N), in the order of distance


class Recurrent(nn.RNN):
    """A small RNN that gives its states only, (B, N, D) to (B, N, H)."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[0]


@torch.enable_grad()
def _call(student, model, x: Tensor):
    """Twice on the same tensors: gradients that add up over calls show in the second answer."""
    first, second = student(model, x), student(model, x)
    both = isinstance(first, Tensor) and isinstance(second, Tensor) and first.shape == second.shape
    if both and not torch.allclose(first, second, rtol=1e-3, atol=1e-6, equal_nan=True):
        raise Mistake(
            "accumulates",
            "Called twice with the same x it gives two different answers: `backward()` *adds* to "
            "`x.grad`, so the second call still holds what the first has left. Work on a copy of x "
            "that belongs to nobody else.",
        )
    return second


def _probe(r, batch: int, length: int, width: int, hidden: int) -> tuple:
    model = Recurrent(width, hidden, batch_first=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * r(*parameter.shape))
    with torch.enable_grad():  # the first `grad_outputs` imports for long: not in a student's time
        one = torch.ones(1, requires_grad=True)
        torch.autograd.grad(2 * one, one, grad_outputs=torch.ones(1))
    return model, r(batch, length, width)


EXERCISE = Exercise(
    id="X01-2",
    title="Influence against distance",
    see="01, section 5",
    name="grad_by_distance",
    reference=grad_by_distance,
    call=_call,
    tolerance=1e-5,
    bugs=(
        bug(
            "all-steps",
            "The outputs of *all* time steps are differentiated. Each of them is close to some "
            "token, so the curve no longer shows the distance.",
            ("model(x)[:, -1]", "model(x)"),
        ),
        bug(
            "last-sample",
            "`out[-1]` is the last *sequence of the batch*, at all times. Time is axis 1.",
            ("[:, -1]", "[-1]"),
        ),
        bug(
            "batch-in-norm",
            "The whole batch goes into one norm, which mixes the sequences and grows with their "
            "number. Each sequence has a norm of its own.",
            ("grad.norm(dim=-1)", "grad.norm(dim=(0, 2))[None]"),
        ),
        bug(
            "samples-averaged-first",
            "The gradients of the sequences are averaged before the norm, so they cancel each "
            "other. Sizes can be averaged, directions cannot.",
            ("grad.norm(dim=-1)", "grad.mean(dim=0, keepdim=True).norm(dim=-1)"),
        ),
        bug(
            "sorted-by-size",
            "The numbers are sorted by size. Then every curve falls, whatever the network does. "
            "The order is that of the distance.",
            ("influence.flip(0)", "influence.sort(descending=True).values"),
        ),
        bug(
            "relative",
            "The curve is divided by its first value. The sizes are asked for as they are.",
            ("influence.flip(0)", "influence.flip(0) / influence[-1]"),
        ),
    ),
    steps={
        "requires_grad_()": "x has to ask for a gradient, on a copy, so that calls stay apart.",
        "model(x)[:, -1]": "Only the *last* output counts: the distance is measured from there.",
        "torch.autograd.grad(last.sum(), x)": "A gradient is taken of one number, here the plain "
        "sum of the last output's features, and with respect to the input.",
        "grad.norm(dim=-1)": "The norm over a token's features gives one size for each token; "
        "entries with signs would cancel out.",
        "sizes.mean(dim=0)": "The mean over the batch leaves one number for each position, "
        "whatever the batch size.",
        "influence.flip(0)": "Distance 0 is the last token, so the order of time is turned round.",
    },
    probes=lambda r: [_probe(r, 3, 6, 4, 5), _probe(r, 2, 5, 3, 7), _probe(r, 4, 3, 5, 2)],
    hints=(
        "`x` has to ask for gradients: make a fresh copy with "
        "`x.detach().clone().requires_grad_()`.",
        "`torch.autograd.grad(model(x)[:, -1].sum(), x)` gives a tuple with one gradient (B, N, "
        "D).",
        "Norm over the features (`dim=-1`), mean over the batch (`dim=0`), and `flip(0)`, because "
        "distance 0 is the last token.",
    ),
    also_right=(
        """
def grad_by_distance(model, x):
    x.requires_grad_(True)
    x.grad = None
    model(x)[:, -1].sum().backward()
    sizes = (x.grad ** 2).sum(-1).sqrt().mean(0)
    return torch.stack([sizes[len(sizes) - 1 - n] for n in range(len(sizes))])
""",
        """
def grad_by_distance(model, x):
    copy = x.clone().detach().requires_grad_(True)
    model(copy)[:, -1, :].sum().backward()
    return torch.flip(copy.grad.norm(dim=2).mean(dim=0), dims=[0])
""",
        """
def grad_by_distance(model, x):
    g = torch.autograd.functional.jacobian(lambda z: model(z)[:, -1].sum(), x)
    return torch.linalg.vector_norm(g, dim=-1).mean(0).flip(0)
""",
    ),
    blank="def grad_by_distance(model, x):\n    ...\n",
)
