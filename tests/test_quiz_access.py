"""Verdicts and questions for everybody: axe-core finds nothing, in light and in dark; keys work."""

import os
import re
from pathlib import Path

import pytest

from tests.explorerpage import settle, write_notebook
from utils.quiz import pages, registry
from utils.quiz.verdict import LOOKS, Note, Verdict

AXE = Path(os.environ.get("COURSE_JS_TOOLS") or "nowhere", "node_modules/axe-core/axe.min.js")
pytestmark = pytest.mark.skipif(
    not AXE.exists(), reason="COURSE_JS_TOOLS names no folder with axe-core: .ci/run fetches it"
)


# What axe-core complains of in the parts of a page, and how many texts it could read in each part.
# It holds no opinion on a contrast that it cannot measure: that counts as a complaint too, but for
# code that is scrolled.  The sheets of styles need no loading (`preload`), for they are all here.
COMPLAINTS = """async where => {
    const parts = [...document.querySelectorAll(where)];
    const found = await axe.run({include: parts}, {preload: false, elementRef: true});
    const contrast = rule => rule.id === "color-contrast";
    const nodes = rules =>
        rules.flatMap(rule => rule.nodes.map(node => ({rule: rule.id, ...node})));
    const unsure = nodes(found.incomplete.filter(contrast));
    const read = nodes(found.passes.filter(contrast));
    return [
        [...nodes(found.violations), ...unsure.filter(node => node.element.tagName !== "PRE")]
            .map(node => `${node.rule}: ${node.html.slice(0, 120)}`),
        parts.map(part => read.filter(node => part.contains(node.element)).length),
    ];
}"""


def violations(page, where="body"):
    """What axe-core says of the parts of the page at ``where``.

    What is out of sight passes every rule, so there must be a text in each part that it could read.
    """
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    complaints, texts = page.evaluate(COMPLAINTS, where)
    assert texts and all(texts), f"texts that were read, part by part: {texts}"
    return complaints


# --- on a page of their own

# The background and the text's colour in JupyterLab's own two themes, and one too close to both.
THEMES = {
    "light": ("#ffffff", "rgba(0, 0, 0, 0.87)", "#888888"),
    "dark": ("#111111", "rgba(255, 255, 255, 1)", "#666666"),
}


@pytest.mark.parametrize("theme", THEMES)
def test_all_verdicts_are_accessible(page, theme):
    background, colour, pale = THEMES[theme]
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
    page.evaluate("pale => document.querySelector('b').style.color = pale", pale)
    assert any("color-contrast" in text for text in violations(page)), "it would find nothing"


def test_the_report_is_accessible(page, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    page.goto(pages.write_report(tmp_path / "report.html", name="Ada").as_uri())
    assert violations(page) == []


# --- live in JupyterLab

SET_UP = """
import os, sys, tempfile
sys.path.insert(0, "..")
os.environ["COURSE_PROGRESS"] = tempfile.mkdtemp() + "/progress.json"
import torch
from utils.quiz import *
"""
ATTENTION = """
def attention(q, k, v):
    {}
    weights = (q @ k.transpose(-2, -1){}).softmax(-1)
    return weights @ v, weights

check("X03-1", attention)
"""
UNNAMED = """
def attention(q, k, v):
    weights = torch.fft.fft(q @ k.transpose(-2, -1)).real.erf()
    return torch.fft.fft(weights @ v).imag.sin(), weights

check("X03-1", attention)
"""
# A cell for each status, and words that its verdict has.
CHECKS = {
    "not attempted": ('check("X03-1")', "run the cell again"),
    "mistake named": (ATTENTION.format("", ""), "(mistake: no-scale)"),
    "mistake unnamed": (UNNAMED, "The smallest example"),
    "raised": (ATTENTION.format("raise SystemExit", ""), "tries to end Python"),
    "too slow": (ATTENTION.format("while True: pass", ""), "did not finish"),
    "passed": (ATTENTION.format("", " / q.shape[-1] ** 0.5"), "Right."),
}
# Other cells, and words that their outputs have.
OTHERS = {
    'hint("X03-1", 3)': "3 of 3",
    'solution("X03-1")': "def attention",
    'carry_on("X03-1", attention);': "Going on",
    'question("Q03-4", "b")': "not yet",
    'question("Q03-4", "z")': "none of the options",
    'predict("P03-2", guess="b")': "noted",
    'said("P03-2")': "you said b)",
    "progress()": "1 of ",
    'question("Q01-5")': "batch_first",  # stays unanswered, and has an option with code in it
}
ASKED = ("Q03-2", "Q03-3", "P03-1")  # answered by keys: wrongly, rightly, and a guess
DRAW = 'draw = lambda: print("Drawn.")\npredict("P03-1", draw)'


def press_tab_until(page, words):
    """Press Tab until the button that says ``words`` has the focus, as it must before long."""
    said = []
    for _ in range(12):
        page.keyboard.press("Tab")
        said.append(page.evaluate("document.activeElement.innerText"))
        if said[-1].strip() == words:
            return
    raise AssertionError(f"Tab never came to {words!r}, but to {said}")


def answer_by_keys(page, lab, key, right, press):
    """Go to the question's cell and answer it with Tab and ``press``; give back its output."""
    item = registry.get(key, "QP")
    place = next(i for i, option in enumerate(item.options) if option.right == right)
    words = f"{'abcdef'[place]}) {item.options[place].text}"
    output = lab.output_of(page, f'"{key}"')
    status = output.get_by_role("status")
    status.wait_for(state="attached")  # before the answer: else it would not be announced
    status.evaluate("node => { node.before = node.innerText }")
    page.evaluate(
        """key => {
            const {content} = jupyterapp.shell.currentWidget;
            content.activeCellIndex = content.widgets.findIndex(
                cell => cell.model.sharedModel.source.includes(`"${key}"`));
            content.activate();
        }""",
        key,
    )
    press_tab_until(page, words)
    page.keyboard.press(press)
    status.locator("p").first.wait_for()
    assert status.evaluate("node => node.before") == "", "another element, not announced"
    icon = LOOKS["right" if right else "not yet"][0]
    assert status.inner_text().startswith(icon)
    page.wait_for_function("document.activeElement.innerText.length > 1")
    assert page.evaluate("document.activeElement.innerText.trim()") == f"{icon} {words}"
    return output


def luminance(colour):
    parts = [value / 255 for value in colour]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def focus_contrast(page):
    """How far the line around the focus stands out from its button; 0 for a line of one pixel."""
    style = "(({outlineWidth, outlineStyle, outlineColor, backgroundColor}) => "
    style += "[parseFloat(outlineWidth), outlineStyle, outlineColor, backgroundColor])"
    width, kind, *colours = page.evaluate(f"{style}(getComputedStyle(document.activeElement))")
    if kind == "none" or width < 2:
        return 0
    line, ground = ([float(n) for n in re.findall(r"[\d.]+", colour)] for colour in colours)
    alpha = line[3] if len(line) > 3 else 1
    seen = [alpha * a + (1 - alpha) * b for a, b in zip(line[:3], ground[:3], strict=True)]
    light, dark = sorted((luminance(seen), luminance(ground[:3])), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def change_theme(page, theme):
    """Change JupyterLab's theme and wait until its curtain is gone and all is painted."""
    page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
    page.wait_for_selector("#jupyterlab-splash", state="detached")
    settle(page)


# JupyterLab's body has no height, and it draws a cell only where it is in view: axe-core would pass
# over everything as out of sight.
IN_SIGHT = """
body { height: 100vh }
.jp-Cell { content-visibility: visible !important }
"""
OUTPUTS = ".jp-Cell-outputArea > .jp-OutputArea-child > .jp-OutputArea-output"


def problems(page, outputs):
    """What axe-core says of the outputs of all cells, and which words of questions are cut off.

    The window must be so high that all of them are in sight.
    """
    page.wait_for_function(
        "([where, count]) => document.querySelectorAll(where).length === count",
        arg=[OUTPUTS, outputs],
    )
    page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
    settle(page)
    wide = "nodes => nodes.filter(n => n.scrollWidth > n.clientWidth + 1).map(n => n.innerText)"
    return violations(page, OUTPUTS) + page.locator(".quiz-question *").evaluate_all(wide)


def test_all_outputs_are_accessible_and_questions_answered_by_keys(page, lab):
    shown = {source: words for source, words in CHECKS.values()} | OTHERS
    asked = [DRAW if key in DRAW else f'question("{key}")' for key in ASKED]
    cells = [SET_UP, *shown, *asked]
    lab.open(page, write_notebook(lab, cells, "access.ipynb"))
    page.add_style_tag(content=IN_SIGHT)
    lab.run_all(page)
    assert lab.errors(page) == []
    for source, words in shown.items():
        lab.output_of(page, source).get_by_text(words).first.wait_for()
    for status, (source, _) in CHECKS.items():
        heading = lab.output_of(page, source).get_by_text(f"{LOOKS[status][0]} {status}")
        heading.wait_for()

    assert focus_contrast(page) == 0  # the cell has the focus, and shows it otherwise
    guess = answer_by_keys(page, lab, ASKED[2], right=False, press="Enter")
    guess.get_by_text("Drawn.").wait_for()
    answer_by_keys(page, lab, ASKED[0], right=False, press="Space")
    output = answer_by_keys(page, lab, ASKED[1], right=True, press="Enter")
    try:
        for width, theme in ((1300, "JupyterLab Dark"), (560, "JupyterLab Light")):
            page.set_viewport_size({"width": width, "height": 16_000})
            change_theme(page, theme)
            output.get_by_role("button").last.focus()  # now and then JupyterLab's curtain takes it
            assert focus_contrast(page) >= 3
            assert problems(page, len(cells) - 1) == []

        # Would anything be found?  A verdict too pale, a button without words, a line cut off.
        output.locator("b").last.evaluate("node => node.style.color = '#888888'")
        output.get_by_role("button").nth(0).evaluate("node => node.innerText = node.title = ''")
        output.get_by_role("button").nth(3).evaluate("node => node.style.whiteSpace = 'nowrap'")
        found = str(problems(page, len(cells) - 1))
        assert all(words in found for words in ("color-contrast", "button-name", "spread of the"))
    finally:
        change_theme(page, "JupyterLab Light")  # the server is another test's too
    assert page.errors == []
