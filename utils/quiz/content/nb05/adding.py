"""X05-2: a module that adds the table to its input."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.layers.positions import SinusoidalEncoding, sinusoidal_encoding
from utils.quiz.bugs import group, single, told
from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.modules import made

INIT = "`__init__`, where the table is kept"
FORWARD = "`forward`, where the table is added"


class PositionalEncoding(nn.Module):
    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.register_buffer("pe", sinusoidal_encoding(max_len, d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[: x.shape[1]]


def switched(bug, max_len: int, d: int, x: Tensor) -> Tensor:
    """x plus the first N rows of the table; ``bug`` says which mistakes are on."""
    pe = sinusoidal_encoding(max_len, d)
    batch, n, _ = x.shape
    rows = bug.choose(
        lambda: pe[:n],
        along_batch=lambda: pe[:batch, None],
        batch_size_slice=lambda: pe[:batch],
        same_vector=lambda: pe[n - 1],
        vector_of_length=lambda: pe[n],
        vector_of_zero=lambda: pe[0],
        no_slicing=lambda: pe,
        from_the_end=lambda: pe[-n:],
        from_one=lambda: pe[1 : n + 1],
        one_short=lambda: pe[: n - 1],
        width_for_length=lambda: pe[:d],
        reversed=lambda: pe[:n].flip(0),
        mean_of_rows=lambda: pe[:n].mean(0),
    )
    x = x * math.sqrt(d) if bug("scaled-input") else x
    y = bug.choose(
        lambda: x + rows,
        multiplied=lambda: x * rows,
        subtracted=lambda: x - rows,
        concatenated=lambda: torch.cat([x, rows.expand(batch, -1, -1)], dim=-1),
        appended=lambda: torch.cat([x, rows.expand(batch, -1, -1)], dim=1),
        table_only=lambda: rows.expand_as(x) + 0.0,
        input_only=lambda: x + 0.0,
        added_twice=lambda: x + 2 * rows,
        averaged=lambda: (x + rows) / 2,
    )
    return bug.choose(
        lambda: y,
        normalised=lambda: (y - y.mean(-1, keepdim=True)) / y.std(-1, keepdim=True),
        summed_over_tokens=lambda: y.sum(1),
        first_of_batch=lambda: y[0],
    )


def call(student, max_len: int, d: int, x: Tensor) -> Tensor:
    return made(student, max_len, d)(x)


def finish(student) -> str | None:
    """Right numbers: is the table kept as a buffer?"""
    module = made(student, 9, 6)
    if any(parameter.numel() for parameter in module.parameters()):
        frozen = not any(parameter.requires_grad for parameter in module.parameters())
        raise Mistake("frozen-parameter" if frozen else "learned-table")
    if not any(buffer.dim() >= 2 for buffer in module.buffers()):
        kept = any(isinstance(v, Tensor) and v.dim() >= 2 for v in vars(module).values())
        raise Mistake("plain-attribute" if kept else "no-buffer")
    if not module.state_dict():
        return (
            "The buffer is not saved (`persistent=False`). That is fine for a table that can be "
            "computed again."
        )
    return None


ADDING = Exercise(
    id="X05-2",
    title="Add the table to the embeddings",
    see="05, section 7",
    name="PositionalEncoding",
    reference=PositionalEncoding,
    library=SinusoidalEncoding,
    switched=switched,
    call=call,
    finish=finish,
    tolerance=1e-4,
    bugs=(
        *group("rows", FORWARD)(
            along_batch="The rows are handed out along the *batch*: every token of the first "
            "sequence gets row 0, of the second row 1. Tokens are axis 1 of (B, N, d): `self.pe[: "
            "x.shape[1]]`.",
            batch_size_slice="The table is cut to the batch size. Tokens are axis 1 of (B, N, d): "
            "`self.pe[: x.shape[1]]`.",
            same_vector="Every token gets the same row, the last one. Then nobody knows where it "
            "stands: token t needs row t.",
            vector_of_length="`pe[N]` is a single row, and every token gets it. `pe[:N]` are the "
            "first N rows.",
            vector_of_zero="Every token gets row 0. Token t needs row t: `pe[:N]`.",
            no_slicing="The whole table is added, which fits only if N is max_len. Shorter inputs "
            "take the first N rows: `self.pe[:N]`.",
            from_the_end="The *last* N rows are taken. The first token is at position 0.",
            from_one="The rows start at 1. The first token is at position 0.",
            one_short="One row is missing: `[: N - 1]` ends before the last token.",
            width_for_length="The table is cut to the width d. Tokens are axis 1: `x.shape[1]`.",
            reversed="The rows come in reverse: the first token gets the last row.",
            mean_of_rows="All rows are averaged into one. Each token needs its own.",
        ),
        *group("how", FORWARD)(
            multiplied="x is multiplied by the table. Add it.",
            subtracted="The table is taken off. Add it.",
            concatenated="The table is put beside x, so the width is 2d. The next layer expects d: "
            "add entry by entry.",
            appended="The rows are appended as if they were more tokens. Add entry by entry.",
            table_only="The table comes back alone: x has been left out.",
            input_only="x comes back as it was: the sum is not returned.",
            added_twice="The table is added twice.",
            averaged="Half of x and half of the table. Just add.",
        ),
        *group("after", FORWARD)(
            normalised="The sum is normalised. That comes later in a Transformer, in a layer of "
            "its own.",
            summed_over_tokens="The tokens are summed up. Return one vector for each.",
            first_of_batch="Only the first sequence of the batch comes back.",
        ),
        *single(FORWARD)(
            scaled_input="x is multiplied by √d first. The paper does that with its embeddings, "
            "outside of this module; here x comes in ready."
        ),
        *told(INIT)(
            learned_table="The numbers are right, but the table is a parameter: the optimiser will "
            'change it. The sinusoids stay fixed: `self.register_buffer("pe", table)`.',
            frozen_parameter="The numbers are right, but the table counts as a parameter, if a "
            'frozen one. A buffer says what it is: `self.register_buffer("pe", table)`.',
            plain_attribute="The numbers are right, but the table is a plain attribute: "
            "`model.to(device)` leaves it behind and `state_dict` does not know it. "
            '`self.register_buffer("pe", table)`.',
            no_buffer="The numbers are right, but the table is computed anew at every call. "
            "Compute it once in `__init__` and keep it with `register_buffer`.",
            no_super_init="Call `super().__init__()` first: it prepares the module to own buffers.",
            not_a_module="The class does not build on `nn.Module`: `class "
            "PositionalEncoding(nn.Module):`",
        ),
        *told("the call of `check`")(
            instance_given='`check` needs the class itself, to build its own: `check("X05-2", '
            "PositionalEncoding)`."
        ),
    ),
    probes=lambda r: [(9, 6, r(3, 5, 6)), (12, 4, r(2, 7, 4))],
    # the batch as long as the sentence, the table as long, and the width
    square=lambda r: [(9, 4, r(5, 5, 4)), (5, 4, r(3, 5, 4)), (9, 6, r(3, 6, 6))],
    hints=(
        "`__init__` makes the table once, for max_len positions. `forward` adds the part that this "
        "x needs.",
        '`self.register_buffer("pe", sinusoidal_pe(max_len, d_model))` keeps it with the module '
        "without making it a parameter.",
        "x is (B, N, d), the table (max_len, d). Its first N rows are `self.pe[: x.shape[1]]`; the "
        "batch axis is filled in by broadcasting.",
    ),
    also_right=(
        """
class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]
""",
        """
class PositionalEncoding(nn.Module):
    def __init__(self, n, d):
        super(PositionalEncoding, self).__init__()
        a = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(d // 2) / d)
        self.table = nn.Buffer(torch.stack([a.sin(), a.cos()], -1).flatten(1))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        b, n, d = x.shape
        return self.drop(x + self.table[torch.arange(n)].expand(b, n, d))
""",
        """
class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        rows = []
        for p in range(max_len):
            row = []
            for i in range(d_model // 2):
                angle = p / 10000 ** (2 * i / d_model)
                row += [math.sin(angle), math.cos(angle)]
            rows.append(row)
        self.register_buffer("rows", torch.tensor(rows))

    def forward(self, x):
        return torch.stack([x[:, t] + self.rows[t] for t in range(x.shape[1])], dim=1)
""",
    ),
    blank=(
        "class PositionalEncoding(nn.Module):\n    def __init__(self, max_len, d_model):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
