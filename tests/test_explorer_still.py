"""The still picture shows what the page shows for the same selection."""

import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tests.explorerpage import softmax
from utils.explorer import AttentionExplorer, page, sheet, static
from utils.explorer.sheet import ACCENT, GOLD, QUIET, Sheet
from utils.layers import Weights

COLOURS = page.joined("colours")
WORDS = "the animal did not cross the street because it was too tired".split()
PICTURE = np.random.default_rng(0).random((16, 16, 3))


@pytest.fixture
def written(monkeypatch):
    """Draw an explorer; returns its pixels and all texts as (text, colour, left, right, y)."""

    def draw(explorer):
        texts, sheets = [], []
        write, upward, save = Sheet.text, Sheet.upward, Sheet.png

        def text(self, x, y, text, size=12, colour=sheet.INK, anchor="lm", bold=False):
            wide = self.wide(text, size, bold)
            left = x - {"l": 0, "m": wide / 2, "r": wide}[anchor[0]]
            texts.append((text, colour, left, left + wide, y))
            write(self, x, y, text, size, colour, anchor, bold)

        def up(self, places, y, names, size=12, colour=sheet.INK):
            texts.extend((name, colour, x - 1, x + 1, y) for name, x in zip(names, places))
            upward(self, places, y, names, size, colour)

        def png(self):
            sheets.append(self)
            return save(self)

        with monkeypatch.context() as patch:
            patch.setattr(Sheet, "text", text)
            patch.setattr(Sheet, "upward", up)
            patch.setattr(Sheet, "png", png)
            explorer.to_png()
        # What is asked of colours is asked before they become a byte a pixel.
        return np.asarray(sheets[0].image).astype(int), [entry for entry in texts if entry[0]]

    return draw


def said(texts):
    return [text for text, *_ in texts]


def in_cells(texts):
    """The numbers in the cells; those of the scale are quiet."""
    number = re.compile(r"[+−]?(\.\d{3}|1)")
    return [entry for entry in texts if number.fullmatch(entry[0]) and entry[1] != QUIET]


def near(pixels, colour, within=12):
    """Where the picture has about this colour."""
    return np.abs(pixels - sheet.rgb(colour)).max(-1) <= within


# --- the snapshot


def test_a_snapshot_stays_what_it_was():
    explorer = AttentionExplorer(softmax(2, 3, 4, 4), list("abcd"), layer=1, token=2)
    shot, png, words = explorer.snapshot(), explorer.to_png(), explorer.describe()
    explorer.layer, explorer.token, explorer.view = 0, None, "lines"
    assert explorer.to_png() != png
    assert (static.draw(shot), static.describe(shot)) == (png, words)
    with pytest.raises(FrozenInstanceError):
        shot.layer = 0


def test_all_heads_are_still_the_chosen_one_and_a_difference_its_two_sides(written):
    both = AttentionExplorer(
        softmax(2, 3, 4, 4), list("abcd"), compare={"trained": softmax(2, 3, 4, 4, seed=1)},
        head=2, difference=True,
    )  # fmt: skip
    for both.view in ("heatmap", "heads"):
        headings = [text for text in said(written(both)[1]) if "layer" in text]
        assert headings == ["this: layer 0, head 2", "trained: layer 0, head 2"]
        assert "Shows a heatmap of layer 0, head 2." in both.describe()


def test_colours_are_those_of_the_page():
    def stops(name):
        return tuple(re.findall(r"#\w{6}", re.search(name, COLOURS, re.S).group(1)))

    assert stops(r"RAMP = \{\s*light: \[(.*?)\]") == sheet.STOPS
    assert stops(r"HEAD_COLOURS = \[(.*?)\]") == sheet.HEAD_COLOURS


# --- lines


def test_all_heads_have_their_colours(written):
    weights = np.zeros((1, 3, 3, 3))
    for head, key in enumerate((1, 2, 0)):
        weights[0, head, :, key] = 1
    explorer = AttentionExplorer(weights, ["a", "b", "c"], view="lines", all_heads=True)
    pixels, texts = written(explorer)
    assert "layer 0, all heads" in said(texts)
    assert {"head 0", "head 1", "head 2"} <= set(said(texts))
    for colour in sheet.HEAD_COLOURS[:3]:
        assert near(pixels, colour).sum() > 500
    assert not near(pixels, sheet.HEAD_COLOURS[3]).any()
    explorer.all_heads = False
    assert not near(written(explorer)[0], sheet.HEAD_COLOURS[1]).any()


@pytest.mark.parametrize("view", ["lines", "heatmap"])
def test_gold_links_are_drawn_and_explained(written, view):
    options = {"threshold": 1.0, "view": view}
    pixels, texts = written(AttentionExplorer(softmax(4, 4), WORDS[:4], gold=[(0, 3)], **options))
    assert near(pixels, GOLD, 40).sum() > 60
    assert "gold link" in said(texts) and "masked: may not look" not in said(texts)
    pixels, texts = written(AttentionExplorer(softmax(4, 4), WORDS[:4], **options))
    assert not near(pixels, GOLD).any()
    assert "gold link" not in said(texts)


def test_gold_of_other_rows_is_not_drawn_for_a_chosen_token(written):
    options = {"gold": [(0, 3)], "threshold": 1.0, "view": "lines"}
    mine, other = (
        near(written(AttentionExplorer(softmax(4, 4), WORDS[:4], token=q, **options))[0], GOLD)
        for q in (0, 2)
    )
    assert mine.sum() > other.sum() + 25  # what is left is the legend


def foot(texts):
    return next(text for text in said(texts) if "hidden" in text or "drawn" in text)


def test_footnote_counts_what_is_asked_for(written):
    row = [0.3, 0.3, 0.3, 0.06, 0.01, 0.01, 0.02, 0, 0, 0, 0, 0]
    explorer = AttentionExplorer(np.tile(row, (12, 1)), WORDS, view="lines", token=8)
    assert foot(written(explorer)[1]) == "4 of 12 lines drawn; 8 weights under 0.05 are hidden"
    explorer.threshold = 0.0  # a weight of 0 is no line even then
    foot_at_0 = "7 of 12 lines drawn; 5 weights under 0.0005 are hidden"
    assert foot(written(explorer)[1]) == foot_at_0
    explorer.token, explorer.key, explorer.threshold = None, 3, 0.05
    assert foot(written(explorer)[1]) == "12 of 12 lines drawn; 0 weights under 0.05 are hidden"
    one = AttentionExplorer([[0.99, 0.01]], ["a"], ["b", "c"], view="lines")
    assert foot(written(one)[1]) == "1 of 2 lines drawn; 1 weight under 0.05 is hidden"
    alone = AttentionExplorer([[1.0]], ["a"], view="lines")
    assert foot(written(alone)[1]) == "1 of 1 line drawn; 0 weights under 0.05 are hidden"
    fine = AttentionExplorer(np.eye(80), ["w"] * 80, view="lines", threshold=37 / 3000)
    words = "80 of 6,400 lines drawn; 6,320 weights under 0.01234 are hidden"
    assert foot(written(fine)[1]) == words
    many = AttentionExplorer(np.full((80, 80), 1 / 80), ["w"] * 80, view="lines", threshold=0.001)
    words = "the 150 strongest of 6,400 lines; 0 weights under 0.001 are hidden"
    assert foot(written(many)[1]) == words


def test_a_chosen_key_shows_who_looks_at_it(written):
    weights = np.zeros((3, 3))
    weights[:, 0] = 1
    explorer = AttentionExplorer(weights, ["a", "b", "c"], view="lines", key=0)
    some, texts = written(explorer)
    assert near(some, sheet.LINE).any()
    assert [text for text, colour, *_ in texts if colour == ACCENT] == ["a"]
    assert "a is looked at most by a (1.000)" in explorer.describe()
    explorer.key = 1
    assert not near(written(explorer)[0], sheet.LINE).any()
    assert "nobody looks at b with 0.0005 or more" in explorer.describe()


def test_a_chosen_key_is_a_column_frame(written):
    explorer = AttentionExplorer(softmax(4, 4), ["a", "b", "c", "d"], key=2)
    pixels, texts = written(explorer)
    accent = near(pixels, ACCENT, 0)
    assert (accent.sum(0) > 4 * 36).sum() == 4  # two lines of two pixels
    assert not (accent.sum(1) > 4 * 36).any()
    assert [text for text, colour, *_ in texts if colour == ACCENT] == ["c"]


@pytest.mark.parametrize("view", ["lines", "heatmap"])
@pytest.mark.parametrize(
    "token",
    ["W" * 18, "W" * 40, "我喜歡注意力机制" * 3, "گربه روی فرش نشست"],
    ids=["wide", "long", "chinese", "persian"],
)
def test_no_label_is_clipped(written, view, token):
    explorer = AttentionExplorer(
        softmax(2, 2), [token, "b"], view=view, title="t", mask=np.ones((2, 2), bool), gold=[(0, 1)]
    )
    pixels, texts = written(explorer)
    for text, _, left, right, y in texts:
        assert left >= 0 and right <= pixels.shape[1] and 0 < y < pixels.shape[0], text
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert (edge > 250).all()


def test_names_under_pictures_leave_room_for_the_number(written):
    explorer = AttentionExplorer.caption(softmax(1, 1, 2, 4), ["W" * 30, "cat"], PICTURE)
    _, texts = written(explorer)
    (name,) = (entry for entry in texts if entry[0].startswith("WW"))
    number = next(entry for entry in texts if re.fullmatch(r"0\.\d{3}", entry[0]))
    assert name[3] < number[2]


# --- pictures


def framed_thumbnail(pixels):
    """Number of the thumbnail with the frame, and the number of frames' pixels."""
    frame = near(pixels, ACCENT, 0)
    return (np.flatnonzero(frame.any(0)).min() + 3 - 12) // 130, frame.sum()


def test_the_chosen_head_or_the_rollout_is_framed(written):
    explorer = AttentionExplorer.vit(softmax(2, 3, 5, 5), PICTURE, layer=1, head=2)
    assert framed_thumbnail(written(explorer)[0])[0] == 2
    assert "under the attention of layer 1, head 2." in explorer.describe()
    explorer.block = "rollout"
    assert framed_thumbnail(written(explorer)[0])[0] == 3
    assert "Shows the picture under the rollout up to layer 1." in static.summary(
        explorer.snapshot()
    )
    assert "rollout: [CLS] looks most at" in explorer.describe()


def test_the_chosen_word_is_framed(written):
    explorer = AttentionExplorer.caption(softmax(1, 1, 3, 4), ["a", "b", "c"], PICTURE)
    assert not near(written(explorer)[0], ACCENT, 0).any()
    explorer.token = 1
    assert framed_thumbnail(written(explorer)[0])[0] == 1


def test_pictures_beside_blocks_of_other_sizes(written):
    taller = AttentionExplorer(softmax(3, 2, 10, 10), ["x"] * 10)
    explorer = AttentionExplorer.vit(softmax(1, 2, 10, 10), PICTURE, compare=taller, layer=2)
    assert "layer 0: where [CLS] looks" in said(written(explorer)[1])
    assert "layer 0, head 0." in explorer.describe()
    assert "layer 2" not in explorer.describe()
    longer = AttentionExplorer(softmax(1, 2, 20, 20), ["x"] * 20)
    explorer = AttentionExplorer.vit(
        softmax(1, 2, 10, 10), PICTURE, compare=longer, block="other", token=15
    )
    assert "layer 0: where [CLS] looks" in said(written(explorer)[1])
    assert "this: [CLS] looks most at" in explorer.describe()


# --- several blocks


def blocks(**options):
    weights = Weights(softmax(1, 1, 4, 4), softmax(2, 2, 3, 3), softmax(1, 1, 3, 4))
    return AttentionExplorer(weights, source=list("abcd"), target=list("xyz"), **options)


def test_a_token_is_one_of_its_own_block_only(written):
    explorer = blocks(block="encoder", token=3)
    words = explorer.describe()
    assert "encoder: d looks most at" in words and "; d looks" not in words
    assert "decoder: x looks most at" in words and "z looks most at" in words
    assert "cross: x looks most at" in words
    explorer.token, explorer.key = 1, 1
    for view in ("heatmap", "lines"):
        explorer.view = view
        texts = written(explorer)[1]
        assert {text for text, colour, *_ in texts if colour == ACCENT} == {"b"}
    shown = [text for text in said(written(explorer)[1]) if "hidden" in text]
    assert [text.split()[2] for text in shown] == ["4", "9", "12"]


def test_words_name_the_layer_and_head_a_block_has(written):
    explorer = blocks(block="encoder", layer=1, head=1)
    assert "a heatmap of layer 0, head 0." in explorer.describe()
    words = explorer.describe()
    assert "encoder: a looks" in words
    assert "decoder, layer 1, head 1: x looks" in words
    headings = [text for text in said(written(explorer)[1]) if ": layer" in text]
    assert headings == [
        "encoder: layer 0, head 0", "decoder: layer 1, head 1", "cross: layer 0, head 0",
    ]  # fmt: skip


# --- masks, labels, inks


CAUSAL = np.tril(np.ones((3, 3), bool))
BROKEN = [[0.5, 0.46, 0.04], [0.5, 0.4996, 0.0004], [0.2, 0.3, 0.5]]


def test_weights_that_break_the_mask_are_seen(written):
    """A dark one and a light one; the third rounds to 0, and is hatched as what is obeyed."""
    pixels, texts = written(AttentionExplorer(BROKEN, ["a", "b", "c"], mask=CAUSAL))
    cells = {text: place for text, *place in in_cells(texts)}
    assert len(in_cells(texts)) == 8 and ".000" not in cells
    for text, weight in ((".460", 0.46), (".040", 0.04)):
        ink, left, right, y = cells[text]
        x, y = round((left + right) / 2), round(y)
        colour = sheet.ramp()[sheet.shade(np.array(weight))]
        cell = pixels[y - 18 : y + 18, x - 18 : x + 18]
        bare = (cell == colour).all(-1)
        assert bare.sum() > 0.5 * cell[..., 0].size  # the colour is that of the scale
        stripes = cell[:10][~bare[:10]]  # above the number
        assert len(stripes) > 50
        assert all(contrast(stripe, colour) > 1.9 for stripe in stripes)
        lighter = stripes.mean() > colour.mean()
        assert lighter == (ink == "#ffffff")
        number = cell[12:24, 6:30]
        assert (np.abs(number - sheet.rgb(ink)).max(-1) < 60).any()
        assert (number[0] == colour).all()  # no stripe behind it


def test_colours_have_a_scale(written):
    explorer = AttentionExplorer(softmax(4, 4), list("abcd"))
    pixels, texts = written(explorer)
    at = said(texts).index("weight")
    scale, weights = texts[at + 1 : at + 6], [0, 0.05, 0.25, 0.5, 1]
    assert said(scale) == [f"{weight:g}" for weight in weights]
    middles = [(left + right) / 2 for _, _, left, right, _ in scale]
    places = (np.array(middles) - middles[0]) / (middles[-1] - middles[0])
    assert np.abs(places - np.sqrt(weights)).max() < 0.01
    assert texts[at][3] < scale[0][2]  # the word ends before the first tick
    y = round(texts[at][4])  # over each tick is the colour that a cell of this weight has
    for middle, weight in list(zip(middles, weights))[1:-1]:
        colour = sheet.ramp()[sheet.shade(np.array(weight))].astype(int)
        assert np.abs(pixels[y, round(middle)] - colour).max() <= 6
    explorer.view = "lines"
    assert "weight" not in said(written(explorer)[1])


ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize("view", ["heatmap", "lines"])
def test_letters_that_no_font_has_are_named(written, monkeypatch, view):
    monkeypatch.setattr(sheet, "_other_fonts", list)
    for cached in (sheet._font_for, sheet._dressed, sheet._wide, sheet.writable):
        cached.cache_clear()
    try:
        explorer = AttentionExplorer(
            {ENGLAND: softmax(3, 3)}, [ENGLAND, "\u1234\n", "b"], view=view
        )
        texts = said(written(explorer)[1])
    finally:
        for cached in (sheet._font_for, sheet._dressed, sheet._wide, sheet.writable):
            cached.cache_clear()
    flag = "U+1F3F4 U+E0067 U+E0062 U+E0065 …"
    assert texts.count(flag) == 2 and texts.count("U+1234 U+000A") == 2
    assert f"{flag}: layer 0, head 0" in texts
    assert "🏴······ looks most at" in explorer.describe()  # a voice has its own way with letters
    assert sheet.code_points("\u1234" * 4) == " ".join(["U+1234"] * 4)


def contrast(one, other):
    low, high = sorted(float(sheet.luminance(np.array(colour))) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_numbers_have_the_ink_that_reads_best(written):
    seen = set()
    for w in np.arange(0, 1.01, 0.05):
        pixels, texts = written(AttentionExplorer([[w, 1 - w], [0.5, 0.5]], ["a", "b"]))
        for text, ink, left, _, y in in_cells(texts):
            cell = pixels[round(y) - 12, round(left) - 1]
            best = max((sheet.INK, "#ffffff"), key=lambda c: contrast(sheet.rgb(c), cell))
            assert ink == best, (text, cell)
            assert contrast(sheet.rgb(ink), cell) >= 3.8
            seen.add(ink)
    assert len(seen) == 2
