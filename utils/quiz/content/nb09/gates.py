"""X09-2: one step of an LSTM that is told the context, from the formula of the gates."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.quiz.bugs import group, single, told
from utils.quiz.exercise import Exercise, Mistake

JOIN = "what is put into `affine`"
GATES = "how the four parts are named and squashed"
UPDATE = "how the new cell and the new state are made"


def lstm_step(x: Tensor, h: Tensor, context: Tensor, cell: Tensor, affine):
    parts = affine(torch.cat([x, h, context], dim=-1))  # (B, 4n)
    i, f, o, g = parts.chunk(4, dim=-1)  # (B, n) each
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    h = o.sigmoid() * cell.tanh()
    return h, cell


def switched(bug, x: Tensor, h: Tensor, context: Tensor, cell: Tensor, affine):
    """Join, affine map, four gates, update; ``bug`` says which mistakes are on."""
    joined = bug.choose(
        lambda: torch.cat([x, h, context], -1),
        state_first=lambda: torch.cat([h, x, context], -1),
        context_first=lambda: torch.cat([context, h, x], -1),
        context_second=lambda: torch.cat([x, context, h], -1),
    )
    parts = affine(joined)
    if bug("interleaved"):
        parts = parts.unflatten(-1, (-1, 4)).transpose(-2, -1).flatten(-2)
    first, second, third, fourth = parts.chunk(4, dim=-1)
    i, f, o, g = bug.choose(
        lambda: (first, second, third, fourth),
        torch_order=lambda: (first, second, fourth, third),
        input_forget_swapped=lambda: (second, first, third, fourth),
        output_first=lambda: (second, third, first, fourth),
    )
    s, t = torch.sigmoid, torch.tanh
    i, f, o, g = bug.choose(
        lambda: (s(i), s(f), s(o), t(g)),
        all_tanh=lambda: (t(i), t(f), t(o), t(g)),
        all_sigmoid=lambda: (s(i), s(f), s(o), s(g)),
        not_squashed=lambda: (i, f, o, g),
        candidate_not_squashed=lambda: (s(i), s(f), s(o), g),
        gates_not_squashed=lambda: (i, f, o, t(g)),
        softmax_gates=lambda: (i.softmax(-1), f.softmax(-1), o.softmax(-1), t(g)),
    )
    old = bug.choose(
        lambda: cell,
        context_for_cell=lambda: context,
        state_for_cell=lambda: h,
    )
    new = bug.choose(
        lambda: f * old + i * g,
        forget_only=lambda: f * old,
        nothing_kept=lambda: i * g,
        no_input_gate=lambda: f * old + g,
        no_forget_gate=lambda: old + i * g,
        coupled=lambda: f * old + (1 - f) * g,
        product=lambda: f * old * i * g,
    )
    state = bug.choose(
        lambda: o * new.tanh(),
        old_cell_read=lambda: o * old.tanh(),
        no_tanh_on_cell=lambda: o * new,
        sigmoid_on_cell=lambda: o * new.sigmoid(),
        no_output_gate=lambda: new.tanh(),
    )
    return bug.choose(
        lambda: (state, new),
        order_swapped=lambda: (new, state),
        only_state=lambda: state,
        old_cell_returned=lambda: (state, cell),
    )


class Affine(nn.Linear):
    """A linear map that tells what is missing when it is handed something of another width."""

    def __init__(self, weight: Tensor, bias: Tensor, m: int, n: int, d: int):
        super().__init__(weight.shape[1], weight.shape[0])
        with torch.no_grad():
            self.weight.copy_(weight)
            self.bias.copy_(bias)
        self.requires_grad_(False)
        self.known = {
            m + n: "no-context",
            m + d: "no-state",
            n + d: "no-word",
            m: "not-joined",
            m + 2 * n: "cell-for-context",
            m + n + d + n: "cell-joined",
        }

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] != self.in_features and x.shape[-1] in self.known:
            raise Mistake(self.known[x.shape[-1]])
        return super().forward(x)


def _probe(r, batch: int, m: int, n: int, d: int) -> tuple:
    affine = Affine(r(4 * n, m + n + d), r(4 * n), m, n, d)
    return r(batch, m), r(batch, n), r(batch, d), r(batch, n), affine


LSTM_STEP = Exercise(
    id="X09-2",
    title="One step of the describing LSTM",
    see="09, section 6",
    name="lstm_step",
    reference=lstm_step,
    switched=switched,
    parts=("state h", "cell"),
    bugs=(
        *group("join", JOIN)(
            state_first="The order is [h; x; context]. The formula stacks the word first: the "
            "columns of the affine map belong to [x; h; context].",
            context_first="The order is turned round. The columns of the affine map belong to [x; "
            "h; context].",
            context_second="The context stands before the state. The columns of the affine map "
            "belong to [x; h; context].",
        ),
        *told(JOIN)(
            no_context="The context is not joined: [x; h] only. Then the LSTM never sees what "
            "attention has found. Join all three: [x; h; context].",
            no_state="The state h is not joined, so the step forgets what was said before: [x; h; "
            "context].",
            no_word="The word x is not joined: [x; h; context].",
            cell_for_context="The *cell* is joined where the *context* belongs. Both are called c "
            "in the literature: the cell is the LSTM's memory, the context is what attention "
            "brings from the picture.",
            not_joined="What goes in is as wide as the word alone. Word, state and context are not "
            "added up: they stand one beside the other, m + n + D numbers.",
            cell_joined="The cell is joined as well. Only word, state and context go through the "
            "affine map; the cell is changed by the gates.",
        ),
        *single(GATES)(
            interleaved="Every fourth number is taken for a gate. The gates are four blocks of n, "
            "one after the other: `chunk(4, dim=-1)`."
        ),
        *group("order", GATES)(
            torch_order="The parts are taken in the order i, f, g, o. That is how PyTorch's "
            "LSTMCell stores them; the formula stacks i, f, o, g, and the tanh belongs to the "
            "last.",
            input_forget_swapped="Input and forget gate have changed places. The order is i, f, o, "
            "g.",
            output_first="The parts are taken in the order o, i, f, g. The formula's is i, f, o, "
            "g.",
        ),
        *group("squash", GATES)(
            all_tanh="All four parts go through tanh. A gate says how much passes, from 0 to 1: "
            "that is a sigmoid. Only g, what is written, is a tanh.",
            all_sigmoid="All four parts go through the sigmoid. What is written, g, may be "
            "negative: tanh.",
            not_squashed="Nothing is squashed: sigmoid for i, f, o and tanh for g.",
            candidate_not_squashed="g is not squashed: tanh(g).",
            gates_not_squashed="The gates are not squashed: a sigmoid puts them between 0 and 1.",
            softmax_gates="The gates go through a softmax, so that the n features compete. Each "
            "has a gate of its own: sigmoid.",
        ),
        *group("old", UPDATE)(
            context_for_cell="The forget gate is applied to the *context*. It belongs to the "
            "LSTM's own memory, the cell; the context has already entered through the affine map.",
            state_for_cell="The forget gate is applied to the state h. It belongs to the cell.",
        ),
        *group("update", UPDATE)(
            forget_only="Nothing new is written into the cell: add i · g.",
            nothing_kept="Nothing old is kept in the cell: add f · cell.",
            no_input_gate="The input gate i is not used: f · cell + i · g.",
            no_forget_gate="The forget gate f is not used: f · cell + i · g.",
            coupled="What is written is gated by 1 − f, as in a GRU. The LSTM has its own gate for "
            "it, i.",
            product="Old and new are multiplied. They are added: f · cell + i · g.",
        ),
        *group("state", UPDATE)(
            old_cell_read="The state is read from the *old* cell. First the new cell, then h = o · "
            "tanh(new cell).",
            no_tanh_on_cell="The tanh around the cell is missing: h = o · tanh(cell).",
            sigmoid_on_cell="A sigmoid stands around the cell: h = o · tanh(cell).",
            no_output_gate="The output gate o is not used: h = o · tanh(cell).",
        ),
        *group("returned", "the last line")(
            order_swapped="Both are there but swapped: return the state h first, then the cell.",
            only_state="Only the state comes back. The next step needs the cell, too.",
            old_cell_returned="The old cell comes back, so the memory never changes.",
        ),
    ),
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
    i = torch.sigmoid(gates[:, :n])
    f = torch.sigmoid(gates[:, n:2 * n])
    o = torch.sigmoid(gates[:, 2 * n:3 * n])
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
    kept = squash(f).mul(cell)
    written = squash(i).mul(torch.tanh(g))
    cell = kept + written
    return squash(o) * cell.tanh(), cell
""",
    ),
    blank=(
        "def lstm_step(x, h, context, cell, affine):\n"
        '    """One step: the new state and the new cell, (B, n) each."""\n    ...\n'
    ),
)
