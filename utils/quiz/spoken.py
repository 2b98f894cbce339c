"""The place under a question where the verdict appears, and the looks of the options above it.

ipywidgets can give an element neither a role nor a stylesheet, and a screen reader announces only
what changes *inside* a live region that was there before. This widget is such a region.
"""

from __future__ import annotations

import anywidget
import traitlets


class Spoken(anywidget.AnyWidget):
    """HTML that a screen reader reads out whenever ``value`` changes."""

    value = traitlets.Unicode("").tag(sync=True)

    _esm = """
    function render({ model, el }) {
      const show = () => { el.innerHTML = model.get("value"); };
      el.setAttribute("role", "status");
      el.classList.add("quiz-spoken");
      model.on("change:value", show);
      show();
    }
    export default { render };
    """

    # The options are whole sentences, so their buttons wrap, where ipywidgets would cut them off.
    # ipywidgets marks the focus with a pale line of one pixel, 2.2 : 1 on white; the text's own
    # colour stands out in every theme, and inside the edge no scrolling box can hide the line.
    _css = """
    .quiz-question { max-width: 50em; overflow: visible; }
    .quiz-question .widget-hbox { overflow: visible; }
    .quiz-question .widget-html-content, .quiz-question .quiz-option.widget-button, .quiz-spoken {
      font-size: var(--jp-content-font-size1, 14px); line-height: 1.45;
    }
    .quiz-question .quiz-option.widget-button {
      width: 100%; height: auto; margin: 0.2em 2px; padding: 0.35em 0.8em;
      border: 1px solid #8a8a8a; border-radius: 3px;
      text-align: left; white-space: normal; overflow-wrap: anywhere;
    }
    .quiz-question .quiz-option.widget-button:focus-visible {
      outline: 3px solid currentColor; outline-offset: -3px;
    }
    .quiz-question .quiz-chosen.widget-button { font-weight: 600; }
    .quiz-spoken { margin: 2px; }
    .quiz-spoken code { padding: 1px 5px; background: var(--jp-layout-color2, transparent); }
    """
