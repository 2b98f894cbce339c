"""X01-4: the first step in which each state of a stacked RNN can be computed."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

RULE = "what a state has to wait for"


def min_steps(num_layers: int, length: int) -> Tensor:
    steps = torch.zeros(num_layers, length, dtype=torch.long)
    for layer in range(num_layers):
        for t in range(length):
            before = steps[layer, t - 1] if t > 0 else 0  # the state before it in time
            below = steps[layer - 1, t] if layer > 0 else 0  # the state below it
            steps[layer, t] = 1 + max(before, below)
    return steps


def _fill(num_layers, length, rule) -> Tensor:
    steps = torch.zeros(num_layers, length, dtype=torch.long)
    for layer in range(num_layers):
        for t in range(length):
            before = int(steps[layer, t - 1]) if t > 0 else 0
            below = int(steps[layer - 1, t]) if layer > 0 else 0
            steps[layer, t] = rule(before, below)
    return steps


def switched(bug, num_layers: int, length: int) -> Tensor:
    """The same; ``bug`` says which mistakes are on."""
    layer, t = torch.arange(num_layers)[:, None], torch.arange(length)
    steps = bug.choose(
        lambda: _fill(num_layers, length, lambda before, below: 1 + max(before, below)),
        layer_after_layer=lambda: layer * length + t + 1,
        step_after_step=lambda: t * num_layers + layer + 1,
        same_rows=lambda: t + 1 + 0 * layer,
        only_layers=lambda: layer + 1 + 0 * t,
        added=lambda: _fill(num_layers, length, lambda before, below: 1 + before + below),
        minimum=lambda: _fill(num_layers, length, lambda before, below: 1 + min(before, below)),
        product=lambda: (layer + 1) * (t + 1),
        larger_of_both=lambda: torch.maximum(layer, t) + 1,
        two_per_layer=lambda: t + 1 + 2 * layer,
        two_per_step=lambda: 2 * t + 1 + layer,
        both_ones=lambda: layer + t + 2,
        top_first=lambda: (num_layers - 1 - layer) + t + 1,
        from_the_end=lambda: layer + (length - 1 - t) + 1,
        all_ones=lambda: torch.ones(num_layers, length, dtype=torch.long),
        waits_for_whole_layer_once=lambda: torch.where(layer == 0, t + 1, length + layer + 0 * t),
    )
    based = steps - 1 if bug("from-zero") else steps
    return bug.choose(
        lambda: based,
        transposed=lambda: based.T,
        only_top=lambda: based[-1],
        only_last=lambda: based[-1, -1],
        flat=lambda: based.flatten(),
    )


WAITING = Exercise(
    id="X01-4",
    title="How long a state has to wait",
    see="01, section 8",
    name="min_steps",
    reference=min_steps,
    switched=switched,
    bugs=(
        *group("rule", RULE)(
            layer_after_layer="A layer waits until the layer below has read the *whole* sentence. "
            "It need not: as soon as the state below is there, it can go on. The layers work as a "
            "wave.",
            step_after_step="Only one state is computed per step, one time step after the other. "
            "States that do not need each other can be computed together.",
            same_rows="All layers are computed at the same time, but a state in layer 2 needs the "
            "one below it.",
            only_layers="All time steps are computed at once. That is attention; here a state "
            "needs the one before it in time.",
            added="The two waiting times are added. They pass at the same time: take the larger "
            "one.",
            minimum="A state is computed as soon as *one* of its two inputs is there. It needs "
            "both: the larger of the two.",
            product="Layer × time is not how long it waits. Count along the longest path: so many "
            "steps to the right, so many up.",
            larger_of_both="The larger of layer and time is taken. The path goes right *and* up: "
            "the steps add.",
            two_per_layer="Each layer costs two steps. It costs one.",
            two_per_step="Each time step costs two steps. It costs one.",
            both_ones="It is one too many everywhere: the very first state is there after step 1.",
            top_first="The layers are in the wrong order: row 0 is the lowest, next to the input.",
            from_the_end="The time runs backwards: column 0 is the first token.",
            all_ones="Every state is computed in the first step, as if none needed another.",
            waits_for_whole_layer_once="Layer 1 is right, but above it all states of a layer come "
            "at once after the whole sentence. They come in a wave, one step behind the layer "
            "below.",
        ),
        *single("the first state")(from_zero="It counts from 0. The first state needs 1 step."),
        *group("shape", "the last line")(
            transposed="Rows and columns are swapped: one row per layer, one column per token.",
            only_top="Only the top layer comes back. Return the whole table.",
            only_last="Only the last state's step comes back. Return the whole table.",
            flat="The table has lost its shape: return (num_layers, length).",
        ),
    ),
    probes=lambda r: [(2, 6), (3, 4), (1, 5), (5, 3)],
    hints=(
        "Which two states does the state in layer 2 at time 4 need? When are they ready?",
        "One more than the later of the two: the state before it in time and the state below it.",
        "A double loop with `steps[layer, t] = 1 + max(before, below)`; what lies outside the "
        "table costs 0.",
    ),
    also_right=(
        """
def min_steps(num_layers, length):
    return torch.arange(num_layers)[:, None] + torch.arange(length) + 1
""",
        """
def min_steps(num_layers, length):
    return torch.tensor([[l + t + 1 for t in range(length)] for l in range(num_layers)])
""",
        """
def min_steps(num_layers, length):
    first = torch.arange(1, length + 1)
    rows = [first]
    while len(rows) < num_layers:
        rows.append(rows[-1] + 1)
    return torch.stack(rows)
""",
        """
def min_steps(num_layers, length):
    return torch.ones(num_layers, length).cumsum(0) + torch.ones(num_layers, length).cumsum(1) - 1
""",
    ),
    blank="def min_steps(num_layers, length):\n    ...\n",
)
