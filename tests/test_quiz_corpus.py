"""Solutions as students write them: are right ones taken and wrong ones named?"""

from pathlib import Path

import pytest

from utils.layers.attention import MultiHeadAttention
from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.naming.sources import run_source
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


# Of the wrong solutions this share at least gets a name, over all and in each exercise.
NAMED, NAMED_EACH = 0.85, 0.6


@pytest.mark.parametrize(
    ("key", "source"), RIGHT, ids=[f"{k}-{i}" for i, (k, _) in enumerate(RIGHT)]
)
def test_right_solution_passes(key, source):
    verdict = verdict_on(key, source)
    assert verdict.status == "passed", verdict


@pytest.fixture(scope="module")
def verdicts() -> list[tuple[str, str, Verdict]]:
    """(exercise, what its writer calls the mistake, verdict) of every wrong solution."""
    return [(key, expected, verdict_on(key, source)) for key, expected, source in WRONG]


def test_no_wrong_solution_passes_without_a_word(verdicts):
    passed = [(key, expected) for key, expected, v in verdicts if v.passed and not v.remarks]
    assert passed == []


def test_most_wrong_solutions_are_named(verdicts):
    named: dict[str, list[bool]] = {}
    for key, _, verdict in verdicts:
        named.setdefault(key, []).append(verdict.mistake is not None)
    shares = {key: sum(found) / len(found) for key, found in named.items()}
    assert min(shares.values()) >= NAMED_EACH, shares
    assert sum(map(sum, named.values())) / len(WRONG) >= NAMED


def test_every_verdict_says_something(verdicts):
    short = [
        (key, expected) for key, expected, v in verdicts if len(v.message) < 15 and not v.passed
    ]
    assert short == []


def test_every_exercise_has_right_and_wrong_solutions():
    exercises = {key for key in registry.everything() if key[0] == "X"}
    assert {key for key, _ in RIGHT} == {key for key, _, _ in WRONG} == exercises
