"""Questions and predictions on the screen: options to click, and the same in plain text.

The right answer stays in Python. The browser, and with it the saved notebook, gets the options'
texts and, after a click, the reason that belongs to the option clicked.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from typing import Any

from utils.quiz import store
from utils.quiz.questions import LETTERS, Prediction, Question
from utils.quiz.verdict import Note, Verdict, as_html

WIDGET = "application/vnd.jupyter.widget-view+json"


def judge(question: Question, letter: str) -> Verdict:
    """The verdict on one option, with its reason."""
    option = question.option(letter)
    return Verdict(
        question.id,
        "right" if option.right else "not yet",
        mistake=option.mistake,
        message=f"{letter}) {option.text}\n\n{option.reason}",
        see="" if option.right else question.see,
        title=question.title,
    )


def record(verdict: Verdict, letter: str) -> None:
    store.record(verdict.id, verdict.status, verdict.mistake, answer=letter)


class View:
    """A question that waits for an answer. Plain text says all that the buttons say."""

    def __init__(
        self, question: Question, call: str, after: Callable[[Verdict], None] | None = None
    ):
        self.question, self.call, self.after = question, call, after

    def __repr__(self) -> str:
        return (
            f"{self.question.plain()}\nClick an option, or type its letter in the cell: {self.call}"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        widget = self._widget()
        if widget is not None:
            bundle[WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        return bundle

    def _widget(self) -> Any:
        """Buttons and an empty place for the reason; None where ipywidgets is missing."""
        try:
            import ipywidgets as w
        except ImportError:
            return None
        question = self.question
        head = w.HTML(f"<b>{html.escape(question.id)}</b> {as_html(question.text)}")
        reason, picture = w.HTML(""), w.Output()
        rows = []
        for letter, option in zip(LETTERS, question.options, strict=False):
            button = w.Button(description=letter, layout=w.Layout(width="2.6em", min_width="2.6em"))
            button.tooltip = f"answer {letter}: {option.text}"
            button.on_click(lambda _, letter=letter: self._clicked(letter, reason, picture))
            rows.append(w.HBox([button, w.HTML(as_html(option.text))]))
        return w.VBox([head, *rows, reason, picture])

    def _clicked(self, letter: str, reason: Any, picture: Any) -> None:
        verdict = shown = judge(self.question, letter)
        if isinstance(self.question, Prediction):
            shown = told(self.question, letter) if self.after else heard(self.question, letter)
        record(verdict, letter)
        keep = f"To keep this answer in the notebook, type it in the cell: {self.call}"
        keep = keep.replace('"..."', f'"{letter}"')
        reason.value = f'<div role="status">{shown._repr_html_()}{as_html(keep)}</div>'
        if self.after is not None:
            picture.clear_output(wait=True)
            with picture:
                self.after(verdict)
                if (
                    "matplotlib.pyplot" in sys.modules
                ):  # figures of a click are not shown by themselves
                    sys.modules["matplotlib.pyplot"].show()


def heard(prediction: Prediction, letter: str) -> Note:
    """A guess is noted; whether it is right is for the experiment to say."""
    text = f"You said {letter}) {prediction.option(letter).text}\n\nThe next cell shows it."
    return Note(f"{prediction.id}: noted", f"{prediction.plain()}\n\n{text}")


def told(prediction: Prediction, letter: str) -> Verdict:
    """The verdict on a guess: the reason of the option, then what the picture shows."""
    verdict = judge(prediction, letter)
    return Verdict(
        verdict.id,
        verdict.status,
        verdict.mistake,
        f"You guessed {verdict.message}\n\n{prediction.reveal}".rstrip(),
        see=prediction.see,
        title=prediction.title,
    )
