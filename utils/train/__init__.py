"""Training and writing: the loop, files of weights, several processes, word by word."""

from utils.train.checkpoint import load_weights, save_weights
from utils.train.generation import beam_search, chances, decode
from utils.train.loop import History, count_parameters, rate_schedule, train
from utils.train.sequences import exact_matches, sequence_loss

__all__ = [
    "History",
    "beam_search",
    "chances",
    "count_parameters",
    "decode",
    "exact_matches",
    "load_weights",
    "rate_schedule",
    "save_weights",
    "sequence_loss",
    "train",
]
