"""The course in a real JupyterLab: opened, run and touched as a student would."""

import pytest

from tests.labdriver import ROOT, pixels, until

pytestmark = pytest.mark.browser


def test_start_here_runs_in_jupyterlab(page, lab):
    lab.open(page, "notebooks/00_start_here.ipynb")
    lab.run_all(page)
    assert lab.errors(page) == []
    assert "it computes" in lab.output_of(page, "assert missing_packages()").inner_text()
    assert page.errors == []
    lab.close(page)


def test_notebook_03_shows_figures_and_a_slider_that_works(page, lab, tmp_path):
    (path,) = (ROOT / "notebooks").glob("03_*.ipynb")
    lab.open(page, f"notebooks/{path.name}")
    stored = lab.output_of(page, "play(draw_temperature")
    image = stored.locator("img").first
    pixels(page, image)
    assert image.get_attribute("src").startswith("data:image/png"), "before any cell is run"
    assert image.bounding_box()["width"] > 100

    lab.run_all(page)
    assert lab.errors(page) == []
    output = lab.output_of(page, "play(draw_temperature")
    handle = output.locator(".noUi-handle").first
    handle.wait_for()
    image = output.locator("img").first
    before, words_before = pixels(page, image), output.inner_text()
    for _ in range(5):
        handle.press("ArrowRight")
    page.wait_for_function(
        "([box, words]) => box.innerText !== words",
        arg=[output.element_handle(), words_before],
    )
    until(page, lambda: pixels(page, image) != before, "the slider moved and the figure stayed")
    page.screenshot(path=tmp_path / "notebook_03.png")
    assert page.errors == []
    lab.close(page)
