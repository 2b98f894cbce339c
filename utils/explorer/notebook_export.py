"""Live explorers in nbconvert's HTML, with no network: `make html`.

nbconvert shows a widget whose state is stored in the notebook by loading scripts from a CDN: with
no network the place stays empty.  This preprocessor puts the explorer's own page fragment there
instead.  Every other widget (sliders, quiz cells) would want a kernel, which a page does not have:
the picture or the words stored beside it are shown.  nbconvert's own page drops a PNG's text
alternative, so every PNG that has one gets it back here.

    python -m nbconvert --to html --execute notebook.ipynb \\
        --HTMLExporter.preprocessors=utils.explorer.notebook_export.EmbedExplorers
"""

from __future__ import annotations

import base64
import html
from typing import Any

from nbconvert.preprocessors import Preprocessor

from . import page

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
OURS = "utils.explorer.explorer.AttentionExplorer"


class EmbedExplorers(Preprocessor):
    """Put a fragment that needs nothing else for each explorer, a picture for other widgets."""

    def preprocess(self, nb: Any, resources: dict) -> tuple[Any, dict]:
        widgets = nb.metadata.pop("widgets", {})  # with it, nbconvert asks the CDN for scripts
        models = widgets.get(STATE, {}).get("state", {})
        for cell in nb.cells:
            for output in cell.get("outputs", []):
                view = output.get("data", {}).pop(VIEW, {})
                model = models.get(view.get("model_id"))
                if model and model["state"].get("_anywidget_id") == OURS:
                    output["data"]["text/html"] = page.fragment(stored_state(model))
                else:
                    keep_words(output)
        return nb, resources


def keep_words(output: Any) -> None:
    """Show a PNG as an ``<img>`` of our own that carries its text alternative."""
    words = output.get("metadata", {}).get("image/png", {}).get("alt")
    picture = output.get("data", {}).get("image/png")
    if words and picture and "text/html" not in output["data"]:
        source = f"data:image/png;base64,{''.join(picture.split())}"
        output["data"]["text/html"] = f'<img alt="{html.escape(words)}" src="{source}">'


def stored_state(model: dict[str, Any]) -> dict[str, Any]:
    """The traits of a stored widget, its binary ones put back in their places."""
    state = {name: value for name, value in model["state"].items() if not name.startswith("_")}
    for buffer in model.get("buffers", []):
        if len(buffer["path"]) == 1:
            state[buffer["path"][0]] = base64.b64decode(buffer["data"])
    return state
