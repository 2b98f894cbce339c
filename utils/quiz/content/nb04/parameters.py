"""X04-4: how many numbers a multi-head attention learns."""

from __future__ import annotations

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise


def mha_params(d: int, h: int, bias: bool = True) -> int:
    weights = 4 * d * d  # W^Q, W^K, W^V and W^O, whatever h is
    return weights + (4 * d if bias else 0)


def switched(bug, d: int, h: int, bias: bool = True):
    """Four square matrices and their biases; ``bug`` says which mistakes are on."""
    dh = d // h
    use = bug.choose(lambda: bias, bias_forgotten=lambda: False, always_bias=lambda: True)
    biases = bug.choose(
        lambda: 4 * d,
        three_biases=lambda: 3 * d,
        one_bias=lambda: d,
        bias_per_head=lambda: 3 * dh + d,
        bias_times_heads=lambda: 3 * h * d + d,
    )
    extra = biases if use else 0
    return bug.choose(
        lambda: 4 * d * d + extra,
        times_heads=lambda: h * (4 * d * d + extra),
        full_width_heads=lambda: h * 4 * d * d + extra,
        full_width_heads_small_out=lambda: 3 * h * d * d + d * d + extra,
        divided_by_heads=lambda: (4 * d * d + extra) // h,
        divided_weights=lambda: 4 * d * dh + extra,
        one_head_and_out=lambda: 3 * d * dh + d * d + extra,
        no_output_matrix=lambda: 3 * d * d + (extra * 3 // 4 if extra == 4 * d else extra),
        no_output_matrix_all_biases=lambda: 3 * d * d + (4 * d if use else 0),
        one_matrix=lambda: d * d + (d if use else 0),
        widths_only=lambda: 4 * d,
        output_twice=lambda: 5 * d * d + extra,
    )


PARAMETERS = Exercise(
    id="X04-4",
    title="Parameters of a multi-head attention",
    see="04, section 5",
    name="mha_params",
    reference=mha_params,
    switched=switched,
    bugs=(
        *group("use", "the biases")(
            bias_forgotten="The biases are missing: with `bias=True` each of the four layers also "
            "learns d numbers, 4 · d together.",
            always_bias="The biases are counted even with `bias=False`.",
        ),
        *group("biases", "the biases")(
            three_biases="There are three biases in your count. The fourth layer, W^O, has one "
            "too.",
            one_bias="There is one bias in your count. Each of the four layers has one: 4 · d.",
            bias_per_head="The biases of a single head are counted. Over all heads, h · (d/h) = d "
            "for each of q, k and v.",
            bias_times_heads="The biases are multiplied by h. All heads together have d for each "
            "of q, k and v.",
        ),
        *group("weights", "the matrices")(
            times_heads="All is multiplied by h, as for h heads of *full* width (the lecture's "
            "first version). With the width split, each head is d/h wide, and h · d · (d/h) = d².",
            full_width_heads="The matrices are multiplied by h, as for h heads of *full* width "
            "(the lecture's first version). With the width split, h · d · (d/h) = d².",
            full_width_heads_small_out="Every head has three matrices of full width in your count. "
            "They are (d, d/h): h of them make d² again.",
            divided_by_heads="All is divided by h: that is one head's share. There are h of them.",
            divided_weights="The matrices are divided by h: that is one head. There are h of them.",
            one_head_and_out="Your count is that of one head and W^O, or of heads that see only a "
            "slice of x, with matrices (d/h, d/h). Every head reads the whole x, (d, d/h), and "
            "there are h of them: d² for each of q, k and v.",
            no_output_matrix="W^O is missing: d · d numbers, and its bias, that mix the heads.",
            no_output_matrix_all_biases="W^O is missing (its bias is there): d · d numbers that "
            "mix the heads.",
            one_matrix="One matrix is counted. There are four: W^Q, W^K, W^V and W^O.",
            widths_only="d is there, but not d²: a layer from d to d has d · d weights.",
            output_twice="Five matrices are counted. There are four: W^Q, W^K, W^V and W^O.",
        ),
    ),
    probes=lambda r: [(512, 8, True), (512, 8, False), (48, 6, True), (96, 4, False), (60, 5)],
    hints=(
        "Which matrices are there, and what is the shape of each, over all heads together?",
        "h heads of (d, d/h) make (d, d). There are W^Q, W^K, W^V, and W^O after the heads.",
        "Four times d · d, and with biases four times d more. h does not come into it.",
    ),
    also_right=(
        "def mha_params(d, h, bias=True):\n"
        "    return sum(p.numel() for p in nn.MultiheadAttention(d, h, bias=bias).parameters())",
        "def mha_params(d, h, bias=True):\n    return 4 * d * (d + int(bias))",
        "def mha_params(d, h, bias=True):\n    dh = d // h\n"
        "    per_head = 3 * (d * dh + (dh if bias else 0))\n"
        "    out = h * dh * d + (d if bias else 0)\n    return h * per_head + out",
    ),
    blank="def mha_params(d, h, bias=True):\n    ...",
)
