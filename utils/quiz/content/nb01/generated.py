"""Generated questions of notebook 01: fresh numbers, and wrong options that know their mistake."""

from __future__ import annotations

import random

from utils.quiz.content.nb01.x3_receptive_field import EXERCISE as FIELD
from utils.quiz.content.nb01.x4_min_steps import EXERCISE as WAITING
from utils.quiz.questions import Generated, Option, no, yes


def field_of_a_stack(r: random.Random) -> tuple[str, Option, list[Option]]:
    """Some layers, a kernel, a stride: how many inputs does one output see?"""
    numbers = r.randint(2, 5), r.choice((2, 3, 5)), r.choice((1, 2, 3))
    layers, kernel, stride = numbers
    text = (
        f"{layers} convolution layers with kernel {kernel} and stride {stride} on top of each "
        "other: how many inputs can one output see?"
    )
    right = yes(
        str(FIELD.right(*numbers)),
        "From the output downwards, each layer stretches the gaps by the stride and adds the rest "
        "of a window: f becomes (f - 1) · stride + kernel.",
    )
    names = [
        "overlap-counted",
        "power",
        "stride-ignored",
        "not-itself",
        "stride-once",
        "only-stride",
    ]
    wrong = [no(str(FIELD.wrong(n, *numbers)), **{n: FIELD.bug(n).says}) for n in names]
    return text, right, [option for option in wrong if option.text != right.text]


def step_of_a_state(r: random.Random) -> tuple[str, Option, list[Option]]:
    """A state in a stacked RNN: in which step can it be computed at the earliest?"""
    num_layers, length = r.randint(2, 4), r.randint(5, 9)
    layer, t = r.randint(2, num_layers), r.randint(3, length - 1)

    def at(table) -> str:
        return str(int(table[layer - 1, t - 1]))

    text = (
        f"An RNN with {num_layers} layers reads {length} tokens from left to right. In which step "
        f"can the state of layer {layer} at time {t} be computed at the earliest?"
    )
    right = yes(
        at(WAITING.right(num_layers, length)),
        f"{t} steps along the lowest layer and {layer - 1} up: the layers follow as a wave.",
    )
    names = ["layer-after-layer", "same-rows", "only-layers", "product", "from-zero", "both-ones"]
    tables = {name: WAITING.wrong(name, num_layers, length) for name in names}
    wrong = [no(at(table), **{n: WAITING.bug(n).says}) for n, table in tables.items()]
    return text, right, [option for option in wrong if option.text != right.text]


GENERATED = (
    Generated(id="G01-1", title="A receptive field", see="01, section 9", make=field_of_a_stack),
    Generated(id="G01-2", title="The step of a state", see="01, section 8", make=step_of_a_state),
)
