"""X02-4: the shift by one that teacher forcing needs."""

from __future__ import annotations

import torch

from utils.quiz.exercise import Exercise, bug


def shift_targets(y: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
    given = [bos, *y]
    says = [*y, eos]
    return given, says


def _call(student, *args):
    """Each list as a tensor, so that a list and a tensor of the same numbers are the same."""
    result = student(*args)
    try:
        if isinstance(result, tuple | list) and all(
            isinstance(row, list | tuple) for row in result
        ):
            return tuple(torch.tensor(row) for row in result)
        return torch.tensor(result) if isinstance(result, list) else result
    except (TypeError, ValueError, RuntimeError):  # not rows of numbers: shown as it is
        return result


EXERCISE = Exercise(
    id="X02-4",
    title="Shift the targets by one",
    see="02, section 2",
    name="shift_targets",
    reference=shift_targets,
    call=_call,
    parts=("decoder input", "decoder target"),
    bugs=(
        bug(
            "no-shift",
            "Input and target are the same, so the decoder is shown the very word it has to say. "
            "The loss falls to 0 and it learns to copy.",
            ("[bos, *y]", "[bos, *y, eos]"),
            ("[*y, eos]", "[bos, *y, eos]"),
        ),
        bug(
            "no-marks",
            "Neither mark is there, and input and target are the same: the decoder is shown the "
            "word it has to say, and learns to copy.",
            ("[bos, *y]", "y"),
            ("[*y, eos]", "y"),
        ),
        bug(
            "wrong-direction",
            "It is shifted the wrong way, or the two are swapped: the decoder sees a word and has "
            "to say the one *before* it.",
            ("return given, says", "return says, given"),
        ),
        bug(
            "bos-in-target",
            "`bos` stands in the target. The decoder never has to say it: it is given. (One slide "
            "shows it there too.)",
            ("[*y, eos]", "[bos, *y, eos]"),
        ),
        bug(
            "eos-in-input",
            "`eos` stands in the input. After `eos` nothing follows, so there is nothing to "
            "predict from it; the lengths no longer agree.",
            ("[bos, *y]", "[bos, *y, eos]"),
        ),
        bug(
            "eos-missing",
            "The target lacks `eos`, so the decoder never learns to stop.",
            ("[*y, eos]", "y"),
        ),
        bug(
            "usual-slices",
            "The usual slices `y[:-1]` and `y[1:]` are for a y that already holds `bos` and `eos`. "
            "Here it holds neither, so the first and the last step are lost.",
            ("[bos, *y]", "y[:-1]"),
            ("[*y, eos]", "y[1:]"),
        ),
        bug(
            "input-one-short-no-eos",
            "`bos` pushes the last word out of the input, and the target ends without `eos`. That "
            "fits a y that ends with `eos` already; here the decoder never learns to stop.",
            ("[bos, *y]", "[bos, *y[:-1]]"),
            ("[*y, eos]", "y"),
        ),
    ),
    steps={
        "[bos, *y]": "At each step the decoder is given the word *before*, and before the first "
        "word that is `bos`.",
        "[*y, eos]": "It has to say every word of y, and in the end `eos`, or it never stops.",
        "return given, says": "First what is given, then what is to be said: two lists of the same "
        "length.",
    },
    probes=lambda r: [
        (r.ints(4, 30, 5).tolist(), 1, 2),
        (r.ints(4, 30, 3).tolist(), 1, 2),
        (r.ints(50, 90, 7).tolist(), 40, 41),
        ([9], 1, 2),
    ],
    hints=(
        "At each step the decoder is given the word before and has to say the next one. What is it "
        "given before the first word? What must it say after the last?",
        "Both lists are one longer than y.",
        "`[bos, *y]` and `[*y, eos]`.",
    ),
    also_right=(
        """
def shift_targets(y, bos, eos):
    whole = [bos] + y + [eos]
    return whole[:-1], whole[1:]
""",
        """
def shift_targets(y, bos, eos):
    y = torch.tensor(y)
    return torch.cat([torch.tensor([bos]), y]), torch.cat([y, torch.tensor([eos])])
""",
        """
def shift_targets(y, bos, eos):
    dec_in, dec_target = list(y), list(y)
    dec_in.insert(0, bos)
    dec_target.append(eos)
    return dec_in, dec_target
""",
    ),
    blank="def shift_targets(y, bos, eos):\n    ...\n",
)
