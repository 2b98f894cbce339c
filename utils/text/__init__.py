"""Words: vocabulary, sub-words, the small translation language with its gold links, dates."""

from utils.text.alignment import alignment_error_rate, corpus_error_rate, links_of, misses
from utils.text.dates import date_pairs, translate_date, write_date
from utils.text.grammar import LECTURE, LONGEST, Grammar, Pair, held_out, lecture_pairs, spell
from utils.text.subwords import learn_merges, longest_match, split_pieces
from utils.text.vocabulary import (
    BOS,
    EOS,
    PAD,
    UNK,
    Batch,
    Vocabulary,
    batches,
    make_batch,
    pad,
    tokenize,
)

__all__ = [
    "BOS",
    "Batch",
    "EOS",
    "Grammar",
    "LECTURE",
    "LONGEST",
    "PAD",
    "Pair",
    "UNK",
    "Vocabulary",
    "alignment_error_rate",
    "batches",
    "corpus_error_rate",
    "date_pairs",
    "held_out",
    "learn_merges",
    "lecture_pairs",
    "links_of",
    "longest_match",
    "make_batch",
    "misses",
    "pad",
    "spell",
    "split_pieces",
    "tokenize",
    "translate_date",
    "write_date",
]
