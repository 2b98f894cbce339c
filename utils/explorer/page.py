"""One self-contained page: the same JavaScript with the weights inside, and no network."""

from __future__ import annotations

import base64
import html
import json
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# A stand-in for the notebook's model: holds the selection, tells nobody.
MODEL = """
const state = STATE;
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on() {}, off() {}, save_changes() {},
};
"""


# The widget's module as it travels: packed, it is a third of its size, and every widget sends it.
LOADER = """
const bytes = Uint8Array.from(atob("CODE"), (c) => c.charCodeAt(0));
const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const code = new Blob([await new Response(text).text()], { type: "text/javascript" });
const url = URL.createObjectURL(code);
const { default: explorer } = await import(url);
URL.revokeObjectURL(url);
export default explorer;
"""


def packed_module() -> str:
    """explorer.js inside a module that unpacks it."""
    coder = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    code = coder.compress((HERE / "explorer.js").read_bytes()) + coder.flush()
    return LOADER.replace("CODE", base64.b64encode(code).decode())


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
    code = (HERE / "explorer.js").read_text(encoding="utf-8")
    css = (HERE / "explorer.css").read_text(encoding="utf-8")
    code = code.replace("export default {", "const explorer = {")
    model = MODEL.replace("STATE", script_json(plain))
    return (
        f'<div id="{name}"></div><style>{css}</style><script type="module">{code}{model}'
        f'explorer.render({{ model, el: document.getElementById("{name}") }});</script>'
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
