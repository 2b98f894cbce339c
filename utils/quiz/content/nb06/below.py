"""What the cells of notebook 06 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

import torch

BELOW = {
    "X06-2": {
        "want weights that owe nothing to a forbidden key, to the last bit; dividing by the sum "
        "afterwards does not give that, and is 0 / 0 where that key is far ahead (section 4)": (
            lambda attention, r: attention(
                r(1, 2).fill_(20.0),
                torch.tensor([[0.0, 0.0], [20.0, 20.0]]),  # the forbidden key is 500 ahead
                r(2, 3),
                torch.tensor([[True, False]]),
            )
        ),
    },
}
