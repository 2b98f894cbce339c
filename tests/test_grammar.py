"""The translation language: agreement, elision, alignments, determinism, and its table."""

import re

import pytest

from utils.text.grammar import LECTURE, Grammar, held_out, lecture_pairs, spell
from utils.text.lexicon import COLUMNS, DATA, read_lexicon

TABLE = (DATA / "en_fr.tsv").read_text("utf-8")


@pytest.fixture(scope="module")
def pairs():
    return Grammar().pairs(1500, seed=11)


@pytest.fixture(scope="module")
def lexicon():
    return read_lexicon()


def test_the_lectures_sentences_come_out_word_for_word():
    first, second = lecture_pairs()
    assert (spell(first.source), spell(second.source)) == LECTURE
    assert spell(first.target) == (
        "L'accord sur la zone économique européenne a été signé en août 1992."
    )
    assert spell(second.target) == "Jane visite l'Afrique en septembre."
    assert (len(first.source), len(first.target)) == (13, 14)


def test_the_lectures_alignment_is_the_known_one():
    pair = lecture_pairs()[0]
    by_words = {(pair.target[i], pair.source[j]) for i, j in pair.sure}
    assert {("zone", "Area"), ("économique", "Economic"), ("européenne", "European")} <= by_words
    assert {("été", "was"), ("signé", "signed")} <= by_words
    doubtful = {(pair.target[i], pair.source[j]) for i, j in pair.possible - pair.sure}
    assert doubtful == {
        ("l'", "the"), ("l'", "agreement"), ("la", "the"), ("la", "Area"), ("a", "was"),
        ("a", "signed"), ("été", "signed"),
    }  # fmt: skip


def test_all_lengths_from_4_to_30_occur_long_ones_more_rarely(pairs):
    lengths = [len(pair.source) for pair in pairs]
    counts = [lengths.count(n) for n in range(4, 31)]
    assert sum(counts) == len(pairs)
    assert min(counts[:-1]) > 0
    thirds = [sum(counts[i : i + 9]) / len(pairs) for i in (0, 9, 18)]
    assert thirds == pytest.approx([0.55, 0.34, 0.11], abs=0.06)
    long = [len(p.source) for p in Grammar().pairs(60, seed=0, shortest=28, longest=30)]
    assert set(long) == {28, 29, 30}


def test_the_same_seed_gives_the_same_pairs():
    assert Grammar().pairs(200, seed=3) == Grammar().pairs(200, seed=3)
    assert Grammar().pairs(200, seed=3) != Grammar().pairs(200, seed=4)


def test_training_and_test_never_share_a_sentence(pairs):
    test = Grammar().pairs(300, seed=11, split="test")
    assert not {pair.source for pair in pairs} & {pair.source for pair in test}
    assert all(held_out(pair.source) for pair in test)
    assert all(held_out(pair.source) for pair in lecture_pairs())
    assert len({pair.source for pair in pairs}) == len(pairs)


def test_one_sentence_has_one_translation(pairs):
    """Else exact match would punish a right answer."""
    translations = {}
    for pair in [*pairs, *Grammar().pairs(1500, seed=12, shortest=4, longest=8)]:
        assert translations.setdefault(pair.source, pair.target) == pair.target


def test_every_word_is_linked_and_links_are_in_range(pairs):
    for pair in pairs:
        assert pair.sure <= pair.possible
        assert {i for i, _ in pair.possible} == set(range(len(pair.target)))
        assert {j for _, j in pair.possible} == set(range(len(pair.source)))


def test_links_join_words_that_translate_each_other(pairs, lexicon):
    """Checked against the table, not against the code that made them."""
    allowed = {(".", "."), ("que", "that"), ("qu'", "that"), ("de", "of"), ("d'", "of")}
    allowed |= {("par", "by"), ("en", "in"), ("le", "on")}
    for words in lexicon.words.values():
        for word in words:
            sources = {*word.source.split("/"), *word.source_plural.split("/")} - {""}
            targets = [word.target, word.target_feminine, word.target_plural]
            for form in "/".join([*targets, word.target_feminine_plural]).split("/"):
                if form:
                    allowed |= {(form.split("_")[-1], s.split("_")[-1]) for s in sources}
    found = {(pair.target[i], pair.source[j]) for pair in pairs for i, j in pair.sure}
    assert found - allowed == set()


VOWEL = "aeiouhàâéèêëîïôœ"


def test_elision_and_contraction_everywhere(pairs):
    for pair in pairs:
        for word, following in zip(pair.target, pair.target[1:]):
            vowel = following[0].lower() in VOWEL
            if word.endswith("'"):
                assert vowel, f"{word} before {following} in {pair}"
            if word in ("le", "la", "de", "que", "ce", "beau", "nouveau"):
                assert not vowel, f"{word} before {following} in {pair}"
            assert (word, following) not in {("de", "le"), ("de", "les")}, pair
            if word in ("cet", "bel", "nouvel", "vieil"):
                assert vowel, pair
        for word, following in zip(pair.source, pair.source[1:]):
            if word in ("a", "an"):
                sounds_vowel = following[0].lower() in "aeiou" and following not in (
                    "European",
                    "university",
                )
                assert (word == "an") == sounds_vowel, pair


def test_elided_and_contracted_forms_do_occur(pairs):
    seen = {word for pair in pairs for word in pair.target}
    assert {"l'", "d'", "qu'", "du", "des", "cet", "bel", "vieil", "nouvel"} <= seen


def test_determiners_and_adjectives_agree_with_their_noun(pairs, lexicon):
    nouns = {}
    for word in lexicon.words["noun"]:
        nouns[word.target], nouns[word.target_plural] = (word.gender, False), (word.gender, True)
    gender_of = {"un": "m", "une": "f", "cette": "f", "cet": "m", "ce": "m", "la": "f"}
    checked = 0
    for pair in pairs:
        for i, word in enumerate(pair.target):
            if word not in gender_of or word == "la":
                continue
            noun = next(w for w in pair.target[i + 1 :] if w in nouns)
            assert nouns[noun] == (gender_of[word], False), pair
            checked += 1
    assert checked > 500


def test_participles_agree_with_the_subject_however_far_away(lexicon):
    by_form = {}
    for word in lexicon.words["participle"]:
        for form, what in zip(
            (word.target, word.target_feminine, word.target_plural, word.target_feminine_plural),
            (("m", False), ("f", False), ("m", True), ("f", True)),
        ):
            by_form[form] = what
    nouns = {}
    for word in lexicon.words["noun"]:
        nouns[word.target], nouns[word.target_plural] = (word.gender, False), (word.gender, True)
    passives = [
        pair
        for pair in Grammar().pairs(1000, seed=5, longest=9)
        if re.search(r"\b(was|were|is|are|will be) \w+\.$", spell(pair.source))
        and not re.search(r"which|who|that|and|but|when|because", spell(pair.source))
    ]
    for pair in passives:
        subject = next(word for word in pair.target if word in nouns)
        assert nouns[subject] == by_form[pair.target[-2]], pair
    assert len(passives) > 50


def test_adjectives_move_behind_the_noun(lexicon):
    after = {w.source for w in lexicon.words["adjective"] if w.sort == "after"}
    nouns = {w for n in lexicon.words["noun"] for w in (n.source, n.source_plural)}
    crossed = 0
    for pair in Grammar().pairs(500, seed=6):
        to = {j: i for i, j in pair.sure}
        for j, word in enumerate(pair.source[:-1]):
            if word in after and pair.source[j + 1] in nouns:
                assert to[j] > to[j + 1], pair
                crossed += 1
    assert crossed > 200


def test_dates_and_relative_clauses_occur(pairs):
    texts = [spell(pair.source) for pair in pairs]
    for pattern in (r"on \w+ \d+[ .]", r"on \d+ [A-Z]\w+ \d{4}", r"which (was|is|were|are|will)",
                    r" who ", r"will be \w+ by ", r"said that"):  # fmt: skip
        assert sum(bool(re.search(pattern, text)) for text in texts) > 15, pattern


def test_asking_for_too_much_or_for_nonsense_is_answered():
    with pytest.raises(ValueError, match="4 <= shortest <= longest <= 30"):
        Grammar().pairs(1, seed=0, longest=31)
    with pytest.raises(ValueError, match="split must be"):
        Grammar().pairs(1, seed=0, split="dev")
    with pytest.raises(ValueError, match="only about"):
        Grammar().pairs(900, seed=0, shortest=4, longest=4)


# --- the table


def broken(tmp_path, change):
    path = tmp_path / "broken.tsv"
    path.write_text(change(TABLE), "utf-8")
    return path


def line_of(text, beginning):
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith(beginning))


FAULTS = {
    "cells expected, got 3": ("noun\ttreaty", "noun\ttreaty\ttreaties"),
    "unknown kind 'nuon'": ("noun\ttreaty", "nuon" + "\tx" * 8),
    "a noun needs target": ("noun\ttreaty", "noun\ttreaty\ttreaties\t\t\ttraités\t\tm\tthing"),
    "gender must be m or f, got 'x'": ("noun\ttreaty", "noun\ta\tb\tc\t\td\t\tx\tthing"),
    "sort of a noun must be person or group or thing": (
        "noun\ttreaty", "noun\ta\tb\tc\t\td\t\tm\tanimal",
    ),
    "sort of a adjective must be before or after": (
        "adjective\tgreen", "adjective\tgreen\t\tvert\tverte\tverts\tvertes\t\tbehind",
    ),
    "unknown pattern 'pasive'": (
        "pattern\t{subject} {auxiliary}", "pattern\t{subject}\t\t{subject}\t\t\t\t\tpasive",
    ),
    "must hold {auxiliary} {participle} {subject} once each": (
        "pattern\t{subject} {auxiliary}", "pattern\t{subject}\t\t{subject}\t\t\t\t\tpassive",
    ),
    "each needs a partner": (
        "pattern\tin {month}\t", "pattern\tin {month}\t\t{month}\t\t\t\t\ttime_month",
    ),
    "a contraction is written 'de le = du'": (
        "contraction\t\t\tde le", "contraction\t\t\tdu\t\t\t\t\t",
    ),
    "is not a form": ("name\tJane", "name\tJane\t\tJeanne d'Arc\t\t\t\tf\t"),
    "stands already in line": ("noun\ttreaty", "noun\tlaw\tlaws\tloi\t\tlois\t\tf\tthing"),
    "a determiner needs": ("determiner\ta/an", "determiner\ta/an" + "\t" * 7),
}  # fmt: skip


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_broken_row_is_reported_with_its_line(tmp_path, sentence):
    beginning, new = FAULTS[sentence]
    number = line_of(TABLE, beginning)
    lines = TABLE.splitlines()
    lines[number - 1] = new
    with pytest.raises(ValueError, match="broken.tsv has ") as caught:
        read_lexicon(broken(tmp_path, lambda _: "\n".join(lines)))
    assert sentence in str(caught.value)
    if sentence != "stands already in line":
        assert f"line {number}: " in str(caught.value)


def test_all_broken_rows_are_reported_at_once(tmp_path):
    path = broken(tmp_path, lambda text: text + "nuon" + "\t" * 8 + "\nnoun\ta\n")
    with pytest.raises(ValueError, match="2 faults"):
        read_lexicon(path)


def test_what_a_whole_table_lacks_is_named(tmp_path):
    without = "\n".join(line for line in TABLE.splitlines() if not line.startswith("verb\t"))
    with pytest.raises(ValueError, match="no row of kind verb"):
        read_lexicon(broken(tmp_path, lambda _: without))
    with pytest.raises(ValueError, match="line 1: the header must be"):
        read_lexicon(broken(tmp_path, lambda _: "a\tb\n"))
    with pytest.raises(ValueError, match="there is no table 'en_xx.tsv'; tables in data/: .*en_fr"):
        read_lexicon("en_xx.tsv")
    latin = tmp_path / "latin.tsv"
    latin.write_bytes(TABLE.encode("latin-1", "replace"))
    with pytest.raises(ValueError, match="must be saved as UTF-8"):
        read_lexicon(latin)


def test_spreadsheets_may_add_a_mark_and_empty_cells(tmp_path):
    path = tmp_path / "excel.tsv"
    path.write_text("\ufeff" + "\r\n".join(line + "\t" for line in TABLE.splitlines()), "utf-8")
    assert read_lexicon(path).words == read_lexicon().words


def test_a_new_word_needs_the_table_only(tmp_path):
    row = "noun\torchard\torchards\tverger\t\tvergers\t\tm\tthing\n"
    grammar = Grammar(read_lexicon(broken(tmp_path, lambda text: text + row)))
    assert any("vergers" in pair.target for pair in grammar.pairs(600, seed=0))


def test_another_language_needs_a_table_only():
    """Spanish: adjectives behind, "de el" becomes "del", no elision."""
    grammar = Grammar(read_lexicon("en_es.tsv"))
    pairs = grammar.pairs(600, seed=0)
    words = {word for pair in pairs for word in pair.target}
    assert "del" in words
    assert not any(word.endswith("'") for word in words)
    assert all(("de", "el") not in zip(p.target, p.target[1:]) for p in pairs)
    first, second = lecture_pairs(grammar.lexicon)
    assert (
        spell(first.target)
        == "El acuerdo sobre la zona económica europea fue firmado en agosto de 1992."
    )
    assert spell(second.target) == "Jane visita África en septiembre."


def test_the_tables_have_the_columns_the_readme_names():
    readme = (DATA / "lexicon.md").read_text("utf-8")
    for column in COLUMNS:
        assert f"`{column}`" in readme
