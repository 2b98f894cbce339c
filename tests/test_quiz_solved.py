"""What passed must not break the cells below: every right solution goes on in its notebook.

Each source in `also_right`, each right solution of the corpus and of the blind sets is put into its
notebook, goes through `carry_on`, and the cells that depend on it are run (see `quiz_solved`). None
is left out; what is left out are the pixels of the figures and, in cells that call `train` or
`learn`, all steps of a training but two, with the bounds that its results would have to keep.
"""

import re
from pathlib import Path

import pytest

from tests.quiz_slices import cells_of, slice_of
from tests.quiz_solved import run_below
from tests.test_quiz_corpus import RIGHT
from utils.quiz import carry_on, cells, registry
from utils.quiz.below import misfit, uses_of
from utils.quiz.naming.sources import run_source

EXERCISES = {key: item for key, item in registry.everything().items() if key[0] == "X"}
BLIND = Path(__file__).parent / "quiz_blind"
OWN, OURS = "Going on with your own", "Yours is right, but the cells below"


def solutions() -> list[tuple[str, str, str]]:
    """(exercise, where it stands, source) of each right solution that there is."""
    found = [
        (key, f"also_right-{place}", source)
        for key, exercise in EXERCISES.items()
        for place, source in enumerate(exercise.also_right, 1)
    ]
    found += [(key, f"corpus-{place}", source) for place, (key, source) in enumerate(RIGHT)]
    for file in sorted(BLIND.glob("set*/*.txt")):
        blocks = re.split(r"(?m)^#= ", file.read_text(encoding="utf-8"))[1:]
        right = [block.split("\n", 1)[1] for block in blocks if block.startswith("right")]
        found += [(file.stem, f"{file.parent.name}-{n}", s) for n, s in enumerate(right, 1)]
    return sorted(found)  # by exercise: what stands above it is run once


SOLUTIONS = solutions()


@pytest.mark.parametrize(
    ("key", "source"), [(k, s) for k, _, s in SOLUTIONS], ids=[f"{k}-{w}" for k, w, _ in SOLUTIONS]
)
def test_the_cells_below_go_on_with_a_right_solution(key, source):
    said = run_below(key, source)
    if OWN in said:
        return
    assert OURS in said, "the check has refused it"
    try:  # without need no student loses the own version
        run_below(key, source, carried=False)
    except Exception:
        return
    pytest.fail(f"the notebook runs to its end with the student's version, and yet: {said}")


RENAMED = next(s for s in EXERCISES["X03-2"].also_right if "(self, d, dk, dv)" in s)


def test_an_unadapted_solution_would_be_seen(monkeypatch):
    monkeypatch.setattr(cells, "misfit", lambda exercise, student: "")
    with pytest.raises(TypeError, match="unexpected keyword argument 'd_model'") as caught:
        run_below("X03-2", RENAMED)
    assert OWN in caught.value.__notes__[0]


def test_cells_that_use_a_solution_are_found():
    """By their names; only three exercises have nobody below who calls what they ask for."""
    unused = {key for key in EXERCISES if not slice_of(key).depend}
    assert unused == {"X04-3", "X07-3", "X07-4"}
    notebook, found = cells_of("03"), slice_of("X03-2")
    below = "\n".join(notebook[i].source for i in found.depend)
    assert "SelfAttention(d_model=6" in below and "zip(general.parameters()" in below
    assert "nn.MultiheadAttention(8" not in below  # of another layer
    assert not set(found.above) & found.depend and max(found.above) < found.start


@pytest.mark.parametrize("key", EXERCISES)
def test_our_versions_fit(key):
    exercise = EXERCISES[key]
    assert misfit(exercise, exercise.reference) == ""
    assert misfit(exercise, exercise.library or exercise.reference) == ""
    for words in uses_of(exercise):  # go on from "the cells below"
        assert words[0].islower() and words[-1] not in ".;", words


def test_uses_belong_to_exercises():
    for number in registry.notebooks():
        keys = {key for key in EXERCISES if key[1:3] == number}
        file = Path(cells.__file__).parent / "content" / f"nb{number}" / "below.py"
        asked = (
            set(re.findall(r'"(X\d\d-\d+)"', file.read_text("utf-8"))) if file.exists() else set()
        )
        assert asked <= keys
        assert all(uses_of(EXERCISES[key]) for key in asked)


ATTENTION = """
class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q, self.w_k = nn.Linear(d_model, d_k, False), nn.Linear(d_model, d_k, False)
        self.w_v, self.drop = nn.Linear(d_model, d_v, False), nn.Dropout(0.1)
        {init}
    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return {returned}, w
"""
STUMBLES = [
    (
        "X02-3",
        "tensors where lists of numbers come",
        """
def decode_greedy(model, src, max_len, bos, eos):
    state, words, said = model.start(src), torch.full((len(src),), bos), []
    for _ in range(max_len):
        logits, state, _ = model.step(words, state)
        words = logits.argmax(dim=-1)
        said.append(words)
    return [row[: [*row, eos].index(eos)] for row in torch.stack(said, dim=1)]
""",
        "go on with a list, and yours gives a tensor",
    ),
    (
        "X02-4",
        "tensors where words come",
        "def shift_targets(y, bos, eos):\n    y = torch.tensor([bos, *y, eos])\n"
        "    return y[:-1].tolist(), y[1:].tolist()",
        "hand over words, not numbers",
    ),
    (
        "X05-1",
        "a table in float64",
        """
def sinusoidal_pe(N, d, base=10000.0):
    angles = torch.arange(N).double()[:, None] / base ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
""",
        "go on with numbers of type float32, and yours are of type float64",
    ),
    (
        "X07-2",
        "a convolution as feed-forward network",
        """
class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)
    def forward(self, x):
        return self.down(self.up(x.mT).relu()).mT
""",
        "look for its two `nn.Linear`",
    ),
    (
        "X03-2",
        "a dropout",
        ATTENTION.format(init="", returned="self.drop(w) @ v"),
        "copy its three matrices",
    ),
    (
        "X03-2",
        "large numbers to begin with",
        ATTENTION.format(
            init="for p in self.parameters(): nn.init.normal_(p)", returned="w @ v"
        ).replace("nn.Dropout(0.1)", "None"),
        "look at it untrained",
    ),
]


@pytest.mark.parametrize(
    ("key", "source", "reason"),
    [(k, s, r) for k, _, s, r in STUMBLES],
    ids=[s[1] for s in STUMBLES],
)
def test_carry_on_says_why_it_falls_back(key, source, reason, capsys):
    exercise = registry.get(key, "X")
    student = run_source(source, exercise.name)
    assert carry_on(key, student) is (exercise.library or exercise.reference)
    said = capsys.readouterr().out
    assert said.startswith(f"Going on with the library's {exercise.name}. {OURS} {reason}"), said
    with pytest.raises(Exception):  # noqa: B017, PT011
        run_below(key, source, carried=False)


KEPT = [
    (
        "X01-4",
        "def min_steps(n, m):\n    return torch.arange(n).float()[:, None] + torch.arange(m) + 1",
    ),
    (
        "X06-4",
        "def local_mask(N, w):\n    i = torch.arange(N)\n    return (i - i[:, None]).abs() <= w",
    ),
    (
        "X08-2",
        """
class PatchEmbed(nn.Module):
    def __init__(self, size, inside, outside):
        super().__init__()
        self.proj = nn.Conv2d(inside, outside, size, size)
    def forward(self, x):
        return self.proj(x).flatten(2).mT
""",
    ),
]


@pytest.mark.parametrize(("key", "source"), KEPT, ids=[key for key, _ in KEPT])
def test_other_names_and_whole_numbers_as_fractions_are_no_reason(key, source, capsys):
    student = run_source(source, registry.get(key, "X").name)
    assert carry_on(key, student) is student
    assert OWN in run_below(key, source)
