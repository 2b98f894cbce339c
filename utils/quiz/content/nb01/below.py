"""What the cells of notebook 01 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

BELOW = {
    "X01-1": {
        "hand over the weights of a network, which ask for gradients": lambda rnn, r: rnn(
            r(2, 4, 3), *(part.requires_grad_() for part in (r(5, 3), r(5, 5), r(5))), r(2, 5)
        ),
    },
}
