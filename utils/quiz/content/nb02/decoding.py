"""X02-3: greedy decoding, tried on a toy model."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group, single, told
from utils.quiz.exercise import Exercise, Mistake

LOOP = "what goes into `model.step`"
STOP = "where a sentence ends"


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


FIRST = 6  # first words of the toy sources begin here, behind the special tokens


class ToyModel:
    """A model whose next word depends on the source, the step, and the word before.

    A source that begins with word ``FIRST + b`` is translated by ``ends[b]`` words; asked to go on
    after that, the model goes on with other words, as real ones do.
    """

    def __init__(self, ends: list[int], vocab: int, bos: int, eos: int):
        self.ends, self.vocab, self.bos, self.eos = torch.tensor(ends), vocab, bos, eos
        self.steps = 0

    def start(self, src: Tensor) -> Tensor:
        first = src[:, 0].float() + 0.37 * src.float().sum(1)
        ends = self.ends[src[:, 0] - FIRST].float()
        return torch.stack([first, torch.zeros(len(src)), ends], dim=1)  # (B, 3)

    def step(self, tokens: Tensor, state: Tensor):
        self.steps += 1
        if self.steps > 200:
            raise Mistake("no-length-guard")
        tokens = torch.as_tensor(tokens).reshape(-1)
        words = torch.arange(self.vocab).float()
        phase = 1.7 * state[:, :1] + 2.3 * state[:, 1:2] + 0.9 * tokens[:, None].float()
        logits = torch.sin(phase + 1.1 * words) + 0.3 * torch.sin(2.7 * phase * (1 + words / 7))
        logits[:, self.eos] = -9.0
        logits[:, self.bos] = -9.0
        logits[:, 0] = -9.0  # never says <pad>
        logits[state[:, 1] == state[:, 2], self.eos] = 9.0
        return logits, state + torch.tensor([0.0, 1.0, 0.0]), None


def toy_probe(r, ends: list[int], vocab: int, n: int, max_len: int, bos: int, eos: int) -> tuple:
    """Arguments of one call: a model, sources of ``n`` words, and the rest."""
    src = r.ints(FIRST, vocab, len(ends), n)
    src[:, 0] = FIRST + torch.arange(len(ends))
    return ToyModel(ends, vocab, bos, eos), src, max_len, bos, eos


def switched(bug, model: ToyModel, src: Tensor, max_len: int, bos: int, eos: int):
    """Greedy decoding; ``bug`` says which mistakes are on."""
    state = model.start(src)
    first = bug.choose(
        lambda: torch.full((len(src),), bos),
        starts_with_eos=lambda: torch.full((len(src),), eos),
        starts_with_pad=lambda: torch.full((len(src),), 0),
        starts_with_last_source=lambda: src[:, -1],
        starts_with_first_source=lambda: src[:, 0],
    )
    tokens, columns = first, []
    limit = bug.choose(
        lambda: max_len,
        one_word_short=lambda: max_len - 1,
        one_word_too_many=lambda: max_len + 1,
        source_length=lambda: src.shape[1],
    )
    for t in range(limit):
        logits, new_state, _ = model.step(tokens, state)
        state = bug.choose(
            lambda new=new_state: new,
            state_not_kept=lambda old=state: old,
        )
        best = bug.choose(
            lambda logits=logits: logits.argmax(-1),
            least_likely=lambda logits=logits: logits.argmin(-1),
            second_best=lambda logits=logits: logits.topk(2).indices[:, 1],
        )
        columns.append(best)
        tokens = bug.choose(
            lambda best=best: best,
            same_first_word=lambda: first,
            feeds_source=lambda t=t: src[:, min(t, src.shape[1] - 1)],
        )
    rows = torch.stack(columns, 1).tolist() if columns else [[] for _ in range(len(src))]
    if bug("stops-all-at-first-eos"):
        shortest = min((row.index(eos) for row in rows if eos in row), default=limit)
        rows = [row[:shortest] for row in rows]
    if bug("stops-at-eos-of-first-sentence"):
        shortest = rows[0].index(eos) if eos in rows[0] else limit
        rows = [[w for w in row[:shortest] if w != eos] for row in rows]
    if bug("drops-eos-goes-on"):
        return [[w for w in row if w != eos] for row in rows]
    if not bug("does-not-stop"):
        keep = 1 if bug("keeps-eos") else 0
        rows = [row[: row.index(eos) + keep] if eos in row else row for row in rows]
    if bug("keeps-bos"):
        rows = [[bos, *row] for row in rows]
    if bug("only-first-sentence"):
        rows = rows[:1]
    if bug("one-row-too-short"):
        rows = [row[:-1] for row in rows]
    return rows


def as_table(rows) -> list[list[int]]:
    """Rows of different lengths as one table, -1 where nothing was said, for the comparison."""
    if isinstance(rows, Tensor):
        rows = rows.tolist()
    rows = [[int(token) for token in row] for row in rows]
    longest = max([12, *map(len, rows)])
    return [[*row, *[-1] * (longest - len(row))] for row in rows]


def _call(student, *args):
    model = args[0]
    fresh = ToyModel(model.ends.tolist(), model.vocab, model.bos, model.eos)
    result = student(fresh, *args[1:])
    return result if result is None else as_table(result)


DECODING = Exercise(
    id="X02-3",
    title="Greedy decoding",
    see="02, section 4",
    name="decode_greedy",
    reference=decode_greedy,
    switched=lambda bug, *args: as_table(
        switched(
            bug, ToyModel(args[0].ends.tolist(), args[0].vocab, args[0].bos, args[0].eos), *args[1:]
        )
    ),
    call=_call,
    bugs=(
        *group("first", LOOP)(
            starts_with_eos="The first token is `eos`. The decoder was trained to start from "
            "`bos`.",
            starts_with_pad="The first token is 0, the padding. Start from `bos`.",
            starts_with_last_source="The first token is the last *source* word. The decoder speaks "
            "another language: start from `bos`.",
            starts_with_first_source="The first token is the first *source* word. Start from "
            "`bos`.",
        ),
        *group("limit", STOP)(
            one_word_short="The loop ends one word too early: `max_len` words are allowed.",
            one_word_too_many="The loop runs once too often: at most `max_len` words.",
            source_length="The output is as long as the source. Its length is decided by `eos`, "
            "and by `max_len` if `eos` never comes.",
        ),
        *single(LOOP)(
            state_not_kept="The new state is thrown away, so every step starts from the same one. "
            "Hand the state that `model.step` returns to the next step."
        ),
        *group("choice", "where a word is chosen")(
            least_likely="The *least* likely word is taken: `argmax`, not `argmin`.",
            second_best="The second best word is taken.",
        ),
        *group("feed", LOOP)(
            same_first_word="Every step is fed the first token again. Free running means: feed "
            "back the word just said.",
            feeds_source="The steps are fed source words. Free running means: feed back the word "
            "just said.",
        ),
        *group("stop", STOP)(
            stops_all_at_first_eos="All sentences stop as soon as one of them is finished. The "
            "others still have something to say: stop when *all* are finished.",
            stops_at_eos_of_first_sentence="All sentences stop when the first one is finished.",
            drops_eos_goes_on="`eos` is left out, but the words after it are kept. Nothing counts "
            "after `eos`.",
            does_not_stop="Words after `eos` are kept, and `eos` too. A sentence ends there.",
            keeps_eos="The `eos` is still there. Return the words only.",
        ),
        *group("rows", "the last line")(
            keeps_bos="The `bos` is still there. Return the words only.",
            only_first_sentence="Only the first sentence comes back. One list for each sentence.",
            one_row_too_short="The last word of each sentence is missing.",
        ),
        *told(STOP)(
            no_length_guard="The loop does not end by itself: one of the sentences never says "
            "`eos`. That happens with real models too, so `max_len` has to stop it."
        ),
    ),
    probes=lambda r: [
        toy_probe(r, [3, 5, 1], 13, 4, 8, 1, 2),
        toy_probe(r, [2, 999], 17, 6, 7, 1, 2),
        toy_probe(r, [4, 2, 6, 9], 11, 3, 9, 3, 5),
        toy_probe(r, [0, 3], 12, 5, 6, 1, 2),
    ],
    hints=(
        "`state = model.start(src)` reads the source. Then it is a loop: `logits, state, _ = "
        "model.step(tokens, state)`, and tokens are first `bos`, then what was said last.",
        "`logits.argmax(dim=-1)` gives one word for each sentence of the batch. Remember for each "
        "sentence whether it has said `eos`.",
        "Loop at most `max_len` times. Append a word only to sentences that are not finished; "
        "leave the loop when all are.",
    ),
    also_right=(
        """
def decode_greedy(model, src, max_len, bos, eos):
    state = model.start(src)
    tokens = torch.full((src.shape[0],), bos)
    columns = []
    for step in range(max_len):
        logits, state, _ = model.step(tokens, state)
        tokens = logits.argmax(-1)
        columns.append(tokens)
    result = []
    for row in torch.stack(columns, dim=1).tolist():
        result.append(row[: row.index(eos)] if eos in row else row)
    return result
""",
        """
def decode_greedy(model, src, max_len, bos, eos):
    B = len(src)
    out = [[] for _ in range(B)]
    alive = set(range(B))
    y, s, n = torch.full((B,), bos), model.start(src), 0
    while alive and n < max_len:
        p, s, _ = model.step(y, s)
        y = p.max(dim=1).indices
        for b in sorted(alive):
            if y[b] == eos:
                alive.discard(b)
            else:
                out[b].append(int(y[b]))
        n += 1
    return out
""",
        """
def decode_greedy(model, src, max_len, bos, eos):
    sentences = []
    for row in src:
        state, token, words = model.start(row[None]), torch.tensor([bos]), []
        while len(words) < max_len:
            logits, state, _ = model.step(token, state)
            token = logits[0].argmax()[None]
            if token.item() == eos:
                break
            words.append(token.item())
        sentences.append(words)
    return sentences
""",
    ),
    blank="def decode_greedy(model, src, max_len, bos, eos):\n    ...\n",
)
