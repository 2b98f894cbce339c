"""Live figures and shown sources, in Python and in a real kernel."""

import base64
import io
import json
import time

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from PIL import Image

from utils.figures.canvas import collect
from utils.figures.plots import plot_attention, plot_bars
from utils.notebook.cells import draw_once, play, show_source

VIEW = "application/vnd.jupyter.widget-view+json"


def draw(temperature=1.0, n=3):
    weights = np.exp(np.eye(n) / temperature)
    plot_attention(weights / weights.sum(-1, keepdims=True), [f"w{i}" for i in range(n)])


def live(**options):
    return play(draw, temperature=(0.1, 2.0, 0.1, 1.0), n=(2, 6, 1, 3), **options)


def picture(figure):
    return bytes(figure._image.value)


def test_the_first_figure_is_the_one_at_the_start_values():
    figure = live()
    assert figure.values == {"temperature": 1.0, "n": 3}
    with collect() as figures:
        draw(1.0, 3)
    assert (picture(figure), figure._alt) == figures[0]


def test_moving_a_slider_redraws(capsys):
    figure = live()
    first = picture(figure)
    figure._controls["temperature"].value = 0.5  # as the browser does it
    second = picture(figure)
    assert second != first
    with collect() as figures:
        draw(0.5, 3)
    assert second == figures[0][0]
    assert figures[0][1] in figure._caption.value
    started = time.process_time()
    figure.set(n=4)
    with capsys.disabled():
        print(f" [one update: {1000 * (time.process_time() - started):.0f} ms of CPU]", end="")
    assert figure.values == {"temperature": 0.5, "n": 4}
    figure.set(temperature=1.0, n=3)
    assert picture(figure) == first


def test_the_sliders_are_shown_above_the_figure_and_its_sentence():
    figure = live()
    assert [type(child).__name__ for child in figure.children[:2]] == ["FloatSlider", "IntSlider"]
    assert [child.description for child in figure.children[:2]] == ["temperature", "n"]
    assert figure.children[2:] == (figure._image, figure._caption)


def test_a_sentence_with_special_signs_is_text_and_not_markup():
    figure = play(lambda k: plot_attention([[1.0]], ["<b>&$x$"]), k=(0, 1, 1, 0))
    assert "<b>" not in figure._caption.value
    assert "&lt;b&gt;&amp;" in figure._caption.value


def test_choices_may_be_a_list():
    figure = play(lambda word: plot_attention([[1.0]], [word]), word=["cat", "dog"])
    assert figure.values == {"word": "cat"}
    figure.set(word="dog")
    assert "dog looks most at dog" in figure._alt


def test_whole_and_broken_numbers():
    kinds = {}
    play(
        lambda **values: kinds.update(values) or plot_attention([[1.0]], ["a"]),
        whole=(1, 5, 1, 2), broken=(0, 1, 0.5, 0.5), mixed=(0, 1.5, 1, 1),
    )  # fmt: skip
    assert {name: type(value) for name, value in kinds.items()} == {
        "whole": int, "broken": float, "mixed": float,
    }  # fmt: skip


def test_a_play_button_moves_the_first_slider():
    figure = play(draw, n=(2, 6, 1, 3), temperature=(0.1, 2.0, 0.1, 1.0), animate=True)
    first = picture(figure)
    button, slider = figure.children[0].children
    assert (button.min, button.max, button.value, button.step) == (2, 6, 3, 1)
    button.value = 4
    assert slider.value == 4
    assert picture(figure) != first


def test_the_text_is_the_same_in_every_run():
    text = (
        "LiveFigure(temperature=1.0, n=3): Attention map, rows are queries: "
        "w0 looks most at w0 (0.58); w1 looks most at w1 (0.58); w2 looks most at w2 (0.58)."
    )
    assert repr(live()) == repr(live()) == text


def test_the_bundle_holds_the_view_the_picture_and_the_alternative():
    figure = live()
    figure.set(temperature=0.5)
    data, metadata = figure._repr_mimebundle_()
    assert data[VIEW]["model_id"] == figure.model_id
    assert data["text/plain"] == repr(figure)
    json.dumps(data)  # bytes or a memoryview could not be stored in a notebook
    assert base64.b64decode(data["image/png"], validate=True) == picture(figure)
    assert metadata["image/png"]["alt"] == figure._alt


def test_an_error_while_drawing_reaches_the_reader():
    def fragile(k):
        if k > 1:
            raise RuntimeError("no such k")
        plot_attention([[1.0]], ["a"])

    figure = play(fragile, k=(0, 3, 1, 0))
    with pytest.raises(RuntimeError, match="no such k"):
        figure.set(k=2)
    figure.set(k=1)  # and it goes on after that
    with pytest.raises(RuntimeError, match="no such k"):
        play(fragile, k=(0, 3, 1, 3))


def test_figures_of_a_failed_drawing_do_not_leak():
    with collect() as figures, pytest.raises(ZeroDivisionError):
        draw_once(lambda: draw() or 1 / 0, {})
    assert figures == []


ERRORS = {
    "no figure": (lambda: play(lambda k: None, k=(0, 1, 1, 0)), ["exactly one", "0"]),
    "two figures": (lambda: play(lambda k: draw() or draw(), k=(0, 1, 1, 0)), ["exactly one", "2"]),
    "unknown slider": (lambda: live().set(heat=1), ["heat", "temperature", "n"]),
    "too few numbers": (
        lambda: play(draw, n=(2, 6, 1)),
        ["'n'", "(first, last, step, start)", "(2, 6, 1)"],
    ),
    "a single number": (lambda: play(draw, n=3), ["'n'", "(first, last, step, start)", "3"]),
    "start outside": (lambda: play(draw, n=(2, 6, 1, 9)), ["'n'", "2", "6", "9"]),
    "animated fraction": (lambda: live(animate=True), ["whole"]),
    "nothing to animate": (lambda: play(draw, animate=True), ["slider"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_names_what_was_expected_and_what_came(name):
    call, words = ERRORS[name]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_show_source_shows_functions_classes_and_methods(monkeypatch):
    from utils.layers.attention import MultiHeadAttention
    from utils.layers.masks import to_torch_blocked

    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *things, **_: shown.extend(things))
    assert show_source(to_torch_blocked, MultiHeadAttention, MultiHeadAttention.merge_heads) is None
    function, layer, method = (bundle["text/plain"] for bundle in shown)
    assert [bundle["text/markdown"] for bundle in shown] == [
        f"```python\n{source}\n```" for source in (function, layer, method)
    ]
    assert function.startswith("def to_torch_blocked(mask: Tensor) -> Tensor:\n    ")
    assert layer.startswith("class MultiHeadAttention(nn.Module):\n    ")
    assert "    def forward(\n        self," in layer
    assert method.startswith("def merge_heads(self")  # at the left margin
    assert "\n    return heads" in method


CELLS = [
    "from utils.notebook.cells import play, show_source\n"
    "from utils.figures.plots import plot_attention\n"
    "def draw(n):\n"
    "    plot_attention([[1 / n] * n] * n, list('abcdef')[:n])\n"
    "figure = play(draw, n=(2, 4, 1, 3))\n"
    "figure",
    "draw(2)",
    "figure.set(n=4)\nfigure",
    "show_source(draw)",
]


def test_a_real_kernel_stores_pictures_that_any_viewer_can_read(request):
    """What a notebook on disk holds: pictures with alternatives, and text that reads well."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    root = {"metadata": {"path": str(request.config.rootpath)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=root).execute()
    nbformat.validate(json.loads(nbformat.writes(notebook)))

    first, plain, moved = (cell.outputs[0] for cell in notebook.cells[:3])
    for output in (first, plain, moved):
        png = base64.b64decode(output.data["image/png"], validate=True)
        assert Image.open(io.BytesIO(png)).format == "PNG"
        assert "looks most at a" in output.metadata["image/png"]["alt"]
        assert output.metadata["image/png"]["alt"] in output.data["text/plain"]
    assert VIEW in first.data
    assert VIEW not in plain.data
    assert first.data["text/plain"].startswith("LiveFigure(n=3): ")
    assert moved.data["text/plain"].startswith("LiveFigure(n=4): ")
    assert moved.data["image/png"] != first.data["image/png"]
    (source,) = notebook.cells[3].outputs
    assert source.data["text/plain"].startswith("def draw(n):")
    assert source.data["text/markdown"].startswith("```python\ndef draw(n):")


def test_bars_and_maps_can_both_be_live():
    figure = play(lambda k: plot_bars({"a": [k]}, ["u"], ylabel="y"), k=(1, 3, 1, 1))
    figure.set(k=2)
    assert "u 2.00" in repr(figure)
