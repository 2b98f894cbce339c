"""Page, still picture and Python agree; and the page obeys hands, fingers and keys, no more."""

import numpy as np
import pytest

from tests.explorerpage import sentence, settle, show, softmax
from utils.explorer import AttentionExplorer
from utils.explorer.snapshot import label
from utils.explorer.still_views import _links

pytestmark = pytest.mark.browser
MAP = "[aria-roledescription='attention heatmap']"


@pytest.mark.parametrize(
    ("weights", "threshold", "words"),
    [
        ([[0.9996, 0.0004], [0.0004, 0.9996]], 0, "2 of 4 lines drawn; 2 weights under 0.0005 are"),
        ([[0.9504, 0.0496], [0.5, 0.5]], 0.05, "4 of 4 lines drawn; 0 weights under 0.05 are"),
        ([[0.9504, 0.0494], [0.5, 0.5]], 0.05, "3 of 4 lines drawn; 1 weight under 0.05 is"),
        ([[1, 0], [0, 1]], 1, "2 of 4 lines drawn; 2 weights under 1 are"),
    ],
)
def test_lines_that_are_hidden_are_counted_alike(page, tmp_path, weights, threshold, words):
    explorer = AttentionExplorer(weights, ["a", "b"], view="lines", threshold=threshold)
    show(page, explorer, tmp_path)
    assert page.inner_text(".ax-note") == f"{words} hidden."
    assert _links(explorer.snapshot(), explorer._panels[0], 20)[1] == f"{words} hidden"


def test_invisible_tokens_get_the_same_signs(page, tmp_path):
    tokens = [
        "\u200b",
        "\u200c",
        "\u2060x",
        "\u00ad",
        "\u202eabc",
        "\u00a0",
        "می\u200cروم",
        "\u3000",
    ]
    explorer = AttentionExplorer(softmax(len(tokens), len(tokens)), tokens, view="lines")
    show(page, explorer, tmp_path)
    shown = page.locator(".ax-queries .ax-token bdi").all_text_contents()
    assert shown == [label(token) for token in tokens]
    assert shown[:3] == ["·", "␣", "·x"]


def test_a_chip_chooses_in_the_picture_that_is_shown(page, tmp_path):
    """Also where the chosen block is another input's, with fewer words."""
    image, words = np.ones((4, 4)), ["a", "cat", "sits"]
    ours = AttentionExplorer.caption(softmax(3, 4), words, image, (2, 2), view="image")
    other = AttentionExplorer.caption(softmax(2, 4), words[:2], image, (2, 2))
    explorer = AttentionExplorer(
        ours.weights, words, [f"patch {i}" for i in range(4)], image=image, patch_grid=(2, 2),
        compare={"other": other}, block="other",
    )  # fmt: skip
    show(page, explorer, tmp_path)
    page.locator(".ax-image .ax-chip").nth(2).click()
    assert "sits looks at" in sentence(page)
    assert page.inner_text(".ax-image .ax-axes").startswith("sits in layer 0")


def test_only_a_click_chooses(page, tmp_path):
    show(page, AttentionExplorer(softmax(4, 4), list("abcd")), tmp_path)
    hint = "Point at a cell"
    chosen = page.locator(f"{MAP} > i:last-child")  # frames the chosen cell
    box = page.locator(MAP).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(x, y, button="right")
    page.mouse.move(0, 0)
    assert hint in sentence(page)
    # A finger that swipes over the map scrolls the page.
    touch = page.context.new_cdp_session(page)
    for kind, at in (("touchStart", [y]), ("touchMove", [y - 40]), ("touchEnd", [])):
        points = [{"x": x, "y": position} for position in at]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert hint in sentence(page)
    assert not chosen.is_visible()
    page.touchscreen.tap(x, y)
    settle(page)
    assert chosen.is_visible()


def test_what_is_pointed_at_is_not_selected(page, tmp_path):
    show(page, AttentionExplorer(softmax(4, 4), list("abcd"), view="lines", token=1), tmp_path)
    items = page.locator(".ax-queries .ax-token")
    items.nth(3).hover()
    settle(page)
    assert "d looks at" in sentence(page)
    assert [items.nth(i).get_attribute("aria-selected") for i in (1, 3)] == ["true", "false"]


def test_keys_with_a_modifier_are_the_browsers(page, tmp_path):
    show(page, AttentionExplorer(softmax(3, 3, 4, 4), list("abcd"), layer=1, head=1), tmp_path)
    page.focus(MAP)
    page.evaluate("addEventListener('keydown', e => { window.taken = e.defaultPrevented; })")
    for key in ("Control+]", "Alt+ArrowRight", "Meta+[", "Control+PageDown"):
        page.keyboard.press(key)
        assert page.evaluate("window.taken") is False, key
    assert "layer 1, head 1" in sentence(page)
    page.keyboard.press("]")
    assert "layer 1, head 2" in sentence(page)


def test_arrow_keys_bring_their_cell_into_view(page, tmp_path):
    page.set_viewport_size({"width": 320, "height": 700})
    show(page, AttentionExplorer(softmax(300, 300), [f"w{i}" for i in range(300)]), tmp_path)
    page.focus(MAP)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert "w0 looks at w299" in sentence(page)
    cell = page.locator(f"{MAP} > i").nth(1).bounding_box()  # the column
    figure = page.locator(".ax-figure").first.bounding_box()
    assert figure["x"] <= cell["x"] <= figure["x"] + figure["width"]
