"""The layers: attention, masks, positions.  They know neither models nor words."""

from utils.layers.attention import (
    AdditiveAttention,
    AttentionLayer,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from utils.layers.masks import (
    causal_mask,
    check_mask,
    local_mask,
    padding_mask,
    to_additive,
    to_torch_blocked,
)
from utils.layers.positions import (
    LearnedEncoding,
    RotaryAttention,
    SinusoidalEncoding,
    rotary,
    sinusoidal_encoding,
)
from utils.layers.weights import Weights

__all__ = [
    "AdditiveAttention",
    "AttentionLayer",
    "LearnedEncoding",
    "MultiHeadAttention",
    "RotaryAttention",
    "SinusoidalEncoding",
    "causal_mask",
    "Weights",
    "check_mask",
    "local_mask",
    "padding_mask",
    "rotary",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
    "to_additive",
    "to_torch_blocked",
]
