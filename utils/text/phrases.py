"""Draw phrases of a wanted size: what a sentence may consist of, and who agrees with whom.

Each phrase is built in both languages at once, from words and word orders of one table
(``utils/text/lexicon.py``).  ``utils/text/grammar.py`` makes finished sentence pairs of them.
"""

import random
from dataclasses import dataclass, field

from utils.text.lexicon import SLOT, Lexicon, Word

MOST_IN_STATEMENT = 13  # words of one clause
MOST_IN_PHRASE = 7  # words of one noun phrase: "the agreement on the European Economic Area"


@dataclass
class Phrase:
    """A phrase under construction: words of both languages and links (target, source, sure)."""

    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    links: list[tuple[int, int, bool]] = field(default_factory=list)
    gender: str = "m"
    plural: bool = False
    sort: str = "thing"

    def __len__(self) -> int:
        return sum(word.count("_") + 1 for word in self.source)


class Drawing:
    """Draws phrases of a wanted size from one random stream."""

    def __init__(self, lexicon: Lexicon, rng: random.Random):
        self.lexicon, self.rng = lexicon, rng
        nouns, determiners = lexicon.words["noun"], lexicon.words["determiner"]
        self.things = [word for word in nouns if word.sort == "thing"]
        self.actors = [word for word in nouns if word.sort != "thing"]
        self.determiners = {
            plural: [word for word in determiners if word.in_source(plural)]
            for plural in (False, True)
        }

    # --- sentences and clauses

    def sentence(self, size: int) -> Phrase:
        return self.build("sentence", clause=self.clause(size - 1))

    def clause(self, size: int) -> Phrase:
        """One statement of ``size`` words, or several: long sentences are many short clauses."""
        chance = self.rng.random()
        if size > MOST_IN_STATEMENT or (size >= 9 and chance < 0.25):
            first = self.rng.randint(3, min(MOST_IN_STATEMENT, size - 4))
            conjunction, second = self.word("conjunction"), self.clause(size - 1 - first)
            parts = {"conjunction": conjunction, "second": second}
            return self.build("joined", clause=self.clause(first), **parts)
        if size >= 6 and chance < 0.40:
            subject = self.subject(self.rng.randint(1, 2 if size < 8 else 3))
            verb = self.agreeing("speech", subject)
            inner = self.clause(size - len(subject) - 2)
            return self.build("report", subject=subject, speech=verb, clause=inner)
        if size >= 6 and self.rng.random() < 0.5:
            time = self.time(min(4, size - 4))
            return self.build("timed", clause=self.statement(size - len(time)), time=time)
        return self.statement(size)

    def statement(self, size: int) -> Phrase:
        """Active or passive, filled up to ``size`` words."""
        if size >= 4 and self.rng.random() < 0.6:
            auxiliary, participle = self.pick("auxiliary"), self.pick("participle")
            left = size - 2 - auxiliary.source.count("_")
            agent = None
            if left > MOST_IN_PHRASE or (left >= 4 and self.rng.random() < 0.4):
                fewest = max(1, left - 1 - MOST_IN_PHRASE)
                agent = self.subject(self.rng.randint(fewest, max(fewest, min(4, left - 3))))
                left -= len(agent) + 1
            subject = self.noun_phrase(max(left, 2), self.things)
            clause = self.build(
                "passive",
                subject=subject,
                auxiliary=self.inflect(auxiliary, subject),
                participle=self.inflect(participle, subject),
            )
            return self.build("agent", clause=clause, agent=agent) if agent else clause
        most = min(size - 2, MOST_IN_PHRASE)
        subject = self.subject(self.rng.randint(max(1, size - 1 - MOST_IN_PHRASE), max(1, most)))
        rest = self.object(size - 1 - len(subject))
        return self.build(
            "active", subject=subject, verb=self.agreeing("verb", subject), object=rest
        )

    def subject(self, size: int) -> Phrase:
        return self.plain("name") if size < 2 else self.noun_phrase(size, self.actors)

    def object(self, size: int) -> Phrase:
        return self.plain("place") if size < 2 else self.noun_phrase(size, self.nouns())

    def time(self, most: int) -> Phrase:
        names = ["time_month", "time_year"]
        names += ["time_month_year", "time_day"] if most >= 3 else []
        names += ["time_date"] if most >= 4 else []
        name = self.rng.choice(names)
        kinds = {"month": name != "time_year", "year": "year" in name or name == "time_date"}
        kinds["day"] = name in ("time_day", "time_date")
        return self.build(name, **{kind: self.word(kind) for kind, used in kinds.items() if used})

    # --- noun phrases

    def noun_phrase(self, size: int, nouns: list[Word]) -> Phrase:
        """A noun with determiner and adjectives, and what hangs on it."""
        if size <= 4:
            return self.core(size, nouns)
        core = self.core(self.rng.randint(2, min(4, size - 3)), nouns)
        left = size - len(core)
        ways = [self.hang_of, self.hang_preposition] * 2
        if core.sort == "thing":
            ways += [self.hang_object] + [self.hang_passive] * (left <= 4)
        else:
            ways += [self.hang_active]
        phrase = self.rng.choice(ways)(core, left)
        phrase.gender, phrase.plural, phrase.sort = core.gender, core.plural, core.sort
        return phrase

    def nouns(self) -> list[Word]:
        return self.things if self.rng.random() < 0.6 else self.actors

    def hang_of(self, head: Phrase, left: int) -> Phrase:
        return self.build("of", head=head, other=self.noun_phrase(left - 1, self.nouns()))

    def hang_preposition(self, head: Phrase, left: int) -> Phrase:
        other = self.noun_phrase(left - 1, self.nouns())
        return self.build("modified", head=head, preposition=self.word("preposition"), other=other)

    def hang_active(self, head: Phrase, left: int) -> Phrase:
        verb, rest = self.agreeing("verb", head), self.object(left - 2)
        return self.build(
            "relative_active", head=head, relative=self.who(head), verb=verb, object=rest
        )

    def hang_passive(self, head: Phrase, left: int) -> Phrase:
        verb, participle = self.agreeing("auxiliary", head), self.agreeing("participle", head)
        return self.build(
            "relative_passive",
            head=head,
            relative=self.who(head),
            auxiliary=verb,
            participle=participle,
        )

    def hang_object(self, head: Phrase, left: int) -> Phrase:
        subject = self.subject(left - 2)
        return self.build(
            "relative_object", head=head, subject=subject, verb=self.agreeing("verb", subject)
        )

    def who(self, head: Phrase) -> Phrase:
        fitting = [word for word in self.lexicon.words["relative"] if word.sort == head.sort]
        return self.inflect(self.rng.choice(fitting), head)

    def core(self, size: int, nouns: list[Word]) -> Phrase:
        """Determiner, ``size`` - 2 adjectives, noun."""
        adjectives = self.rng.sample(self.lexicon.words["adjective"], size - 2)
        while sum(word.sort == "before" for word in adjectives) > 1:
            adjectives = self.rng.sample(self.lexicon.words["adjective"], size - 2)
        # the source language says first the one that stays before the noun: "a big green house"
        adjectives.sort(key=lambda word: word.sort == "after")
        plural = self.rng.random() < 0.3
        determiner = self.rng.choice(self.determiners[plural])
        return self.compose(determiner, adjectives, self.rng.choice(nouns), plural)

    def compose(
        self, determiner: Word, adjectives: list[Word], noun: Word, plural: bool = False
    ) -> Phrase:
        """The noun decides gender and number; the determiner and the adjectives agree."""
        head = Phrase(gender=noun.gender, plural=plural, sort=noun.sort)
        before = [self.inflect(word, head) for word in adjectives if word.sort == "before"]
        after = [self.inflect(word, head) for word in adjectives if word.sort == "after"]
        groups = {"before": before[0] if before else Phrase(), "after": Phrase()}
        for adjective in reversed(after):
            grown = groups["after"]
            groups["after"] = (
                self.build("two_after", first=adjective, second=grown) if len(grown) else adjective
            )
        phrase = self.build(
            "noun_phrase",
            determiner=self.inflect(determiner, head),
            noun=self.inflect(noun, head),
            **groups,
        )
        # An article has no meaning of its own: its form depends on the noun as much as on "the".
        article = phrase.target.index(determiner.in_target(head.gender, plural))
        noun_at = phrase.source.index(noun.in_source(plural))
        phrase.links = [(i, j, sure and i != article) for i, j, sure in phrase.links]
        phrase.links.append((article, noun_at, False))
        phrase.gender, phrase.plural, phrase.sort = head.gender, head.plural, head.sort
        return phrase

    # --- words

    def pick(self, kind: str) -> Word:
        return self.rng.choice(self.lexicon.words[kind])

    def word(self, kind: str) -> Phrase:
        return self.inflect(self.pick(kind), Phrase())

    def plain(self, kind: str) -> Phrase:
        word = self.pick(kind)
        return self.inflect(word, Phrase(gender=word.gender, sort="person"))

    def agreeing(self, kind: str, head: Phrase) -> Phrase:
        return self.inflect(self.pick(kind), head)

    def inflect(self, word: Word, head: Phrase) -> Phrase:
        """The form of ``word`` that agrees with ``head``, linked to its translation."""
        source = word.in_source(head.plural) or word.source
        target = word.in_target(head.gender, head.plural)
        return Phrase([source], [target], [(0, 0, True)], head.gender, head.plural, head.sort)

    def build(self, name: str, **parts: Phrase) -> Phrase:
        """Put the parts into the pattern ``name`` of the table, in each language's own order."""
        source, target = self.lexicon.patterns[name]
        phrase = Phrase()
        starts: dict[str, int] = {}
        own: list[int] = []  # positions of the pattern's own source words
        own_target: list[int] = []
        target_starts: dict[str, int] = {}
        for item in source:
            slot = SLOT.fullmatch(item)
            if slot:
                starts[slot[1]] = len(phrase.source)
                phrase.source += parts[slot[1]].source
            else:
                own.append(len(phrase.source))
                phrase.source.append(item)
        for item in target:
            slot = SLOT.fullmatch(item)
            if slot:
                part, first = parts[slot[1]], len(phrase.target)
                target_starts[slot[1]] = first
                phrase.links += [(i + first, j + starts[slot[1]], s) for i, j, s in part.links]
                phrase.target += part.target
            else:
                own_target.append(len(phrase.target))
                phrase.target.append(item)
        for k in range(max(len(own), len(own_target))):  # the pattern's own words, one by one;
            pair = (own_target[min(k, len(own_target) - 1)], own[min(k, len(own) - 1)])
            phrase.links.append((*pair, k < min(len(own), len(own_target))))  # left over: possible
        if "auxiliary" in parts:  # "a été signé" is one verb: its helpers may look at "signed" too
            phrase.links.append((target_starts["auxiliary"], starts["participle"], False))
        return phrase
