"""One way to turn anything into an array: a tensor of any kind, an array, lists of either."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_array(values: Any) -> np.ndarray:
    """NumPy from a tensor on any device and of any precision, an array, or nested lists of them."""
    if hasattr(values, "data_ptr"):  # torch: numpy knows no bfloat16, so widen first
        values = values.detach()
        if values.is_floating_point() and values.element_size() < 4:
            values = values.float()
        return values.cpu().numpy()
    if isinstance(values, (list, tuple)) and len(values):
        if isinstance(values[0], (list, tuple)) or hasattr(values[0], "data_ptr"):
            return np.stack([to_array(item) for item in values])  # tensors may be at the bottom
    return np.asarray(values)
