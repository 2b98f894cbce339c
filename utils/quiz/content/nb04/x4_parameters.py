"""X04-4: how many numbers a multi-head attention learns."""

from __future__ import annotations

from utils.quiz.exercise import Exercise, bug


def mha_params(d: int, h: int, bias: bool = True) -> int:
    weights = 4 * d * d  # W^Q, W^K, W^V and W^O, whatever h is
    biases = 4 * d if bias else 0
    return weights + biases


ALL, FOUR = "4 * d * d", "4 * d if"
EXERCISE = Exercise(
    id="X04-4",
    title="Parameters of a multi-head attention",
    see="04, section 5",
    name="mha_params",
    reference=mha_params,
    bugs=(
        bug(
            "bias-forgotten",
            "The biases are missing: with `bias=True` each of the four layers also learns d "
            "numbers.",
            ("weights + biases", "weights"),
        ),
        bug(
            "always-bias",
            "The biases are counted even with `bias=False`.",
            ("if bias", "if True"),
        ),
        bug(
            "three-biases",
            "There are three biases in your count. The fourth layer, W^O, has one too.",
            (FOUR, "3 * d if"),
        ),
        bug(
            "bias-per-head",
            "The biases of a single head are counted. Over all heads, h · (d/h) = d for each of q, "
            "k and v.",
            (FOUR, "3 * (d // h) + d if"),
        ),
        bug(
            "times-heads",
            "All is multiplied by h, as for h heads of *full* width (the lecture's first version). "
            "With the width split, each head is d/h wide, and h · d · (d/h) = d².",
            ("weights + biases", "h * (weights + biases)"),
        ),
        bug(
            "full-width-heads",
            "The matrices are multiplied by h, as for h heads of *full* width (the lecture's first "
            "version). With the width split, h · d · (d/h) = d².",
            (ALL, "h * 4 * d * d"),
        ),
        bug(
            "full-width-heads-small-out",
            "Every head has three matrices of full width in your count. They are (d, d/h): h of "
            "them make d² again.",
            (ALL, "3 * h * d * d + d * d"),
        ),
        bug(
            "divided-by-heads",
            "All is divided by h: that is one head's share. There are h of them.",
            ("weights + biases", "(weights + biases) // h"),
        ),
        bug(
            "divided-weights",
            "The matrices are divided by h: that is one head. There are h of them.",
            (ALL, "4 * d * (d // h)"),
        ),
        bug(
            "one-head-and-out",
            "Your count is that of one head and W^O, or of heads that see only a slice of x, with "
            "matrices (d/h, d/h). Every head reads the whole x, and there are h of them.",
            (ALL, "3 * d * (d // h) + d * d"),
        ),
        bug(
            "no-output-matrix",
            "W^O is missing: d · d numbers, and its bias, that mix the heads.",
            (ALL, "3 * d * d"),
            (FOUR, "3 * d if"),
        ),
        bug(
            "one-matrix",
            "One matrix is counted. There are four: W^Q, W^K, W^V and W^O.",
            (ALL, "d * d"),
            (FOUR, "d if"),
        ),
    ),
    steps={
        ALL: "Four matrices of d × d are learnt, W^Q, W^K, W^V and W^O, however many heads there "
        "are.",
        "4 * d if bias": "Each of the four layers has a bias of d numbers, if it has one.",
    },
    probes=lambda r: [(512, 8, True), (512, 8, False), (48, 6, True), (96, 4, False), (60, 5)],
    hints=(
        "Which matrices are there, and what is the shape of each, over all heads together?",
        "h heads of (d, d/h) make (d, d). There are W^Q, W^K, W^V, and W^O after the heads.",
        "Four times d · d, and with biases four times d more. h does not come into it.",
    ),
    also_right=(
        """
def mha_params(d, h, bias=True):
    return sum(p.numel() for p in nn.MultiheadAttention(d, h, bias=bias).parameters())
""",
        "def mha_params(d, h, bias=True):\n    return 4 * d * (d + int(bias))",
        """
def mha_params(d, h, bias=True):
    dh = d // h
    per_head = 3 * (d * dh + (dh if bias else 0))
    out = h * dh * d + (d if bias else 0)
    return h * per_head + out
""",
    ),
    blank="def mha_params(d, h, bias=True):\n    ...",
)
