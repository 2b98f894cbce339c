"""Drive the explorer in a page or a notebook: point at a cell, read its sentence and colours."""

import io
import re

import nbformat
import numpy as np
from PIL import Image

from tests.labdriver import until
from utils.explorer.page import joined

RAMPS = joined("colours")
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


def show(page, explorer, folder):
    """Open the explorer's own page and wait until it is drawn."""
    page.goto(explorer.save_html(folder / "page.html").as_uri())
    page.wait_for_selector(".ax[data-drawn]")


def settle(page):
    """Wait until what was asked for is painted."""
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def sentence(page):
    settle(page)
    return page.inner_text(".ax-sentence").replace("\u2068", "").replace("\u2069", "")


# How often the explorer has painted, where the heatmap's cells lie in it, and where it is itself.
PLACE = """node => {
    const {x, y, width, height} = node.getBoundingClientRect();
    return [node.closest(".ax")?.dataset.drawn, node.dataset.grid, x, y, width, height];
}"""
HEATMAP = "[aria-roledescription='attention heatmap']"


def hover_cell(page, query, key, canvas=HEATMAP):
    """Point at a cell; once more if the page scrolled or laid the heatmap out anew meanwhile."""

    def pointed():
        settle(page)
        node = page.locator(canvas).element_handle()  # this one: its successor forgets the pointer
        _, grid, x, y, *size = node.evaluate(PLACE)
        left, above, cell = map(float, grid.split(","))
        page.mouse.move(x + left + (key + 0.5) * cell, y + above + (query + 0.5) * cell)
        settle(page)
        if node.evaluate(PLACE)[1:] == [grid, x, y, *size]:
            return True
        page.mouse.move(0, 0)  # else the next try might be no move
        return False

    until(page, pointed, "the heatmap never came to rest under the pointer")


def photograph(page, shown):
    """A heatmap's pixels and where its cells lie in them: both of the same painting."""

    def taken():
        settle(page)
        before = shown.evaluate(PLACE)
        png = shown.screenshot()
        return shown.evaluate(PLACE) == before and (png, before[1])

    png, grid = until(page, taken, "the heatmap never came to rest")
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")), map(float, grid.split(","))


def drawn_weights(page, shape, theme="light"):
    """The weights read back from the colours on the screen."""
    stops = re.findall(r"#\w{6}", re.search(theme + r": \[([^\]]+)\]", RAMPS).group(1))
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    levels = np.linspace(0, len(stops) - 1, 256)
    ramp = np.stack([np.interp(levels, range(len(stops)), stops[:, c]) for c in range(3)], 1)
    page.mouse.move(0, 0)
    screen, (left, above, cell) = photograph(page, page.locator(HEATMAP).first)
    rows, columns = (
        (start + (np.arange(count) + 0.5) * cell).astype(int)
        for start, count in zip((above, left), shape)
    )
    colours = screen[rows][:, columns].reshape(-1, 3).astype(int)
    gaps = ((colours[:, None] - ramp[None]) ** 2).sum(-1)
    return (gaps.argmin(1) / 255).reshape(shape) ** 2


# --- in a notebook


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
]


def write_notebook(server, sources, name="explorer.ipynb"):
    """A notebook of these cells among the server's files, and its path there."""
    cells = [nbformat.v4.new_code_cell(text) for text in sources]
    nb = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.write(nb, server.root / "notebooks" / name)
    return f"notebooks/{name}"


def wait_for_choice(page, server, choice):
    """Run the cell that prints the choice until it is this one.

    ipywidgets sends one message at a time and keeps the next until the kernel has answered: a cell
    that is run faster than that still reads the choice before.
    """

    def read():
        server.run(page, 2)
        page.wait_for_function("document.body.innerText.includes('CHOICE ')")
        return f"CHOICE {choice}" in page.inner_text("body")

    until(page, read, f"the kernel never read the choice {choice}")
