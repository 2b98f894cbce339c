"""Questions as an author writes them: options with a reason each, or numbers made from a seed.

    Question("Q03-2", "How large is ...?", see="03, section 4", options=(
        no("1", no_growth="That is the spread of one entry, not of a sum of 256 products."),
        yes("16", "The variances add up to 256, and the root of that is 16."),
        ...))

A generated question has a ``make(r)`` that draws its numbers and returns the text, the right
option and wrong ones made by the library with a mistake built in, so that the key cannot be wrong
and each wrong option knows its mistake.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass

LETTERS = "abcdef"


@dataclass(frozen=True)
class Option:
    text: str
    reason: str  # told after this option was chosen
    right: bool = False
    mistake: str | None = None  # the misconception that a wrong option shows


def yes(text: str, reason: str) -> Option:
    return Option(text, reason, right=True)


def no(text: str, **reason: str) -> Option:
    """A wrong option; ``no_growth="why it is wrong"`` names the misconception "no-growth"."""
    ((mistake, why),) = reason.items()
    return Option(text, why, mistake=mistake.replace("_", "-"))


@dataclass(frozen=True)
class Question:
    """Multiple choice. The order of ``options`` is the order on the screen."""

    id: str
    text: str
    options: tuple[Option, ...]
    see: str = ""
    title: str = ""

    def letter(self, answer: object) -> str | None:
        """The letter meant by "b", "B)", 2 or an option's full text; None if it is none of them."""
        letters = LETTERS[: len(self.options)]
        if isinstance(answer, int) and not isinstance(answer, bool):
            return letters[answer - 1] if 1 <= answer <= len(letters) else None
        text = str(answer).strip()
        for letter, option in zip(letters, self.options, strict=True):
            if text.lower().strip("().: ") == letter or text == option.text:
                return letter
        return None

    def option(self, letter: str) -> Option:
        return self.options[LETTERS.index(letter)]

    def plain(self) -> str:
        """Question and options as text, and nothing about which is right."""
        rows = [f"{letter})  {o.text}" for letter, o in zip(LETTERS, self.options, strict=False)]
        return "\n".join([f"{self.id}: {self.text}", *rows])


@dataclass(frozen=True)
class Prediction(Question):
    """A question asked before a picture; ``reveal`` is told with it, whatever the guess."""

    reveal: str = ""


@dataclass(frozen=True)
class Generated:
    """A question with fresh numbers for every seed."""

    id: str
    make: Callable[[random.Random], tuple[str, Option, list[Option]]]
    see: str = ""
    title: str = ""

    def with_seed(self, seed: int) -> Question:
        """Four options in an order drawn from the seed; draws again until all four differ."""
        for attempt in range(200):
            r = random.Random(zlib.crc32(f"{self.id} {seed} {attempt}".encode()))
            text, right, wrong = self.make(r)
            options: dict[str, Option] = {right.text: right}
            for option in wrong:
                options.setdefault(option.text, option)
            if len(options) >= 4:
                chosen = [right, *r.sample([o for o in options.values() if not o.right], 3)]
                r.shuffle(chosen)
                return Question(self.id, text, tuple(chosen), self.see, self.title)
        raise ValueError(f"{self.id} finds no four different options for seed {seed}")
