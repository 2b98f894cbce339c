"""The explorer where it lives: JupyterLab and Notebook 7 in Chromium, and ipywidgets 7.7."""

import json
import os

import numpy as np
import pytest

from tests.explorerpage import (
    CELLS,
    EVIL,
    drawn_weights,
    hover_cell,
    sentence,
    settle,
    softmax,
    wait_for_choice,
    write_notebook,
)
from tests.labdriver import until

pytestmark = pytest.mark.browser


def save(page, path, cell):
    """Save the notebook; what its file holds, as soon as that is the picture of ``cell``."""

    def saved():
        page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        try:
            notebook = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # half written
            return None
        outputs = notebook["cells"][cell]["outputs"]
        return notebook if any("image/png" in one.get("data", {}) for one in outputs) else None

    return until(page, saved, f"the picture of cell {cell} never came into the file")


# --- JupyterLab


STRANGE = f"AttentionExplorer(np.full((6, 6), 1 / 6), {EVIL!r}, view='lines', token=0)"


def explorer_of(page, lab, words):
    """The explorer under the cell that holds ``words``, once it is drawn."""
    explorer = lab.output_of(page, words).locator(".ax[data-drawn]")
    explorer.wait_for()
    return explorer


def strange_tokens_are_words(page, lab):
    """They are drawn, all of them, and nothing in them ran."""
    strange = explorer_of(page, lab, STRANGE[:40])
    shown = strange.locator(".ax-queries bdi").all_text_contents()
    assert len(shown) == len(EVIL)
    assert shown[1] == EVIL[1]
    assert page.evaluate("window.ran") is None


def test_live_in_jupyterlab(page, lab):
    weights = softmax(3, 4, 20, 20)
    notebook = write_notebook(lab, [*CELLS, STRANGE])
    path = lab.root / notebook
    lab.open(page, notebook)
    for cell in (0, 1):
        lab.run(page, cell)
    page.wait_for_selector(".ax[data-drawn]")
    page.evaluate("document.querySelector('.ax').scrollIntoView()")
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 0]).max() <= 1 / 255
    hover_cell(page, 4, 9)
    assert f"word4 looks at word9: {weights[0, 0, 4, 9]:.3f}" in sentence(page)

    # The page chooses, a cell reads.  Each key asks for the focus: JupyterLab may take it late.
    page.click(".ax-views label:has-text('All heads')")
    grid = page.locator("[aria-roledescription='grid of heads']")
    for press in ("ArrowDown", "ArrowDown", "ArrowRight"):
        grid.press(press)
    assert "layer 2, head 1" in sentence(page)
    page.click(".ax-views label:has-text('Heatmap')")
    settle(page)
    hover_cell(page, 3, 6)
    page.mouse.down()
    page.mouse.up()
    wait_for_choice(page, lab, "2 1 3 6")

    # Escape lets go of the cell; once more, and the keys are JupyterLab's again.
    page.mouse.move(0, 0)
    page.locator(".ax-map").press("Escape")
    assert "looks at" not in sentence(page)
    page.locator(".ax-map").press("Escape")
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
    strange_tokens_are_words(page, lab)
    saved = save(page, path, 4)
    lab.open(page, notebook)
    strange_tokens_are_words(page, lab)
    explorer = explorer_of(page, lab, CELLS[1])
    assert explorer.locator(".ax-queries .ax-chosen bdi").inner_text() == "word7"
    lab.wait_idle(page)  # both are restored: nothing is asked of the kernel any more
    lab.close(page)

    # The same file from a stranger: untrusted, so JupyterLab runs nothing and shows the picture.
    saved["cells"][0]["source"] += "\n# from elsewhere"
    path.with_name("stranger.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    lab.open(page, "notebooks/stranger.ipynb", kernel=False)
    still = page.locator(".jp-OutputArea img").first
    until(page, lambda: still.evaluate("image => image.naturalWidth") > 200, "no still picture")
    assert page.query_selector(".ax") is None
    assert page.outside == []
    assert page.errors == []


# --- Notebook 7, and ipywidgets 7.7 as on Colab


VERSIONS = "import ipywidgets; print('VERSION', ipywidgets.__version__)"


def goes_both_ways(page, server):
    """The explorer draws the weights, a cell reads what was chosen there, and sets it."""
    notebook = write_notebook(server, [*CELLS, VERSIONS])
    server.open(page, notebook)
    for cell in (0, 1, 4):
        server.run(page, cell)
    page.wait_for_selector(".ax[data-drawn]")
    weights = softmax(3, 4, 20, 20)
    assert np.abs(drawn_weights(page, (20, 20)) - weights[0, 0]).max() <= 1 / 255
    for press in ("ArrowDown", "ArrowDown", "]", "PageDown"):
        page.locator(".ax-canvas").press(press)  # asks for the focus each time
    assert f"word1 looks at word0: {weights[1, 1, 1, 0]:.3f}" in sentence(page)
    wait_for_choice(page, server, "1 1 1 0")
    server.run(page, 3)
    page.wait_for_selector(".ax-queries .ax-chosen")
    assert page.inner_text(".ax-queries .ax-chosen bdi") == "word7"
    save(page, server.root / notebook, 1)
    assert page.outside == []


def test_live_in_notebook_7(page, start_lab):
    goes_both_ways(page, start_lab(app="notebook"))
    assert page.evaluate("jupyterapp.name") == "Jupyter Notebook"
    assert page.evaluate("jupyterapp.version").startswith("7.")
    # 7.6 has an error of its own whenever it opens a notebook, sooner or later: its stack is in
    # Notebook's files alone.  The explorer comes as a blob, by way of the widgets' files.
    ours = ("blob:", "widget")
    assert [
        error
        for error in page.errors
        if "/static/notebook/" not in error or any(name in error for name in ours)
    ] == []


def test_live_with_ipywidgets_7(page, start_lab):
    python = os.environ.get("COURSE_IPYWIDGETS7")
    if not python:
        pytest.skip(
            "no second environment: .ci/run builds one and names it COURSE_IPYWIDGETS7; by hand: "
            "python -m venv OLD && OLD/bin/pip install 'ipywidgets==7.7.*' 'jupyterlab==3.6.*' "
            "'notebook<7' anywidget numpy pillow matplotlib, then COURSE_IPYWIDGETS7=OLD/bin/python"
        )
    goes_both_ways(page, start_lab(python=python))
    page.wait_for_function("document.body.innerText.includes('VERSION 7.7')")
    assert page.evaluate("jupyterapp.version").startswith("3.6")
