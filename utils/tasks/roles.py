"""Who does what, and when?  Short sentences whose relations are known, and a model that asks.

    Jane visits Africa in September .           visits: who Jane, what Africa, when September
    in June Paris was often visited by April .  visited: who April, what Paris, when June

Twelve names play all three roles (April and June are people, Paris is a person, a place and, here,
a time), so many sentences are nonsense on purpose: a word does not tell its role, its place in the
sentence does.  Made for notebook 04, sections 8 and 9.
"""

import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.text.vocabulary import PAD, Vocabulary, pad

ROLES = ("who", "what", "when")
NAMES = (
    *("Jane", "Tom", "May", "June", "April", "August"),
    *("September", "Africa", "Paris", "Georgia", "Jordan", "Chelsea"),
)
VERBS = {"visits": "visited", "sees": "seen", "likes": "liked", "paints": "painted"}
# {v} is a verb as in "visits", {p} as in "was visited".  Where the verb stands, together with its
# form, tells the pattern: one layer of attention can know where to look.
PATTERNS = (
    "{who} {v} {what} in {when} .",
    "in {when} {who} {v} {what} .",
    "{who} , in {when} , {v} {what} .",
    "{who} often {v} {what} in {when} .",
    "in {when} {who} often {v} {what} .",
    "{what} was {p} by {who} in {when} .",
    "in {when} {what} was {p} by {who} .",
    "{what} was often {p} by {who} in {when} .",
    "in {when} {what} was often {p} by {who} .",
)
LONGEST = 10


@dataclass(frozen=True)
class RoleSentence:
    """A sentence, where its verb stands, and where the three words stand that answer it."""

    words: tuple[str, ...]
    verb: int
    who: int
    what: int
    when: int

    @property
    def answers(self) -> tuple[int, int, int]:
        """Positions of the words that answer who, what and when."""
        return self.who, self.what, self.when

    def __repr__(self) -> str:
        roles = ", ".join(f"{r} {self.words[i]}" for r, i in zip(ROLES, self.answers))
        return f"{' '.join(self.words)}  ({self.words[self.verb]}: {roles})"


def make_sentence(pattern: str, verb: str, who: str, what: str, when: str) -> RoleSentence:
    """Fill one of ``PATTERNS``; ``verb`` is given as in "visits"."""
    parts = {"{v}": verb, "{p}": VERBS[verb], "{who}": who, "{what}": what, "{when}": when}
    slots = pattern.split()
    place = {slot: i for i, slot in enumerate(slots) if slot in parts}
    words = tuple(parts.get(slot, slot) for slot in slots)
    at = place["{v}"] if "{v}" in place else place["{p}"]
    return RoleSentence(words, at, *(place[f"{{{role}}}"] for role in ROLES))


LECTURE = make_sentence(PATTERNS[0], "visits", "Jane", "Africa", "September")


def held_out(words: Sequence[str]) -> bool:
    """Whether a sentence is only for testing: one in ten, and the lecture's in every pattern."""
    lecture = {"Jane", "Africa", "September"} <= set(words)
    return lecture or zlib.crc32(" ".join(words).encode()) % 10 == 0


def role_sentences(count: int, *, seed: int, split: str = "train") -> list[RoleSentence]:
    """``count`` random sentences; nothing of the split "test" is ever in the split "train"."""
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test', got {split!r}")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    rng = random.Random(seed)
    found: list[RoleSentence] = []
    while len(found) < count:
        who, what, when = rng.sample(NAMES, 3)
        pattern, verb = rng.choice(PATTERNS), rng.choice(list(VERBS))
        sentence = make_sentence(pattern, verb, who, what, when)
        if held_out(sentence.words) == (split == "test"):
            found.append(sentence)
    return found


VOCABULARY = Vocabulary({*NAMES, *VERBS, *VERBS.values(), *"in was by often , .".split()})


@dataclass(frozen=True)
class RoleBatch:
    """B sentences as tensors, short ones padded."""

    ids: Tensor  # (B, N)
    verb: Tensor  # (B): where the verb stands
    places: Tensor  # (B, 3): where who, what and when stand
    answers: Tensor  # (B, 3): the numbers of these words


def role_batch(sentences: Sequence[RoleSentence]) -> RoleBatch:
    ids = pad([VOCABULARY.encode(sentence.words) for sentence in sentences])
    places = torch.tensor([sentence.answers for sentence in sentences])
    verb = torch.tensor([sentence.verb for sentence in sentences])
    return RoleBatch(ids, verb, places, ids.gather(1, places))


def role_batches(
    sentences: Sequence[RoleSentence], batch_size: int = 64, seed: int = 0
) -> Iterator[RoleBatch]:
    """Batches without end, drawn at random."""
    rng = random.Random(seed)
    while True:
        yield role_batch(rng.choices(sentences, k=batch_size))


class RoleModel(nn.Module):
    """Reads a sentence with one multi-head attention and answers three questions at its verb.

    Nobody tells the heads where to look.  All they are given is whether the answers were right.
    """

    def __init__(self, num_heads: int, *, d_model: int = 48):
        super().__init__()
        self.words = nn.Embedding(len(VOCABULARY), d_model)
        self.places = nn.Embedding(LONGEST, d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.out_layer = nn.Linear(d_model, len(ROLES) * len(VOCABULARY))
        for table in (self.words, self.places):  # small: no head is decided before it has learnt
            nn.init.normal_(table.weight, std=0.3)

    def forward(
        self, ids: Tensor, verb: Tensor, volume: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """ids (B, N), verb (B) -> logits (B, 3, vocabulary), weights (B, H, N, N).

        ``volume`` (H) multiplies each head's output: 1 leaves it as it is, 0 switches it off.
        """
        mha = self.attention
        x = self.words(ids) + self.places.weight[: ids.shape[1]]  # (B, N, D)
        q, k, v = (mha.split_heads(layer(x)) for layer in (mha.w_q, mha.w_k, mha.w_v))
        mask = (ids != PAD)[:, None, None, :]  # nobody looks at padding
        heads, weights = scaled_dot_product_attention(q, k, v, mask)  # (B, H, N, Dh)
        if volume is not None:
            heads = heads * volume[:, None, None]
        out = mha.w_o(mha.merge_heads(heads))  # (B, N, D)
        at_verb = out[torch.arange(len(ids)), verb]  # (B, D)
        return self.out_layer(at_verb).unflatten(-1, (len(ROLES), -1)), weights


def role_loss(model: RoleModel, batch: RoleBatch) -> Tensor:
    logits, _ = model(batch.ids, batch.verb)
    return F.cross_entropy(logits.flatten(0, 1), batch.answers.flatten())


@torch.no_grad()
def role_accuracy(model: RoleModel, batch: RoleBatch, volume: Tensor | None = None) -> Tensor:
    """The share of right answers to who, what and when: (3)."""
    logits, _ = model(batch.ids, batch.verb, volume)
    return (logits.argmax(dim=-1) == batch.answers).float().mean(dim=0)


@torch.no_grad()
def looks_right(model: RoleModel, batch: RoleBatch) -> Tensor:
    """How often the verb's row of each head is largest at who, what and when: (H, 3)."""
    _, weights = model(batch.ids, batch.verb)
    rows = weights[torch.arange(len(batch.ids)), :, batch.verb]  # (B, H, N)
    return (rows.argmax(dim=-1)[..., None] == batch.places[:, None]).float().mean(dim=0)


def offset_baseline(batch: RoleBatch) -> dict[str, tuple[int, float]]:
    """For each role the fixed distance from the verb that is right most often, and how often."""
    best = {}
    for i, role in enumerate(ROLES):
        offsets, counts = (batch.places[:, i] - batch.verb).unique(return_counts=True)
        most = int(counts.argmax())
        best[role] = (int(offsets[most]), float(counts[most] / len(batch.verb)))
    return best
