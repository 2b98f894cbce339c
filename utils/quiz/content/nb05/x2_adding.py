"""X05-2: a module that adds the table to its input."""

from __future__ import annotations

import torch
from torch import nn

from utils.layers.positions import SinusoidalEncoding, sinusoidal_encoding
from utils.quiz.exercise import Exercise, Mistake, bug


class PositionalEncoding(nn.Module):
    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.register_buffer("pe", sinusoidal_encoding(max_len, d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.pe[: x.shape[1]]  # (N, d): one for each token
        return x + rows


SLICE, SUM = "self.pe[: x.shape[1]]", "return x + rows"
BUGS = (
    bug(
        "along-batch",
        "The rows are handed out along the *batch*: every token of the first sequence gets row 0, "
        "of the second row 1. Tokens are axis 1 of (B, N, d).",
        (SLICE, "self.pe[: x.shape[0], None]"),
    ),
    bug(
        "vector-of-length",
        "`pe[N]` is a single row, and every token gets it. Then nobody knows where it stands.",
        (SLICE, "self.pe[x.shape[1]]"),
    ),
    bug(
        "no-slicing",
        "The whole table is added, which fits only if N is max_len. Inputs may be shorter.",
        (SLICE, "self.pe"),
    ),
    bug(
        "concatenated",
        "The table is put beside x, so the width is 2d. The next layer expects d: the two are "
        "added, entry by entry.",
        (SUM, "return torch.cat([x, rows.expand(len(x), -1, -1)], dim=-1)"),
    ),
    bug(
        "table-only",
        "The table comes back alone: x has been left out, and with it what the tokens say.",
        (SUM, "return rows.expand_as(x) + 0.0"),
    ),
    bug(
        "scaled-input",
        "x is multiplied by √d first. The paper does that with its embeddings, outside of this "
        "module; here x comes in ready.",
        (SUM, "return x * x.shape[-1] ** 0.5 + rows"),
    ),
)


# The numbers are right in all these cases: how is the table kept?
KEPT = {
    "learned-table": "The numbers are right, but the table is a parameter: the optimiser will "
    "change it. The sinusoids stay fixed, so keep them as a buffer.",
    "frozen-parameter": "The numbers are right, but the table counts as a parameter, if a frozen "
    "one. A buffer says what it is: saved and moved with the module, and never trained.",
    "plain-attribute": "The numbers are right, but the table is a plain attribute: "
    "`model.to(device)` leaves it behind and `state_dict` does not know it. Make it a buffer.",
    "no-buffer": "The numbers are right, but the table is computed anew at every call. Compute it "
    "once in `__init__` and keep it as a buffer.",
}


def finish(student) -> str | None:
    module = student(9, 6)
    trained = [parameter.requires_grad for parameter in module.parameters()]
    if trained:
        name = "learned-table" if any(trained) else "frozen-parameter"
        raise Mistake(name, KEPT[name])
    if not list(module.buffers()):
        attribute = any(isinstance(value, torch.Tensor) for value in vars(module).values())
        name = "plain-attribute" if attribute else "no-buffer"
        raise Mistake(name, KEPT[name])
    unsaved = "The buffer is not saved (`persistent=False`): fine, it can be computed again."
    return None if module.state_dict() else unsaved


EXERCISE = Exercise(
    id="X05-2",
    title="Add the table to the embeddings",
    see="05, section 7",
    name="PositionalEncoding",
    reference=PositionalEncoding,
    gradient=True,
    library=SinusoidalEncoding,
    finish=finish,
    bugs=BUGS,
    steps={
        "sinusoidal_encoding(max_len, d_model)": "The table is that of section 4, made once.",
        SLICE: "Token t gets row t, starting at row 0, and axis 1 of (B, N, d) counts the tokens.",
        SUM: "Content and position are added, entry by entry, so that the width stays d.",
    },
    probes=lambda r: [((9, 6), r(3, 5, 6)), ((12, 4), r(2, 7, 4)), ((7, 8), r(1, 3, 8))],
    square=lambda r: [((9, 4), r(5, 5, 4)), ((5, 4), r(3, 5, 4)), ((9, 6), r(3, 6, 6))],
    hints=(
        "`__init__` makes the table once, for max_len positions. `forward` adds what x needs.",
        '`self.register_buffer("pe", sinusoidal_pe(max_len, d_model))` keeps it with the module '
        "without making it a parameter.",
        "Its first N rows are `self.pe[: x.shape[1]]`; broadcasting fills in the batch axis.",
    ),
    also_right=(
        """
class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(torch.arange(max_len)[:, None] * div)
        pe[0, :, 1::2] = torch.cos(torch.arange(max_len)[:, None] * div)
        self.register_buffer("pe", pe, persistent=False)
    def forward(self, x):
        return x + self.pe[:, :x.size(1)]
""",
        """
class PositionalEncoding(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        a = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(d // 2) / d)
        self.table, self.drop = nn.Buffer(torch.stack([a.sin(), a.cos()], -1)), nn.Dropout(0.1)
    def forward(self, x):
        return self.drop(x + self.table.flatten(1)[torch.arange(x.shape[1])].expand_as(x))
""",
        """
class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        a = torch.outer(torch.arange(max_len), 1e4 ** (-torch.arange(0, d_model, 2) / d_model))
        self.register_buffer("rows", torch.stack([a.sin(), a.cos()], 2).view(max_len, d_model))
    def forward(self, x):
        return torch.stack([x[:, t] + self.rows[t] for t in range(x.shape[1])], dim=1)
""",
    ),
    blank="""class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        ...

    def forward(self, x):
        ...
""",
)
