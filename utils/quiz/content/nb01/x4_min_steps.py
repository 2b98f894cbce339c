"""X01-4: the first step in which each state of a stacked RNN can be computed."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def min_steps(num_layers: int, length: int) -> Tensor:
    steps = torch.zeros(num_layers, length, dtype=torch.long)
    for layer in range(num_layers):
        for t in range(length):
            before = steps[layer, t - 1] if t > 0 else 0  # the state before it in time
            below = steps[layer - 1, t] if layer > 0 else 0  # the state below it
            steps[layer, t] = 1 + max(before, below)
    return steps


EXERCISE = Exercise(
    id="X01-4",
    title="How long a state has to wait",
    see="01, section 8",
    name="min_steps",
    reference=min_steps,
    bugs=(
        bug(
            "layer-after-layer",
            "A layer waits until the layer below has read the *whole* sentence. It need not: as "
            "soon as the state below is there, it can go on. The layers work as a wave.",
            ("max(before, below)", "layer * length + t"),
        ),
        bug(
            "step-after-step",
            "Only one state is computed per step, one time step after the other. States that do "
            "not need each other can be computed together.",
            ("max(before, below)", "t * num_layers + layer"),
        ),
        bug(
            "waits-for-whole-layer-once",
            "The lowest layer is right, but above it all states of a layer come at once after the "
            "whole sentence. They come in a wave, one step behind the layer below.",
            ("1 + max(before, below)", "t + 1 if layer == 0 else length + layer"),
        ),
        bug(
            "same-rows",
            "All layers are computed at the same time, but a state in layer 2 needs the one below "
            "it.",
            ("max(before, below)", "before"),
        ),
        bug(
            "only-layers",
            "All time steps are computed at once. That is attention; here a state needs the one "
            "before it in time.",
            ("max(before, below)", "below"),
        ),
        bug(
            "added",
            "The two waiting times are added. They pass at the same time, so only the longer one "
            "counts.",
            ("max(before, below)", "before + below"),
        ),
        bug(
            "product",
            "Layer × time is not how long it waits. Count along the longest path: so many steps to "
            "the right, so many up.",
            ("1 + max(before, below)", "(layer + 1) * (t + 1)"),
        ),
        bug(
            "both-ones",
            "It is one too many everywhere: the very first state is there after step 1.",
            ("return steps", "return steps + 1"),
        ),
        bug(
            "from-zero",
            "It counts from 0. The first state needs 1 step.",
            ("return steps", "return steps - 1"),
        ),
    ),
    steps={
        "torch.zeros(num_layers, length": "The table has a row for each layer and a column for "
        "each token.",
        "steps[layer, t - 1] if t > 0 else 0": "A state needs the one before it in time; the first "
        "one waits for nobody there.",
        "steps[layer - 1, t] if layer > 0 else 0": "A state needs the one below it; the lowest "
        "layer reads the tokens, which are there from the beginning.",
        "1 + max(before, below)": "A state needs *both* of its inputs, so it waits for the later "
        "one, and then takes one step of its own.",
        "return steps": "Row 0 is the lowest layer, column 0 the first token, and counting starts "
        "at 1.",
    },
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
    rows = [torch.arange(1, length + 1)]
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
