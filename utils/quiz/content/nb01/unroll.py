"""X01-1: a tanh RNN written out, one step after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

STEP = "the line with tanh"
LOOP = "the line with `for`"
END = "how the states are put together and returned"


def rnn_forward(x: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor, h0: Tensor):
    h, states = h0, []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ w_ih.T + h @ w_hh.T + b)  # (B, H)
        states.append(h)
    return torch.stack(states, dim=1), h  # (B, N, H), (B, H)


def _step(bug, token: Tensor, before: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor):
    """One step: what stands inside tanh, and the new state."""
    read = token @ (w_ih if bug("w-ih-not-transposed") else w_ih.T)
    carried = bug.choose(
        lambda: before @ w_hh.T,
        w_hh_not_transposed=lambda: before @ w_hh,
        no_memory=lambda: 0.0 * (before @ w_hh.T),
        w_hh_left_out=lambda: before,
        sign=lambda: -(before @ w_hh.T),
    )
    bias = bug.choose(lambda: b, no_bias=lambda: 0.0 * b, bias_twice=lambda: 2 * b)
    inside = read + carried + bias
    return inside, bug.choose(
        lambda: torch.tanh(inside),
        no_tanh=lambda: inside,
        sigmoid=lambda: torch.sigmoid(inside),
        relu=lambda: torch.relu(inside),
        bias_outside=lambda: torch.tanh(read + carried) + b,
        tanh_of_each=lambda: torch.tanh(read + bias) + torch.tanh(carried),
        tanh_of_input_only=lambda: torch.tanh(read + bias) + carried,
        tanh_of_memory_only=lambda: read + torch.tanh(carried + bias),
        tanh_twice=lambda: torch.tanh(torch.tanh(inside)),
        adds_the_state=lambda: before + torch.tanh(inside),
    )


def switched(bug, x: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor, h0: Tensor):
    """The same; ``bug`` says which mistakes are on."""
    steps = bug.choose(
        lambda: range(x.shape[1]),
        over_batch=lambda: range(x.shape[0]),
        counts_batch=lambda: range(x.shape[0]),
        backwards=lambda: range(x.shape[1] - 1, -1, -1),
        one_short=lambda: range(x.shape[1] - 1),
        starts_at_one=lambda: range(1, x.shape[1]),
        counts_width=lambda: range(x.shape[2]),
    )
    start = bug.choose(lambda: h0, starts_at_zero=lambda: torch.zeros_like(h0))
    h, states = start, [start] if bug("keeps-h0") else []
    for t in steps:
        token = x[t] if bug("over-batch") else x[:, t]
        token = x[:, t - 1] if bug("input-before") else token
        inside, h = _step(bug, token, start if bug("not-carried") else h, w_ih, w_hh, b)
        states.append(inside if bug("stores-before-tanh") else h)
    together = bug.choose(
        lambda: torch.stack(states, dim=1),
        time_first=lambda: torch.stack(states),
        time_last=lambda: torch.stack(states, dim=-1),
        side_by_side=lambda: torch.cat(states, dim=1),
        one_below_another=lambda: torch.cat(states),
    )
    last = bug.choose(
        lambda: h,
        last_is_first=lambda: states[0],
        last_is_start=lambda: h0,
        layer_axis=lambda: h[None],
        last_sample=lambda: together[-1],
    )
    return bug.choose(
        lambda: (together, last),
        only_states=lambda: together,
        only_last=lambda: last,
        swapped=lambda: (last, together),
    )


def _probe(r, batch: int, length: int, width: int, hidden: int) -> tuple:
    return (
        r(batch, length, width),
        0.7 * r(hidden, width),
        0.7 * r(hidden, hidden),
        0.5 * r(hidden),
        0.8 * r(batch, hidden),
    )


UNROLL = Exercise(
    id="X01-1",
    title="A recurrent network by hand",
    see="01, section 1",
    name="rnn_forward",
    reference=rnn_forward,
    switched=switched,
    parts=("states", "last state"),
    gradient=True,
    bugs=(
        *group("loop", LOOP)(
            over_batch="The loop runs over axis 0, which is the batch: sentence 2 is fed with what "
            "sentence 1 has left behind. x is (B, N, D), so time is axis 1: `x[:, t]`.",
            counts_batch="The loop counts as many steps as there are sentences. The number of time "
            "steps is `x.shape[1]`.",
            counts_width="The loop counts as many steps as a token has features. The number of "
            "time steps is `x.shape[1]`.",
            backwards="The sequence is read from its end to its beginning.",
            one_short="The last token is never read: the loop ends one step early.",
            starts_at_one="The first token is never read: the loop starts at 1.",
        ),
        *single("the line before the loop")(
            starts_at_zero="The network always starts from zeros, whatever `h0` says."
        ),
        *single(END)(keeps_h0="`h0` is kept among the states, so there are N + 1 of them."),
        *single(LOOP)(
            input_before="Step t reads token t - 1 (and step 0 reads the last token of all)."
        ),
        *single(STEP)(
            w_ih_not_transposed="`w_ih` has shape (hidden, width), as PyTorch stores it, so it is "
            "`x[:, t] @ w_ih.T`. If both sizes are the same, this mistake makes no noise at all.",
            not_carried="Every step starts from `h0` again: the state is not handed on, so nothing "
            "is remembered. The new state has to replace the old one.",
        ),
        *group("carried", STEP)(
            w_hh_not_transposed="`w_hh` is square, so `h @ w_hh` runs without a murmur; PyTorch "
            "stores it as (out, in), so it has to be `h @ w_hh.T`.",
            no_memory="The previous state does not enter the new one: `h @ w_hh.T` is missing.",
            w_hh_left_out="The previous state is added as it is, without `w_hh`.",
            sign="The previous state is subtracted. All terms inside tanh are added.",
        ),
        *group("bias", STEP)(
            no_bias="The bias `b` is missing.",
            bias_twice="The bias is added twice. `b` already holds both of PyTorch's biases.",
        ),
        *group("tanh", STEP)(
            no_tanh="There is no tanh: the states are not kept between -1 and 1.",
            sigmoid="A sigmoid stands where tanh should be.",
            relu="A ReLU stands where tanh should be.",
            bias_outside="The bias is added after tanh. It belongs inside.",
            tanh_of_each="tanh is taken of each part, and then they are added. Add first, then one "
            "tanh of the sum.",
            tanh_of_input_only="tanh is taken of the input's part only. It goes around the whole "
            "sum.",
            tanh_of_memory_only="tanh is taken of the memory's part only. It goes around the whole "
            "sum.",
            tanh_twice="tanh is applied twice.",
            adds_the_state="The previous state is also added outside tanh. That is a residual "
            "connection, not a plain RNN.",
        ),
        *single(END)(
            stores_before_tanh="What is stored is the sum *before* tanh, with values beyond -1 and "
            "1. Store the state."
        ),
        *group("together", END)(
            time_first="The states come out as (N, B, H). Stack them along axis 1: (B, N, H).",
            time_last="The states come out as (B, H, N). Stack them along axis 1: (B, N, H).",
            side_by_side="The states are glued into one long row (B, N·H). `stack` makes a new "
            "axis, `cat` does not.",
            one_below_another="The states are glued below one another (N·B, H). `stack` makes a "
            "new axis, `cat` does not.",
        ),
        *group("last", END)(
            last_is_first="The second result is the first state, not the last.",
            last_is_start="The second result is still `h0`. Return the state after the last step.",
            layer_axis="The last state has an extra axis in front, (1, B, H), as `nn.RNN` gives it "
            "for its layers. Here it is (B, H).",
            last_sample="`states[-1]` of the stacked tensor is the last *sentence* of the batch. "
            "The last time step is `states[:, -1]`.",
        ),
        *group("returned", END)(
            only_states="Only the states come back. Return `(states, last)`.",
            only_last="Only the last state comes back. Return `(states, last)`.",
            swapped="The two results are in the wrong order: first the states, then the last one.",
        ),
    ),
    probes=lambda r: [_probe(r, 2, 5, 3, 4), _probe(r, 4, 3, 5, 2), _probe(r, 3, 6, 4, 4)],
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
    H = torch.zeros(x.shape[0], x.shape[1], h0.shape[1])
    h = h0
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
    read = torch.einsum('bnd,hd->nbh', x, w_ih) + b
    out = []
    h = h0
    for step in read:
        h = torch.tanh(step + torch.einsum('bi,hi->bh', h, w_hh))
        out += [h]
    return torch.stack(out).transpose(0, 1), out[-1]
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
