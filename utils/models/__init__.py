"""The models, from the recurrent translator to the Vision Transformer, built of the layers."""

from utils.models.captioning import AttendingCaptioner, FixedCaptioner, TransformerCaptioner
from utils.models.eyes import GridEyes, PatchEyes, SceneCNN, grid_to_rows
from utils.models.seq2seq import AttentionSeq2Seq, FixedSeq2Seq
from utils.models.tiny_lm import TinyLM
from utils.models.transformer import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForward,
    LanguageModel,
    TokenEmbedding,
    Transformer,
)
from utils.models.vit import (
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
    "VisionTransformer",
    "attention_rollout",
    "grid_to_rows",
    "load_deit_tiny",
    "patchify",
    "position_similarity",
    "ready",
    "unpatchify",
]
