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
from utils.quiz.verdict import LOOKS, Note, Verdict, as_html, as_words

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
        """A button for each option and a place for the reason; None where widgets are missing."""
        try:
            import ipywidgets as w

            from utils.quiz.spoken import Spoken
        except ImportError:
            return None
        question = self.question
        head = w.HTML(as_html(question.text, lead=f"<b>{html.escape(question.id)}</b> · "))
        reason, picture, buttons = Spoken(), w.Output(), {}
        for letter in LETTERS[: len(question.options)]:
            buttons[letter] = button = w.Button(
                description=self._words(letter),
                tooltip=f"Answer {question.id} with {letter}",
                layout=w.Layout(width="100%", height="auto"),
            )
            button.add_class("quiz-option")
            button.on_click(
                lambda _, letter=letter: self._clicked(letter, buttons, reason, picture)
            )
        view = w.VBox([head, *(w.HBox([button]) for button in buttons.values()), reason, picture])
        view.add_class("quiz-question")
        return view

    def _clicked(self, letter: str, buttons: dict[str, Any], reason: Any, picture: Any) -> None:
        verdict = judge(self.question, letter)
        shown: Verdict | Note = verdict
        if isinstance(self.question, Prediction):
            shown = (told if self.after else noted)(self.question, letter)
        record(verdict, letter)
        self._mark(letter, buttons, shown)
        call = self.call.partition("; ")[0].replace('"..."', f'"{letter}"')
        keep = as_html(f"To keep this answer in the notebook, type it in the cell: `{call}`")
        reason.value = shown._repr_html_() + keep
        if self.after is not None:
            picture.clear_output(wait=True)
            with picture:
                self.after(verdict)
                if "matplotlib.pyplot" in sys.modules:
                    # Figures that a click draws are not shown by themselves.
                    sys.modules["matplotlib.pyplot"].show()

    def _words(self, letter: str) -> str:
        """What an option's button says."""
        return f"{letter}) {as_words(self.question.option(letter).text)}"

    def _mark(self, chosen: str, buttons: dict[str, Any], shown: Verdict | Note) -> None:
        """Show on the buttons which one was chosen, with the sign of what was said to it."""
        icon, _ = LOOKS[shown.look if isinstance(shown, Note) else shown.status]
        for letter, button in buttons.items():
            words = self._words(letter)
            if letter == chosen:
                button.description = f"{icon} {words}"
                button.add_class("quiz-chosen")
            else:
                button.description = words
                button.remove_class("quiz-chosen")


def noted(prediction: Prediction, letter: str) -> Note:
    """A guess is noted; whether it is right is for the experiment to say."""
    text = f"You said {letter}) {prediction.option(letter).text}\n\nThe next cell shows it."
    return Note(f"{prediction.id}: noted", text)


def heard(prediction: Prediction, letter: str) -> Note:
    """The same for a guess that was typed, which has no question above it."""
    note = noted(prediction, letter)
    return Note(note.heading, f"{prediction.plain()}\n\n{note.text}")


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
