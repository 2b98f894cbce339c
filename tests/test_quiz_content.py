"""For every exercise and question of the course: right passes, each bug gets its own name."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from utils.quiz import proofs, registry
from utils.quiz.exercise import Bug, Exercise
from utils.quiz.questions import Generated, Option, Question, no, yes
from utils.quiz.table import random_maker

ITEMS = registry.everything()
README = Path(proofs.__file__).with_name("README.md")
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
    return 2 * x


def switched(bug, x):
    x = bug.choose(lambda: x, sign=lambda: -x, same=lambda: x + 0, mirrored=lambda: x * -1)
    return bug.choose(lambda: 2 * x, triple=lambda: 3 * x)


def small(**more) -> Exercise:
    settings = {
        "id": "X99-1",
        "title": "Double",
        "see": "99, section 1",
        "name": "double",
        "reference": double,
        "switched": switched,
        "bugs": (
            Bug("sign", "The sign is wrong here.", group="x"),
            Bug("triple", "It is three times x, not two."),
        ),
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


def extra(*names):
    bugs = small().bugs + tuple(Bug(n, "Something is wrong here.", group="x") for n in names)
    # the switches that are asked for but not listed must be known
    return small(bugs=bugs)


@pytest.fixture
def tolerant(monkeypatch):
    """Let the reference ask for switches that an exercise does not list."""
    from utils.quiz import exercise

    monkeypatch.setattr(
        exercise.Switches, "__call__", lambda self, name: self.asked.add(name) or name in self.on
    )


def test_a_sound_exercise_has_no_problems(tolerant):
    assert proofs.problems(small()) == []


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda: extra("same"), "same: looks like the right answer"),
        (lambda: extra("mirrored"), "sign: looks like mirrored"),
        (lambda: extra("never-asked"), "never-asked: the reference never asks"),
        (lambda: small(hints=("one", "two")), "fewer than three hints"),
        (lambda: small(also_right=()), "fewer than three right solutions"),
        (
            lambda: small(also_right=("def double(x):\n    return x",) * 3),
            "right solution 1 is refused",
        ),
        (lambda: small(blank="def double(x):\n    return x"), "the blank is"),
        (lambda: small(reference=lambda x: x), "the reference is refused"),
        (lambda: small(library=lambda x: x), "the library is refused"),
        (lambda: small(tolerance=0.1), "tolerance"),
    ],
)
def test_proofs_find(broken, expected, tolerant):
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


def test_a_reference_that_asks_for_an_unlisted_bug_says_so():
    with pytest.raises(KeyError, match="does not list"):
        small(switched=lambda bug, x: 2 * x if not bug("typo") else x).right(torch.ones(2))


def test_probes_are_the_same_on_every_call():
    a, b = random_maker(3), random_maker(3)
    assert torch.equal(a(2, 5), b(2, 5))
    assert torch.equal(a.ints(0, 9, 4), b.ints(0, 9, 4))


def test_the_guides_example_works_and_is_short():
    code = re.search(r"```python\n(# worked example.*?)```", README.read_text("utf-8"), re.S)[1]
    space = {"__name__": "example"}
    exec(compile(code, "README.md", "exec"), space)
    exercise = next(value for value in space.values() if isinstance(value, Exercise))
    assert proofs.problems(exercise) == []
    assert len(exercise.bugs) >= 8
    assert len([line for line in code.splitlines() if line.strip()]) < 40
