"""The explorer where it lives: JupyterLab and Notebook 7 in Chromium, and ipywidgets 7.7."""

import json
import os

import nbformat
import numpy as np
import pytest

from tests import labdriver
from tests.explorerpage import EVIL, drawn_weights, hover_cell, sentence, settle, softmax

pytestmark = pytest.mark.browser


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


def wait_for_choice(page, server, choice):
    """Run the cell that prints the choice until it is this one.

    ipywidgets sends one message at a time and keeps the next until the kernel has answered: a cell
    that is run faster than that still reads the choice before.
    """

    def read():
        server.run(page, 2)
        page.wait_for_function("document.body.innerText.includes('CHOICE ')")
        return f"CHOICE {choice}" in page.inner_text("body")

    labdriver.until(page, read, f"the kernel never read the choice {choice}")


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
    wait_for_choice(page, lab, "2 1 3 6")

    # Escape lets go of the cell; once more, and the keys are JupyterLab's again.
    page.mouse.move(0, 0)
    page.focus(".ax-map")
    page.keyboard.press("Escape")
    assert "looks at" not in sentence(page)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.closest('.ax')") is None
    before = page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex")
    page.keyboard.press("j")
    page.wait_for_function(
        f"jupyterapp.shell.currentWidget.content.activeCellIndex === {before + 1}"
    )

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
    # JupyterLab 4.6 trips over its own curtain if the next theme comes before it is gone.
    page.wait_for_selector("#jupyterlab-splash", state="detached")
    assert page.evaluate("getComputedStyle(document.querySelector('.ax')).color") != light
    page.evaluate(change, "JupyterLab Light")
    page.wait_for_selector(".ax[data-theme=light]")
    page.wait_for_selector("#jupyterlab-splash", state="detached")
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
    page.focus(".ax-canvas")
    for press in ("ArrowDown", "ArrowDown", "]", "PageDown"):
        page.keyboard.press(press)
    assert f"word1 looks at word0: {weights[1, 1, 1, 0]:.3f}" in sentence(page)
    wait_for_choice(page, server, "1 1 1 0")
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
