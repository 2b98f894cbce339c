"""Unlimited sentence pairs with gold word alignments, from the words of one table.

The grammar is *synchronous*: each rule (``phrases.py``) builds a phrase in both languages at
once and remembers which words belong together.  Words, word orders and contractions come from the
table (``lexicon.py``).  Here phrases become finished sentences: spelled, contracted, linked.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from utils.text.lexicon import Lexicon, read_lexicon
from utils.text.phrases import Drawing, Phrase

Links = frozenset[tuple[int, int]]
SHORTEST, LONGEST = 4, 30  # words of the source sentence, with its full stop
LECTURE = (
    "The agreement on the European Economic Area was signed in August 1992.",
    "Jane visits Africa in September.",
)
_LECTURE_LOWER = frozenset(sentence.lower() for sentence in LECTURE)


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation and the gold alignment.

    Links are ``(target position, source position)``: rows are the queries of the decoder, columns
    the words it looks at.  *Sure* links are beyond doubt; *possible* ones (all sure ones, and the
    articles, contractions and helper words that translate no single word) are not mistakes either.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: Links
    possible: Links

    def __repr__(self) -> str:
        return f"{spell(self.source)} → {spell(self.target)}"


class Grammar:
    """Sentence pairs of any length from 4 to 30 words.  The same seed gives the same pairs."""

    def __init__(self, lexicon: Lexicon | None = None):
        self.lexicon = lexicon or read_lexicon()

    def pairs(
        self,
        count: int,
        *,
        seed: int,
        split: str = "train",
        shortest: int = SHORTEST,
        longest: int = LONGEST,
    ) -> list[Pair]:
        """``count`` different pairs of all lengths, long ones rarer than short ones.

        A sentence belongs to ``"train"`` or to ``"test"`` for good, by its own words, whatever
        the seed: what is tested was never trained.  The lecture's sentences are always tested.
        """
        if split not in ("train", "test"):
            raise ValueError(f"split must be 'train' or 'test', got {split!r}")
        if not SHORTEST <= shortest <= longest <= LONGEST:
            raise ValueError(
                f"lengths must satisfy {SHORTEST} <= shortest <= longest <= {LONGEST}, "
                f"got {shortest} and {longest}"
            )
        found: dict[tuple[str, ...], Pair] = {}
        for tries, pair in enumerate(self.stream(seed, shortest, longest)):
            if len(found) >= count or tries > 20 * count + 1000:
                break
            if held_out(pair.source) == (split == "test"):
                found.setdefault(pair.source, pair)
        if len(found) < count:
            raise ValueError(
                f"this table makes only about {len(found)} different {split} sentences of "
                f"{shortest} to {longest} words, {count} were asked for"
            )
        return list(found.values())

    def stream(self, seed: int, shortest: int, longest: int) -> Iterator[Pair]:
        """Pairs without end, drawn from one seed."""
        draw = Drawing(self.lexicon, random.Random(seed))
        while True:
            # the smaller of two draws: as in real texts, long sentences are rarer
            size = min(draw.rng.randint(shortest, longest) for _ in range(2))
            phrase = draw.sentence(size)
            if len(phrase) == size:
                yield self.finish(phrase)

    def finish(self, phrase: Phrase) -> Pair:
        """Choose spellings (le or l'), contract (de le: du), and fix the positions of the links."""
        source, place_of_source = _spelled(phrase.source, self.lexicon, side=0)
        target, place_of_target = _spelled(phrase.target, self.lexicon, side=1)
        sure, possible = set(), set()
        for i, j, certain in phrase.links:
            # a unit of several words ("a été") is surely linked by its last one only
            for row in place_of_target[i]:
                for column in place_of_source[j]:
                    possible.add((row, column))
                    last = row == place_of_target[i][-1] and column == place_of_source[j][-1]
                    if certain and last:
                        sure.add((row, column))
        target, new_place, contracted = _contract(target, self.lexicon)
        possible = {(new_place[i], j) for i, j in possible}
        sure = {(new_place[i], j) for i, j in sure if new_place[i] not in contracted}
        return Pair(tuple(source), tuple(target), frozenset(sure), frozenset(possible))


def held_out(source: tuple[str, ...]) -> bool:
    """Whether a sentence belongs to the test half: one in ten, and the lecture's sentences."""
    text = spell(source).lower()
    return text in _LECTURE_LOWER or zlib.crc32(text.encode()) % 10 == 0


def spell(words: tuple[str, ...] | list[str]) -> str:
    """Words as one sentence: a capital first, no space after ' or before a full stop."""
    text = " ".join(words).replace("' ", "'").replace(" .", ".")
    return text[:1].upper() + text[1:]


def lecture_pairs(lexicon: Lexicon | None = None) -> list[Pair]:
    """The lectures' two English sentences, built by the grammar's own rules."""
    grammar = Grammar(lexicon)
    draw, find = Drawing(grammar.lexicon, random.Random(0)), grammar.lexicon.find

    def word(kind: str, source: str, head: Phrase | None = None) -> Phrase:
        return draw.inflect(find(kind, source), head or Phrase())

    the = find("determiner", "the")
    adjectives = [find("adjective", "European"), find("adjective", "economic")]
    area = draw.compose(the, adjectives, find("noun", "area"))
    area.source[-2:] = ["Economic", "Area"]  # a proper name: the lecture writes it with capitals
    agreement = draw.compose(the, [], find("noun", "agreement"))
    subject = draw.build(
        "modified", head=agreement, preposition=word("preposition", "on"), other=area
    )
    signed = word("participle", "signed", agreement)
    clause = draw.build(
        "passive", subject=subject, auxiliary=word("auxiliary", "was", agreement), participle=signed
    )
    august = draw.build("time_month_year", month=word("month", "August"), year=word("year", "1992"))
    first = draw.build("sentence", clause=draw.build("timed", clause=clause, time=august))

    parts = {"subject": word("name", "Jane"), "verb": word("verb", "visits")}
    clause = draw.build("active", **parts, object=word("place", "Africa"))
    september = draw.build("time_month", month=word("month", "September"))
    second = draw.build("sentence", clause=draw.build("timed", clause=clause, time=september))
    return [grammar.finish(first), grammar.finish(second)]


def _spelled(units: list[str], lexicon: Lexicon, side: int) -> tuple[list[str], list[list[int]]]:
    """Choose between ``le/l'`` by the next word, cut ``a_été`` into words.

    Returns the words and, for each unit, the positions of its words.
    """
    chosen: list[list[str]] = []
    following = ""
    for unit in reversed(units):  # from the right: the next word decides, and is spelled already
        plain, _, short = unit.partition("/")
        words = (short if short and _vowel(following, lexicon, side) else plain).split("_")
        chosen.append(words)
        following = words[0]
    words, places = [], []
    for group in reversed(chosen):
        places.append(list(range(len(words), len(words) + len(group))))
        words += group
    return words, places


def _vowel(word: str, lexicon: Lexicon, side: int) -> bool:
    """Whether a word begins with a vowel to the ear."""
    if word in lexicon.consonants[side]:
        return False
    return word[:1].lower() in lexicon.vowels[side] and word[:1] != ""


def _contract(words: list[str], lexicon: Lexicon) -> tuple[list[str], list[int], set[int]]:
    """Merge neighbours such as "de le" into "du".

    Returns the words, for each old position its new one, and the positions of contracted words.
    """
    merged: list[str] = []
    place: list[int] = []
    contracted: set[int] = set()
    for word in words:
        short = lexicon.contractions.get((merged[-1], word)) if merged else None
        if short:
            merged[-1] = short
            contracted.add(len(merged) - 1)
        else:
            merged.append(word)
        place.append(len(merged) - 1)
    return merged, place, contracted
