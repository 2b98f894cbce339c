"""X02-3: greedy decoding, tried on a toy model."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, Mistake, bug


def decode_greedy(model, src: Tensor, max_len: int, bos: int, eos: int) -> list[list[int]]:
    state = model.start(src)
    tokens = torch.full((len(src),), bos)
    said = [[] for _ in range(len(src))]
    finished = [False] * len(src)
    for _ in range(max_len):
        logits, state, _ = model.step(tokens, state)
        tokens = logits.argmax(dim=-1)  # (B): the likeliest word of each sentence
        for b, token in enumerate(tokens.tolist()):
            finished[b] = finished[b] or token == eos
            if not finished[b]:
                said[b].append(token)
        if all(finished):
            break
    return said


ONE_EACH = "`model.step` is handed no tensor of B whole numbers, one word for each sentence."
ENDLESS = "One sentence never says `eos`, and nothing else ends the loop: `max_len` has to."


class ToyModel:
    """Says ``src[b, 0]`` words, then `eos`, then, as real models do, other words."""

    def __init__(self, vocab: int, bos: int, eos: int):
        self.words, self.never, self.eos = torch.arange(vocab).float(), [0, bos, eos], eos

    def start(self, src: Tensor) -> Tensor:
        self.steps = 0
        return torch.stack([src.sum(1), 0 * src[:, 0], src[:, 0]], dim=1).float()

    def step(self, tokens: Tensor, state: Tensor):
        self.steps += 1
        if self.steps > 60:
            raise Mistake("no-length-guard", ENDLESS)
        if getattr(tokens, "dtype", None) != torch.long or tokens.shape != state.shape[:1]:
            raise Mistake("step-input", ONE_EACH)  # an embedding would not take it either
        source, step, end = state.split(1, dim=1)
        phase = 0.6 * source + 2.3 * step + 0.9 * tokens[:, None]
        logits = torch.sin(phase + 1.1 * self.words) + 0.3 * torch.sin(phase * (1 + self.words))
        logits[:, self.never] = -9.0
        logits[(step == end)[:, 0], self.eos] = 9.0
        return logits, torch.cat([source, step + 1, end], dim=1), None


def _call(student, *args):
    """The rows as one table, -1 where nothing was said."""
    rows = student(*args)
    lists = isinstance(rows, list) and all(isinstance(row, list | Tensor) for row in rows)
    if not lists or not all(isinstance(t, int | Tensor) and t >= 0 for row in rows for t in row):
        return rows  # not rows of words: shown as it is
    return [[int(token) for token in row] + [-1] * (12 - len(row)) for row in rows]


EXERCISE = Exercise(
    id="X02-3",
    title="Greedy decoding",
    see="02, section 4",
    name="decode_greedy",
    reference=decode_greedy,
    call=_call,
    bugs=(
        bug(
            "state-not-kept",
            "The new state is thrown away: the decoder does not know how far it has come.",
            ("logits, state, _", "logits, _, _"),
        ),
        bug(
            "same-first-word",
            "Every step is fed `bos` again. Free running means: feed back the word just said.",
            ("model.step(tokens,", "model.step(torch.full((len(src),), bos),"),
        ),
        bug(
            "stops-all-at-first-eos",
            "All sentences stop as soon as one is finished. The others have more to say.",
            ("for b, token", "if eos in tokens:\n            break\n        for b, token"),
        ),
        bug(
            "drops-eos-goes-on",
            "`eos` is left out, but the words after it are kept. Nothing counts after `eos`.",
            ("finished[b] or token == eos", "token == eos"),
        ),
        bug(
            "keeps-eos",
            "The `eos` is still there. It is a mark for the end, not a word of the sentence.",
            ("if not finished[b]", "if eos not in said[b]"),
        ),
    ),
    steps={
        "torch.full((len(src),), bos)": "Before the first word there is `bos`, for each sentence.",
        "range(max_len)": "A sentence may have `max_len` words, as `eos` may never come.",
        "model.step(tokens, state)": "A step is given the words and the state of the step before.",
        "finished[b] or token == eos": "A sentence that has said `eos` stays finished.",
        "if not finished[b]": "Only words are kept: neither `eos` nor what comes after it.",
        "if all(finished)": "Sentences end at different times, the loop when *all* have ended.",
    },
    probes=lambda r: [
        (ToyModel(17, 1, 2), torch.tensor([[2, 16, 8, 9, 7, 13], [99, 6, 11, 6, 8, 12]]), 7, 1, 2),
        (ToyModel(11, 3, 5), torch.tensor([[4, 6, 9], [2, 8, 7], [6, 10, 7], [9, 7, 7]]), 9, 3, 5),
        (ToyModel(12, 1, 2), torch.tensor([[0, 8, 11, 6, 9], [3, 7, 7, 10, 8]]), 6, 1, 2),
        (ToyModel(14, 1, 2), torch.tensor([[4, 13]]), 6, 1, 2),
    ],
    hints=(
        "`model.start(src)` reads the source. Then it is a loop: `logits, state, _ = model.step("
        "tokens, state)`, and tokens are first `bos`, then what was said last.",
        "`logits.argmax(dim=-1)` gives each sentence its word. Remember which have said `eos`.",
        "At most `max_len` rounds. Append only to sentences that go on; end when none does.",
    ),
    also_right=(
        """
def decode_greedy(model, src, max_len, bos, eos):
    state, rows = model.start(src), torch.full((len(src), 1), bos)
    while rows.shape[1] <= max_len:
        logits, state, _ = model.step(rows[:, -1], state)
        rows = torch.cat([rows, logits.argmax(-1, keepdim=True)], dim=1)
    return [row[: [*row, eos].index(eos)] for row in rows[:, 1:].tolist()]
""",
        """
def decode_greedy(model, src, max_len, bos, eos):
    state, y, out = model.start(src), torch.tensor([bos] * len(src)), [[] for _ in src]
    for _ in range(max_len):
        scores, state, _ = model.step(y, state)
        y = scores.max(dim=1).indices
        out = [row + [word] for row, word in zip(out, y.tolist())]
    return [row[: row.index(eos)] if eos in row else row for row in out]
""",
        """
def decode_greedy(model, src, max_len, bos, eos):
    sentences = []
    for row in src:
        state, words = model.start(row[None]), [bos]
        while len(words) <= max_len and words[-1] != eos:
            logits, state, _ = model.step(torch.tensor(words[-1:]), state)
            words.append(logits.argmax().item())
        sentences.append([word for word in words[1:] if word != eos])
    return sentences
""",
    ),
    blank="def decode_greedy(model, src, max_len, bos, eos):\n    ...\n",
)
