"""X02-4: the shift by one that teacher forcing needs."""

from __future__ import annotations

import torch

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise


def shift_targets(y: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
    return [bos, *y], [*y, eos]


def shifted(bug, y, bos, eos):
    """Decoder input and target; ``bug`` says which mistakes are on."""
    y = bug.choose(
        lambda: list(y),
        drops_last_word=lambda: list(y)[:-1],
        drops_first_word=lambda: list(y)[1:],
        reversed=lambda: list(y)[::-1],
    )
    into, out = bug.choose(
        lambda: ([bos, *y], [*y, eos]),
        no_shift=lambda: ([bos, *y, eos], [bos, *y, eos]),
        no_marks=lambda: (y, y),
        no_shift_eos=lambda: ([*y, eos], [*y, eos]),
        no_shift_bos=lambda: ([bos, *y], [bos, *y]),
        wrong_direction=lambda: ([*y, eos], [bos, *y]),
        bos_in_target=lambda: ([bos, *y], [bos, *y, eos]),
        eos_in_input=lambda: ([bos, *y, eos], [*y, eos]),
        eos_missing=lambda: ([bos, *y], y),
        bos_missing=lambda: (y, [*y, eos]),
        input_one_short=lambda: ([bos, *y[:-1]], [*y, eos]),
        input_one_short_no_eos=lambda: ([bos, *y[:-1]], y),
        target_without_first=lambda: ([bos, *y], [*y[1:], eos]),
        target_without_bos_input_full=lambda: ([bos, *y, eos], [*y, eos, eos]),
        marks_swapped=lambda: ([eos, *y], [*y, bos]),
        bos_twice=lambda: ([bos, bos, *y], [*y, eos]),
    )
    return bug.choose(
        lambda: (into, out),
        only_input=lambda: into,
        only_target=lambda: out,
    )


def as_tensors(result):
    """Lists as tensors, so that a list and a tensor of the same numbers are the same answer."""
    if isinstance(result, tuple | list) and all(isinstance(row, list | tuple) for row in result):
        return tuple(torch.tensor(row) for row in result)
    return torch.tensor(result) if isinstance(result, list) else result


SHIFT = Exercise(
    id="X02-4",
    title="Shift the targets by one",
    see="02, section 2",
    name="shift_targets",
    reference=shift_targets,
    switched=lambda bug, *args: as_tensors(shifted(bug, *args)),
    call=lambda student, *args: as_tensors(student(*args)),
    parts=("decoder input", "decoder target"),
    bugs=(
        *group("words", "which words are used")(
            drops_last_word="The last word is missing. All words of y are said, then `eos`.",
            drops_first_word="The first word is missing.",
            reversed="The words come in reverse order.",
        ),
        *group("marks", "what stands first and last")(
            no_shift="Input and target are the same, so the decoder is shown the very word it has "
            "to say. The loss falls to 0 and it learns to copy. Shift by one: bos + y, and y + "
            "eos.",
            no_marks="Neither mark is there, and input and target are the same: the decoder is "
            "shown the word it has to say. bos + y, and y + eos.",
            no_shift_eos="Input and target are both y + eos, so the decoder sees what it has to "
            "say. The input is bos + y.",
            no_shift_bos="Input and target are both bos + y, so the decoder sees what it has to "
            "say. The target is y + eos.",
            wrong_direction="Shifted the wrong way, or the two are swapped: the decoder sees a "
            "word and has to say the one *before* it. Input bos + y, target y + eos.",
            bos_in_target="`bos` stands in the target. The decoder never has to say it: it is "
            "given. (One slide shows it there too.)",
            eos_in_input="`eos` stands in the input. After `eos` nothing follows, so there is "
            "nothing to predict from it; the lengths no longer agree.",
            eos_missing="The target lacks `eos`, so the decoder never learns to stop.",
            bos_missing="The input lacks `bos`: before the first word there has to be something.",
            input_one_short="The last word is missing in the input, so nothing predicts `eos`.",
            input_one_short_no_eos="The usual slices y[:-1] and y[1:] are for a y that already "
            "holds `bos` and `eos`. Here it holds neither, so a word and the `eos` are lost.",
            target_without_first="The first word is missing in the target.",
            target_without_bos_input_full="The input ends with `eos`, and the target says it "
            "twice.",
            marks_swapped="`bos` and `eos` have changed places.",
            bos_twice="`bos` stands twice in the input.",
        ),
        *group("returned", "the last line")(
            only_input="Only the decoder input comes back. Return both.",
            only_target="Only the target comes back. Return both.",
        ),
    ),
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
