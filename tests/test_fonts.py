"""Words of any script: real glyphs where a font has them, code points where none has."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils import fonts
from utils.fonts import BASE, font_families, readable


def forget():
    for cached in (fonts.font_families, fonts._has_glyph, fonts._charmaps):
        cached.cache_clear()


@pytest.fixture
def no_fallbacks(monkeypatch):
    """A machine with nothing but matplotlib's own font."""
    monkeypatch.setattr(fonts, "FALLBACKS", ())
    forget()
    yield
    forget()


def test_matplotlibs_font_comes_first_and_every_family_is_installed():
    from matplotlib import font_manager

    families = font_families()
    assert families[0] == BASE
    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    assert set(families) <= installed
    assert len(families) == len(set(families))


def test_without_a_font_a_word_is_shown_by_its_code_points(no_fallbacks):
    assert readable(["注意", "cat", "naïve", "вода"]) == ["U+6CE8 U+610F", "cat", "naïve", "вода"]
    (long,) = readable(["注意力机制是我们需要的"])
    assert long.startswith("U+6CE8 U+610F U+529B")
    assert len(long) < 24


def test_with_a_font_a_word_stays_as_it_is():
    if not any("CJK" in family for family in font_families()):
        pytest.skip("no Chinese font here: `apt-get install fonts-noto-cjk` brings one")
    assert readable(["注意", "学习"]) == ["注意", "学习"]


def test_what_no_font_has_is_shown_by_its_code_points():
    assert readable(["\ue000"]) == ["U+E000"]  # private use
    assert readable(["\ud800"]) == ["U+D800"]  # half a character


def test_blanks_newlines_and_nothing_become_visible():
    assert readable(["", " ", "\n\t", "a\n  b"]) == ["␣", "␣", "␣", "a b"]
    assert readable([7, None]) == ["7", "None"]


def test_long_words_are_cut_with_an_ellipsis():
    (word,) = readable(["x" * 100])
    assert word == "x" * 23 + "…"
    assert readable(["x" * 24]) == ["x" * 24]


# words of signs that matplotlib reads as commands, and words of any character at all
WORD = st.text("$\\ \n_a") | st.text(st.characters(exclude_categories=[]))


@settings(max_examples=150, deadline=None)
@given(st.lists(WORD, max_size=4))
def test_any_word_becomes_one_short_line_that_is_no_formula(words):
    from matplotlib.cbook import is_math_text

    shown = readable(words)
    assert len(shown) == len(words)
    for text in shown:
        assert text.strip()
        assert len(text.splitlines()) == 1
        assert len(text) <= 48
        assert not is_math_text(text)
