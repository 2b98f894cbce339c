"""Solutions as students write them: are right ones taken and wrong ones named?"""

from pathlib import Path

import pytest

from utils.layers.attention import MultiHeadAttention
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.proofs import run_source
from utils.quiz.verdict import Verdict

FOLDER = Path(__file__).parent / "quiz_corpus"


def read(files: str = "*.txt") -> list[tuple[str, str, str]]:
    """(exercise, expected mistake or "right", source) of every block below its "#=" line."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob(files)))
    blocks = (block.split("\n", 1) for text in texts for block in text.split("\n#= ")[1:])
    heads = ((head.partition(" "), source) for head, source in blocks)
    return [(key, expected or "right", source) for (key, _, expected), source in heads]


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
RIGHT = [(key, source) for key, expected, source in read() if expected == "right"]
WRONG = [block for block in read() if block[1] != "right"]


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


def test_every_exercise_has_right_and_wrong_solutions():
    exercises = {key for key in registry.everything() if key[0] == "X"}
    assert {key for key, _ in RIGHT} == {key for key, _, _ in WRONG} == exercises
