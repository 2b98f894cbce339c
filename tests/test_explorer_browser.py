"""The explorer where it lives: JupyterLab in Chromium, saved pages and nbconvert's, no network."""

import json
import os
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from tests import labdriver
from utils.explorer import AttentionExplorer, head_distance, head_entropy
from utils.explorer.notebook_export import EmbedExplorers

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parent.parent
RAMPS = (ROOT / "utils" / "explorer" / "explorer.js").read_text(encoding="utf-8")
EVIL = [
    "</script><script>window.ran=1</script>",
    "<img src=x onerror='window.ran=2'>",
    "`${window.ran=3}`\u2028\n",
    '"><b id=ran>',
    "🦊 <!--",
    "x" * 10_000,
]


def softmax(*shape, seed=0):
    scores = np.random.default_rng(seed).standard_normal(shape) * 2
    weights = np.exp(scores)
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def show(page, explorer, folder, **context):
    """Open the explorer's own page and wait until it is drawn."""
    page.goto(explorer.save_html(folder / "page.html").as_uri())
    page.wait_for_selector(".ax[data-drawn]")


def settle(page):
    """Wait until what was asked for is painted."""
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def sentence(page):
    settle(page)
    return page.inner_text(".ax-sentence").replace("\u2068", "").replace("\u2069", "")


def hover_cell(page, query, key, canvas="[aria-roledescription='attention heatmap']"):
    box = page.locator(canvas).bounding_box()
    left, above, cell = map(float, page.get_attribute(canvas, "data-grid").split(","))
    page.mouse.move(box["x"] + left + (key + 0.5) * cell, box["y"] + above + (query + 0.5) * cell)
    settle(page)


def drawn_weights(page, shape, theme="light"):
    """The weights read back from the colours on the screen."""
    stops = re.findall(r"#\w{6}", re.search(theme + r": \[([^\]]+)\]", RAMPS).group(1))
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    levels = np.linspace(0, len(stops) - 1, 256)
    ramp = np.stack([np.interp(levels, range(len(stops)), stops[:, c]) for c in range(3)], 1)
    colours = page.evaluate(
        """([M, N]) => {
            const canvas = document.querySelector("[aria-roledescription='attention heatmap']");
            const [left, above, cell] = canvas.dataset.grid.split(",").map(Number);
            const ratio = canvas.width / canvas.clientWidth, pen = canvas.getContext("2d");
            const out = [];
            for (let q = 0; q < M; q++) for (let k = 0; k < N; k++) {
                const x = (left + (k + 0.5) * cell) * ratio, y = (above + (q + 0.5) * cell) * ratio;
                out.push([...pen.getImageData(x, y, 1, 1).data.slice(0, 3)]);
            }
            return out;
        }""",
        list(shape),
    )
    gaps = ((np.array(colours)[:, None] - ramp[None]) ** 2).sum(-1)
    return (gaps.argmin(1) / 255).reshape(shape) ** 2


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
    assert seen[:5] == ["INPUT", "SELECT", "SELECT", "CANVAS", "SUMMARY"]
    page.focus("canvas.ax-canvas")
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
    assert "2 of 2 queries look most at a gold key" not in page.inner_text(".ax-note")
    hover_cell(page, 0, 2, ".ax-figure:first-child canvas")
    assert "a looks at c: 0.000 (trained: 0.000) — the mask forbids it" in sentence(page)
    hover_cell(page, 1, 1, ".ax-figure:first-child canvas")
    assert "b looks at b: 0.500 (trained: 1.000) — a gold link" in sentence(page)
    page.locator("label:has-text('Difference') >> input").check()
    hover_cell(page, 1, 1)
    assert page.inner_text(".ax-tip").endswith("0.500 (−0.500)")


def test_picture_follows_patch_head_and_rollout(page, tmp_path):
    weights = softmax(2, 2, 10, 10)
    explorer = AttentionExplorer.vit(weights, np.random.default_rng(0).random((30, 30, 3)))
    show(page, explorer, tmp_path)
    best = int(weights[0, 0, 0].argmax())
    name = explorer.meta["panels"][0]["queries"][best]
    assert f"[CLS] looks at {name}: {weights[0, 0, 0, best]:.3f}" in sentence(page)
    box = page.locator("canvas.ax-canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(0, 0)
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
    spoken = page.evaluate(
        "[...document.querySelectorAll('.ax-sentence bdi')].map(n => n.textContent)"
    )
    settle(page)
    spoken = page.evaluate(
        "[...document.querySelectorAll('.ax-sentence bdi')].map(n => n.textContent)"
    )
    assert spoken[:2] == [tokens[0], tokens[best]]
    directions = page.evaluate(
        "[...document.querySelectorAll('.ax-tokens bdi')].map(n => getComputedStyle(n).unicodeBidi)"
    )
    assert set(directions) <= {"isolate"}


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


def test_narrow_screens_scroll_inside_not_outside(page, tmp_path):
    show(page, AttentionExplorer(softmax(12, 12, 32, 32), ["token"] * 32), tmp_path)
    page.set_viewport_size({"width": 340, "height": 700})
    for view in ("Heatmap", "Lines", "All heads"):
        page.click(f".ax-views label:has-text('{view}')")
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        settle(page)


def test_broken_data_is_said_not_shown_blank(page, tmp_path):
    explorer = AttentionExplorer(softmax(3, 3), ["a", "b", "c"])
    explorer.data = b"\xff\xff\xff"
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
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
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

    del nb.metadata["widgets"]  # as JupyterLab saves it
    plain = HTMLExporter().from_notebook_node(nb)[0]
    assert "data:image/png;base64" in plain
    body = exporter.from_notebook_node(nb)[0]
    (tmp_path / "still.html").write_text(body, encoding="utf-8")
    page.goto((tmp_path / "still.html").as_uri())
    assert page.locator(".jp-OutputArea img").evaluate("image => image.naturalWidth") > 200
    assert "looks most at" in page.get_attribute(".jp-OutputArea img", "alt")
    assert page.evaluate("window.ran") is None


# --- JupyterLab


KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
CELLS = [
    "import sys; sys.path.insert(0, '..')\nimport numpy as np\n"
    "from utils.explorer import AttentionExplorer\n"
    "w = np.exp(2 * np.random.default_rng(0).standard_normal((3, 4, 20, 20)))\n"
    "w = (w / w.sum(-1, keepdims=True)).astype('float32')",
    "explorer = AttentionExplorer(w, [f'word{i}' for i in range(20)])\nexplorer",
    "print('CHOICE', explorer.layer, explorer.head, explorer.token, explorer.key)",
    "explorer.layer, explorer.head, explorer.token, explorer.key = 0, 3, 7, None\n"
    "explorer.view = 'lines'",
    f"AttentionExplorer(np.full((6, 6), 1 / 6), {EVIL!r}, view='lines', token=0)",
]


def test_live_in_jupyterlab(page, lab, tmp_path):
    weights = softmax(3, 4, 20, 20)
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nb.metadata["kernelspec"] = KERNEL
    path = lab.root / "notebooks" / "explorer.ipynb"
    nbformat.write(nb, path)
    lab.open(page, "notebooks/explorer.ipynb")
    for cell in (0, 1):
        lab.run(page, cell)
    page.wait_for_selector(".ax[data-drawn]")
    page.evaluate("document.querySelector('.ax').scrollIntoView()")
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 0]).max() <= 1 / 255
    hover_cell(page, 4, 9)
    assert f"word4 looks at word9: {weights[0, 0, 4, 9]:.3f}" in sentence(page)

    # The page chooses, a cell reads.
    page.click(".ax-views label:has-text('All heads')")
    page.focus("[aria-roledescription='grid of heads']")
    for press in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(press)
    assert "layer 2, head 1" in sentence(page)
    page.click(".ax-views label:has-text('Heatmap')")
    settle(page)
    hover_cell(page, 3, 6)
    page.mouse.down()
    page.mouse.up()
    lab.run(page, 2)
    page.wait_for_function("document.body.innerText.includes('CHOICE 2 1 3 6')")

    # A cell chooses, the page follows.
    lab.run(page, 3)
    page.wait_for_selector(".ax-queries .ax-chosen")
    page.mouse.move(0, 0)
    assert page.inner_text(".ax-queries .ax-chosen bdi") == "word7"
    row = weights[0, 3, 7]
    assert f"word7 looks at word{row.argmax()}: {row.max():.3f}" in sentence(page)

    # Theme and width.
    light = page.evaluate("getComputedStyle(document.querySelector('.ax')).color")
    change = "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})"
    page.evaluate(change, "JupyterLab Dark")
    page.wait_for_selector(".ax[data-theme=dark]")
    assert page.evaluate("getComputedStyle(document.querySelector('.ax')).color") != light
    page.evaluate(change, "JupyterLab Light")
    page.wait_for_selector(".ax[data-theme=light]")
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("document.querySelector('.ax').clientWidth < 640")

    # Saved and reloaded with the kernel alive: the same selection, live.
    lab.run(page, 4)
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    lab.open(page, "notebooks/explorer.ipynb")
    page.wait_for_selector(".ax-queries .ax-chosen")
    assert page.inner_text(".ax-queries .ax-chosen bdi") == "word7"
    assert page.evaluate("window.ran") is None
    lab.close(page)

    # The same file from a stranger: untrusted, so JupyterLab runs nothing and shows the picture.
    saved = json.loads(path.read_text(encoding="utf-8"))
    saved["cells"][0]["source"] += "\n# from elsewhere"
    path.with_name("stranger.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    lab.open(page, "notebooks/stranger.ipynb", kernel=False)
    page.wait_for_selector(".jp-OutputArea img")
    assert page.locator(".jp-OutputArea img").first.evaluate("image => image.naturalWidth") > 200
    assert page.query_selector(".ax") is None
    assert page.outside == []
    assert page.errors == []


# --- Notebook 7, and ipywidgets 7.7 as on Colab


def small_notebook(server, name="explorer.ipynb"):
    """The cells that show an explorer, read its choice and set it, and then say the versions."""
    versions = "import ipywidgets; print('VERSION', ipywidgets.__version__)"
    cells = [nbformat.v4.new_code_cell(text) for text in [*CELLS[:4], versions]]
    nb = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.write(nb, server.root / "notebooks" / name)
    return f"notebooks/{name}"


def goes_both_ways(page, server):
    """The explorer draws the weights, a cell reads what was chosen there, and sets it."""
    for cell in (0, 1, 4):
        server.run(page, cell)
    page.wait_for_selector(".ax[data-drawn]")
    weights = softmax(3, 4, 20, 20)
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 0]).max() <= 1 / 255
    page.focus("canvas.ax-canvas")
    for press in ("ArrowDown", "ArrowDown", "]", "PageDown"):
        page.keyboard.press(press)
    assert f"word1 looks at word0: {weights[1, 1, 1, 0]:.3f}" in sentence(page)
    server.run(page, 2)
    page.wait_for_function("document.body.innerText.includes('CHOICE 1 1 1 0')")
    server.run(page, 3)
    page.wait_for_selector(".ax-queries .ax-chosen")
    assert page.inner_text(".ax-queries .ax-chosen bdi") == "word7"
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_timeout(1000)
    path = server.root / "notebooks" / "explorer.ipynb"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert "image/png" in saved["cells"][1]["outputs"][0]["data"]
    assert page.outside == []


def test_live_in_notebook_7(page, tmp_path):
    server = labdriver.Lab(tmp_path, app="notebook")
    try:
        server.open(page, small_notebook(server))
        of_notebook = list(page.errors)  # 7.6 has one of its own when it opens any notebook
        assert page.evaluate("jupyterapp.name") == "Jupyter Notebook"
        assert page.evaluate("jupyterapp.version").startswith("7.")
        goes_both_ways(page, server)
        assert page.errors == of_notebook
        server.close(page)
    finally:
        server.stop()


def test_live_with_ipywidgets_7(page, tmp_path):
    python = os.environ.get("COURSE_IPYWIDGETS7")
    if not python:
        pytest.skip(
            "no second environment: .ci/run builds one and names it COURSE_IPYWIDGETS7; by hand: "
            "python -m venv OLD && OLD/bin/pip install 'ipywidgets==7.7.*' 'jupyterlab==3.6.*' "
            "'notebook<7' anywidget numpy pillow matplotlib, then COURSE_IPYWIDGETS7=OLD/bin/python"
        )
    old = labdriver.Lab(tmp_path, python=python)
    try:
        old.open(page, small_notebook(old))
        goes_both_ways(page, old)
        page.wait_for_function("document.body.innerText.includes('VERSION 7.7')")
        assert page.evaluate("jupyterapp.version").startswith("3.6")
    finally:
        old.stop()
