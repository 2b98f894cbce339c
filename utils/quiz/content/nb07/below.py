"""What the cells of notebook 07 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

from torch import nn

BELOW = {
    "X07-1": {
        "hand over tokens without a batch, (N, D)": lambda norm, r: norm(r(3, 16), r(16), r(16)),
        "hand over a gain and a shift that ask for gradients": lambda norm, r: norm(
            r(2, 5, 16), *r(2, 16).requires_grad_()
        ),
    },
    "X07-2": {
        "look for its two `nn.Linear`": lambda ffn, r: sorted(
            m.weight.shape for m in ffn(6, 14).modules() if isinstance(m, nn.Linear)
        ),
        "count its parameters, 2 · d_model · d_ff and the two biases": lambda ffn, r: sum(
            parameter.numel() for parameter in ffn(6, 14).parameters()
        ),
    },
}
