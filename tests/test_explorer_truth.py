"""The page leaves no number half, no chosen word cut, no broken mask unseen."""

import numpy as np
import pytest

from tests.explorerpage import hover_cell, photograph, sentence, settle, show, softmax
from utils.explorer import AttentionExplorer

pytestmark = pytest.mark.browser
# Whether all of a node can be seen inside another.
INSIDE = """([inner, outer]) => {
    const [a, b] = [inner, outer].map(name => document.querySelector(name).getBoundingClientRect());
    return a.width > 0 && a.left >= b.left - 0.5 && a.right <= b.right + 0.5;
}"""
# The texts that a script writes on canvases, from now on.
LISTEN = """() => {
    window.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
        window.written.push(text);
        return write.call(this, text, ...at);
    };
}"""


@pytest.fixture
def page(page):
    yield page
    assert page.errors == []


# --- long words


@pytest.mark.parametrize("width", [360, 1300])
def test_numbers_stay_whole_beside_long_names(page, tmp_path, width):
    page.set_viewport_size({"width": width, "height": 900})
    tokens = ["Donaudampfschifffahrtsgesellschaftskapitän", "x" * 300, "c"]
    explorer = AttentionExplorer(softmax(1, 2, 3, 3), tokens, view="lines", threshold=0, token=1)
    show(page, explorer, tmp_path)
    for key in (1, 2, 3):
        row = f".ax-keys .ax-token:nth-child({key})"
        assert page.evaluate(INSIDE, [f"{row} .ax-num", row])
        assert page.evaluate(INSIDE, [f"{row} bdi", row])
    row = ".ax-queries .ax-token:nth-child(1)"
    assert page.evaluate(INSIDE, [f"{row} bdi", row])


def test_the_tip_keeps_its_number_beside_wide_letters(page, tmp_path):
    tokens = [f"{i}" + "注意力機制與變換器模型" * 2 for i in range(3)]
    show(page, AttentionExplorer(softmax(3, 3), tokens), tmp_path)
    hover_cell(page, 1, 2)
    assert page.evaluate(INSIDE, [".ax-tip b", ".ax-tip"])


@pytest.mark.parametrize("names", [["q0", "query1", "überquerte"], ["a", "می‌خواست", "خیابان"]])
def test_a_chosen_name_is_written_whole(page, tmp_path, names):
    page.set_viewport_size({"width": 1300, "height": 900})
    page.add_init_script(f"({LISTEN})()")
    keys = [f"key{i}" for i in range(40)]
    explorer = AttentionExplorer(softmax(3, 40), names, keys, token=1, key=39)
    show(page, explorer, tmp_path)
    assert [text for text in page.evaluate("window.written") if "…" in text] == []
    assert {names[1], "key39"} <= set(page.evaluate("window.written"))


@pytest.mark.parametrize("width", [420, 700, 1300])
def test_what_fits_needs_no_scroll_bar(page, tmp_path, width):
    page.set_viewport_size({"width": width, "height": 900})
    tokens = "The animal did not cross the street".split()
    for view in ("heatmap", "lines", "heads"):
        explorer = AttentionExplorer(softmax(2, 4, 7, 7), tokens, view=view)
        show(page, explorer, tmp_path)
        wider = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth).length"
        assert page.locator(".ax-figure").evaluate_all(wider) == 0, view


# --- masks


def test_weights_that_break_the_mask_stand_out(page, tmp_path):
    weights, mask = softmax(2, 1, 5, 5), np.tril(np.ones((5, 5), bool))
    weights[1] = np.tril(weights[1]) / np.tril(weights[1]).sum(-1, keepdims=True)
    page.add_init_script(f"({LISTEN})()")
    show(page, AttentionExplorer(weights, list("abcde"), mask=mask), tmp_path)
    broken = weights[0, 0][~mask]
    told = f"{(broken >= 0.0005).sum()} weights that the mask forbids are not 0."
    assert told in page.inner_text(".ax-note")
    assert {f"{w:.3f}"[1:] for w in broken if w >= 0.0005} <= set(page.evaluate("window.written"))
    page.focus(".ax-map")
    page.evaluate("window.written = []")
    page.keyboard.press("PageDown")  # a layer that keeps to the mask
    settle(page)
    assert "mask" not in page.inner_text(".ax-note")
    assert ".000" not in page.evaluate("window.written")  # what is forbidden and 0 is no number


def colours_of(page, row, column):
    """The commonest colour in a cell of the heatmap, and how many there are."""
    pixels, (left, above, side) = photograph(page, page.locator(".ax-map"))
    x, y = (round(at) for at in (left + column * side, above + row * side))
    inside = pixels[y + 2 : y + int(side) - 2, x + 2 : x + int(side) - 2].reshape(-1, 3)
    colours, counts = np.unique(inside, axis=0, return_counts=True)
    return colours[counts.argmax()], len(colours)


def test_what_breaks_the_mask_keeps_its_colour_and_is_striped(page, tmp_path):
    tokens = [f"w{i}" for i in range(20)]  # cells without numbers
    weights = np.eye(20) * 0.3 + np.eye(20)[::-1] * 0.7
    mask = np.tril(np.ones((20, 20), bool))
    show(page, AttentionExplorer(weights, tokens), tmp_path)
    plain, one = colours_of(page, 0, 19)
    assert one == 1
    show(page, AttentionExplorer(weights, tokens, mask=mask), tmp_path)
    striped, more = colours_of(page, 0, 19)
    assert (striped == plain).all() and more > 1
    assert colours_of(page, 19, 0)[1] == 1  # as much, and allowed


def test_a_mask_that_forbids_nothing_has_no_legend(page, tmp_path):
    show(page, AttentionExplorer(softmax(3, 3), list("abc"), mask=np.ones((3, 3), bool)), tmp_path)
    assert "masked" not in page.inner_text(".ax-legend")


# --- several blocks


def test_a_chosen_token_is_in_view_under_a_name(page, tmp_path):
    tokens = [f"w{i}" for i in range(60)]
    for token in (50, 51, 52):
        explorer = AttentionExplorer(
            softmax(60, 60), tokens, compare={"b": softmax(60, 60, seed=1)}, view="lines",
            token=token,
        )  # fmt: skip
        show(page, explorer, tmp_path)
        item = page.locator(".ax-queries .ax-chosen").first.bounding_box()
        box = page.locator(".ax-figure").first.bounding_box()
        assert item["y"] + item["height"] <= box["y"] + box["height"], token


def test_every_scale_that_is_used_is_explained(page, tmp_path):
    weights = {"a": softmax(3, 3), "b": softmax(2, 2)}
    words = {"a": list("xyz"), "b": list("uv")}
    other = AttentionExplorer(
        {"a": softmax(3, 3, seed=1), "b": softmax(2, 2)}, {**words, "b": list("uw")}
    )
    explorer = AttentionExplorer(weights, words, compare={"later": other}, difference=True)
    show(page, explorer, tmp_path)
    assert page.locator(".ax-strip").count() == 2
    pair = AttentionExplorer(softmax(3, 3), list("xyz"), compare=softmax(3, 3), difference=True)
    show(page, pair, tmp_path)
    assert page.locator(".ax-strip").count() == 1
    assert "minus the other" in page.inner_text(".ax-legend")


def test_equal_weights_change_nowhere(page, tmp_path):
    weights = softmax(3, 3)
    explorer = AttentionExplorer(
        weights, list("xyz"), compare={"same": weights}, difference=True, token=1, key=2,
        block="same",
    )  # fmt: skip
    show(page, explorer, tmp_path)
    page.focus(".ax-map")
    page.keyboard.press("Enter")  # also lets go where the chosen block is the subtracted one
    assert "Point at a cell" in sentence(page)
    explorer.token, explorer.key = 1, None
    show(page, explorer, tmp_path)
    assert sentence(page).endswith("y changes nowhere")
    explorer.token, explorer.key = None, 2
    show(page, explorer, tmp_path)
    assert sentence(page).endswith("No query changes at z")


def test_a_shallow_block_says_which_layer_it_shows(page, tmp_path):
    explorer = AttentionExplorer(
        {"deep": softmax(4, 4, 3, 3), "shallow": softmax(2, 2, 3, 3)},
        {"deep": list("abc"), "shallow": list("abc")}, layer=1, head=1,
    )  # fmt: skip
    show(page, explorer, tmp_path)
    names = page.locator(".ax-name")
    assert names.all_inner_texts() == ["deep", "shallow"]
    page.focus(".ax-map")
    page.keyboard.press("PageDown")
    settle(page)
    assert names.all_inner_texts() == ["deep", "shallow: layer 1, head 1"]
    aloud = page.locator(".ax-map").nth(1).get_attribute("aria-label")
    assert aloud.startswith("Heatmap of shallow, layer 1, head 1,")
    page.click(".ax-views label:has-text('All heads')")
    settle(page)  # a grid shows every head
    assert names.all_inner_texts() == ["deep", "deep", "shallow", "shallow: layer 1, head 1"]


def test_a_difference_speaks_of_what_is_shown(page, tmp_path):
    this, trained = softmax(1, 1, 4, 4), softmax(1, 1, 4, 4, seed=1)
    explorer = AttentionExplorer(
        this, list("abcd"), compare={"trained": trained}, difference=True, token=3, block="trained"
    )
    show(page, explorer, tmp_path)
    shown = [[float(f"{w:.3f}") for w in block[0, 0, 3]] for block in (this, trained)]
    gaps = np.subtract(*shown)
    most = np.abs(gaps).argmax()
    gap = f"{gaps[most]:+.3f}".replace("-", "−")
    assert sentence(page).endswith(f"this, layer 0, head 0 d changes most at {'abcd'[most]}: {gap}")
    assert "this minus trained," in page.get_attribute(".ax-map", "aria-label")
    page.click(".ax-table summary")
    page.wait_for_selector(".ax-table td")
    assert page.inner_text(".ax-table caption").startswith("this minus trained, layer 0, head 0")
    told = page.locator(".ax-table tbody tr:last-child td").all_text_contents()
    assert told == [f"{g:+.3f}".replace("-", "−") for g in gaps]
    page.keyboard.press("Escape")
    box = page.locator(".ax-map").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 8)  # a key's name
    assert " changes most: " in sentence(page)
    assert "At " in sentence(page)
    page.uncheck("label:has-text('Difference') >> input")
    settle(page)
    assert "trained, layer 0, head 0" in sentence(page)


def test_differences_in_cells_are_those_of_the_numbers_shown(page, tmp_path):
    this, other = softmax(1, 1, 4, 4), softmax(1, 1, 4, 4, seed=9)
    page.add_init_script(f"({LISTEN})()")
    explorer = AttentionExplorer(this, list("abcd"), compare=other, difference=True)
    show(page, explorer, tmp_path)
    gaps = (float(f"{a:.3f}") - float(f"{b:.3f}") for a, b in zip(this.flat, other.flat))
    texts = {f"{gap:+.3f}".replace("-", "−").replace("0.", ".", 1) for gap in gaps}
    assert texts <= set(page.evaluate("window.written"))


def test_equals_are_equal_to_page_and_words(page, tmp_path):
    weights = [[0.4997, 0.5003], [0.5003, 0.4997]]  # both are read as 0.500
    explorer = AttentionExplorer(weights, ["a", "b"], gold=[(0, 0)], token=0)
    show(page, explorer, tmp_path)
    assert "a looks at a: 0.500, then at b: 0.500" in sentence(page)
    assert "a looks most at a (0.500)" in explorer.describe()
    for words in (page.inner_text(".ax-note"), explorer.describe()):
        assert "In this head 1 of 1 query looks most at a gold key." in words


# --- smaller things


def test_the_chosen_head_is_in_view_when_heads_are_sorted(page, tmp_path):
    weights = softmax(12, 12, 6, 6)
    weights[0, 0] = 1 / 6  # looks everywhere alike, so it comes last
    show(page, AttentionExplorer(weights, list("abcdef"), view="heads", sort="entropy"), tmp_path)
    box = page.locator(".ax-figure").first
    end = "node => Math.abs(node.scrollHeight - node.clientHeight - node.scrollTop)"
    assert box.evaluate("node => node.scrollHeight > node.clientHeight")
    assert box.evaluate(end) < 40


def test_enter_and_escape_let_go(page, tmp_path):
    show(page, AttentionExplorer(softmax(4, 4), list("abcd"), token=1, key=2), tmp_path)
    page.focus(".ax-map")
    page.keyboard.press("Enter")
    assert "Point at a cell" in sentence(page)
    page.keyboard.press("Escape")  # nothing is chosen: the explorer hands the keys back
    assert page.evaluate("document.activeElement === document.body")
    image = np.ones((4, 4))
    show(page, AttentionExplorer.caption(softmax(2, 4), ["a", "cat"], image, (2, 2)), tmp_path)
    button = page.locator(".ax-thumb").nth(1)
    for pressed in ("true", "false"):
        button.click()
        settle(page)
        assert button.get_attribute("aria-pressed") == pressed


def test_a_picture_is_that_of_a_token(page, tmp_path):
    weights = softmax(1, 2, 2, 4)
    explorer = AttentionExplorer.caption(
        weights, ["a", "cat"], np.ones((4, 4)), (2, 2), view="image"
    )
    show(page, explorer, tmp_path)
    assert f"a looks at patch {divmod(weights[0, 0, 0].argmax(), 2)[0]}," in sentence(page)
    explorer.key = 3  # a key alone: it is still a's picture
    show(page, explorer, tmp_path)
    assert f"a looks at patch 1,1: {weights[0, 0, 0, 3]:.3f}" in sentence(page)


def test_tall_pictures_fit(page, tmp_path):
    explorer = AttentionExplorer.vit(softmax(1, 3, 5, 5), np.ones((400, 40)), (4, 1))
    show(page, explorer, tmp_path)
    assert page.locator(".ax-canvas").bounding_box()["height"] <= 560
    assert page.locator(".ax-thumb canvas").first.bounding_box()["height"] <= 170


def test_what_nobody_looks_at_is_told_with_its_limit(page, tmp_path):
    weights = np.full((6, 6), 0.0004)
    weights[:, 0] = 1 - 5 * 0.0004
    show(page, AttentionExplorer(weights, list("abcdef"), key=3), tmp_path)
    assert sentence(page).endswith("Nobody looks at d with 0.0005 or more")


def test_many_heads_and_few_lines_in_words(page, tmp_path):
    explorer = AttentionExplorer(softmax(1, 16, 3, 3), list("abc"), view="lines", all_heads=True)
    show(page, explorer, tmp_path)
    assert "colours repeat after 12 heads" in page.inner_text(".ax-legend")
    show(page, AttentionExplorer(np.ones((1, 1)), ["hi"], view="lines"), tmp_path)
    assert page.inner_text(".ax-note").startswith("1 of 1 line drawn;")


def test_a_rollouts_table_says_what_it_is(page, tmp_path):
    explorer = AttentionExplorer.vit(softmax(2, 2, 5, 5), np.ones((4, 4)), (2, 2), block="rollout")
    show(page, explorer, tmp_path)
    page.click(".ax-table summary")
    page.wait_for_selector(".ax-table td")
    assert page.inner_text(".ax-table caption").startswith("rollout up to layer 0: ")
