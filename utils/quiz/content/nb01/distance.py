"""X01-2: how much the last output depends on a token n steps back."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from utils.quiz.bugs import group, told
from utils.quiz.exercise import Exercise, Mistake

LAST = "the number that is differentiated"
SIZE = "how the gradient (B, N, D) becomes one number for each position"


def grad_by_distance(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.detach().clone().requires_grad_()
    (grad,) = torch.autograd.grad(model(x)[:, -1].sum(), x)  # (B, N, D)
    sizes = grad.norm(dim=-1).mean(dim=0)  # (N), in the order of time
    return sizes.flip(0)  # (N), in the order of distance


def _gradients(model, x, number) -> Tensor:
    x = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(number(model(x)), x)[0]


def _jacobian_size(model, x) -> Tensor:
    """The length of all partial derivatives of the last output together: (B, N)."""
    width = model(x).shape[-1]
    each = [_gradients(model, x, lambda out, i=i: out[:, -1, i].sum()) for i in range(width)]
    return torch.stack(each).pow(2).sum(dim=(0, -1)).sqrt()


def switched(bug, model, x: Tensor) -> Tensor:
    """The same; ``bug`` says which mistakes are on."""
    number = bug.choose(
        lambda: lambda out: out[:, -1].sum(),
        all_steps=lambda: lambda out: out.sum(),
        first_step=lambda: lambda out: out[:, 0].sum(),
        one_feature=lambda: lambda out: out[:, -1, 0].sum(),
        last_feature=lambda: lambda out: out[:, :, -1].sum(),
        last_sample=lambda: lambda out: out[-1].sum(),
        one_corner=lambda: lambda out: out[-1, -1].sum(),
        mean_of_output=lambda: lambda out: out[:, -1].mean(),
        squared_output=lambda: lambda out: out[:, -1].pow(2).sum(),
        norm_of_output=lambda: lambda out: out[:, -1].norm(),
        second_to_last=lambda: lambda out: out[:, -2].sum(),
    )
    grad = _gradients(model, x, number)  # (B, N, D)
    sizes = bug.choose(
        lambda: grad.norm(dim=-1).mean(dim=0),
        no_norm=lambda: grad.sum(dim=-1).mean(dim=0),
        mean_not_norm=lambda: grad.mean(dim=-1).mean(dim=0),
        absolute=lambda: grad.abs().sum(dim=-1).mean(dim=0),
        mean_absolute=lambda: grad.abs().mean(dim=(0, -1)),
        no_root=lambda: grad.pow(2).sum(dim=-1).mean(dim=0),
        root_of_mean=lambda: grad.pow(2).sum(dim=-1).mean(dim=0).sqrt(),
        largest=lambda: grad.abs().amax(dim=-1).mean(dim=0),
        batch_in_norm=lambda: grad.norm(dim=(0, 2)),
        samples_added_first=lambda: grad.sum(dim=0).norm(dim=-1),
        samples_averaged_first=lambda: grad.mean(dim=0).norm(dim=-1),
        batch_summed=lambda: grad.norm(dim=-1).sum(dim=0),
        per_sample=lambda: grad.norm(dim=-1),
        first_sample=lambda: grad[0].norm(dim=-1),
        norm_over_time=lambda: grad.norm(dim=1).mean(dim=0),
        norm_over_batch=lambda: grad.norm(dim=0).mean(dim=-1),
        one_number=lambda: grad.norm(),
        raw_gradient=lambda: grad,
        whole_jacobian=lambda: _jacobian_size(model, x).mean(dim=0),
    )
    turned = bug.choose(
        lambda: sizes.flip(-1) if sizes.dim() else sizes,
        time_order=lambda: sizes,
        sorted_by_size=lambda: sizes.sort(descending=True).values,
    )
    return bug.choose(
        lambda: turned,
        relative=lambda: turned / turned[..., :1],
        relative_to_one=lambda: turned / turned[..., 1:2],
        starts_at_one=lambda: turned[..., 1:],
    )


class Recurrent(nn.Module):
    """A small tanh RNN with given weights, (B, N, D) to (B, N, H)."""

    def __init__(self, w_ih: Tensor, w_hh: Tensor):
        super().__init__()
        self.w_ih, self.w_hh = nn.Parameter(w_ih), nn.Parameter(w_hh)

    def forward(self, x: Tensor) -> Tensor:
        h, states = x.new_zeros(x.shape[0], len(self.w_hh)), []
        for token in x.unbind(dim=1):
            h = torch.tanh(token @ self.w_ih.T + h @ self.w_hh.T)
            states.append(h)
        return torch.stack(states, dim=1)


def _call(student, model, x: Tensor):
    """Twice on the same tensors: gradients that add up over calls show in the second answer."""
    for parameter in model.parameters():
        parameter.grad = None
    first = student(model, x)
    second = student(model, x)
    if isinstance(first, Tensor) and isinstance(second, Tensor) and first.shape == second.shape:
        if not torch.allclose(first, second, rtol=1e-3, atol=1e-6):
            raise Mistake("accumulates")
    return second


def _probe(r, batch: int, length: int, width: int, hidden: int) -> tuple:
    # `grad_outputs` makes torch import a large part of itself the first time it is used.  It must
    # not happen while a student's seconds are counted, so it happens here.
    one = torch.ones(1, requires_grad=True)
    with torch.enable_grad():
        torch.autograd.grad(2 * one, one, grad_outputs=torch.ones(1))
    model = Recurrent(0.6 * r(hidden, width), 0.5 * r(hidden, hidden))
    return model, r(batch, length, width)


DISTANCE = Exercise(
    id="X01-2",
    title="Influence against distance",
    see="01, section 5",
    name="grad_by_distance",
    reference=grad_by_distance,
    switched=switched,
    call=_call,
    tolerance=1e-5,
    bugs=(
        *group("number", LAST)(
            all_steps="The outputs of *all* time steps are differentiated. Each of them is close "
            "to some token, so the curve no longer shows the distance. Take the last: `[:, -1]`.",
            first_step="The first output is differentiated. It has seen only the first token.",
            second_to_last="The last output but one is differentiated.",
            one_feature="Only one feature of the last output is differentiated. Sum over all of "
            "them.",
            last_feature="`[:, :, -1]` is the last *feature* at all times. The last time step is "
            "`[:, -1]`.",
            last_sample="`out[-1]` is the last *sequence of the batch*, at all times. The last "
            "time step is `[:, -1]`.",
            one_corner="Only the last sequence of the batch is differentiated. Take all: `[:, "
            "-1]`.",
            mean_of_output="The output is averaged, so everything is too small by a constant "
            "factor. Take the sum.",
            squared_output="The output is squared first, which brings in its own size. "
            "Differentiate the plain sum.",
            norm_of_output="The norm of the output is differentiated. Take the plain sum; the norm "
            "comes after, of the gradient.",
        ),
        *group("size", SIZE)(
            no_norm="The gradient's entries are summed with their signs, so they cancel out. Take "
            "the norm over the features.",
            mean_not_norm="The gradient's entries are averaged with their signs, so they cancel "
            "out. Take the norm over the features.",
            absolute="Absolute values are summed. The norm is the root of the sum of squares.",
            mean_absolute="Absolute values are averaged. Take the norm over the features.",
            no_root="The squares are summed, but the root is missing.",
            root_of_mean="The root is taken after the mean over the batch. First each sequence's "
            "own norm, then the mean.",
            largest="The largest entry is taken. Take the norm over the features.",
            batch_in_norm="The whole batch goes into one norm, which mixes the sequences and grows "
            "with their number. First the norm over the features, then the mean over the batch.",
            samples_added_first="The gradients of the sequences are added before the norm, so they "
            "cancel each other. First the norm, then the mean over the batch.",
            samples_averaged_first="The gradients of the sequences are averaged before the norm, "
            "so they cancel each other. First the norm, then the mean.",
            batch_summed="The norms are summed over the batch. Take their mean, so that the batch "
            "size does not matter.",
            per_sample="There is one curve for each sequence. Take the mean over the batch.",
            first_sample="Only the first sequence of the batch is used.",
            norm_over_time="The norm runs over time, so that one number per *feature* is left. It "
            "runs over the features, `dim=-1`.",
            norm_over_batch="The norm runs over the batch. It runs over the features, `dim=-1`.",
            one_number="The norm of the whole gradient is one number. We want one per position.",
            raw_gradient="The gradient itself comes back. Take its norm over the features and the "
            "mean over the batch.",
            whole_jacobian="Each feature's gradient is taken on its own and their sizes are put "
            "together. That is a fair measure too, but here the *sum* of the output is asked for.",
        ),
        *group("order", "the last line")(
            time_order="The order is that of time: the first entry belongs to the first token, the "
            "farthest away. Distance 0 is the last token: `flip(0)`.",
            sorted_by_size="The numbers are sorted by size. Then every curve falls, whatever the "
            "network does. Flip the order of time instead.",
        ),
        *group("scale", "the last line")(
            relative="The curve is divided by its first value. Return the sizes as they are.",
            relative_to_one="The curve is divided by its second value. Return the sizes as they "
            "are.",
            starts_at_one="Distance 0, the last token itself, is left out.",
        ),
        *told("where x gets its gradient")(
            accumulates="Called twice with the same x it gives two different answers: `backward()` "
            "*adds* to `x.grad`. Work on a fresh copy, `x.detach().clone().requires_grad_()`, or "
            "use `torch.autograd.grad`."
        ),
    ),
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
    copy = x.clone().detach().requires_grad_(True)
    model(copy)[:, -1, :].sum().backward()
    return torch.flip(copy.grad.norm(dim=2).mean(dim=0), dims=[0])
""",
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
    total = 0
    for one in x:
        one = one[None].clone().requires_grad_()
        g = torch.autograd.grad(model(one)[0, -1].sum(), one)[0][0]
        total = total + torch.linalg.vector_norm(g, dim=-1)
    return total.flip(0) / len(x)
""",
    ),
    blank="def grad_by_distance(model, x):\n    ...\n",
)
