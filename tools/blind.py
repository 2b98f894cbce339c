"""Measure the checks on a blind set: `python -m tools.blind tests/quiz_blind/set1 out.json`.

Prints the verdicts on right and wrong solutions of each exercise, and the milliseconds of a check.
What it said about each wrong one goes to a file for a reader to judge: hit, false or vague.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from pathlib import Path

from utils.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.layers.positions import sinusoidal_encoding
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.naming.sources import run_source
from utils.quiz.verdict import Status


def given(key: str) -> dict:
    """What the cells above an exercise have defined in its notebook."""
    above = ("X03-1", "X03-2", "X05-1", "X06-1", "X07-2")
    ours = {name: registry.get(name, "X").reference for name in above}
    attention = {"scaled_dot_product_attention": scaled_dot_product_attention}
    by_notebook = {
        "X03": {"attention": ours["X03-1"], "SelfAttention": ours["X03-2"]},
        "X04": {"attention": scaled_dot_product_attention, **attention},
        "X05": {"sinusoidal_encoding": sinusoidal_encoding, "sinusoidal_pe": ours["X05-1"]},
        "X06": {"causal_mask": ours["X06-1"], **attention},
        "X07": {"MultiHeadAttention": MultiHeadAttention, "FFN": ours["X07-2"]},
    }
    return {} if key in ("X03-1", "X07-2") else by_notebook.get(key[:3], {})


def read(folder: Path) -> list[tuple[str, int, str, str, str]]:
    """Exercise, number, "right" or "wrong", what the writer says about it, and the source."""
    found = []
    for file in sorted(folder.glob("*.txt")):
        for number, block in enumerate(re.split(r"(?m)^#= ", file.read_text("utf-8"))[1:]):
            head, source = block.split("\n", 1)
            label, _, about = head.partition(":")
            found.append((file.stem, number, label.strip(), about.strip(), source))
    return found


def measure(folder: Path) -> list[dict]:
    rows = []
    for key, number, label, about, source in read(folder):
        exercise = registry.get(key, "X")
        student = run_source(source, exercise.name, **given(key))
        started, busy = time.perf_counter(), time.process_time()
        diagnose(exercise, student, attempt=1)
        milliseconds = 1000 * (time.perf_counter() - started)
        of_cpu = 1000 * (time.process_time() - busy)
        verdict = diagnose(exercise, student)
        row = {"exercise": key, "number": number, "label": label, "about": about, "source": source}
        row |= {"status": str(verdict.status), "mistake": verdict.mistake, "ms": milliseconds}
        row |= {"cpu": of_cpu}
        rows.append(row | {"message": verdict.message, "remarks": list(verdict.remarks)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    rows = measure(asked.folder)
    asked.out.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    for key in dict.fromkeys(row["exercise"] for row in rows):
        mine = [row for row in rows if row["exercise"] == key]
        for label in ("wrong", "right"):
            counts = Counter(row["status"] for row in mine if row["label"] == label)
            print(f"{key} {label:5} {dict(counts)}")
    wrong = [row for row in rows if row["label"] == "wrong"]
    right = [row for row in rows if row["label"] == "right"]
    named = sum(row["status"] == Status.NAMED for row in wrong)
    passed = sum(row["status"] == Status.PASSED for row in wrong)
    refused = sum(row["status"] != Status.PASSED for row in right)
    print(f"{len(wrong)} wrong: {named} named, {passed} passed")
    print(f"{len(right)} right: {refused} refused")
    for name, what in (("ms", "ms"), ("cpu", "ms of CPU")):
        times = sorted(row[name] for row in rows)
        middle, late = times[len(times) // 2], times[int(0.95 * len(times))]
        print(f"a check: {middle:.0f} {what}, at the 95th percentile {late:.0f}")


if __name__ == "__main__":
    main()
