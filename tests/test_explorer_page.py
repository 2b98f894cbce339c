"""The explorer's saved page and nbconvert's, in Chromium with no network."""

import io
import json
import re

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image

from tests.explorerpage import EVIL, drawn_weights, hover_cell, sentence, settle, show, softmax
from tests.labdriver import ROOT
from utils.explorer import AttentionExplorer, head_distance, head_entropy
from utils.explorer.encode import END, deflate
from utils.explorer.explorer import SELECTION
from utils.explorer.notebook_export import EmbedExplorers
from utils.explorer.page import MODEL

pytestmark = pytest.mark.browser


# --- the saved page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_draws_and_says_the_weights(page, tmp_path, theme):
    weights = softmax(2, 3, 24, 24)
    explorer = AttentionExplorer(weights, [f"word{i}" for i in range(24)], layer=1, head=2)
    page.emulate_media(color_scheme=theme)
    show(page, explorer, tmp_path)
    assert np.abs(drawn_weights(page, (24, 24), theme) - weights[1, 2]).max() <= 1 / 255
    for query, key in [(0, 0), (5, 17), (23, 23)]:
        hover_cell(page, query, key)
        exact = f"{weights[1, 2, query, key]:.3f}"
        assert f"word{query} looks at word{key}: {exact}" in sentence(page)
        assert page.inner_text(".ax-tip").endswith(exact)
    assert page.outside == []
    assert page.errors == []


def test_keyboard_reaches_everything(page, tmp_path):
    weights = softmax(2, 3, 4, 4)
    show(page, AttentionExplorer(weights, list("abcd")), tmp_path)
    seen = []
    for _ in range(6):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.tagName"))
    assert seen[:5] == ["INPUT", "SELECT", "SELECT", "DIV", "SUMMARY"]
    page.focus(".ax-canvas")
    page.keyboard.press("ArrowDown")  # the first press takes hold of the first cell
    for press in ("ArrowDown", "ArrowRight", "ArrowRight", "PageDown", "]"):
        page.keyboard.press(press)
    assert f"b looks at c: {weights[1, 1, 1, 2]:.3f}" in sentence(page)
    page.keyboard.press("Escape")
    assert "looks at" not in sentence(page)
    page.focus(".ax-views input:checked")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".ax-token")
    page.focus(".ax-queries .ax-token")
    page.keyboard.press("ArrowDown")
    best = int(weights[1, 1, 1].argmax())
    assert f"b looks at {'abcd'[best]}: {weights[1, 1, 1, best]:.3f}" in sentence(page)
    page.keyboard.press("ArrowRight")
    best = int(weights[1, 1, :, 1].argmax())
    assert f"b is looked at most by {'abcd'[best]}: {weights[1, 1, best, 1]:.3f}" in sentence(page)
    page.click(".ax-table summary")
    page.wait_for_selector(".ax-table td")
    cells = page.locator(".ax-table td").all_inner_texts()[1:]
    assert cells == [f"{w:.3f}" for w in weights[1, 1].reshape(-1)]


def test_lines_say_how_many_they_hide(page, tmp_path):
    weights = softmax(1, 4, 12, 12)
    show(page, AttentionExplorer(weights, list("abcdefghijkl"), view="lines"), tmp_path)
    kept = int((weights[0, 0] >= 0.05).sum())
    assert page.inner_text(".ax-note").startswith(
        f"{kept} of 144 lines drawn; {144 - kept} weights under 0.05 are hidden."
    )
    page.locator(".ax-pick input[type=range]").fill("0.2")
    settle(page)
    kept = int((weights[0, 0] >= 0.2).sum())
    assert page.inner_text(".ax-note").startswith(f"{kept} of 144 lines drawn")
    page.locator("label:has-text('All heads') >> input[type=checkbox]").check()
    settle(page)
    kept = int((weights[0] >= 0.2).sum())
    assert page.inner_text(".ax-note").startswith(f"{kept} of 576 lines drawn")
    # A chosen token: of all heads the one in which the link is strongest, and it says which.
    page.click(".ax-queries .ax-token:nth-child(4)")
    head, key = np.unravel_index(weights[0, :, 3].argmax(), (4, 12))
    exact = f"{weights[0, head, 3, key]:.3f}"
    assert f"all heads d looks at {'abcdefghijkl'[key]} in head {head}: {exact}" in sentence(page)
    told = page.inner_text(f".ax-keys .ax-token:nth-child({key + 1}) .ax-num")
    assert told == f"h{head} {exact}", "not by its colour alone"


@pytest.mark.parametrize(
    ("sort", "measure"), [("entropy", head_entropy), ("distance", head_distance)]
)
def test_heads_are_sorted_and_chosen(page, tmp_path, sort, measure):
    weights = softmax(3, 4, 16, 16)
    weights[1, 2] = np.eye(16)
    explorer = AttentionExplorer(weights, [str(i) for i in range(16)], view="heads", sort=sort)
    show(page, explorer, tmp_path)
    page.focus("[aria-roledescription='grid of heads']")
    page.keyboard.press("Home")
    order = [divmod(int(i), 4) for i in measure(weights).reshape(-1).argsort()]
    found = []
    for _ in range(12):
        found.append(
            tuple(map(int, re.search(r"layer (\d+), head (\d+)", sentence(page)).groups()))
        )
        page.keyboard.press("ArrowRight")
    assert found[0] == (1, 2)
    assert found == order


def test_marks_masks_gold_and_comparison(page, tmp_path):
    causal = np.tril(np.ones((3, 3), bool))
    one = np.where(causal, 1.0, 0) / causal.sum(1, keepdims=True)
    other = np.eye(3)
    explorer = AttentionExplorer(
        one, ["a", "b", "c"], mask=causal, gold=[(0, 0), (1, 1)], compare={"trained": other}
    )
    show(page, explorer, tmp_path)
    assert "In this head 2 of 2 queries look most at a gold key" in page.inner_text(".ax-note")
    hover_cell(page, 0, 2, ".ax-figure:first-child .ax-map")
    assert "a looks at c: 0.000 (trained: 0.000) — the mask forbids it" in sentence(page)
    hover_cell(page, 1, 1, ".ax-figure:first-child .ax-map")
    assert "b looks at b: 0.500 (trained: 1.000) — a gold link" in sentence(page)
    page.locator("label:has-text('Difference') >> input").check()
    hover_cell(page, 1, 1)
    assert page.text_content(".ax-tip").endswith("0.500 (−0.500)")


def test_picture_follows_patch_head_and_rollout(page, tmp_path):
    weights = softmax(2, 2, 10, 10)
    explorer = AttentionExplorer.vit(weights, np.random.default_rng(0).random((30, 30, 3)))
    show(page, explorer, tmp_path)
    best = int(weights[0, 0, 0].argmax())
    name = explorer.meta["panels"][0]["queries"][best]
    assert f"[CLS] looks at {name}: {weights[0, 0, 0, best]:.3f}" in sentence(page)
    box = page.locator("canvas.ax-canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    best = int(weights[0, 0, 5].argmax())
    name = explorer.meta["panels"][0]["queries"][best]
    assert f"patch 1,1 looks at {name}: {weights[0, 0, 5, best]:.3f}" in sentence(page)
    page.click(".ax-thumb:has-text('rollout')")
    flow = explorer._panels[1].weights[0, 0, 5]
    assert sentence(page).startswith("rollout up to layer 0")
    assert f": {flow.max():.3f}" in sentence(page)
    page.click(".ax-views label:has-text('Words')")
    page.wait_for_function("document.querySelectorAll('.ax-thumb').length === 10")


def test_every_script_reads_in_its_direction(page, tmp_path):
    tokens = ["حیوان", "خسته", "動物", "累了", "fox"]
    weights = softmax(5, 5)
    show(page, AttentionExplorer(weights, tokens, view="lines"), tmp_path)
    page.locator(".ax-queries .ax-token").first.hover()
    best = int(weights[0].argmax())
    settle(page)
    spoken = page.evaluate(
        "[...document.querySelectorAll('.ax-sentence bdi')].map(n => n.textContent)"
    )
    assert spoken[:2] == [tokens[0], tokens[best]]
    directions = page.evaluate(
        "[...document.querySelectorAll('.ax-tokens bdi')].map(n => getComputedStyle(n).unicodeBidi)"
    )
    assert directions == ["isolate"] * 10  # five queries, five keys


@pytest.mark.parametrize("view", ["heatmap", "lines", "heads"])
def test_tokens_never_run(page, tmp_path, view):
    explorer = AttentionExplorer(softmax(6, 6), EVIL, view=view, title=EVIL[0], token=0)
    show(page, explorer, tmp_path)
    page.click(".ax-table summary")
    settle(page)
    assert page.evaluate("window.ran") is None
    assert page.query_selector("#ran, .ax img") is None
    assert page.errors == []
    assert EVIL[0] in page.inner_text(".ax-table")


# What is cut off at the explorer's edge, and which of its boxes can be scrolled sideways.
EDGES = """() => {
    const root = document.querySelector(".ax"), edge = root.getBoundingClientRect();
    const outside = (node) => {
        const box = node.getBoundingClientRect();
        return box.width && (box.left < edge.left - 0.5 || box.right > edge.right + 0.5);
    };
    const scrolls = (box) =>
        getComputedStyle(box).overflowX === "auto" && box.scrollWidth > box.clientWidth + 10;
    const those = (names, test) =>
        [...root.querySelectorAll(names)].filter((node) => node.checkVisibility() && test(node))
            .map((node) => node.className || node.textContent);
    return {
        cut: those(".ax-bar *, .ax-figure, .ax-scroll", outside),
        scroll: those(".ax-figure, .ax-scroll", scrolls),
    };
}"""


def test_narrow_screens_scroll_inside_not_outside(page, tmp_path):
    """The explorer clips what is too wide, so the page never is: each box must end inside."""
    tokens = [f"a long name for token {i}" for i in range(300)]
    show(page, AttentionExplorer(softmax(1, 24, 300, 300), tokens), tmp_path)
    page.set_viewport_size({"width": 340, "height": 700})
    page.wait_for_function("document.querySelector('.ax').clientWidth < 340")
    for view in ("Heatmap", "Lines", "All heads"):
        page.click(f".ax-views label:has-text('{view}')")
        settle(page)
        edges = page.evaluate(EDGES)
        assert edges["cut"] == [], view
        assert ("ax-figure" in edges["scroll"]) == (view != "Lines"), view  # names are cut there
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view

    show(page, AttentionExplorer(softmax(32, 32), ["token"] * 32), tmp_path)
    page.click(".ax-table summary")
    page.wait_for_selector(".ax-table td")
    assert page.evaluate(EDGES) == {"cut": [], "scroll": ["ax-scroll"]}


def test_a_view_made_before_it_is_on_the_page(page, tmp_path):
    """As notebooks do it; colours and widths are known only afterwards."""
    weights = softmax(2, 3, 24, 24)
    path = AttentionExplorer(weights, ["■"] * 24).save_html(tmp_path / "page.html")
    text, count = re.subn(
        r"el: document\.getElementById\((.+?)\) \}\);",
        r"el }); setTimeout(() => document.getElementById(\1).append(el), 300);",
        path.read_text(encoding="utf-8"),
    )
    assert count == 1
    text = text.replace("render({ model, el })", 'const el = make("div"); render({ model, el })')
    path.write_text(text, encoding="utf-8")
    page.emulate_media(color_scheme="dark")
    page.goto(path.as_uri())
    page.wait_for_selector(".ax[data-drawn]")
    assert page.get_attribute(".ax", "data-drawn") == "1"  # not drawn until there is a place for it
    assert np.abs(drawn_weights(page, (24, 24), "dark") - weights[0, 0]).max() <= 1 / 255
    shown = page.locator("[aria-roledescription='attention heatmap']")
    screen = np.asarray(Image.open(io.BytesIO(shown.screenshot())).convert("L"))
    left, above, _ = map(float, shown.get_attribute("data-grid").split(","))
    assert screen[int(above) :, : int(left)].max() > 180  # the names are light on dark


@pytest.mark.parametrize(
    ("kind", "theme"),
    [("vscode-dark", "dark"), ("vscode-high-contrast", "dark"), ("vscode-light", "light"),
     ("vscode-high-contrast-light", "light")],
)  # fmt: skip
def test_vs_codes_themes(page, tmp_path, kind, theme):
    page.emulate_media(color_scheme="dark" if theme == "light" else "light")
    path = AttentionExplorer(softmax(3, 3), list("abc")).save_html(tmp_path / "page.html")
    body = path.read_text(encoding="utf-8").replace(
        "<body>", f'<body data-vscode-theme-kind="{kind}">'
    )
    path.write_text(body, encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector(f".ax[data-drawn][data-theme={theme}]")


def test_keys_under_a_resting_pointer(page, tmp_path):
    weights = softmax(2, 1, 6, 6)
    show(page, AttentionExplorer(weights, list("abcdef")), tmp_path)
    hover_cell(page, 1, 2)
    page.mouse.down()
    page.mouse.up()
    page.keyboard.press("PageDown")
    assert f"b looks at c: {weights[1, 0, 1, 2]:.3f}" in sentence(page)
    assert page.is_hidden(".ax-tip")  # it would show the other layer's number
    page.focus(".ax-map")
    page.keyboard.press("Enter")
    assert "Point at a cell" in sentence(page)  # Enter on what is chosen lets go of it
    page.keyboard.press("Enter")
    assert f"a looks at a: {weights[1, 0, 0, 0]:.3f}" in sentence(page)
    assert page.errors == []


def load_as_notebook(page, explorer, folder, lost=False):
    """What a notebook does: anywidget's module gets the traits, but for data that is lost."""
    state = {name: getattr(explorer, name) for name in ("meta", *SELECTION)}
    script = MODEL.replace("STATE", json.dumps(state))
    if not lost:
        script += f"state.data = Uint8Array.from({list(explorer.data)});"
    script += "widget.initialize({ model }); widget.render({ model, el: document.body });"
    script = explorer._esm.replace("export default", "const widget =") + script
    # Nothing but itself: no `eval`, no module from elsewhere.
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    (folder / "page.html").write_text(
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<style>{explorer._css}</style><body><script type="module">{script}</script>',
        encoding="utf-8",
    )
    page.goto((folder / "page.html").as_uri())


def test_a_notebooks_module_is_whole(page, tmp_path):
    weights = softmax(2, 3, 24, 24)
    load_as_notebook(page, AttentionExplorer(weights, ["word"] * 24, head=2), tmp_path)
    page.wait_for_selector(".ax[data-drawn]")
    assert np.abs(drawn_weights(page, (24, 24)) - weights[0, 2]).max() <= 1 / 255
    assert page.errors == []


def test_what_got_lost_on_its_way_is_said(page, tmp_path):
    """Colab drops binary data of widgets that are opened inside a live view."""
    load_as_notebook(page, AttentionExplorer(softmax(3, 3), list("abc")), tmp_path, lost=True)
    page.wait_for_function("document.body.innerText.includes('could not draw the weights')")


@pytest.mark.parametrize("data", [b"\xff\xff\xff", deflate(bytes(8)) + END])
def test_broken_data_is_said_not_shown_blank(page, tmp_path, data):
    explorer = AttentionExplorer(softmax(3, 3), ["a", "b", "c"])
    explorer.data = data  # no deflate stream, and one weight too few
    page.goto(explorer.save_html(tmp_path / "page.html").as_uri())
    page.wait_for_selector(".ax")
    page.wait_for_function("document.body.innerText.includes('could not draw the weights')")


# --- nbconvert


def test_nbconvert_is_live_with_state_and_a_picture_without(page, tmp_path):
    source = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import numpy as np\nfrom utils.explorer import AttentionExplorer\n"
        f"AttentionExplorer(np.full((6, 6), 1 / 6), {EVIL!r})"
    )
    others = (
        "from utils.notebook.cells import play\nfrom utils.figures.plots import plot_bars\n"
        "play(lambda size: plot_bars({'x': [size]}, ['a'], ylabel='y'), size=(0, 9, 1, 4))",
        "from utils.quiz import question\nquestion('Q03-3')",
    )
    cells = [nbformat.v4.new_code_cell(text) for text in (source, *others)]
    nb = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(nb, store_widget_state=True, kernel_name="python3").execute()
    exporter = HTMLExporter()
    exporter.register_preprocessor(EmbedExplorers, enabled=True)
    (tmp_path / "live.html").write_text(exporter.from_notebook_node(nb)[0], encoding="utf-8")
    page.goto((tmp_path / "live.html").as_uri())
    page.wait_for_selector(".ax[data-drawn]")
    hover_cell(page, 2, 3)
    assert sentence(page).endswith(": 0.167")
    assert page.evaluate("window.ran") is None
    own = [url for url in page.outside if "mathjax" not in url and "require" not in url]
    assert own == []
    # A page has no kernel: of a slider its picture is shown, of a quiz its words.
    assert page.locator(".jp-OutputArea img").get_attribute("alt")
    assert "Why are the scores divided" in page.inner_text(".jp-Cell:last-of-type .jp-OutputArea")

    del nb.metadata["widgets"]  # as JupyterLab saves it
    plain = HTMLExporter().from_notebook_node(nb)[0]
    assert "data:image/png;base64" in plain
    body = exporter.from_notebook_node(nb)[0]
    (tmp_path / "still.html").write_text(body, encoding="utf-8")
    page.goto((tmp_path / "still.html").as_uri())
    still = page.locator(".jp-OutputArea img").first
    assert still.evaluate("image => image.naturalWidth") > 200
    assert "looks most at" in still.get_attribute("alt")
    assert page.evaluate("window.ran") is None
