"""X01-1: a tanh RNN written out, one step after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def rnn_forward(x: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor, h0: Tensor):
    h, states = h0, []
    for t in range(x.shape[1]):
        read = x[:, t] @ w_ih.T  # (B, H)
        carried = h @ w_hh.T
        h = torch.tanh(read + carried + b)
        states.append(h)
    together = torch.stack(states, dim=1)  # (B, N, H)
    return together, h


def _probe(r, batch: int, length: int, width: int, hidden: int) -> tuple:
    weights = 0.7 * r(hidden, width), 0.7 * r(hidden, hidden), 0.5 * r(hidden)
    return r(batch, length, width), *weights, 0.8 * r(batch, hidden)


EXERCISE = Exercise(
    id="X01-1",
    title="A recurrent network by hand",
    see="01, section 1",
    name="rnn_forward",
    reference=rnn_forward,
    parts=("states", "last state"),
    gradient=True,
    bugs=(
        bug(
            "over-batch",
            "The loop runs over axis 0, which is the batch: sentence 2 is fed with what sentence 1 "
            "has left behind. x is (B, N, D), so time is axis 1.",
            ("range(x.shape[1])", "range(x.shape[0])"),
            ("x[:, t]", "x[t]"),
        ),
        bug(
            "not-carried",
            "Every step starts from `h0` again: the state is not handed on, so nothing is "
            "remembered. The new state has to replace the old one.",
            ("carried = h @", "carried = h0 @"),
        ),
        bug(
            "w-hh-not-transposed",
            "`w_hh` is square, so `h @ w_hh` runs without a murmur, with the wrong weights: "
            "PyTorch stores matrices as (out, in).",
            ("w_hh.T", "w_hh"),
        ),
        bug(
            "tanh-of-each",
            "tanh is taken of each part, and then they are added, so that states reach beyond -1 "
            "and 1. One tanh belongs around the whole sum.",
            ("torch.tanh(read + carried + b)", "torch.tanh(read + b) + torch.tanh(carried)"),
        ),
        bug(
            "stores-before-tanh",
            "What is stored is the sum *before* tanh, with values beyond -1 and 1. The state is "
            "what comes out of tanh.",
            ("h = torch.tanh(", "h = torch.tanh(inside := "),
            ("append(h)", "append(inside)"),
        ),
        bug(
            "keeps-h0",
            "`h0` is kept among the states, so there are N + 1 of them. It was there before the "
            "first token was read.",
            ("h0, []", "h0, [h0]"),
        ),
        bug(
            "last-sample",
            "`[-1]` of the stacked states is the last *sentence* of the batch, not the last time.",
            ("return together, h", "return together, together[-1]"),
        ),
        bug(
            "layer-axis",
            "The last state has an extra axis in front, (1, B, H), as `nn.RNN` gives it for its "
            "layers. Here it is (B, H).",
            ("return together, h", "return together, h[None]"),
        ),
    ),
    steps={
        "h, states = h0, []": "The memory starts from `h0`, whatever was read before.",
        "range(x.shape[1])": "x is (B, N, D): there are as many steps as tokens, N.",
        "x[:, t] @ w_ih.T": "A step reads the token at time t of all sentences at once, and "
        "matrices are stored as (out, in).",
        "h @ w_hh.T": "The previous state is the only memory of all that was read; it enters every "
        "step, mixed by `w_hh`, which is stored as (out, in).",
        "torch.tanh(read + carried + b)": "Input, memory and bias are added first (`b` holds both "
        "of PyTorch's biases), and one tanh around the sum keeps the state between -1 and 1.",
        "states.append(h)": "Each step leaves one state, the one that tanh gave.",
        "torch.stack(states, dim=1)": "The states (B, H) are put along a *new* axis for time, "
        "behind the batch: (B, N, H).",
        "return together, h": "All states come first, then the state after the last token.",
    },
    probes=lambda r: [
        _probe(r, *sizes) for sizes in ((2, 5, 3, 4), (4, 3, 5, 2), (3, 6, 4, 4), (1, 4, 2, 3))
    ],
    square=lambda r: [_probe(r, 4, 4, 4, 4)],
    hints=(
        "One step: multiply the token with one matrix and the previous state with the other, add "
        "the bias, tanh.",
        "Time is axis 1: `for t in range(x.shape[1])` and `x[:, t]`. PyTorch stores matrices as "
        "(out, in), so both are transposed.",
        "Collect the states in a list and end with `return torch.stack(states, dim=1), h`.",
    ),
    also_right=(
        """
def rnn_forward(x, w_ih, w_hh, b, h0):
    H, h = torch.zeros(x.shape[0], x.shape[1], h0.shape[1]), h0
    for t in range(x.size(1)):
        h = torch.tanh(F.linear(x[:, t, :], w_ih) + F.linear(h, w_hh, b))
        H[:, t] = h
    return H, H[:, -1]
""",
        """
def rnn_forward(x, w_ih, w_hh, b, h0):
    states = [h0]
    for token in x.unbind(dim=1):
        both = torch.cat([token, states[-1]], dim=-1)
        states.append((both @ torch.cat([w_ih, w_hh], dim=1).T + b).tanh())
    return torch.stack(states[1:], 1), states[-1]
""",
        """
def rnn_forward(x, w_ih, w_hh, b, h0):
    h, rows = h0, []
    for t in range(x.shape[1]):
        h = torch.tanh((w_ih @ x[:, t].T + w_hh @ h.T).T + b)
        rows.append(h.unsqueeze(1))
    return torch.cat(rows, dim=1), h
""",
    ),
    blank="def rnn_forward(x, w_ih, w_hh, b, h0):\n    ...\n",
)
