"""X01-3: how many inputs one output of stacked convolutions sees."""

from __future__ import annotations

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise

LOOP = "what one more layer does to the field"


def receptive_field(layers: int, kernel: int, stride: int) -> int:
    field = 1  # an output sees itself
    for _ in range(layers):  # from the top down: neighbours lie `stride` apart one layer below
        field = (field - 1) * stride + kernel
    return field


def _fold(layers, start, step):
    for _ in range(layers):
        start = step(start)
    return start


def switched(bug, layers: int, kernel: int, stride: int):
    """The same; ``bug`` says which mistakes are on."""
    layers = bug.choose(
        lambda: layers, one_layer_less=lambda: layers - 1, one_layer_more=lambda: layers + 1
    )
    grown = layers * (kernel - 1)
    return bug.choose(
        lambda: _fold(layers, 1, lambda f: (f - 1) * stride + kernel),
        overlap_counted=lambda: layers * kernel,
        power=lambda: kernel**layers,
        stride_ignored=lambda: 1 + grown,
        not_itself=lambda: _fold(layers, 1, lambda f: (f - 1) * stride + kernel) - 1,
        not_itself_nor_stride=lambda: grown,
        stride_once=lambda: 1 + stride * grown,
        stride_times_all=lambda: stride * (1 + grown),
        stride_power_of_kernel=lambda: kernel * stride ** (layers - 1),
        only_stride=lambda: stride**layers,
        not_minus_one=lambda: _fold(layers, 1, lambda f: f * stride + kernel),
        starts_at_zero=lambda: _fold(layers, 0, lambda f: (f - 1) * stride + kernel),
        starts_at_nothing=lambda: _fold(layers, 0, lambda f: f * stride + kernel),
        kernel_minus_one=lambda: _fold(layers, 1, lambda f: f * stride + kernel - 1),
        half_kernel=lambda: _fold(layers, 1, lambda f: (f - 1) * stride + 1 + kernel // 2),
        stride_taken_off=lambda: 1 + layers * (kernel - stride),
        kernel_over_stride=lambda: 1 + grown // stride,
        grows_and_jumps_late=lambda: (
            1 + (kernel - 1) * sum(stride**i for i in range(1, layers + 1))
        ),
        no_sum=lambda: 1 + (kernel - 1) * stride ** (layers - 1),
        divides_by_zero=lambda: 1 + (kernel - 1) * (stride**layers - 1) // (stride - 1),
        everything=lambda: float("inf"),
    )


FIELD = Exercise(
    id="X01-3",
    title="Receptive field",
    see="01, section 9",
    name="receptive_field",
    reference=receptive_field,
    switched=switched,
    bugs=(
        *group("layers", "the loop's range")(
            one_layer_less="One layer too few is counted.",
            one_layer_more="One layer too many is counted. Before the first layer the field is 1, "
            "not the kernel's size.",
        ),
        *group("formula", LOOP)(
            overlap_counted="layers × kernel counts the overlap of neighbouring windows again and "
            "again. A further layer adds only kernel - 1 new inputs.",
            power="kernel to the power of layers: that would be so if the windows did not overlap.",
            stride_ignored="The stride makes no difference. With stride 2 neighbouring positions "
            "lie 2 apart one layer below, and that doubles with every layer.",
            not_itself="It is one too few: the position itself counts too.",
            not_itself_nor_stride="layers × (kernel - 1) misses the position itself, and the "
            "stride.",
            stride_once="The stride counts once for all layers. It multiplies in each of them.",
            stride_times_all="The whole field is multiplied by the stride once. It multiplies the "
            "*gaps* between positions, in each layer.",
            stride_power_of_kernel="The kernel is spread out as a whole. Windows overlap: count "
            "the positions and the gaps between them.",
            only_stride="stride ** layers is how far two neighbouring outputs lie apart, not how "
            "much one of them sees.",
            not_minus_one="f positions have f - 1 gaps between them, and the stride stretches the "
            "gaps: (f - 1) × stride + kernel.",
            starts_at_zero="The field starts at 0. Before the first layer an output sees one "
            "position, itself.",
            starts_at_nothing="The field starts at 0 and every position is stretched. It starts at "
            "1, and the f - 1 gaps are stretched.",
            kernel_minus_one="f × stride + kernel - 1 stretches the positions. Only the f - 1 gaps "
            "are stretched: (f - 1) × stride + kernel.",
            half_kernel="Only half of the kernel is counted. A kernel reaches to both sides.",
            stride_taken_off="The stride is taken off the kernel. A larger stride lets an output "
            "see *more*, not less.",
            kernel_over_stride="The field is divided by the stride. A larger stride lets an output "
            "see *more*, not less.",
            grows_and_jumps_late="The stride is one layer too early: the lowest layer reads "
            "neighbouring inputs, its own stride does not widen its own windows.",
            no_sum="Only the top layer's contribution is counted. All layers add theirs.",
            divides_by_zero="The closed formula divides by stride - 1, which is 0 for stride 1. "
            "Treat it apart, or use a loop.",
            everything="That is attention, which sees everything. A convolution does not.",
        ),
    ),
    probes=lambda r: [
        (6, 3, 1),
        (6, 3, 2),
        (1, 5, 1),
        (2, 5, 3),
        (3, 4, 2),
        (4, 2, 1),
        (1, 3, 2),
        (5, 6, 4),
        (2, 2, 2),
    ],  # fmt: skip
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
    if stride == 1:
        return 1 + layers * (kernel - 1)
    return 1 + (kernel - 1) * (stride ** layers - 1) // (stride - 1)
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
