"""Generated questions of notebook 08: fresh numbers, and wrong options that know their mistake."""

from __future__ import annotations

import random

from utils.quiz.questions import Generated, Option, no, yes


def tokens(r: random.Random) -> tuple[str, Option, list[Option]]:
    """How many tokens does an image become?"""
    patch = r.choice((4, 8, 14, 16, 32))
    rows, columns = r.randint(3, 14), r.randint(3, 14)
    height, width = rows * patch, columns * patch
    text = (
        f"An image of {height} × {width} pixels is cut into patches of {patch} × {patch} pixels, "
        "and a class token is added. How many tokens?"
    )
    right = yes(
        f"{rows * columns + 1:,}",
        f"{height}/{patch} = {rows} rows, {width}/{patch} = {columns} columns, and the class "
        "token.",
    )
    wrong = [
        no(f"{rows * columns:,}", no_class_token="The class token is missing."),
        no(
            f"{patch * patch + 1:,}",
            grid_of_p=f"{patch} is a patch's side in pixels, not the number of patches on a side.",
        ),
        no(f"{height * width + 1:,}", pixels_as_tokens="These are the pixels."),
        no(
            f"{rows + columns + 1:,}",
            rows_plus_columns="Rows and columns are multiplied, not added.",
        ),
        no(
            f"{height * width // patch + 1:,}",
            divided_once=f"A patch holds {patch} · {patch} pixels: divide by both.",
        ),
    ]
    return text, right, wrong


def parameters(r: random.Random) -> tuple[str, Option, list[Option]]:
    """How many numbers does the patch embedding learn?"""
    patch, channels = r.choice((4, 8, 14, 16)), r.choice((1, 3))
    d_model = r.choice((64, 192, 384, 768))
    size = channels * patch * patch
    side = r.choice((8, 14, 16))
    text = (
        f"Patches of {patch} × {patch} pixels with {channels} channel{'s' * (channels > 1)}, "
        f"d_model = {d_model}, {side * side} patches in an image. How many parameters has the "
        "patch embedding, with its bias and without positions?"
    )
    right = yes(
        f"{size * d_model + d_model:,}",
        f"({channels} · {patch} · {patch}) × {d_model} weights and {d_model} biases, shared by all "
        "patches.",
    )
    wrong = [
        no(f"{size * d_model:,}", no_bias="The bias is missing."),
        no(
            f"{side * side * (size * d_model + d_model):,}",
            matrix_per_patch="All patches share one matrix: their number does not count.",
        ),
        no(
            f"{patch * channels * d_model + d_model:,}",
            one_side=f"A patch has {patch} · {patch} pixels.",
        ),
        no(
            f"{size * d_model + d_model + (side * side + 1) * d_model:,}",
            with_positions="That includes the positions.",
        ),
    ]
    if channels > 1:
        wrong.append(
            no(
                f"{patch * patch * d_model + d_model:,}",
                no_channels="The channels belong to a patch as well.",
            )
        )
    return text, right, wrong


GENERATED = (
    Generated(id="G08-1", title="Tokens of an image", see="08, section 3", make=tokens),
    Generated(id="G08-2", title="Numbers to learn", see="08, section 2", make=parameters),
)
