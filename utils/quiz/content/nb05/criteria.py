"""X05-4: the four criteria as tests."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

UNIQUE = "the test for `unique`"
CONSISTENT = "the test for `consistent`"
BOUNDED = "the test for `bounded`"
SAME = "the test for `deterministic`"


def has_property(pos_fn: Callable[[int], Tensor], name: str) -> bool:
    def distances(n):
        table = pos_fn(n)
        return (table[:, None] - table[None, :]).norm(dim=-1)  # (n, n)

    if name == "unique":
        apart = distances(100) + torch.eye(100)  # leave out the distance to itself
        return bool(apart.min() >= 0.001)
    if name == "consistent":
        short, long = distances(20), distances(50)
        along = max(float(long.diagonal(k).max() - long.diagonal(k).min()) for k in range(1, 50))
        return along < 0.001 and bool((short - long[:20, :20]).abs().max() < 0.001)
    if name == "bounded":
        return bool(pos_fn(10_000).abs().max() <= 1)
    return torch.equal(pos_fn(20), pos_fn(20))  # deterministic


def _sines(n: int) -> Tensor:
    angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(4) / 4)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def _clock(n: int) -> Tensor:
    angle = 2 * torch.pi * torch.arange(n)[:, None] / 12.0001
    return torch.cat([angle.sin(), angle.cos()], dim=1)


ENCODINGS: dict[str, Callable[[int], Tensor]] = {
    "fraction": lambda n: torch.arange(n)[:, None] / (n - 1),
    "integer": lambda n: torch.arange(n)[:, None].float(),
    "one_hot": lambda n: torch.eye(n, 128),
    "sinusoid": _sines,
    "sine_only": lambda n: _sines(n)[:, :4],
    "clock": _clock,  # one hand, back where it was after 12 steps, but for a hair
    "three_bits": lambda n: (torch.arange(n)[:, None] // torch.tensor([1, 2, 4]) % 2).float(),
    "weeks": lambda n: 5.0 * (torch.arange(n)[:, None] // 7),  # seven neighbours alike
    "hundredths": lambda n: torch.arange(n)[:, None] / 100,
    "minus": lambda n: -torch.arange(n)[:, None].float(),
    "noise": lambda n: torch.randn(n, 4),
}
for _name, _fn in ENCODINGS.items():
    _fn.__name__ = _name
NAMES = ("unique", "consistent", "bounded", "deterministic")


def call(student, pos_fn: Callable[[int], Tensor]) -> list:
    """All four answers on one encoding; a tensor that holds one truth value is as good as it."""
    answers = [student(pos_fn, name) for name in NAMES]
    single = [
        isinstance(a, Tensor) and a.numel() == 1 or isinstance(a, np.generic) for a in answers
    ]
    return [a.item() if one else a for a, one in zip(answers, single, strict=True)]


def switched(bug, pos_fn: Callable[[int], Tensor]) -> list:
    """The answers to the four names; ``bug`` says which mistakes are on."""
    tests = _tests(pos_fn)
    unique = bug.choose(
        lambda: tests["unique"],
        exactly_equal=lambda: tests["exactly-equal"],
        only_neighbours=lambda: tests["only-neighbours"],
        with_itself=lambda: False,
        any_pair=lambda: tests["any-pair"],
    )
    consistent = bug.choose(
        lambda: tests["along"] and tests["lengths"],
        one_length=lambda: tests["along"],
        only_lengths=lambda: tests["lengths"],
        exact_distances=lambda: tests["exact"],
        all_distances_equal=lambda: tests["along"] and tests["one-and-two"],
    )
    bounded = bug.choose(
        lambda: tests["bounded"],
        short_only=lambda: tests["short"],
        one_sided=lambda: tests["below"],
        strict=lambda: tests["strict"],
        only_finite=lambda: True,
        mean_for_maximum=lambda: tests["mean"],
    )
    same = bug.choose(
        lambda: tests["same"],
        says_yes_to_noise=lambda: True,
        same_object=lambda: False,
        lengths_compared=lambda: tests["same-start"],
    )
    answers = [unique, consistent, bounded, same]
    answers = bug.choose(
        lambda: answers,
        always_unique=lambda: [unique] * 4,
        always_consistent=lambda: [consistent] * 4,
        always_bounded=lambda: [bounded] * 4,
        always_deterministic=lambda: [same] * 4,
    )
    return bug.choose(
        lambda: answers,
        inverted=lambda: [not answer for answer in answers],
        always_true=lambda: [True] * 4,
        always_false=lambda: [False] * 4,
        words=lambda: ["yes" if answer else "no" for answer in answers],
    )


@functools.cache
def _tests(pos_fn: Callable[[int], Tensor]) -> dict[str, bool]:
    """Every test that somebody might take for one of the four."""

    def distances(table):
        return (table[:, None] - table[None, :]).norm(dim=-1)

    apart = distances(pos_fn(100).double())
    others = apart[~torch.eye(100, dtype=torch.bool)]
    short, long = distances(pos_fn(20).double()), distances(pos_fn(50).double())
    along = [long.diagonal(k) for k in range(1, 50)]
    steps, far = (pos_fn(50).diff(dim=0)).norm(dim=-1), pos_fn(10_000)
    return {
        "unique": bool(others.min() >= 0.001),
        "exactly-equal": len(torch.unique(pos_fn(100), dim=0)) == 100,
        "only-neighbours": bool(apart.diagonal(1).min() >= 0.001),
        "any-pair": bool(others.max() >= 0.001),
        "along": all(bool(line.max() - line.min() < 0.001) for line in along),
        "lengths": bool((short - long[:20, :20]).abs().max() < 0.001),
        "one-and-two": bool((along[0][0] - along[1][0]).abs() < 0.001),
        "exact": bool((steps == steps[0]).all()) and bool(short[0, 1] == long[0, 1]),
        "bounded": bool(far.abs().max() <= 1),
        "short": bool(pos_fn(50).abs().max() <= 1),
        "below": bool(far.max() <= 1),
        "strict": bool(far.abs().max() < 1),
        "mean": bool(far.abs().mean() <= 1),
        "same": torch.equal(pos_fn(20), pos_fn(20)),
        "same-start": torch.equal(pos_fn(20), pos_fn(50)[:20]),
    }


def which(probes: list, results: list) -> str | None:
    """No known mistake: name an encoding that is judged wrongly."""
    for (pos_fn,), (answers,) in zip(probes, results, strict=True):
        for name, answer in zip(NAMES, answers.tolist(), strict=True):
            right = has_property(pos_fn, name)
            if bool(answer) != right:
                return f"For `{pos_fn.__name__}` and {name!r} it says {bool(answer)}, not {right}."
    return None


CRITERIA = Exercise(
    id="X05-4",
    title="Four criteria as tests",
    see="05, section 3",
    name="has_property",
    reference=has_property,
    switched=switched,
    bugs=(
        *group("unique", UNIQUE)(
            exactly_equal="`unique` asks whether two rows are *exactly* equal. A clock comes back "
            "to the same place after 12 steps up to rounding, and passes. Ask for a distance of at "
            "least 0.001.",
            only_neighbours="`unique` looks at neighbours only. A clock that comes round after 12 "
            "steps passes: compare every pair.",
            with_itself="`unique` also takes the distance of each position to itself, which is 0, "
            "so nothing is ever unique. Leave out the diagonal.",
            any_pair="`unique` is content with one pair that differs. All of them have to: look at "
            "the smallest distance.",
        ),
        *group("consistent", CONSISTENT)(
            one_length="`consistent` is tested inside a single length. The fractions pass there; "
            "compare a sentence of 20 with one of 50.",
            only_lengths="`consistent` compares the two lengths only. A step must also be equally "
            "large everywhere *inside* a sentence; sines alone are not.",
            exact_distances="`consistent` asks for exactly equal distances, and rounding spoils it "
            "for the sinusoids. Allow 0.001.",
            all_distances_equal="`consistent` wants all distances to be equal, of near and of far "
            "positions. Only those of the same offset have to be.",
        ),
        *group("bounded", BOUNDED)(
            short_only="`bounded` is tested on a short sentence only. Hundredths look harmless "
            "until position 100: try 10 000.",
            one_sided="`bounded` looks upwards only; −5000 passes. Take the absolute value.",
            strict="`bounded` wants values strictly under 1, and the cosine of 0 is 1. Use `<=`.",
            only_finite="`bounded` asks whether the numbers are finite. 9999 is finite, and far "
            "too large.",
            mean_for_maximum="`bounded` looks at the mean. The largest value is what counts.",
        ),
        *group("deterministic", SAME)(
            says_yes_to_noise="`deterministic` says yes to pure noise. Is the seed set before each "
            "call, or one result compared with itself? Call pos_fn twice and compare.",
            same_object="`deterministic` compares objects (`is`), not numbers. Two calls make two "
            "tensors: `torch.equal`.",
            lengths_compared="`deterministic` compares two different lengths. Fractions differ "
            "there, and yet nothing is random: call pos_fn twice with the same n.",
        ),
        *group("name", "the lines that choose by `name`")(
            always_unique="Whatever is asked, the answer is that of `unique`. Is `name` looked at?",
            always_bounded="Whatever is asked, the answer is that of `bounded`. Is `name` looked "
            "at?",
            always_consistent="Whatever is asked, the answer is that of `consistent`. Is `name` "
            "looked at?",
            always_deterministic="Whatever is asked, the answer is that of `deterministic`. Is "
            "`name` looked at?",
        ),
        *group("answer", "the return lines")(
            inverted="Every answer is turned round: True where it should be False.",
            always_true="Everything passes. A test that cannot fail tests nothing.",
            always_false="Nothing passes.",
            words="The answer comes as a word. Return True or False.",
        ),
        *single(detect=which)(wrong_verdict="One of the tests decides wrongly."),
    ),
    probes=lambda r: [(fn,) for fn in ENCODINGS.values()],
    call=call,
    seconds=10.0,
    hints=(
        "Four tests, one for each name. Start with the easiest: `deterministic` calls pos_fn twice "
        "with the same n and compares with `torch.equal`.",
        "`bounded`: the largest absolute value of pos_fn(10_000). For the other two make the table "
        "of all distances, `(t[:, None] - t[None, :]).norm(dim=-1)`.",
        "`unique`: the smallest distance off the diagonal, for n = 100. `consistent`: the "
        "distances along each diagonal are equal, and those of pos_fn(20) are those of pos_fn(50), "
        "both within 0.001.",
    ),
    also_right=(
        """
def has_property(pos_fn, name):
    if name == "deterministic":
        a, b = pos_fn(30), pos_fn(30)
        return bool((a == b).all())
    if name == "bounded":
        t = pos_fn(10000)
        return t.max().item() <= 1 and t.min().item() >= -1
    if name == "unique":
        return F.pdist(pos_fn(100).double()).min().item() > 1e-3
    if name == "consistent":
        a = (pos_fn(20)[1:] - pos_fn(20)[:-1]).norm(dim=1)
        b = (pos_fn(50)[1:] - pos_fn(50)[:-1]).norm(dim=1)
        return torch.allclose(a, a[:1], atol=1e-3) and torch.allclose(b, a[0], atol=1e-3)
""",
        """
def has_property(pos_fn, name):
    def cdist(t):
        return torch.cdist(t, t, compute_mode="donot_use_mm_for_euclid_dist")
    tests = {
        "unique": lambda: all(
            (a - b).norm() >= 1e-3 for t in [pos_fn(100)] for i, a in enumerate(t) for b in t[:i]),
        "consistent": lambda: cdist(pos_fn(20)).allclose(cdist(pos_fn(50)[9:29]), atol=1e-3),
        "bounded": lambda: bool((pos_fn(10000).abs() <= 1 + 1e-6).all()),
        "deterministic": lambda: torch.allclose(pos_fn(10), pos_fn(10)),
    }
    return tests[name]()
""",
        """
def has_property(pos_fn, name):
    match name:
        case "unique":
            t = pos_fn(100).double()
            d = ((t.unsqueeze(0) - t.unsqueeze(1)) ** 2).sum(-1).sqrt()
            d.fill_diagonal_(9.0)
            return not (d < 1e-3).any()
        case "consistent":
            seen = {}
            for n in (20, 50):
                t = pos_fn(n).double()
                for i in range(n):
                    for j in range(i):
                        seen.setdefault(i - j, []).append((t[i] - t[j]).norm().item())
            return all(max(v) - min(v) < 1e-3 for v in seen.values())
        case "bounded":
            return max(abs(v) for v in pos_fn(10000).flatten().tolist()) <= 1
        case "deterministic":
            return pos_fn(7).tolist() == pos_fn(7).tolist()
""",
    ),
    blank=(
        "def has_property(pos_fn, name):\n"
        '    """Does the encoding pos_fn(n) -> (n, d) pass the test called name?"""\n    ...\n'
    ),
)
