"""X09-2: one step of an LSTM that is told the context, from the formula of the gates."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.quiz.exercise import Exercise, Mistake, bug


def lstm_step(x: Tensor, h: Tensor, context: Tensor, cell: Tensor, affine):
    joined = torch.cat([x, h, context], dim=-1)  # (B, m + n + D)
    i, f, o, g = affine(joined).chunk(4, dim=-1)  # (B, n) each
    kept = f.sigmoid() * cell
    written = i.sigmoid() * g.tanh()
    cell = kept + written
    h = o.sigmoid() * cell.tanh()
    return h, cell


TOLD = {
    "no-context": "The context is not joined: the LSTM never sees what attention has found.",
    "no-state": "The state h is not joined, so the step forgets what was said before.",
    "not-joined": "What goes in is as wide as the word alone. Word, state and context stand one "
    "beside the other, m + n + D numbers.",
    "cell-for-context": "The *cell* is joined where the *context* belongs. Both are called c in "
    "the literature: the cell is the LSTM's memory, the context comes from the picture.",
    "cell-joined": "The cell is joined as well. It is changed by the gates, not by the affine map.",
}


class Affine(nn.Linear):
    """A linear map that tells what is missing when it is handed something of another width."""

    def __init__(self, r, m: int, n: int, d: int):
        super().__init__(m + n + d, 4 * n)
        for parameter in self.parameters():
            parameter.requires_grad_(False).copy_(r(*parameter.shape))
        self.known = {m: "not-joined"}
        if m != n:  # with equal sizes a width could mean several things
            names = ("no-context", "no-state", "cell-for-context", "cell-joined")
            self.known |= zip((m + n, m + d, m + 2 * n, m + 2 * n + d), names, strict=True)

    def forward(self, x: Tensor) -> Tensor:
        if (name := self.known.get(x.shape[-1])) and x.shape[-1] != self.in_features:
            raise Mistake(name, TOLD[name])
        return super().forward(x)


def _probe(r, batch: int, m: int, n: int, d: int) -> tuple:
    return r(batch, m), r(batch, n), r(batch, d), r(batch, n), Affine(r, m, n, d)


EXERCISE = Exercise(
    id="X09-2",
    title="One step of the describing LSTM",
    see="09, section 6",
    name="lstm_step",
    reference=lstm_step,
    parts=("state h", "cell"),
    bugs=(
        bug(
            "state-first",
            "The order is [h; x; context]. The formula stacks the word first, and the columns of "
            "the affine map belong to that order.",
            ("[x, h, context]", "[h, x, context]"),
        ),
        bug(
            "interleaved",
            "Every fourth number is taken for a gate. The gates are four blocks of n each.",
            ("affine(joined).chunk(4, dim=-1)", "affine(joined).unflatten(-1, (-1, 4)).unbind(-1)"),
        ),
        bug(
            "torch-order",
            "The parts are taken in the order i, f, g, o. That is how PyTorch's LSTMCell stores "
            "them; the formula stacks i, f, o, g, and the tanh belongs to the last.",
            ("i, f, o, g =", "i, f, g, o ="),
        ),
        bug(
            "all-tanh",
            "All four parts go through tanh. A gate says how much passes, from 0 to 1: that is a "
            "sigmoid. Only g, what is written, is a tanh.",
            ("sigmoid()", "tanh()"),
        ),
        bug(
            "context-for-cell",
            "The forget gate is applied to the *context*. It belongs to the LSTM's own memory, the "
            "cell; the context has already entered through the affine map.",
            ("f.sigmoid() * cell", "f.sigmoid() * context"),
        ),
        bug(
            "coupled",
            "What is written is gated by 1 − f, as in a GRU. The LSTM has its own gate for it, i.",
            ("i.sigmoid() * g", "(1 - f.sigmoid()) * g"),
        ),
        bug(
            "old-cell-read",
            "The state is read from the *old* cell, so what was just written is not seen.",
            ("cell = kept + written", "new = kept + written"),
            ("return h, cell", "return h, new"),
        ),
    ),
    steps={
        "torch.cat([x, h, context], dim=-1)": "Word, state and context stand side by side, in this "
        "order: the columns of the affine map belong to it.",
        "affine(joined).chunk(4, dim=-1)": "The affine map gives four blocks of n: i, f, o and g.",
        "f.sigmoid() * cell": "The forget gate says which share of the old cell is kept, from 0 to "
        "1 for each feature.",
        "i.sigmoid() * g.tanh()": "What is written, g, may be negative, from −1 to 1; the input "
        "gate says how much of it passes, from 0 to 1.",
        "kept + written": "The memory is a sum of old and new: so it lasts over many steps.",
        "o.sigmoid() * cell.tanh()": "The state shows a share o of the new cell, squashed by tanh.",
        "return h, cell": "The next step needs both: the state first, then the cell.",
    },
    probes=lambda r: [_probe(r, 2, 3, 5, 9), _probe(r, 3, 8, 4, 11)],
    square=lambda r: [_probe(r, 3, 4, 4, 4)],
    hints=(
        "Four lines: join, affine map and cut in four, new cell, new state.",
        "`i, f, o, g = affine(torch.cat([x, h, context], dim=-1)).chunk(4, dim=-1)`; then three "
        "sigmoids and one tanh.",
        "new cell = f · cell + i · g, new state = o · tanh(new cell). Return `h, cell`.",
    ),
    also_right=(
        """
def lstm_step(x, h, context, cell, affine):
    n = h.shape[1]
    gates = affine(torch.hstack((x, h, context)))
    i, f, o = (gates[:, k * n : (k + 1) * n].sigmoid() for k in range(3))
    g = torch.tanh(gates[:, 3 * n:])
    c = f * cell + i * g
    return o * torch.tanh(c), c
""",
        """
def lstm_step(x, h, context, cell, affine):
    pre = affine(torch.cat((x, h, context), 1)).view(len(x), 4, -1)
    i, f, o = torch.sigmoid(pre[:, :3]).unbind(1)
    new = torch.addcmul(f * cell, i, torch.tanh(pre[:, 3]))
    return torch.tanh(new) * o, new
""",
        """
def lstm_step(x, h, context, cell, affine):
    i, f, o, g = torch.split(affine(torch.cat([x, h, context], -1)), h.size(-1), dim=-1)
    squash = lambda t: 1 / (1 + torch.exp(-t))
    cell = squash(f).mul(cell) + squash(i).mul(torch.tanh(g))
    return squash(o) * cell.tanh(), cell
""",
    ),
    blank="def lstm_step(x, h, context, cell, affine):\n"
    '    """One step: the new state and the new cell, (B, n) each."""\n    ...\n',
)
