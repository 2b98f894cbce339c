"""For every exercise and question of the course: right passes, each bug gets its own name."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from utils.quiz import proofs, registry
from utils.quiz.exercise import Exercise, bug
from utils.quiz.naming.answers import Answers, answers_of, random_maker
from utils.quiz.questions import Generated, Option, Question, no, yes

ITEMS = registry.everything()
GUIDE = Path(__file__).parents[1] / "docs" / "add_an_exercise.md"
FILES = sorted(Path(proofs.__file__).parent.glob("content/*/x*.py"))
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS.keys())
def test_content_has_no_problems(item):
    assert proofs.problems(item) == []


@pytest.mark.parametrize("number", registry.notebooks())
def test_a_notebook_asks_for_its_items_and_they_are_numbered_through(number):
    (notebook,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    keys = list(registry.load(number))
    asked = set(re.findall(rf"\b[XQGP]{number}-\d+", notebook.read_text("utf-8")))
    assert asked <= set(keys)
    assert {key for key in keys if key[0] != "G"} <= asked  # a spare generated one may wait
    for kind in registry.KINDS:
        mine = [key for key in keys if key[0] == kind]
        assert mine == [f"{kind}{number}-{i}" for i in range(1, len(mine) + 1)] != []


def test_every_item_says_where_it_is_explained_and_has_a_title():
    for key, item in ITEMS.items():
        assert re.fullmatch(r"\d\d, section \d+", item.see), key
        assert item.title, key
        assert key[1:3] == item.see[:2], key


def test_the_right_answer_is_not_always_the_same_letter():
    letters = {q.options.index(next(o for o in q.options if o.right)) for q in questions()}
    assert len(letters) >= 3


def questions():
    return [item for item in ITEMS.values() if type(item) is Question]


# The proofs themselves: they have to find what is wrong.


def double(x):
    y = 2 * x
    return y


def small(**more) -> Exercise:
    settings = {
        "id": "X99-1",
        "title": "Double",
        "see": "99, section 1",
        "name": "double",
        "reference": double,
        "bugs": (
            bug("sign", "The sign is wrong here.", ("2 * x", "-2 * x")),
            bug("triple", "It is three times x, not two.", ("2 *", "3 *")),
        ),
        "steps": {"2 * x": "Twice is a factor of two."},
        "probes": lambda r: [(r(3),), (r(2, 4),)],
        "hints": ("Twice.", "x + x", "2 * x"),
        "also_right": (
            "def double(x):\n    return x + x",
            "double = lambda x: x * 2",
            "def double(x):\n    return x.add(x)",
        ),
        "blank": "def double(x):\n    ...",
    }
    return Exercise(**(settings | more))


def extra(name, *changes):
    return small(bugs=(*small().bugs, bug(name, "Something is wrong here.", *changes)))


def half(x):
    return x / 2


def test_a_sound_exercise_has_no_problems():
    assert proofs.problems(small()) == []


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda: extra("same", ("2 * x", "x * 2")), "same: looks like the right answer"),
        (lambda: extra("mirrored", ("2 * x", "-(x + x)")), "mirrored: looks like sign"),
        (lambda: extra("nowhere", ("4 * x", "x")), "nowhere: cannot be made"),
        (lambda: extra("sign", ("2 * x", "5 * x")), "sign: listed twice"),
        (lambda: small(steps={"3 * x": "No."}), "no step of the reference"),
        (lambda: small(hints=("one", "two")), "fewer than three hints"),
        (lambda: small(also_right=()), "fewer than three right solutions"),
        (
            lambda: small(also_right=("def double(x):\n    return x",) * 3),
            "right solution 1 is refused",
        ),
        (lambda: small(blank="def double(x):\n    return x"), "the blank is"),
        (lambda: small(library=half), "the library is refused"),
        (lambda: small(tolerance=0.1), "tolerance"),
    ],
)
def test_proofs_find(broken, expected):
    found = proofs.problems(broken())
    assert any(expected in text for text in found), found


def test_proofs_find_bad_questions():
    good = yes("1", "Because one is the number of it.")
    bad = no("2", two="Because two would be one too many.")
    assert proofs.problems(Question("Q99-1", "?", (good, bad))) == []
    assert proofs.problems(Question("Q99-1", "?", (good, good)))
    assert proofs.problems(Question("Q99-1", "?", (bad, bad)))
    assert proofs.problems(Question("Q99-1", "?", (good, replace(bad, reason=""))))
    assert proofs.problems(Question("Q99-1", "?", (good, replace(bad, mistake=None))))
    tagless = Generated(
        "G99-1", lambda r: ("?", good, [Option(str(i), "x" * 20) for i in range(2, 6)])
    )
    assert proofs.problems(tagless)
    with pytest.raises(ValueError, match="no four different options"):
        Generated("G99-1", lambda r: ("?", good, [bad])).with_seed(0)


def test_probes_are_the_same_on_every_call():
    a, b = random_maker(3), random_maker(3)
    assert torch.equal(a(2, 5), b(2, 5))
    assert torch.equal(a.ints(0, 9, 4), b.ints(0, 9, 4))


def test_the_guides_example_works_and_is_short(tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.S)[1]
    (tmp_path / "guide_example.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    exercise = importlib.import_module("guide_example").EXERCISE
    assert proofs.problems(exercise) == []
    assert len([line for line in code.splitlines() if line.strip()]) < 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_an_exercise_is_one_short_file(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("key", [key for key in ITEMS if key[0] == "X"])
def test_stored_prints_are_of_todays_text(key):
    assert answers_of(ITEMS[key]).is_fresh(), "run `make prints`"


def test_stored_prints_are_what_would_be_made_now():
    answers = answers_of(ITEMS["X06-1"])
    stored, made = answers.table, answers.build()
    assert [v.words for v in stored[0]] == [v.words for v in made[0]]
    assert np.allclose(stored[1].places, made[1].places, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("key", [key for key in ITEMS if key[0] == "X"])
def test_probes_are_drawn_from_their_own_seed_alone(key):
    """Whatever else torch has drawn: stored fingerprints would not fit otherwise."""
    answers = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        answers.append(Answers(ITEMS[key]).right)
    for one, other in zip(*answers, strict=True):
        assert one.key == other.key and all(map(np.array_equal, one.arrays, other.arrays))
