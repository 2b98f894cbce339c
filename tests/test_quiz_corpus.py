"""Solutions as students write them: are right ones taken and wrong ones named?"""

from pathlib import Path

import pytest

from utils.layers.attention import MultiHeadAttention
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.proofs import run_source
from utils.quiz.verdict import Verdict

FOLDER = Path(__file__).parent / "quiz_corpus"


def read(file: str) -> list[tuple[str, str]]:
    """(what stands after "#=", source) of every block of a file."""
    blocks = (FOLDER / file).read_text(encoding="utf-8").split("\n#= ")[1:]
    return [tuple(block.split("\n", 1)) for block in blocks]


def wrong(file: str) -> list[tuple[str, str, str]]:
    """(exercise, expected mistake, source) of every block of a file."""
    return [(*head.split(" ", 1), source) for head, source in read(file)]


def verdict_on(key: str, source: str, **given) -> Verdict:
    """The verdict on a solution, with what the cells above its exercise have defined."""
    exercise = registry.get(key, "X")
    above = {} if key == "X07-2" else GIVEN.get(key[:3], {})  # X07-2 is where FFN is written
    return diagnose(exercise, run_source(source, exercise.name, **{**above, **given}))


GIVEN = {
    "X03": {
        "attention": registry.get("X03-1", "X").reference,
        "SelfAttention": registry.get("X03-2", "X").reference,
    },
    "X07": {"MultiHeadAttention": MultiHeadAttention, "FFN": registry.get("X07-2", "X").reference},
}
# The files "x03_fresh_..." were written by somebody who had not seen the list of mistakes.
RIGHT = read("right.txt") + read("x03_fresh_right.txt")
WRONG = [("X03-1", expected, source) for expected, source in read("x03_1_wrong.txt")]
WRONG += wrong("others_wrong.txt") + wrong("x03_fresh_wrong.txt")
for number in ("01", "04", "05", "06", "07", "08", "09"):
    RIGHT += read(f"nb{number}_right.txt")
    WRONG += wrong(f"nb{number}_wrong.txt")
for key, expected, source in wrong("nb02.txt"):  # right and wrong ones in one file
    if expected == "right":
        RIGHT.append((key, source))
    else:
        WRONG.append((key, expected, source))


def fits(verdict: Verdict, expected: str) -> bool:
    if expected == "raised":
        return verdict.status == "raised"
    return verdict.mistake in expected.split(" or ")


@pytest.mark.parametrize(
    ("key", "source"), RIGHT, ids=[f"{k}-{i}" for i, (k, _) in enumerate(RIGHT)]
)
def test_right_solution_passes(key, source):
    verdict = verdict_on(key, source)
    assert verdict.status == "passed", verdict


@pytest.mark.parametrize(
    ("key", "expected", "source"), WRONG, ids=[f"{k}-{i}-{e}" for i, (k, e, _) in enumerate(WRONG)]
)
def test_wrong_solution_is_named(key, expected, source):
    verdict = verdict_on(key, source)
    if expected == "remark":  # right where it was asked, and told where it is not
        assert verdict.passed and verdict.remarks, verdict
        return
    assert not verdict.passed
    if expected == "?":
        assert verdict.mistake is None, verdict
        assert len(verdict.message) > 20
    else:
        assert fits(verdict, expected), verdict


def test_every_file_of_the_corpus_is_read():
    assert len(list(FOLDER.glob("*.txt"))) == 20, "a new file? add it above, and count it here"
    assert {key[:3] for key, _ in RIGHT} == {f"X0{i}" for i in range(1, 10)}
    assert {key[:3] for key, _, _ in WRONG} == {f"X0{i}" for i in range(1, 10)}
