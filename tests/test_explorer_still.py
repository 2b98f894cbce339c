"""The still picture and the words say what the page shows for the same selection."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from utils.explorer import (
    AttentionExplorer,
    head_distance,
    head_entropy,
    page,
    selection,
    sheet,
    static,
)
from utils.explorer.sheet import ACCENT, GOLD, QUIET, Sheet

JS = Path(page.__file__).with_name("explorer.js").read_text(encoding="utf-8")
WORDS = "the animal did not cross the street because it was too tired".split()
PICTURE = np.random.default_rng(0).random((16, 16, 3))


def softmax(*shape, seed=0):
    weights = np.exp(np.random.default_rng(seed).standard_normal(shape) * 2)
    return weights / weights.sum(-1, keepdims=True)


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


def two(**options):
    names = ["a", "b", "c", "d"]
    return AttentionExplorer(
        softmax(2, 3, 4, 4), names, compare={"trained": softmax(2, 3, 4, 4, seed=1)}, **options
    )


# --- differences


def test_colours_are_those_of_the_page():
    def stops(name):
        return tuple(re.findall(r"#\w{6}", re.search(name, JS, re.S).group(1)))

    assert stops(r"SPLIT = \{\s*light: \[(.*?)\]") == sheet.SPLIT
    assert stops(r"HEAD_COLOURS = \[(.*?)\]") == sheet.HEAD_COLOURS


def test_difference_is_drawn_and_named(written):
    explorer = two(difference=True)
    pixels, texts = written(explorer)
    assert "this − trained: layer 0, head 0" in said(texts)
    assert not any(text.startswith("trained: ") for text in said(texts))
    this, trained = (panel.weights[0, 0] for panel in explorer._panels)
    gaps = this - trained
    for text, ours, theirs in zip(said(in_cells(texts)), this.flat, trained.flat, strict=True):
        shown = round(1000 * (float(f"{ours:.3f}") - float(f"{theirs:.3f}")))  # of what is read
        assert text == ("−" if shown < 0 else "+" if shown else "") + f".{abs(shown):03d}"
    least, most = (
        sheet.ramp(sheet.SPLIT)[sheet.shade(g, sheet.SPLIT)] for g in (gaps.min(), gaps.max())
    )
    for colour in (least, most):  # a cell of 38 × 38 pixels each, less the number
        assert (np.abs(pixels - colour).max(-1) == 0).sum() > 900
    stored = np.asarray(Image.open(io.BytesIO(explorer.to_png())).convert("RGB")).astype(int)
    assert (np.abs(stored - least).max(-1) <= 6).sum() > 900  # the file has the orange too
    assert np.abs(written(two())[0] - least).max(-1).min() > 20  # and without it there is none


def test_what_has_no_partner_stays(written):
    def blocks(tokens, seed, **options):
        weights = {"same": softmax(2, 2, seed=seed), "own": softmax(len(tokens), len(tokens))}
        return AttentionExplorer(weights, {"same": ["a", "b"], "own": tokens}, **options)

    explorer = blocks(["x", "y"], 0, compare=blocks(["u", "v", "w"], 1), difference=True)
    texts = said(written(explorer)[1])
    assert [text for text in texts if ": layer" in text] == [
        "same − other: same: layer 0, head 0",
        "own: layer 0, head 0",
        "other: own: layer 0, head 0",
    ]
    assert "weight" in texts and "weight minus the other's" in texts
    explorer.block = "other: same"  # has no picture of its own: its partner is meant
    assert selection.focus(explorer).name == "same"
    explorer.block = "own"
    assert selection.focus(explorer).name == "own"


def test_what_is_subtracted_is_spoken_of_with_its_partner():
    weights, tokens = {"a": softmax(1, 1, 2, 2), "b": softmax(3, 3, 2, 2)}, ["x", "y"]
    explorer = AttentionExplorer(
        weights, tokens, compare=AttentionExplorer(weights, tokens), difference=True,
        block="other: b", layer=2, head=1,
    )  # fmt: skip
    assert "the difference in layer 2, head 1." in static.summary(explorer)


def test_difference_in_words():
    this, trained = [[0.2, 0.4, 0.4]] * 3, [[0.52, 0.2, 0.28], [0.2, 0.35, 0.45], [0.2, 0.4, 0.4]]
    explorer = AttentionExplorer(
        this, ["a", "b", "c"], compare={"trained": trained}, difference=True, layer=0
    )
    words = explorer.describe()
    assert "Shows a heatmap of the difference in layer 0, head 0." in words
    assert "this − trained: a changes most at a (−0.320); b changes most at" in words
    assert words.endswith("; c changes nowhere.")
    assert "trained: a looks" not in words
    explorer.view = "lines"  # there the two stand side by side
    assert "trained: a looks most at a (0.520)" in explorer.describe()


def test_differences_are_of_the_decimals_that_are_read(written):
    """0.301 and 0.299 are read, so 0.002 it is, though the weights differ by 0.0012."""
    this, trained = [[0.3006, 0.6994], [0.5, 0.5]], [[0.2994, 0.7006], [0.5004, 0.4996]]
    explorer = AttentionExplorer(this, ["a", "b"], compare={"trained": trained}, difference=True)
    assert said(in_cells(written(explorer)[1])) == ["+.002", "−.002", ".000", ".000"]
    words = explorer.describe()
    assert words.endswith("a changes most at a (+0.002); b changes nowhere.")
    whole = AttentionExplorer(
        np.eye(2), ["a", "b"], compare={"trained": np.eye(2)[::-1]}, difference=True
    )
    assert said(in_cells(written(whole)[1])) == ["+1", "−1", "−1", "+1"]


def test_a_chosen_key_in_a_difference_is_spoken_of():
    this = [[0.2, 0.4, 0.4], [0.1, 0.1, 0.8], [1, 0, 0]]
    trained = [[0.52, 0.2, 0.28], [0.1, 0.45, 0.45], [1, 0, 0]]
    explorer = AttentionExplorer(
        this, ["a", "b", "c"], compare={"trained": trained}, difference=True, token=0, key=2
    )
    cell = "this − trained: a looks at c (0.400; trained: 0.280, difference +0.120)."
    assert explorer.describe().endswith(cell)
    explorer.token = 2
    assert explorer.describe().endswith("c looks at c (0.000; trained: 0.000, difference 0.000).")
    explorer.token = None
    assert explorer.describe().endswith("this − trained: at c, b changes most (+0.350).")
    explorer.key, explorer.token = None, 1
    assert explorer.describe().endswith("this − trained: b changes most at b (−0.350).")
    same = AttentionExplorer(this, ["a", "b", "c"], compare=this, difference=True, key=0)
    assert same.describe().endswith("no query changes at a.")


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


def test_all_heads_in_words():
    weights = np.full((1, 2, 2, 2), 0.5)
    weights[0, 1, 0] = [0.37, 0.63]
    explorer = AttentionExplorer(weights, ["it", "animal"], view="lines", all_heads=True)
    assert "for layer 0, all heads." in static.summary(explorer)
    assert "it looks most at animal in head 1 (0.630); animal looks" in explorer.describe()
    explorer.view = "heatmap"  # shows one head
    assert "a heatmap of layer 0, head 0." in static.summary(explorer)
    assert "in head" not in explorer.describe()


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


@pytest.mark.parametrize(
    ("keys", "least"), [(3, "0.0005"), (64, "0.0005"), (65, "0.00017"), (513, "0.00004")]
)
@pytest.mark.parametrize("share", [0, 0.9, 1.1], ids=["zero", "under", "over"])
def test_a_key_that_nobody_looks_at(keys, least, share):
    """What rounds to 0 for the page is 0 in words too."""
    weights = np.zeros((1, keys))
    half = 0.5 / {"0.0005": 1000, "0.00017": 3000, "0.00004": 15000}[least]
    weights[0, :2] = 1 - share * half, share * half
    names = [f"k{i}" for i in range(keys)]
    words = AttentionExplorer(weights, ["q"], names, key=1).describe()
    if share > 1:
        assert f"k1 is looked at most by q ({weights[0, 1]:.3f})." in words
    else:
        assert words.endswith(f"nobody looks at k1 with {least} or more.")


def test_a_chosen_key_is_a_column_frame(written):
    explorer = AttentionExplorer(softmax(4, 4), ["a", "b", "c", "d"], key=2)
    pixels, texts = written(explorer)
    accent = near(pixels, ACCENT, 0)
    assert (accent.sum(0) > 4 * 36).sum() == 4  # two lines of two pixels
    assert not (accent.sum(1) > 4 * 36).any()
    assert [text for text, colour, *_ in texts if colour == ACCENT] == ["c"]


@pytest.mark.parametrize("view", ["lines", "heatmap", "heads"])
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


# --- heads and pictures


@pytest.mark.parametrize(
    ("sort", "measure"), [("entropy", head_entropy), ("distance", head_distance)]
)
def test_heads_are_sorted_as_on_the_page(written, sort, measure):
    weights = softmax(3, 4, 6, 6)
    _, texts = written(AttentionExplorer(weights, WORDS[:6], view="heads", sort=sort))
    under = [text for text in said(texts) if re.fullmatch(r"\d+·\d+", text)]
    order = np.argsort(measure(weights).ravel(), kind="stable")
    assert under == [f"{i // 4}·{i % 4}" for i in order]
    assert any(text.startswith(f"lowest {sort} first") for text in said(texts))


def framed_thumbnail(pixels):
    """Number of the thumbnail with the frame, and the number of frames' pixels."""
    frame = near(pixels, ACCENT, 0)
    return (np.flatnonzero(frame.any(0)).min() + 3 - 12) // 130, frame.sum()


def test_the_chosen_head_or_the_rollout_is_framed(written):
    explorer = AttentionExplorer.vit(softmax(2, 3, 5, 5), PICTURE, layer=1, head=2)
    assert framed_thumbnail(written(explorer)[0])[0] == 2
    assert "under the attention of layer 1, head 2." in static.summary(explorer)
    explorer.block = "rollout"
    assert framed_thumbnail(written(explorer)[0])[0] == 3
    assert "Shows the picture under the rollout up to layer 1." in static.summary(explorer)
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
    assert "layer 0, head 0." in static.summary(explorer)
    assert "layer 2" not in explorer.describe()
    longer = AttentionExplorer(softmax(1, 2, 20, 20), ["x"] * 20)
    explorer = AttentionExplorer.vit(
        softmax(1, 2, 10, 10), PICTURE, compare=longer, block="other", token=15
    )
    assert "layer 0: where [CLS] looks" in said(written(explorer)[1])
    assert "this: [CLS] looks most at" in explorer.describe()


def test_a_block_may_be_called_rollout(written):
    explorer = AttentionExplorer({"rollout": softmax(1, 1, 2, 2)}, ["a", "b"])
    assert "rollout: layer 0, head 0" in said(written(explorer)[1])
    assert "rollout: a looks most at" in explorer.describe()


# --- several blocks


def blocks(**options):
    return AttentionExplorer.transformer(
        softmax(1, 1, 4, 4), softmax(2, 2, 3, 3), softmax(1, 1, 3, 4),
        ["a", "b", "c", "d"], ["x", "y", "z"], **options,
    )  # fmt: skip


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
    assert "a heatmap of layer 0, head 0." in static.summary(explorer)
    words = explorer.describe()
    assert "encoder: a looks" in words
    assert "decoder, layer 1, head 1: x looks" in words
    headings = [text for text in said(written(explorer)[1]) if ": layer" in text]
    assert headings == [
        "encoder: layer 0, head 0", "decoder: layer 1, head 1", "cross: layer 0, head 0",
    ]  # fmt: skip


# --- masks, labels, inks


def test_hatching_is_explained(written):
    mask = np.tril(np.ones((2, 2), bool))
    explorer = AttentionExplorer([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], mask=mask)
    assert "masked: may not look" in said(written(explorer)[1])


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


@pytest.mark.parametrize("view", ["heatmap", "lines", "heads"])
def test_weights_that_break_the_mask_are_counted(view):
    def words(weights, **options):
        tokens = [f"w{i}" for i in range(len(weights[0]))]
        return AttentionExplorer(weights, tokens[: len(weights)], tokens, view=view, **options)

    two = words(BROKEN, mask=CAUSAL).describe()
    assert two.endswith("). 2 weights that the mask forbids are not 0.")
    one = words([[0.9, 0.1], [0.5, 0.5]], mask=CAUSAL[:2, :2]).describe()
    assert one.endswith("1 weight that the mask forbids is not 0.")
    assert "mask" not in words([[1, 0], [0.5, 0.5]], mask=CAUSAL[:2, :2]).describe()
    assert "mask" not in words(BROKEN).describe()
    many = words(np.full((50, 50), 0.02), mask=np.eye(50, dtype=bool)).describe()
    assert many.endswith("2,450 weights that the mask forbids are not 0.")
    # 0.0004 is a step of what travels to the page if there are more than 64 keys.
    row = np.zeros((1, 65))
    row[0, :2] = 0.9996, 0.0004
    mask = np.arange(65)[None] != 1
    assert words(row, mask=mask).describe().endswith("1 weight that the mask forbids is not 0.")


def test_weights_that_break_the_mask_are_those_of_the_head():
    weights = np.array([BROKEN, np.eye(3)])
    explorer = AttentionExplorer(
        weights, ["a", "b", "c"], mask=CAUSAL, compare=np.stack([BROKEN] * 2)
    )
    assert explorer.describe().count("2 weights that the mask forbids are not 0.") == 2
    explorer.head = 1
    assert explorer.describe().count("that the mask forbids") == 1
    explorer.difference = True
    assert "mask" not in explorer.describe()
    explorer.view, explorer.all_heads = "lines", True
    assert "mask" not in explorer.describe()


def test_gold_in_words():
    """As in explorer.js: of equal weights each is the largest, and who looks nowhere is wrong."""
    weights = [[0.5, 0.5, 0], [0.3, 0.3004, 0.3996], [0, 0, 0], [0.2, 0.2, 0.6], [0, 1, 0]]
    mask = np.ones((5, 3), bool)
    mask[2] = False
    gold = [(0, 1), (1, 0), (1, 1), (2, 0), (3, 0), (3, 2)]
    explorer = AttentionExplorer(weights, list("abcde"), list("xyz"), mask=mask, gold=gold)
    sentence = "In this head 2 of 4 queries look most at a gold key."
    for explorer.view in ("heatmap", "lines"):
        assert explorer.describe().endswith(sentence)
    explorer.all_heads = True
    assert "gold" not in explorer.describe()
    explorer.view, explorer.all_heads = "heads", False
    assert "gold" not in explorer.describe()
    # Equal for the page, which has thousandths; more keys have finer steps.
    near = [[0.3301, 0.3303, 0.3396], [0.4997, 0.5003, 0], [1, 0, 0]]
    explorer = AttentionExplorer(near, list("abc"), gold=[(0, 0), (1, 0), (2, 0)])
    assert "In this head 2 of 3 queries" in explorer.describe()


# --- the scale


@pytest.mark.parametrize(
    ("options", "words", "ticks"),
    [
        ({}, "weight", ["0", "0.05", "0.25", "0.5", "1"]),
        ({"view": "heads"}, "weight", ["0", "0.05", "0.25", "0.5", "1"]),
        ({"difference": True}, "weight minus the other's", ["−1", "−0.25", "0", "0.25", "1"]),
    ],
)
def test_colours_have_a_scale(written, options, words, ticks):
    pixels, texts = written(two(**options))
    at = said(texts).index(words)
    scale = texts[at + 1 : at + 6]
    assert said(scale) == ticks
    assert {entry[1] for entry in texts[at : at + 6]} == {QUIET}
    middles = [(left + right) / 2 for _, _, left, right, _ in scale]
    weights = [float(tick.replace("−", "-")) for tick in ticks]
    roots = np.sign(weights) * np.sqrt(np.abs(weights))
    places = (np.array(middles) - middles[0]) / (middles[-1] - middles[0])
    assert np.abs(places - (roots - roots[0]) / (1 - roots[0])).max() < 0.01
    assert texts[at][3] < scale[0][2]  # the words end before the first tick
    # Over each tick is the colour that a cell of this weight has.
    stops = sheet.SPLIT if "difference" in options else sheet.STOPS
    y = round(texts[at][4])
    for middle, weight in list(zip(middles, weights))[1:-1]:
        colour = sheet.ramp(stops)[sheet.shade(np.array(weight), stops)].astype(int)
        assert np.abs(pixels[y, round(middle)] - colour).max() <= 6


def test_lines_have_no_scale(written):
    assert "weight" not in said(written(two(view="lines"))[1])


def test_a_row_that_is_masked_everywhere_looks_nowhere():
    mask = np.array([[False, False], [True, True]])
    explorer = AttentionExplorer([[0.0, 0.0], [0.5, 0.5]], ["a", "b"], mask=mask)
    assert "a looks nowhere; b looks most at a (0.500)." in explorer.describe()


def test_joiners_stay_in_labels_and_find_a_font():
    word = "می\u200cرود"
    assert static.label(word) == word
    assert static.label("\u200c") == "␣"
    assert static.label("a\u200bb") == "a·b"
    text, _ = sheet._dressed(word, 12, False)
    assert not text.startswith("U+") or not sheet._shapes()
    # Joiners are asked of no font: here the letter is Chinese and its font has none.
    if sheet._font_for("注"):
        assert sheet._font_for("注\u200d意")


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


def test_luminance_by_hand():
    assert contrast((255, 255, 255), (0, 0, 0)) == pytest.approx(21)
    assert sheet.luminance((119, 119, 119)) == pytest.approx(0.1845, abs=1e-4)


@pytest.mark.parametrize("difference", [False, True])
def test_numbers_have_the_ink_that_reads_best(written, difference):
    a, b = np.arange(0, 1.01, 0.05), 0.5
    seen = set()
    for w in a:
        this, trained = [[w, 1 - w], [b, b]], [[b, b], [b, b]]
        explorer = AttentionExplorer(
            this, ["a", "b"], compare={"trained": trained}, difference=difference
        )
        pixels, texts = written(explorer)
        for text, ink, left, _, y in in_cells(texts):
            cell = pixels[round(y) - 12, round(left) - 1]
            best = max((sheet.INK, "#ffffff"), key=lambda c: contrast(sheet.rgb(c), cell))
            assert ink == best, (text, cell)
            assert contrast(sheet.rgb(ink), cell) >= 3.8
            seen.add(ink)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a heatmap of layer 1, head 2"),
        ({"view": "lines"}, "lines from queries to keys for layer 1, head 2"),
        ({"view": "lines", "token": 1, "key": 0}, "lines from queries to keys for layer 1, head 2"),
        ({"view": "heads"}, "all heads as small maps"),
    ],
)
def test_summary_keeps_its_words(options, words):
    """Stored notebooks are compared with it."""
    explorer = AttentionExplorer(softmax(2, 3, 4, 4), WORDS[:4], layer=1, head=2, **options)
    assert static.summary(explorer) == (
        "AttentionExplorer(layers=2, heads=3, queries=4, keys=4)\n"
        f"Shows {words}. Rows are queries (who looks), columns are keys."
    )
