"""Drive the explorer in a page: show it, point at a cell, read its sentence and its colours."""

import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

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


def hover_cell(page, query, key, canvas="[aria-roledescription='attention heatmap']"):
    settle(page)
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
    page.mouse.move(0, 0)
    settle(page)
    shown = page.locator("[aria-roledescription='attention heatmap']").first
    screen = np.asarray(Image.open(io.BytesIO(shown.screenshot())).convert("RGB"))
    left, above, cell = map(float, shown.get_attribute("data-grid").split(","))
    rows, columns = (
        (start + (np.arange(count) + 0.5) * cell).astype(int)
        for start, count in zip((above, left), shape)
    )
    colours = screen[rows][:, columns].reshape(-1, 3).astype(int)
    gaps = ((colours[:, None] - ramp[None]) ** 2).sum(-1)
    return (gaps.argmin(1) / 255).reshape(shape) ** 2
