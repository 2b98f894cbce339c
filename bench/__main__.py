"""``python -m bench``: everything; add ``quiz``, ``transformer`` or ``explorer`` for one."""

import argparse

from bench.explorer import main as explorer
from bench.quiz import main as quiz
from bench.transformer import main as transformer

parser = argparse.ArgumentParser(prog="python -m bench")
parser.add_argument(
    "what", nargs="?", choices=["all", "quiz", "transformer", "explorer"], default="all"
)
parser.add_argument("--tokens", type=int, nargs="+", default=[32, 64, 128, 197, 512])
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("--rounds", type=int, default=15, help="of the Transformer's comparisons")
parser.add_argument(
    "--large-repeats", type=int, default=1, help="of BertViz at 128 tokens and more: minutes each"
)
parser.add_argument("--patience", type=int, default=150, help="seconds until a viewer is given up")
parser.add_argument("--only", nargs="+", help="viewers to run, by name")
parser.add_argument("--json", help="write every single measurement to this file too")
arguments = parser.parse_args()
if arguments.what in ("all", "quiz"):
    quiz(arguments.repeats)
if arguments.what in ("all", "transformer"):
    transformer(arguments.rounds)
if arguments.what in ("all", "explorer"):
    explorer(
        arguments.tokens, arguments.repeats, arguments.patience, arguments.only, arguments.json,
        arguments.large_repeats,
    )  # fmt: skip
