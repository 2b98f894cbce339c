"""How long a check takes, warm: over the corpus of right and wrong solutions of notebook 03."""

import os
import re
import statistics
import tempfile
import time
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "quiz_corpus"


def solutions() -> list[tuple[str, str]]:
    """(exercise id, source) of each solution in the corpus of notebook 03."""
    found = []
    for name in ("right.txt", "x03_fresh_right.txt", "x03_fresh_wrong.txt"):
        blocks = (CORPUS / name).read_text(encoding="utf-8").split("\n#= ")[1:]
        for block in blocks:
            head, source = block.split("\n", 1)
            found.append((re.match(r"X\d\d-\d", head)[0], source))
    return found


def main(rounds: int = 3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COURSE_PROGRESS"] = str(Path(folder) / "progress.json")
        from utils.quiz import check
        from utils.quiz.naming.sources import run_source
        from utils.quiz.registry import get

        students = []
        for key, source in solutions():
            try:
                students.append((key, run_source(source, get(key, "X").name)))
            except Exception:  # a solution that does not even define itself is checked elsewhere
                continue
        for key, student in students:  # warm: builds the tables
            check(key, student)
        times = []
        for _ in range(rounds):
            for key, student in students:
                started = time.perf_counter()
                check(key, student)
                times.append(1000 * (time.perf_counter() - started))
    cuts = statistics.quantiles(times, n=20)
    print(f"check: {len(students)} solutions, {rounds} rounds, wall-clock")
    print(f"  median {statistics.median(times):.0f} ms, 95th percentile {cuts[-1]:.0f} ms")
