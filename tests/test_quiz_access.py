"""Verdicts and questions for everybody: axe-core finds nothing, in light and in dark; keys work."""

import os
from pathlib import Path

import nbformat
import pytest

from utils.quiz import registry
from utils.quiz.verdict import LOOKS, Note, Verdict

AXE = Path(os.environ.get("COURSE_JS_TOOLS") or "nowhere", "node_modules/axe-core/axe.min.js")
pytestmark = pytest.mark.skipif(
    not AXE.exists(), reason="COURSE_JS_TOOLS names no folder with axe-core: .ci/run fetches it"
)
# The colours of JupyterLab's own two themes.
THEMES = {
    "light": ("#ffffff", "rgba(0, 0, 0, 0.87)"),
    "dark": ("#111111", "rgba(255, 255, 255, 1)"),
}


def violations(page, where="body"):
    """What axe-core says of the part of the page at ``where``."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("where => axe.run(where, {resultTypes: ['violations']})", where)
    return [f"{v['id']}: {node['html'][:120]}" for v in found["violations"] for node in v["nodes"]]


@pytest.mark.parametrize("theme", THEMES)
def test_all_verdicts_are_accessible(page, theme):
    background, colour = THEMES[theme]
    shown = [
        Verdict("X03-1", look, "no-scale", "The `scores` are not *divided*.", see="03, section 5")
        for look in LOOKS
    ]
    shown += [Note("X03-1: hint", "Look at the *axis*.", "hint", code="x = 1  # " + "long " * 60)]
    body = "".join(item._repr_html_() for item in shown)
    page.set_content(
        f"<html lang='en'><title>Quiz</title><body style='background:{background};color:{colour}'>"
        f"<main><h1>Quiz</h1>{body}</main></body></html>"
    )
    assert violations(page) == []
    page.evaluate("document.querySelector('b').style.color = '#888'")  # else it might find nothing
    assert any("color-contrast" in text for text in violations(page)) == (theme == "light")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_question_is_accessible_and_answered_by_keys(page, lab, theme):
    source = "from utils.quiz import question\nquestion('Q03-3')"
    cells = [nbformat.v4.new_code_cell(text) for text in (source, "1")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), lab.root / "notebooks" / "access.ipynb")
    lab.open(page, "notebooks/access.ipynb")
    change = "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})"
    page.evaluate(change, theme)
    lab.run(page, 0)
    output = lab.output_of(page, "Q03-3")
    letter = "abcdef"[[o.right for o in registry.get("Q03-3", "Q").options].index(True)]
    button = output.get_by_role("button", name=letter, exact=True)
    button.focus()
    page.keyboard.press("Enter")
    output.get_by_role("status").get_by_text("right").first.wait_for()
    output.evaluate("node => node.id = 'asked'")
    assert violations(page, "#asked") == []
    page.evaluate(change, "JupyterLab Light")
