"""What goes wrong easily in the explorer's page: unlike blocks, hidden pages, lost focus."""

import numpy as np
import pytest

from tests.explorerpage import hover_cell, sentence, settle, show, softmax
from utils.explorer import AttentionExplorer, head_entropy
from utils.layers import Weights

pytestmark = pytest.mark.browser
SOURCE, TARGET = ["the", "cat", "sat", "."], ["le", "chat", "assis", "."]
FRAME = "[aria-roledescription='grid of heads']"


@pytest.fixture
def page(page):
    """The page of conftest.py; whatever a test does, no script may fail."""
    yield page
    assert page.errors == []


def transformer(seed, **options):
    blocks = [softmax(2, 2, 4, 4, seed=seed + i) for i in range(3)]
    explorer = AttentionExplorer(Weights(*blocks), source=SOURCE, target=TARGET, **options)
    return explorer, blocks


def in_page(page):
    """Whether the focus is in the explorer."""
    settle(page)
    return page.evaluate("document.activeElement.closest('.ax') !== null")


# --- several blocks


def test_blocks_are_compared_with_their_like(page, tmp_path):
    other, theirs = transformer(10)
    explorer, ours = transformer(0, compare={"later": other})
    show(page, explorer, tmp_path)
    decoder = ".ax-map[aria-label*=' decoder,']"
    hover_cell(page, 0, 1, f"{decoder} >> nth=0")
    mine, other = f"{ours[1][0, 0, 0, 1]:.3f}", f"{theirs[1][0, 0, 0, 1]:.3f}"
    assert f"le looks at chat: {mine} (later: decoder: {other})" in sentence(page)
    page.locator("label:has-text('Difference') >> input").check()
    hover_cell(page, 0, 1, decoder)
    gap = f"{float(mine) - float(other):+.3f}".replace("-", "−")
    assert page.text_content(".ax-tip").endswith(f"{mine} ({gap})")
    assert f"(later: decoder: {other}, difference {gap})" in sentence(page)
    assert page.locator(".ax-name").all_inner_texts()[1] == "decoder − later: decoder"


def test_other_words_are_not_subtracted(page, tmp_path):
    other = AttentionExplorer(softmax(4, 4, seed=1), ["a", "dog", "ran", "!"])
    mine = softmax(4, 4)
    with pytest.raises(ValueError, match="the same shape for the same tokens"):
        AttentionExplorer(mine, SOURCE, compare=other, difference=True)
    show(page, AttentionExplorer(mine, SOURCE, compare=other), tmp_path)
    assert page.locator(".ax-map").count() == 2  # nothing is hidden for a difference that is none
    assert page.is_hidden("label:has-text('Difference')")
    hover_cell(page, 1, 2, ".ax-map >> nth=0")
    assert sentence(page).endswith(f"cat looks at sat: {mine[1, 2]:.3f}")


def test_a_shorter_block_takes_over(page, tmp_path):
    short, long = ["a", "b", "c"], [f"w{i}" for i in range(12)]
    weights = [softmax(2, 2, 3, 3), softmax(2, 2, 12, 12), softmax(2, 2, 12, 3)]
    explorer = AttentionExplorer(
        Weights(*weights), source=short, target=long, block="decoder", token=10, key=11
    )
    show(page, explorer, tmp_path)
    assert "decoder, layer 0, head 0 w10 looks at w11" in sentence(page)
    page.focus(".ax-map[aria-label*=' encoder,']")
    page.keyboard.press("ArrowDown")
    assert f"a looks at a: {weights[0][0, 0, 0, 0]:.3f}" in sentence(page)
    page.click(".ax-views label:has-text('All heads')")
    page.focus(".ax-map[aria-label*=' decoder,']")
    page.keyboard.press("End")
    assert "w0 looks at w11" in sentence(page)
    page.locator(FRAME).first.press("ArrowRight")  # the encoder's
    assert "encoder, layer 0, head 1" in sentence(page)


def test_a_block_may_be_called_rollout(page, tmp_path):
    two = {"raw": softmax(3, 3), "rollout": softmax(3, 3, seed=1)}
    show(page, AttentionExplorer(two, list("abc")), tmp_path)
    assert page.locator(".ax-map").count() == 2


# --- true words


def test_rows_that_look_nowhere(page, tmp_path):
    mask = np.array([[False, False], [True, True]])
    weights = np.array([[0, 0], [0.5, 0.5]])
    explorer = AttentionExplorer(weights, ["a", "b"], mask=mask, gold=[(0, 0), (1, 1)], token=0)
    show(page, explorer, tmp_path)
    assert "a looks nowhere. Most looked at by b: 0.500" in sentence(page)
    assert "In this head 1 of 2 queries look most at a gold key." in page.inner_text(".ax-note")


def test_a_weight_at_the_threshold_is_drawn(page, tmp_path):
    weights = np.zeros((65, 65))
    weights[:, 0], weights[:, 1] = 0.93, 0.07
    explorer = AttentionExplorer(
        weights, [f"w{i}" for i in range(65)], view="lines", threshold=0.07, token=3
    )
    show(page, explorer, tmp_path)
    assert page.inner_text(".ax-note").startswith("2 of 65 lines drawn; 63 weights under 0.07 are")
    numbers = [text for text in page.locator(".ax-keys .ax-num").all_inner_texts() if text]
    assert numbers == ["0.930", "0.070"]


def test_long_inputs_are_sorted_by_their_true_entropy(page, tmp_path):
    heads = [softmax(512, 512) ** power for power in (0.1, 0, 1)]
    for sink in (0.93, 0.985):  # most of it on one key: the rest rounds to nothing, or doubles
        rest = np.full((512, 512), (1 - sink) / 511)
        rest[:, 0] = sink
        heads.append(rest)
    weights = np.stack([head / head.sum(-1, keepdims=True) for head in heads])[None]
    show(page, AttentionExplorer(weights, ["w"] * 512, view="heads", sort="entropy"), tmp_path)
    page.focus(FRAME)
    true = head_entropy(weights)[0]
    for head in true.argsort():
        page.keyboard.press("Home" if head == true.argmin() else "ArrowRight")
        assert f"layer 0, head {head}" in sentence(page)
        told = float(page.inner_text(".ax-note").split("entropy ")[1].split()[0])
        assert abs(told - true[head]) <= 0.0051


def test_a_picture_nobody_looks_at(page, tmp_path):
    weights = np.zeros((10, 10))
    weights[:, 0] = 1  # everything goes to the class token
    show(page, AttentionExplorer.vit(weights, np.ones((9, 9))), tmp_path)
    assert "brightest = 0.000" in page.inner_text(".ax-image .ax-axes")


# --- pictures


def test_picture_speaks_of_what_it_shows(page, tmp_path):
    ours, theirs = softmax(1, 2, 10, 10), softmax(1, 2, 10, 10, seed=1)
    image = np.random.default_rng(0).random((30, 30, 3))
    explorer = AttentionExplorer.vit(ours, image, compare={"o": theirs}, block="o")
    show(page, explorer, tmp_path)
    best = int(ours[0, 0, 0].argmax())
    name = explorer.meta["panels"][0]["queries"][best]
    assert f"[CLS] looks at {name}: {ours[0, 0, 0, best]:.3f}" in sentence(page)


def test_choosing_a_head_ends_the_rollout(page, tmp_path):
    image = np.random.default_rng(0).random((30, 30, 3))
    show(page, AttentionExplorer.vit(softmax(2, 3, 10, 10), image), tmp_path)
    page.click("button:has-text('rollout')")
    assert sentence(page).startswith("rollout up to layer 0")
    page.keyboard.press("]")
    assert sentence(page).startswith("layer 0, head 1")


def test_clicking_a_patch_twice_keeps_the_word(page, tmp_path):
    image = np.random.default_rng(0).random((30, 30, 3))
    explorer = AttentionExplorer.caption(
        softmax(1, 1, 3, 9), ["a", "dog", "runs"], image, view="image", token=1
    )
    show(page, explorer, tmp_path)
    assert page.query_selector("button:has-text('rollout')") is None
    page.dblclick("canvas.ax-canvas")
    page.mouse.move(0, 0)
    assert "dog looks at patch" in sentence(page)


# --- hidden, and shown again


def test_what_changed_while_hidden_is_drawn(page, tmp_path):
    show(page, AttentionExplorer(softmax(2, 2, 4, 4), SOURCE), tmp_path)
    hide = "hidden => { document.querySelector('.ax').parentNode.hidden = hidden }"
    page.evaluate(hide, True)
    page.evaluate(
        """() => {
            const [layer] = document.querySelectorAll('.ax-pick select');
            layer.value = 1;
            layer.dispatchEvent(new Event('change'));
        }"""
    )
    settle(page)
    page.evaluate(hide, False)
    page.wait_for_function("document.querySelector('.ax-sentence').innerText.includes('layer 1')")


# --- keyboard and focus


def test_tab_shows_a_token_and_keeps_the_choice(page, tmp_path):
    weights = softmax(4, 4)
    show(page, AttentionExplorer(weights, SOURCE, view="lines", token=2), tmp_path)
    page.focus(".ax-queries .ax-chosen")
    page.keyboard.press("Tab")
    assert "the is looked at most by" in sentence(page)  # shown: the first key
    page.keyboard.press("Tab")
    assert "sat looks at" in sentence(page)  # and the choice is what it was
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert page.inner_text(".ax-keys .ax-chosen bdi") == "the"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert "Point at a token" in sentence(page)


def test_focus_stays_when_the_view_is_made_anew(page, tmp_path):
    show(page, AttentionExplorer(softmax(2, 2, 4, 4), SOURCE, view="heads"), tmp_path)
    page.focus(FRAME)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert in_page(page)
    page.keyboard.press("PageUp")
    assert "layer 0, head 0" in sentence(page)
    page.focus(".ax-map")
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("document.querySelector('.ax').clientWidth < 700")
    assert in_page(page)


def test_the_table_keeps_its_place(page, tmp_path):
    words = [f"word{i}" for i in range(30)]
    show(page, AttentionExplorer(softmax(2, 2, 30, 30), words), tmp_path)
    page.click(".ax-table summary")
    page.wait_for_selector(".ax-table td")
    page.evaluate("document.querySelector('.ax-scroll').scrollTop = 200")
    hover_cell(page, 3, 3)
    page.focus(".ax-scroll")
    page.keyboard.press("]")
    assert in_page(page)
    assert "head 1: each row" in page.inner_text(".ax-table caption")
    assert page.evaluate("document.querySelector('.ax-scroll').scrollTop") == 200
    page.keyboard.press("PageDown")  # reads on, and leaves the layer
    assert "layer 0" in sentence(page)


def test_what_is_chosen_can_be_seen(page, tmp_path):
    show(page, AttentionExplorer(softmax(24, 16, 4, 4), SOURCE, view="heads"), tmp_path)
    page.focus(FRAME)
    page.keyboard.press("End")
    settle(page)
    frame = page.locator(".ax-figure").first
    assert frame.evaluate("box => box.scrollTop + box.clientHeight > box.scrollHeight - 30")
    words = [f"t{i}" for i in range(200)]
    explorer = AttentionExplorer(softmax(200, 200), words, view="lines", token=150)
    show(page, explorer, tmp_path)
    box, token = (page.locator(at).first.bounding_box() for at in (".ax-figure", ".ax-chosen"))
    assert box["y"] <= token["y"] <= box["y"] + box["height"] - token["height"]
    # Whoever scrolls away and points at something else is not pulled back.
    page.locator(".ax-figure").evaluate("box => { box.scrollTop = 0 }")
    page.locator(".ax-queries .ax-token").nth(3).hover()
    assert "t3 looks at" in sentence(page)
    page.mouse.move(1200, 5)
    assert "t150 looks at" in sentence(page)
    assert page.locator(".ax-figure").evaluate("box => box.scrollTop") == 0


def test_each_layer_has_its_own_large_weights(page, tmp_path):
    """Weights over 0.255 travel in a list of their own; a layer is unpacked when it is shown."""
    rng = np.random.default_rng(0)
    sharp = rng.dirichlet(np.full(6, 0.2), size=(4, 3, 6)).astype(np.float32)  # (L, H, M, N)
    other = rng.dirichlet(np.full(6, 0.5), size=(4, 3, 6)).astype(np.float32)
    mask = np.ones((6, 6), bool)
    mask[0, 5], mask[3, 0] = False, False
    sharp[:, :, 0, 4] += sharp[:, :, 0, 5]
    sharp[:, :, 3, 1] += sharp[:, :, 3, 0]
    sharp[:, :, 0, 5] = sharp[:, :, 3, 0] = 0
    explorer = AttentionExplorer(
        {"a": sharp, "b": other}, {"a": list("uvwxyz"), "b": list("uvwxyz")}, mask={"a": mask},
        layer=3, head=2, block="b",
    )  # fmt: skip
    counts = [panel["escaped"] for panel in explorer.meta["panels"]]
    large = [(block > 0.2551).sum((1, 2, 3)).tolist() for block in (sharp, other)]
    assert counts == large
    assert len(set(counts[0])) > 1  # else a wrong list might pass for the right one
    show(page, explorer, tmp_path)
    page.locator(".ax-table summary").click()
    layer, head = (page.locator(".ax-pick select").nth(i) for i in (0, 1))
    for wanted in (3, 0, 2, 1):
        layer.select_option(str(wanted))
        for number in (2, 0, 1):
            head.select_option(str(number))
            settle(page)
            told = page.locator(".ax-table tbody td").all_text_contents()[1:]
            assert told == [f"{w:.3f}" for w in other[wanted, number].ravel().tolist()]
    maps = page.locator(".ax-map")
    for block, weights in enumerate((sharp, other)):
        maps.nth(block).focus()
        page.keyboard.press("ArrowRight")
        settle(page)
        told = page.locator(".ax-table tbody td").all_text_contents()[1:]
        assert told == [f"{w:.3f}" for w in weights[1, 1].ravel().tolist()]


INK = """node => {
    const {width, height} = node, step = height / 5;
    const pen = node.getContext("2d"), row = y => [...Array(5).keys()].map(i => {
        const {data} = pen.getImageData(y, Math.floor(i * step), 1, Math.ceil(step));
        return Math.max(...data.filter((_, j) => j % 4 === 3));
    });
    return [row(0), row(width - 1)];
}"""


@pytest.mark.parametrize("all_heads", [False, True])
def test_a_line_goes_from_its_query_to_its_key(page, tmp_path, all_heads):
    """Only where a link begins and where it ends is there ink at the two sides of the picture."""
    links = {0: 3, 1: 0, 2: 2, 4: 2}  # q looks at k; 3 may look nowhere
    weights = np.zeros((2, 5, 5))
    for query, key in links.items():
        weights[:, query, key] = 1
    mask = np.ones((5, 5), bool)
    mask[3] = False
    explorer = AttentionExplorer(
        weights, list("abcde"), mask=mask, view="lines", all_heads=all_heads
    )
    show(page, explorer, tmp_path)
    begin, end = page.locator(".ax-lines").evaluate(INK)
    assert [ink > 100 for ink in begin] == [query in links for query in range(5)]
    assert [ink > 100 for ink in end] == [key in links.values() for key in range(5)]
