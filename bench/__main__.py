"""``python -m bench explorer``: the explorer beside BertViz, in one run."""

import argparse

from bench.explorer import main as explorer

parser = argparse.ArgumentParser(prog="python -m bench")
parser.add_argument("what", choices=["explorer"])
parser.add_argument("--tokens", type=int, nargs="+", default=[32, 64, 128, 197, 512])
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("--patience", type=int, default=150, help="seconds until a viewer is given up")
parser.add_argument("--only", nargs="+", help="viewers to run, by name")
parser.add_argument("--json", help="write every single measurement to this file too")
arguments = parser.parse_args()
explorer(arguments.tokens, arguments.repeats, arguments.patience, arguments.only, arguments.json)
