"""X07-2: the feed-forward network of a block."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.models.transformer import FeedForward
from utils.quiz.bugs import group, told
from utils.quiz.content.nb07.made import INIT, general, made
from utils.quiz.exercise import Exercise, Invariant, Mistake

FORWARD = "`forward`"
Weights = dict[str, Tensor]


class FFN(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x)))


def feed_forward(w: Weights, x: Tensor) -> Tensor:
    return F.relu(x @ w["up"].T + w["b_up"]) @ w["down"].T + w["b_down"]


def switched(bug, w: Weights, x: Tensor) -> Tensor:
    """Widen, ReLU, come back; ``bug`` says which mistakes are on."""

    def up(t):
        return t @ w["up"].T + w["b_up"]

    def down(t):
        return t @ w["down"].T + w["b_down"]

    y = bug.choose(
        lambda: down(F.relu(up(x))),
        no_activation=lambda: down(up(x)),
        activation_last=lambda: F.relu(down(up(x))),
        activation_twice=lambda: F.relu(down(F.relu(up(x)))),
        activation_first=lambda: down(up(F.relu(x))),
        gelu=lambda: down(F.gelu(up(x))),
        silu=lambda: down(F.silu(up(x))),
        leaky=lambda: down(F.leaky_relu(up(x))),
        sigmoid=lambda: down(up(x).sigmoid()),
        tanh=lambda: down(up(x).tanh()),
        softmax=lambda: down(up(x).softmax(-1)),
        softmax_last=lambda: down(F.relu(up(x))).softmax(-1),
        absolute=lambda: down(up(x).abs()),
        stays_wide=lambda: F.relu(up(x)),
    )
    y = bug.choose(
        lambda: y,
        residual=lambda: x + y,
        normalised=lambda: F.layer_norm(y, y.shape[-1:]),
    )
    return bug.choose(
        lambda: y,
        mean_of_tokens=lambda: y.mean(1),
        sum_of_tokens=lambda: y.sum(1),
        first_of_batch=lambda: y[0],
    )


def fill(named: Iterable[tuple[str, nn.Parameter]], w: Weights) -> None:
    """Copy the weights into the parameters of a feed-forward network, found by their sizes."""
    wide, d = w["up"].shape
    named = list(named)
    if any(isinstance(p, nn.parameter.UninitializedParameter) for _, p in named):
        raise Mistake("lazy-layers")
    matrices = [(name, p) for name, p in named if p.dim() > 1]
    shapes = [tuple(p.shape[:2]) for _, p in matrices]
    if len(shapes) == 1:
        raise Mistake("single-linear")
    if len(shapes) > 2:
        raise Mistake("extra-layer", f"Yours: {', '.join(f'`{name}`' for name, _ in matrices)}.")
    if sorted(shapes) != sorted([(wide, d), (d, wide)]):
        if any(size == 4 * d for shape in shapes for size in shape):
            raise Mistake("width-fixed")
        if all(size == d for shape in shapes for size in shape):
            raise Mistake("no-widening")
        raise Mistake("wrong-sizes", f"Yours: {', '.join(map(str, shapes))}.")
    with torch.no_grad():
        for place, (name, p) in enumerate(matrices):
            if name.endswith("weight"):  # a Linear, or a convolution of one token
                source = w["up"] if p.shape[0] == wide else w["down"]
            else:  # a bare parameter: the first one widens
                source = w["down" if place else "up"]
                source = source if source.shape == p.shape else source.T
            p.copy_(source.reshape(p.shape))
        biases = {p.numel(): p for _, p in named if p.dim() == 1}
        if set(biases) != {wide, d}:
            raise Mistake("no-bias")
        biases[wide].copy_(w["b_up"])
        biases[d].copy_(w["b_down"])


def watch(module: nn.Module, n: int, d: int, wide: int) -> None:
    """Name what goes wrong before a layer says only that two sizes do not fit."""

    def look(layer: nn.Linear, args: tuple) -> None:
        width = args[0].shape[-1] if args and isinstance(args[0], Tensor) else layer.in_features
        if width == layer.in_features:
            return
        if width == n * d:
            raise Mistake("flattens-tokens")
        if width == n:
            raise Mistake("axes-exchanged")
        if {width, layer.in_features} == {d, wide}:
            raise Mistake("layers-exchanged")

    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_pre_hook(look)


def call(student, w: Weights, x: Tensor):
    wide, d = w["up"].shape
    module = made(student, d, wide)
    fill(module.named_parameters(), w)
    watch(module, x.shape[1], d, wide)
    return module(x)


def finish(student) -> str | None:
    size = sum(p.numel() for p in student(6, 10).parameters())
    if size != 2 * 6 * 10 + 6 + 10:
        return f"With sizes 6 and 10 it has {size} parameters; two layers and biases make 136."
    return None


def weights(r, d: int, wide: int) -> Weights:
    return {
        "up": r(wide, d) / d**0.5,
        "b_up": 0.5 * r(wide),
        "down": r(d, wide) / wide**0.5,
        "b_down": 0.5 * r(d),
    }


OTHER = "The activation between the layers is {}. Here it is ReLU, as in the paper of 2017."
FFN_EXERCISE = Exercise(
    id="X07-2",
    title="The feed-forward network",
    see="07, section 4",
    name="FFN",
    reference=FFN,
    library=FeedForward,
    switched=switched,
    call=call,
    finish=finish,
    bugs=(
        *group("activation", FORWARD)(
            no_activation="There is no activation between the two layers. Two matrix products in a "
            "row are *one* matrix product, so the wide layer adds nothing. ReLU goes between.",
            activation_last="ReLU comes after the second layer, so no output can be negative, and "
            "the two layers before it are one. It goes between them.",
            activation_twice="There is a second ReLU at the end, so no output can be negative. "
            "Only one, between the layers.",
            activation_first="ReLU comes before the first layer and throws away half of x. It goes "
            "between the layers.",
            gelu=OTHER.format("GELU") + " (BERT and ViT take GELU; both work.)",
            silu=OTHER.format("SiLU"),
            leaky=OTHER.format("a leaky ReLU"),
            sigmoid=OTHER.format("a sigmoid"),
            tanh=OTHER.format("tanh"),
            softmax=OTHER.format("a softmax") + " This is no attention: nothing is shared out.",
            softmax_last="There is a softmax at the end. A block hands on vectors, not chances.",
            absolute="Negative numbers become positive. ReLU makes them 0.",
            stays_wide="The second layer is not used: the output has the width d_ff. Come back to "
            "d_model, so that x can be added.",
        ),
        *group("after", FORWARD)(
            residual="x is added to the output. That is the residual, which the block does "
            "(section 5); here only the network.",
            normalised="The output is normalised. That is the block's business (section 5).",
        ),
        *group("tokens", FORWARD)(
            mean_of_tokens="The tokens are averaged. Every token keeps its own vector.",
            sum_of_tokens="The tokens are summed up. Every token keeps its own vector.",
            first_of_batch="Only the first sentence of the batch comes back.",
        ),
        *told(INIT, "07, section 4")(
            single_linear='There is one layer. A slide says "simply multiply by a weight matrix", '
            "but it is two of them with a ReLU between: d_model → d_ff → d_model."
        ),
        *told(FORWARD)(
            flattens_tokens="The tokens of a sentence are flattened into one long vector. The "
            "network works on each token *by itself*; `nn.Linear` takes (B, N, D) as it is.",
            axes_exchanged="Tokens and features have changed places before a layer: it would mix "
            "the tokens. `nn.Linear` works on the last axis, which is D.",
        ),
        *told(INIT)(
            layers_exchanged="A layer gets a vector of the wrong width. The first goes from "
            "d_model to d_ff, the second from d_ff back to d_model: `nn.Linear(d_in, d_out)`.",
            no_widening="Both layers go from d_model to d_model. In between it is d_ff wide.",
            width_fixed="The width between the layers is 4 · d_model, whatever is handed in. Use "
            "d_ff.",
            extra_layer="There are more than two layers: d_model → d_ff → d_model.",
            wrong_sizes="The layers have other sizes than d_model → d_ff → d_model.",
            no_bias="A bias is missing. W₁ x + b₁ and W₂ h + b₂: `nn.Linear` has it by default, "
            "and 2·d·d_ff + d_ff + d numbers are learnt.",
            lazy_layers="Give the layers their sizes: `nn.Linear(d_model, d_ff)`.",
        ),
        *general("X07-2", "FFN"),
    ),
    probes=lambda r: [(weights(r, 6, 14), r(3, 5, 6)), (weights(r, 8, 10), r(2, 4, 8))],
    invariants=(
        Invariant(
            "The first token changes when only the others do: the network mixes the tokens.",
            lambda a: (a[0], torch.cat([a[1][:, :1], a[1][:, 1:] + 1], dim=1)),
            lambda result: result[:, 0],
        ),
    ),
    hints=(
        "Two `nn.Linear`: from d_model to d_ff, and from d_ff back to d_model.",
        "`nn.Linear` works on the last axis and leaves B and N alone, so every token goes through "
        "by itself. No loop, no reshape.",
        "`return self.down(torch.relu(self.up(x)))`",
    ),
    also_right=(
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)
""",
        """
class FFN(nn.Sequential):
    def __init__(self, d, f):
        super().__init__(nn.Linear(d, f), nn.ReLU(), nn.Dropout(0.1), nn.Linear(f, d))
""",
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super(FFN, self).__init__()
        self.w2 = nn.Linear(d_ff, d_model)
        self.w1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.w2(self.dropout(self.w1(x).clamp(min=0)))
""",
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(d_model, d_ff) * 0.02)
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.w2 = nn.Parameter(torch.randn(d_ff, d_model) * 0.02)
        self.b2 = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return F.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2
""",
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)

    def forward(self, x):
        return self.conv2(F.relu(self.conv1(x.transpose(1, 2)))).transpose(1, 2)
""",
    ),
    blank=(
        "class FFN(nn.Module):\n    def __init__(self, d_model, d_ff):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
