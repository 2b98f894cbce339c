"""What the cells of notebook 08 do with solutions beyond the checks (see `utils/quiz/below.py`)."""

from __future__ import annotations

from utils.models.transformer import BlockSizes, Encoder
from utils.models.vit import PatchEmbedding

SIZES = BlockSizes(d_model=8, num_heads=2, d_ff=16)

BELOW = {
    "X08-3": {
        "name two of its arguments, `num_patches=` and `d_model=`": lambda vit, r: (
            vit(PatchEmbedding(2, 1, 8), Encoder(1, SIZES), num_patches=4, d_model=8)(
                r(3, 1, 4, 4)
            ).shape
        ),
    },
}
