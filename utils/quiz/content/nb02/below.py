"""What the cells of notebook 02 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

BELOW = {
    "X02-4": {
        "hand over words, not numbers": lambda shift, r: [
            list(row) for row in shift(["Jane", "visits"], "<bos>", "<eos>")
        ],
    },
}
