"""The table of words and word orders behind the course's small translation language.

A table is a tab-separated file in ``data/`` with one header line (see ``data/lexicon.md``).  It
holds everything that belongs to one pair of languages: words with their forms, word orders
("patterns"), contractions.  ``grammar.py`` knows none of it.  A broken row is reported with
its line number, and all broken rows at once.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"
COLUMNS = (
    "kind", "source", "source_plural", "target", "target_feminine", "target_plural",
    "target_feminine_plural", "gender", "sort",
)  # fmt: skip
# For each kind of row: the columns that must be filled.  All others may stay empty.
WORDS = {
    "noun": ("source", "source_plural", "target", "target_plural", "gender", "sort"),
    "adjective": ("source", "target", "sort"),
    "participle": ("source", "target"),
    "determiner": (),
    "auxiliary": ("source", "source_plural", "target", "target_plural"),
    "verb": ("source", "source_plural", "target", "target_plural"),
    "speech": ("source", "source_plural", "target", "target_plural"),
    "relative": ("source", "target", "sort"),
    "conjunction": ("source", "target"),
    "preposition": ("source", "target"),
    "place": ("source", "target", "gender"),
    "name": ("source", "target", "gender"),
    "month": ("source", "target"),
    "year": ("source", "target"),
    "day": ("source", "target"),
}
SETTINGS = {
    "pattern": ("source", "target", "sort"),
    "vowels": ("source", "target"),
    "consonant": (),
    "contraction": ("target",),
}
SORTS = {
    "noun": ("person", "group", "thing"),
    "relative": ("person", "group", "thing"),
    "adjective": ("before", "after"),
}
# The phrases the grammar builds, each with the parts it hands to the pattern.
PATTERNS = {
    "sentence": {"clause"},
    "joined": {"clause", "conjunction", "second"},
    "report": {"subject", "speech", "clause"},
    "active": {"subject", "verb", "object"},
    "passive": {"subject", "auxiliary", "participle"},
    "agent": {"clause", "agent"},
    "timed": {"clause", "time"},
    "noun_phrase": {"determiner", "before", "after", "noun"},
    "two_after": {"first", "second"},
    "of": {"head", "other"},
    "modified": {"head", "preposition", "other"},
    "relative_active": {"head", "relative", "verb", "object"},
    "relative_passive": {"head", "relative", "auxiliary", "participle"},
    "relative_object": {"head", "subject", "verb"},
    "time_month": {"month"},
    "time_year": {"year"},
    "time_month_year": {"month", "year"},
    "time_day": {"month", "day"},
    "time_date": {"day", "month", "year"},
}
SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Word:
    """One row: a source word and its translation, in all forms.

    A form may hold a second spelling for the place before a vowel (``le/l'``), and ``_`` where it
    is several words (``a_été``).
    """

    kind: str
    source: str
    source_plural: str
    target: str
    target_feminine: str
    target_plural: str
    target_feminine_plural: str
    gender: str
    sort: str

    def in_source(self, plural: bool) -> str:
        return self.source_plural if plural else self.source

    def in_target(self, gender: str, plural: bool) -> str:
        """The form that agrees; where a table gives no feminine or plural, the plain form."""
        feminine = gender == "f"
        if plural:
            wanted = self.target_feminine_plural if feminine else self.target_plural
            return wanted or self.target_plural or self.target
        return (self.target_feminine if feminine else self.target) or self.target


@dataclass
class Lexicon:
    """Everything one table says.  ``words["noun"]`` is the list of its nouns, and so on."""

    name: str
    words: dict[str, list[Word]]
    patterns: dict[str, tuple[list[str], list[str]]]
    vowels: tuple[str, str] = ("", "")
    consonants: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    contractions: dict[tuple[str, str], str] = field(default_factory=dict)

    def find(self, kind: str, source: str) -> Word:
        """The word of this kind that is written ``source`` in the source language."""
        for word in self.words[kind]:
            if source in (word.source, word.source_plural):
                return word
        raise ValueError(f"{self.name} has no {kind} {source!r}")


def read_lexicon(path: str | Path = "en_fr.tsv") -> Lexicon:
    """Read a table; a bare name is looked up in ``data/``.  Broken rows raise ValueError."""
    path = Path(path)
    path = path if path.is_absolute() or path.exists() else DATA / path
    if not path.exists():
        there = ", ".join(sorted(found.name for found in DATA.glob("*.tsv"))) or "none"
        raise ValueError(f"there is no table {path.name!r}; tables in data/: {there}")
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} must be saved as UTF-8 text: {error}") from error
    faults: list[str] = []
    if not lines or tuple(lines[0].rstrip("\t").split("\t")) != COLUMNS:
        got = lines[0].split("\t") if lines else []
        raise ValueError(
            f"{path.name}, line 1: the header must be the {len(COLUMNS)} columns "
            f"{', '.join(COLUMNS)}, separated by tabs; got {', '.join(got) or 'nothing'}"
        )
    rows: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) > len(COLUMNS) and not any(cells[len(COLUMNS) :]):
            cells = cells[: len(COLUMNS)]  # a spreadsheet may add empty cells at the end
        if len(cells) != len(COLUMNS):
            faults.append(f"line {number}: {len(COLUMNS)} cells expected, got {len(cells)}")
            continue
        row = dict(zip(COLUMNS, cells))
        fault = _fault(row)
        if fault:
            faults.append(f"line {number}: {fault}")
        else:
            rows.append((number, row))
    faults += _doubles(rows)
    if not faults:
        faults += _missing(rows)
    if faults:
        many = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise ValueError(f"{path.name} has {many}:\n" + "\n".join(f"  {f}" for f in faults))
    return _build(path.name, [row for _, row in rows])


def _fault(row: dict[str, str]) -> str:
    """What is wrong with one row, or an empty string."""
    kind = row["kind"]
    if kind not in WORDS and kind not in SETTINGS:
        return f"unknown kind {kind!r}; known are {', '.join([*WORDS, *SETTINGS])}"
    empty = [name for name in (WORDS.get(kind) or SETTINGS.get(kind, ())) if not row[name]]
    if empty:
        return f"a {kind} needs {' and '.join(empty)}"
    if row["gender"] not in ("", "m", "f"):
        return f"gender must be m or f, got {row['gender']!r}"
    if kind in SORTS and row["sort"] not in SORTS[kind]:
        return f"sort of a {kind} must be {' or '.join(SORTS[kind])}, got {row['sort']!r}"
    if kind == "determiner" and not (
        (row["source"] and row["target"]) or (row["source_plural"] and row["target_plural"])
    ):
        return "a determiner needs source and target, or source_plural and target_plural"
    if kind == "contraction" and not re.fullmatch(r"\S+ \S+ = \S+", row["target"]):
        return f"a contraction is written 'de le = du', got {row['target']!r}"
    if kind == "consonant" and not (row["source"] or row["target"]):
        return "a consonant row needs a word in source or in target"
    if kind == "pattern":
        return _pattern_fault(row)
    forms = [row[name] for name in COLUMNS[1:7]] if kind in WORDS else []
    for form in forms:
        if " " in form or form.count("/") > 1:
            return f"{form!r} is not a form: words are joined by _, 'le/l'' has one slash"
    return ""


def _pattern_fault(row: dict[str, str]) -> str:
    name = row["sort"]
    if name not in PATTERNS:
        return f"unknown pattern {name!r}; known are {', '.join(PATTERNS)}"
    literals = []
    for side in ("source", "target"):
        parts = row[side].split()
        slots = [match[1] for part in parts if (match := SLOT.fullmatch(part))]
        if sorted(slots) != sorted(PATTERNS[name]):
            wanted = " ".join(f"{{{slot}}}" for slot in sorted(PATTERNS[name]))
            return f"the {side} of pattern {name} must hold {wanted} once each, got {row[side]!r}"
        literals.append(len(parts) - len(slots))
    if (literals[0] == 0) != (literals[1] == 0):
        return f"pattern {name} has words of its own on one side only: each needs a partner"
    return ""


def _doubles(rows: list[tuple[int, dict[str, str]]]) -> list[str]:
    """The same word twice would make one sentence with two right translations."""
    seen: dict[tuple, int] = {}
    faults = []
    for number, row in rows:
        kind = row["kind"]
        what = row["sort"] if kind == "pattern" else row["source"] or row["source_plural"]
        what = f"{what} ({row['sort']})" if kind == "relative" else what
        key = (kind, what or row["target"])
        if key in seen:
            faults.append(f"line {number}: {kind} {key[1]!r} stands already in line {seen[key]}")
        seen.setdefault(key, number)
    return faults


def _missing(rows: list[tuple[int, dict[str, str]]]) -> list[str]:
    counts = Counter(row["kind"] for _, row in rows)
    patterns = {row["sort"] for _, row in rows if row["kind"] == "pattern"}
    sorts = {(row["kind"], row["sort"]) for _, row in rows}
    faults = [f"no row of kind {kind}" for kind in (*WORDS, "vowels") if not counts[kind]]
    faults += [f"no pattern {name}" for name in PATTERNS if name not in patterns]
    for kind in ("noun", "relative"):  # adjectives may all stand on one side of the noun
        for sort in SORTS[kind]:
            if counts[kind] and (kind, sort) not in sorts:
                faults.append(f"no {kind} of sort {sort}")
    plain = any(r["kind"] == "determiner" and r["source"] and r["source_plural"] for _, r in rows)
    if counts["determiner"] and not plain:
        faults.append("no determiner with both a singular and a plural")
    return faults


def _build(name: str, rows: list[dict[str, str]]) -> Lexicon:
    lexicon = Lexicon(name, {kind: [] for kind in WORDS}, {})
    for row in rows:
        kind = row["kind"]
        if kind in WORDS:
            lexicon.words[kind].append(Word(**row))
        elif kind == "pattern":
            lexicon.patterns[row["sort"]] = (row["source"].split(), row["target"].split())
        elif kind == "vowels":
            lexicon.vowels = (row["source"].lower(), row["target"].lower())
        elif kind == "contraction":
            first, second, _, short = row["target"].split()
            lexicon.contractions[first, second] = short
    spoken = [row for row in rows if row["kind"] == "consonant"]
    lexicon.consonants = (
        frozenset(row["source"] for row in spoken if row["source"]),
        frozenset(row["target"] for row in spoken if row["target"]),
    )
    return lexicon
