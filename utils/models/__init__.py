"""The models, from the recurrent translator to the Vision Transformer, built of the layers."""

from utils.models.captioning import AttendingCaptioner, FixedCaptioner, TransformerCaptioner
from utils.models.eyes import GridEyes, PatchEyes, SceneCNN, grid_to_rows
from utils.models.language_model import LanguageModel, TinyLM
from utils.models.seq2seq import AttentionSeq2Seq, FixedSeq2Seq
from utils.models.to_torch import to_torch
from utils.models.transformer import (
    BlockSizes,
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForward,
    TokenEmbedding,
    Transformer,
)
from utils.models.vit import (
    VIT_BLOCK,
    PatchEmbedding,
    SmallCNN,
    VisionTransformer,
    attention_rollout,
    patchify,
    position_similarity,
    unpatchify,
)
from utils.models.vit_pretrained import load_deit_tiny, ready

__all__ = [
    "AttendingCaptioner",
    "AttentionSeq2Seq",
    "BlockSizes",
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "FixedCaptioner",
    "FixedSeq2Seq",
    "GridEyes",
    "LanguageModel",
    "PatchEmbedding",
    "PatchEyes",
    "SceneCNN",
    "SmallCNN",
    "TinyLM",
    "TokenEmbedding",
    "Transformer",
    "TransformerCaptioner",
    "VIT_BLOCK",
    "VisionTransformer",
    "attention_rollout",
    "grid_to_rows",
    "load_deit_tiny",
    "patchify",
    "position_similarity",
    "ready",
    "to_torch",
    "unpatchify",
]
