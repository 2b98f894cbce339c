"""X05-4: the four criteria as tests."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from utils.layers.positions import sinusoidal_encoding
from utils.quiz.exercise import Exercise, bug


def has_property(pos_fn: Callable[[int], Tensor], name: str) -> bool:
    def distances(n):
        table = pos_fn(n)
        return (table[:, None] - table[None, :]).norm(dim=-1)  # (n, n)

    if name == "unique":
        apart = distances(100) + torch.eye(100)  # leave out the distance to itself
        return bool(apart.min() >= 0.001)
    if name == "consistent":
        short, long = distances(20), distances(50)
        offsets = [long.diagonal(k) for k in range(1, 50)]
        along = max(float(line.max() - line.min()) for line in offsets)
        between = float((short - long[:20, :20]).abs().max())
        return along < 0.001 and between < 0.001
    if name == "bounded":
        return bool(pos_fn(10_000).abs().max() <= 1)
    return torch.equal(pos_fn(20), pos_fn(20))  # deterministic


ENCODINGS: dict[str, Callable[[int], Tensor]] = {
    "fraction": lambda n: torch.arange(n)[:, None] / (n - 1),
    "integer": lambda n: torch.arange(n)[:, None].float(),
    "one_hot": lambda n: torch.eye(n, 128),
    "sinusoid": lambda n: sinusoidal_encoding(n, 8),
    "sine_only": lambda n: sinusoidal_encoding(n, 8)[:, 0::2],
    # one hand, back where it was after 12 steps, but for a hair
    "clock": lambda n: sinusoidal_encoding(torch.arange(n) * (2 * torch.pi / 12.0001), 2),
    "three_bits": lambda n: (torch.arange(n)[:, None] // torch.tensor([1, 2, 4]) % 2).float(),
    "weeks": lambda n: 5.0 * (torch.arange(n)[:, None] // 7),  # seven neighbours alike
    "hundredths": lambda n: torch.arange(n)[:, None] / 100,
    "minus": lambda n: -torch.arange(n)[:, None].float(),
    "noise": lambda n: torch.randn(n, 4),
}
for _name, _encoding in ENCODINGS.items():
    _encoding.__name__ = _name  # what a student reads in a message
NAMES = ("unique", "consistent", "bounded", "deterministic")
BOTH, SAME = "return along < 0.001 and between < 0.001", "torch.equal(pos_fn(20), pos_fn(20))"
ALWAYS = "def has_property(pos_fn, name):\n    return True"
BUGS = (
    bug(
        "exactly-equal",
        "`unique` asks whether two rows are *exactly* equal. A clock comes back to the same place "
        "after 12 steps, up to rounding, and passes.",
        ("apart.min() >= 0.001", "apart.min() > 0"),
    ),
    bug(
        "only-neighbours",
        "`unique` looks at neighbours only. A clock that comes round after 12 steps passes.",
        ("apart.min()", "apart.diagonal(1).min()"),
    ),
    bug(
        "with-itself",
        "`unique` takes the distance of each position to itself, 0, so nothing is ever unique.",
        (" + torch.eye(100)", ""),
    ),
    bug(
        "one-length",
        "`consistent` is tested inside a single length only, and there the fractions pass.",
        (BOTH, "return along < 0.001"),
    ),
    bug(
        "only-lengths",
        "`consistent` compares the two lengths only. A step must also be equally large everywhere "
        "*inside* a sentence; sines alone are not.",
        (BOTH, "return between < 0.001"),
    ),
    bug(
        "short-only",
        "`bounded` is tested on a short text only. Hundredths look harmless until position 100.",
        ("10_000", "50"),
    ),
    bug(
        "says-yes-to-noise",
        "`deterministic` says yes to noise. Is the seed set, or a result compared with itself?",
        (SAME, "True"),
    ),
    bug("always-true", "Everything passes. A test that cannot fail tests nothing.", ALWAYS),
)

EXERCISE = Exercise(
    id="X05-4",
    title="Four criteria as tests",
    see="05, section 3",
    name="has_property",
    reference=has_property,
    bugs=BUGS,
    steps={
        "apart.min() >= 0.001": "The two closest of 100 positions are at least 0.001 apart.",
        "line.max() - line.min()": "Equal offsets, a diagonal of the table, mean equal distances.",
        BOTH: "`consistent` has two parts: the same offset is equally far everywhere in a "
        "sentence, and in sentences of every length. Rounding is allowed for.",
        ".abs().max() <= 1": "`bounded` is about the largest value, of either sign, far out in a "
        "long text; 1 itself is allowed, since the cosine of 0 is 1.",
        SAME: "`deterministic` means that two calls with the same n give the same numbers.",
    },
    probes=lambda r: [(encoding, name) for encoding in ENCODINGS.values() for name in NAMES],
    seconds=10.0,
    hints=(
        "Four tests, one for each name. The easiest, `deterministic`, calls pos_fn twice.",
        "Two others need all distances, `(t[:, None] - t[None, :]).norm(dim=-1)`.",
        "`unique`: the smallest distance off the diagonal. `consistent`: the distances along each "
        "diagonal are equal, and those of pos_fn(20) are those of pos_fn(50), within 0.001.",
    ),
    also_right=(
        """
def has_property(pos_fn, name):
    a, b = pos_fn(20), pos_fn(50)
    steps = torch.cat([(t[1:] - t[:-1]).norm(dim=1) for t in (a, b)])
    return {"deterministic": (a == pos_fn(20)).all(), "bounded": pos_fn(10000).abs().max() <= 1,
            "unique": F.pdist(pos_fn(100).double()).min().item() > 1e-3,
            "consistent": bool((steps - steps[0]).abs().max() < 1e-3)}[name]
""",
        """
def has_property(pos_fn, name):
    def cdist(t):
        return torch.cdist(t, t, compute_mode="donot_use_mm_for_euclid_dist")
    tests = [("unique", lambda: (cdist(pos_fn(100)) < 1e-3).sum() == 100),
        ("consistent", lambda: cdist(pos_fn(20)).allclose(cdist(pos_fn(50)[9:29]), atol=1e-3)),
        ("bounded", lambda: bool((pos_fn(10000).abs() <= 1 + 1e-6).all()))]
    return dict(tests).get(name, lambda: np.array_equal(pos_fn(9), pos_fn(9)))()
""",
        """
def has_property(pos_fn, name):
    if name == "unique":
        t = pos_fn(100)
        return all((t[i] - t[:i]).norm(dim=-1).min() >= 1e-3 for i in range(1, 100))
    if name == "consistent":
        far = [[(t[k:] - t[:-k]).norm(dim=-1) for k in range(1, 20)] for t in map(pos_fn, (20, 50))]
        return all(torch.cat(f).max() - torch.cat(f).min() < 1e-3 for f in zip(*far))
    return pos_fn(10000).square().max() <= 1 if name[0] == "b" else pos_fn(9).equal(pos_fn(9))
""",
    ),
    blank='''def has_property(pos_fn, name):
    """Does the encoding pos_fn(n) -> (n, d) pass the test called name?"""
    ...
''',
)
