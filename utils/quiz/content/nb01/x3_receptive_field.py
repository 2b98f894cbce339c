"""X01-3: how many inputs one output of stacked convolutions sees."""

from __future__ import annotations

from utils.quiz.exercise import Exercise, bug


def receptive_field(layers: int, kernel: int, stride: int) -> int:
    field = 1  # an output sees itself
    for _ in range(layers):  # from the top down: neighbours lie `stride` apart one layer below
        gaps = field - 1
        field = gaps * stride + kernel
    return field


EXERCISE = Exercise(
    id="X01-3",
    title="Receptive field",
    see="01, section 9",
    name="receptive_field",
    reference=receptive_field,
    bugs=(
        bug(
            "overlap-counted",
            "layers × kernel counts the overlap of neighbouring windows again and again. A further "
            "layer adds fewer new inputs than a whole kernel.",
            ("return field", "return layers * kernel"),
        ),
        bug(
            "power",
            "kernel to the power of layers: that would be so if the windows did not overlap.",
            ("return field", "return kernel**layers"),
        ),
        bug(
            "stride-ignored",
            "The stride makes no difference. With stride 2 neighbouring positions lie 2 apart one "
            "layer below, and that doubles with every layer.",
            (" * stride", ""),
        ),
        bug(
            "not-itself",
            "It is one too few: the position itself counts too.",
            ("return field", "return field - 1"),
        ),
        bug(
            "not-itself-nor-stride",
            "layers × (kernel - 1) misses the position itself, and the stride.",
            ("return field", "return layers * (kernel - 1)"),
        ),
        bug(
            "stride-once",
            "The stride counts once for all layers. It multiplies in each of them.",
            ("return field", "return 1 + stride * layers * (kernel - 1)"),
        ),
        bug(
            "only-stride",
            "stride ** layers is how far two neighbouring outputs lie apart, not how much one of "
            "them sees.",
            ("return field", "return stride**layers"),
        ),
        bug(
            "not-minus-one",
            "The stride stretches the field as a whole. It stretches the *gaps* between positions, "
            "and there is one gap less than there are positions.",
            ("field - 1", "field"),
        ),
        bug(
            "one-layer-more",
            "One layer too many is counted. Before the first layer an output sees one position, "
            "itself, and not a kernel.",
            ("field = 1 ", "field = kernel "),
        ),
        bug(
            "grows-and-jumps-late",
            "The stride comes one layer too early: the lowest layer reads neighbouring inputs, its "
            "own stride does not widen its own windows.",
            ("gaps * stride + kernel", "(gaps + kernel - 1) * stride + 1"),
        ),
        bug(
            "divides-by-zero",
            "The closed formula divides by stride - 1, which is 0 for stride 1: a case of its own.",
            ("return field", "return 1 + (kernel - 1) * (stride**layers - 1) // (stride - 1)"),
        ),
    ),
    steps={
        "field = 1 ": "Before the first layer an output sees one position, itself.",
        "range(layers)": "Each layer widens the field once.",
        "field - 1": "f neighbouring positions have f - 1 gaps, and only gaps stretch.",
        "gaps * stride + kernel": "One layer below each gap is `stride` wide, and the outermost "
        "windows add the rest of a kernel, in every layer anew.",
    },
    probes=lambda r: [
        *[(6, 3, 1), (6, 3, 2), (1, 5, 1), (2, 5, 3), (3, 4, 2)],
        *[(4, 2, 1), (1, 3, 2), (5, 6, 4), (2, 2, 2)],
    ],
    hints=(
        "Go from one output downwards. With a kernel of 3 it sees 3 positions one layer below. And "
        "two layers below?",
        "f neighbouring positions have f - 1 gaps. One layer below each gap is `stride` wide, and "
        "the outermost windows add the rest of a kernel.",
        "Start with 1 and repeat for every layer: `field = (field - 1) * stride + kernel`.",
    ),
    also_right=(
        """
def receptive_field(layers, kernel, stride):
    return 1 + sum((kernel - 1) * stride ** i for i in range(layers))
""",
        """
def receptive_field(layers, kernel, stride):
    if layers == 0:
        return 1
    return (receptive_field(layers - 1, kernel, stride) - 1) * stride + kernel
""",
        """
def receptive_field(layers, kernel, stride):
    seen = {0}
    for _ in range(layers):
        seen = {p * stride + j for p in seen for j in range(kernel)}
    return max(seen) - min(seen) + 1
""",
    ),
    blank="def receptive_field(layers, kernel, stride):\n    ...\n",
)
