"""The viewers that are measured: how each is shown, when it is drawn, what a click is."""

from __future__ import annotations

import json
from dataclasses import dataclass

from utils.explorer import AttentionExplorer

# The same weights for all: 12 layers × 12 heads, as in BERT-base.
SET_UP = """
import sys; sys.path[:0] = PATHS
import torch, matplotlib.figure, PIL.Image
from utils.explorer import AttentionExplorer
torch.manual_seed(0)
weights = torch.softmax(2 * torch.randn(12, 12, TOKENS, TOKENS), -1)
tokens = [f"t{i}" for i in range(TOKENS)]
try:
    from bertviz import head_view, model_view
except ImportError:
    pass  # the bench has said that BertViz is missing
"""


@dataclass(frozen=True)
class Viewer:
    name: str
    show: str  # the cell that shows it
    drawn: str  # JavaScript, true once everything is there
    click: str = ""  # JavaScript: choose something else; i counts the clicks
    changed: str = "true"  # JavaScript, true once the click is drawn
    bertviz: bool = False
    code: int = 0  # bytes of script and style that are sent with the data


OURS_DRAWN = "document.querySelector('.ax[data-drawn]')"
OURS_CLICK = """
    const canvas = document.querySelector("[aria-roledescription='grid of heads']");
    window.before = document.querySelector('.ax').dataset.drawn;
    const box = canvas.getBoundingClientRect();
    const clientX = box.left + 28 + (i * 5 % 12 + 0.5) * (box.width - 30) / 12;
    const clientY = box.top + 22 + (i * 7 % 12 + 0.5) * (box.height - 24) / 12;
    canvas.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX, clientY}));
"""
OURS_LAYER = """
    const select = document.querySelectorAll('.ax-pick select')[0];
    window.before = document.querySelector('.ax').dataset.drawn;
    select.value = (i + 1) % 12;
    select.dispatchEvent(new Event('change'));
"""
OURS_CHANGED = "document.querySelector('.ax').dataset.drawn !== window.before"
THEIR_LAYER = """
    const select = document.querySelector('[id^=bertviz] #layer');
    select.value = (i + 1) % 12;
    select.dispatchEvent(new Event('change', {bubbles: true}));
"""
THEIR_HEAD = """
    document.querySelectorAll('[id^=bertviz] svg > g')[i].querySelector('rect:last-of-type')
        .dispatchEvent(new MouseEvent('click', {bubbles: true}));
"""

OURS_HEAD = OURS_LAYER.replace("[0]", "[1]")

BARE = """
import anywidget

class Bare(anywidget.AnyWidget):
    _esm = "export default {render({el}) {" \\
        "el.append(Object.assign(document.createElement('button'), {id: 'bare'}));}}"

Bare()
"""

CODE = sum(
    len(json.dumps(str(text), ensure_ascii=False).encode())
    for text in (AttentionExplorer._esm, AttentionExplorer._css)
)


def ours(name: str, options: str, click: str) -> Viewer:
    show = f"AttentionExplorer(weights, tokens{options})"
    return Viewer(name, show, OURS_DRAWN, click, OURS_CHANGED, code=CODE)


VIEWERS = [
    ours("explorer", "", OURS_HEAD),
    ours("explorer, all heads", ", view='heads'", OURS_CLICK),
    ours("explorer, every line", ", view='lines', all_heads=True, threshold=0", OURS_LAYER),
    Viewer(
        "BertViz head_view",
        "head_view(list(weights[:, None]), tokens)",
        "document.querySelectorAll('#attention line').length === 12 * TOKENS * TOKENS",
        THEIR_LAYER, bertviz=True,
    ),
    Viewer(
        "BertViz model_view",
        "model_view(list(weights[:, None]), tokens)",
        "document.querySelectorAll('[id^=bertviz] svg line').length >= 144 * TOKENS * TOKENS",
        THEIR_HEAD, bertviz=True,
    ),
    Viewer("bare widget", BARE, "document.querySelector('#bare')"),
]  # fmt: skip
