"""One self-contained page: the same JavaScript with the weights inside, and no network."""

from __future__ import annotations

import base64
import html
import json
import re
import uuid
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXPORT = "export { prepare, render };"  # the last line of explorer.js
# A stand-in for the notebook's model: holds the selection, tells nobody.
MODEL = """
const state = STATE;
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on() {}, off() {}, save_changes() {},
};
"""


# What the notebook loads first: small, so that it is there at once.  It unpacks explorer.js and the
# weights side by side and makes all that needs no place on the page, while the kernel still draws
# its picture; the first view takes that, others make their own.
# A page that forbids `new Function` gets the code as a module, which takes 20 ms more.
LOADER = """
function inflate(bytes) {
  const { readable, writable } = new DecompressionStream("deflate-raw"), pen = writable.getWriter();
  for (const done of [pen.write(bytes), pen.close()]) done.catch(() => {}); // `readable` fails too
  return new Response(readable);
}
async function load(model) {
  const code = await inflate(model.get("code")).text();
  try {
    return new Function(`"use strict"; ${code}; return { prepare, render };`)();
  } catch (error) {
    if (!(error instanceof EvalError)) throw error;
  }
  const module = new Blob([code, "export { prepare, render };"], { type: "text/javascript" });
  const url = URL.createObjectURL(module);
  const explorer = await import(url);
  URL.revokeObjectURL(url);
  return explorer;
}
function begin(model) {
  const explorer = load(model), raw = inflate(model.get("data")).arrayBuffer();
  const prepared = explorer.then(({ prepare }) => prepare(model, raw));
  for (const promise of [raw, prepared]) promise.catch(() => {}); // `render` complains
  return { explorer, prepared };
}
const early = new WeakMap(); // by the bytes as they came: every view has a model object of its own
export default {
  initialize({ model }) {
    const key = model.get("data");
    if (!key) return; // lost on its way: `render` says so
    early.set(key, begin(model));
    setTimeout(() => early.delete(key), 10000); // no view came: let go of the memory
  },
  async render(context) {
    const key = context.model.get("data"), begun = early.get(key) || begin(context.model);
    early.delete(key);
    const { render } = await begun.explorer.catch((error) => {
      context.el.textContent = `The explorer could not start (${error}). Run the cell again.`;
      throw error;
    });
    return render({ ...context, prepared: begun.prepared });
  },
};
"""


@lru_cache(maxsize=1)
def code() -> str:
    """explorer.js as a plain script; a page calls its `render`.

    Indents and lines of comment stay at home: every notebook cell would carry them.  (So no text
    in explorer.js may run over several lines.)
    """
    text = (HERE / "explorer.js").read_text(encoding="utf-8").replace(EXPORT, "")
    return re.sub(r"^\s*(//.*\s*)*", "", text, flags=re.MULTILINE)


@lru_cache(maxsize=1)
def packed_code() -> bytes:
    """The code as it travels: a third of its size, and every widget sends it."""
    # Level 4: a twentieth larger than with 6, in less than half the time.
    coder = zlib.compressobj(4, zlib.DEFLATED, -15, 9)
    return coder.compress(code().encode()) + coder.flush()


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
    return (
        f'<div id="{name}"></div><style>{css}</style><script type="module">{code()}{model}'
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
