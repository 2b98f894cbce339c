"""The JavaScript as one module, and one self-contained page with the weights inside.

A notebook gets the module from anywidget, a page has it in itself; neither needs a network.
"""

from __future__ import annotations

import base64
import html
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# The modules of js/ in the order in which they build on each other; widget.js is for notebooks.
MODULES = (
    "colours", "pieces", "weights", "hands", "heatmap", "raster", "lines", "heads", "pictures",
    "controls", "words", "app", "main",
)  # fmt: skip
# A stand-in for the notebook's model: holds the selection, tells nobody.
MODEL = """
const state = STATE;
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on() {}, off() {}, save_changes() {},
};
"""


def joined(*names: str) -> str:
    """These modules as one, for anywidget and pages take one: one name never means two things.

    An import from a sibling takes one line, and is not needed any more; nor is the word `export`,
    but for the `export default` of widget.js.
    """
    texts = [(HERE / "js" / f"{name}.js").read_text(encoding="utf-8") for name in names]
    lines = [line for text in texts for line in text.splitlines() if not line.startswith("import ")]
    plain = [line if "export default" in line else line.removeprefix("export ") for line in lines]
    return "\n".join(plain) + "\n"


def script_json(value: Any) -> str:
    """JSON that cannot end the script it stands in, whatever a token holds."""
    text = json.dumps(value, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def fragment(state: Mapping[str, Any]) -> str:
    """A piece of HTML with a live explorer in it, for a page of one's own."""
    plain = {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in state.items()
    }
    name = f"attention-{uuid.uuid4().hex[:12]}"
    css = (HERE / "explorer.css").read_text(encoding="utf-8")
    model = MODEL.replace("STATE", script_json(plain))
    code = joined(*MODULES)
    return (
        f'<div id="{name}"></div><style>{css}</style><script type="module">{code}{model}'
        f'render({{ model, el: document.getElementById("{name}") }});</script>'
    )


def whole_page(state: Mapping[str, Any], title: str = "") -> str:
    """A whole HTML document around `fragment`."""
    heading = html.escape(title or "Attention explorer")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{heading}</title>"
        "<style>:root{color-scheme:light dark}body{margin:0 auto;max-width:75rem;padding:1rem;"
        "background:#fff}@media(prefers-color-scheme:dark){body{background:#111316}}</style>"
        f"</head><body>{fragment(state)}</body></html>\n"
    )
