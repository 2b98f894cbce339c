"""Dates through Babel."""

import datetime

import pytest

from utils.text.dates import FIRST, STYLES, date_pairs, translate_date, write_date

DAY = datetime.date(1992, 8, 5)


def test_the_known_day_in_all_languages():
    assert translate_date(DAY, "iso") == "1992-08-05"
    assert translate_date(DAY, "fr") == "5 août 1992"
    assert translate_date(DAY, "zh") == "1992年8月5日"
    assert write_date(DAY, "long") == "August 5, 1992"
    assert write_date(DAY, "EEEE d MMMM y") == "Wednesday 5 August 1992"


def test_every_english_date_means_its_iso_date():
    """Read back with the standard library, which knows nothing of Babel."""
    formats = (
        "%A, %B %d, %Y",
        "%B %d, %Y",
        "%b %d, %Y",
        "%d %B %Y",
        "%A %d %B %Y",
        "%a, %b %d, %Y",
    )
    for english, iso in date_pairs(300, language="iso", seed=1):
        meant = set()
        for form in formats:
            try:
                meant.add(datetime.datetime.strptime(english, form).date().isoformat())
            except ValueError:
                continue
        assert meant == {iso}, english


def test_seed_and_split():
    train = date_pairs(2000, language="fr", seed=1)
    assert train == date_pairs(2000, language="fr", seed=1)
    assert train != date_pairs(2000, language="fr", seed=2)
    test = date_pairs(500, language="fr", seed=1, split="test")
    assert not {french for _, french in train} & {french for _, french in test}


def test_one_day_in_ten_is_for_the_test_whatever_its_weekday():
    test, train = (
        {
            datetime.date.fromisoformat(iso)
            for _, iso in date_pairs(500, language="iso", seed=1, split=split)
        }
        for split in ("test", "train")
    )
    assert {(day - FIRST).days % 10 for day in test} == {0}
    assert {(day - FIRST).days % 10 for day in train} == {*range(1, 10)}
    assert {day.weekday() for day in test} == {*range(7)}


def test_no_odd_spaces():
    for style in STYLES:
        assert all(char == " " or not char.isspace() for char in write_date(DAY, style))


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="language must be one of fr, zh, iso, got 'de'"):
        translate_date(DAY, "de")
    with pytest.raises(ValueError, match="split must be"):
        date_pairs(1, language="fr", seed=0, split="dev")
