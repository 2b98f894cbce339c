"""The quick second task: an English date, letter by letter, into French, Chinese or ISO.

Babel knows how each language writes its dates.  Inputs come in many styles ("Tue, Mar 5, 1957",
"5 March 1957"); the output is always in one.
"""

import datetime
import random

STYLES = ("full", "long", "medium", "d MMMM y", "EEEE d MMMM y", "MMM d, y", "EEE, MMM d, y")
LANGUAGES = ("fr", "zh", "iso")
FIRST, LAST = datetime.date(1950, 1, 1), datetime.date(2029, 12, 31)


def date_pairs(
    count: int, *, language: str, seed: int, split: str = "train"
) -> list[tuple[str, str]]:
    """``count`` pairs such as ("5 March 1957", "1957-03-05").

    A day belongs to ``"train"`` or ``"test"`` for good, so no test day was ever seen in training.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test', got {split!r}")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    rng = random.Random(seed)
    days = (LAST - FIRST).days + 1
    pairs = []
    while len(pairs) < count:
        number = rng.randrange(days)
        if (number % 10 == 0) == (split == "test"):  # one day in ten, spread over the weeks
            day = FIRST + datetime.timedelta(days=number)
            pairs.append((write_date(day, rng.choice(STYLES)), translate_date(day, language)))
    return pairs


def write_date(day: datetime.date, style: str) -> str:
    """An English date in one of the ``STYLES``."""
    from babel.dates import format_date  # takes a moment to import

    return _plain(format_date(day, style, locale="en"))


def translate_date(day: datetime.date, language: str) -> str:
    """The same day in the one style of the target language."""
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}")
    if language == "iso":
        return day.isoformat()
    from babel.dates import format_date

    return _plain(format_date(day, "long", locale=language))


def _plain(text: str) -> str:
    """Some languages put no-break spaces between day and month: make them plain ones."""
    return " ".join(text.split())
