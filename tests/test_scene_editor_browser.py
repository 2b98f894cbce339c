"""The scene editor of notebook 09 in a real JupyterLab: clicked, and used by keyboard alone."""

import nbformat
import pytest

from tests.labdriver import pixels, until

pytestmark = pytest.mark.browser

CELLS = [
    "import sys; sys.path.insert(0, '..')\n"
    "from utils.figures.captions import plot_scenes\n"
    "from utils.notebook.scene_editor import SceneEditor\n"
    "from utils.tasks.scenes import draw",
    "def draw_it(scene, describer):\n"
    "    plot_scenes(draw([scene], 0), [''])\n"
    "    return describer(scene)\n\n\n"
    "systems = {'echo': lambda scene: ' '.join(scene.caption)}\n"
    "systems['shouting'] = lambda scene: ' '.join(scene.caption).upper()\n"
    "SceneEditor(systems, draw_it, {(0, 1): 'red circle'})",
]


def test_clicks_and_keys_change_picture_and_caption(page, lab, tmp_path):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(nb, lab.root / "notebooks" / "editor.ipynb")
    lab.open(page, "notebooks/editor.ipynb")
    for cell in (0, 1):
        lab.run(page, cell)
    output = lab.output_of(page, "SceneEditor(systems")
    image, buttons = output.locator("img"), output.locator("button")
    colour, shape, system = (output.locator("select").nth(i) for i in range(3))

    def says(words):
        output.get_by_text(words, exact=True).wait_for()

    def another_picture(before):  # it comes in a message of its own
        until(page, lambda: pixels(page, image) != before, "the picture stayed as it was")
        return pixels(page, image)

    says("a red circle")
    first = pixels(page, image)
    assert 100 < image.bounding_box()["width"] < 400, "the picture is blown up, or not there"

    colour.select_option("blue")
    shape.select_option("cross")
    buttons.nth(3).click()
    says("a red circle above a blue cross")
    second = another_picture(first)
    assert [text.strip() for text in buttons.all_inner_texts()[:4]] == ["", "●", "", "✚"]

    page.keyboard.press("Tab")  # from the clicked cell to the next
    page.keyboard.press("Space")
    says("a red circle above a blue cross beside a blue cross")
    another_picture(second)
    assert buttons.nth(4).evaluate("button => button.matches(':focus-visible')")
    assert buttons.nth(4).evaluate("button => getComputedStyle(button).outlineStyle") != "none"

    system.select_option("shouting")
    says("A RED CIRCLE ABOVE A BLUE CROSS BESIDE A BLUE CROSS")
    # A click on a thing takes it away, and its sign with it.  The next waits for the words, which
    # come last: a page that still moves under the pointer may put a thing on another cell.
    for cell, words in (
        (1, "A BLUE CROSS BESIDE A BLUE CROSS"),
        (3, "A BLUE CROSS"),
        (4, "Nothing is there yet: choose a colour and a shape, then click a cell."),
    ):
        button = buttons.nth(cell)
        button.click()
        says(words)
        until(page, lambda b=button: not b.inner_text().strip(), f"cell {cell} kept its sign")
    image.wait_for(state="hidden")  # the picture of the last thing does not stand there any more
    assert "".join(buttons.all_inner_texts()).strip() == ""
    page.screenshot(path=tmp_path / "editor.png")
    assert page.errors == []
    lab.close(page)
