"""What `check` and the questions say: a value first, a picture second.

A `Verdict` is an ordinary frozen value (status, mistake id, message), so tests, the progress page
and a grader can read it. Shown as the last expression of a cell it draws a quiet box; on GitHub,
and for nbval, the same words stand in its plain text.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The six outcomes of a check."""

    PASSED = "passed"
    BLANK = "not attempted"
    NAMED = "mistake named"
    UNNAMED = "mistake unnamed"
    RAISED = "raised"
    SLOW = "too slow"


# An icon *and* a word, so that nothing depends on seeing the colour. The colours are those of the
# bar at the side, mid-tones that stand out on white and on a dark theme (3 : 1). Text takes the
# page's own colour, for no mid-tone has 4.5 : 1 on both. The icons are signs that the fonts of
# every system have: a rarer one would be an empty box.
LOOKS = {
    "passed": ("✔", "#2e8b57"),
    "right": ("✔", "#2e8b57"),
    "not attempted": ("○", "#8a8a8a"),
    "open": ("○", "#8a8a8a"),
    "note": ("•", "#8a8a8a"),
    "hint": ("➤", "#4a7fb5"),
    "mistake named": ("✘", "#c0662b"),
    "mistake unnamed": ("?", "#c0662b"),
    "not yet": ("✘", "#c0662b"),
    "raised": ("!", "#b5485d"),
    "too slow": ("∞", "#b5485d"),
}


def box(look: str, heading: str, body: str, *, width: str = "50em") -> str:
    """An HTML box. ``heading`` and ``body`` are HTML already: escape what a student wrote.

    Its ``width`` ends where a line of prose gets too long to be read with ease.
    """
    return (
        f'<div style="border-left:4px solid {LOOKS[look][1]};padding:.4em .8em;margin:.3em 0;'
        f'line-height:1.45;max-width:{width}"><div>{heading}</div>{body}</div>'
    )


STARS = re.compile(r"\*(\w[^*]*)\*")


def as_words(text: str) -> str:
    """``text`` without the marks of code and emphasis, for a button, which shows no HTML."""
    return STARS.sub(r"\1", text.replace("`", ""))


def as_html(text: str, lead: str = "") -> str:
    """Escape ``text``; `backticks` become code, *stars* emphasis, blank lines paragraphs.

    ``lead`` is HTML already, and opens the first paragraph.
    """
    pieces = html.escape(text, quote=False).split("`")
    marked = "".join(
        f"<code>{p}</code>" if i % 2 else STARS.sub(r"<em>\1</em>", p) for i, p in enumerate(pieces)
    )
    return "".join(
        f'<p style="margin:.35em 0">{p}</p>' for p in (lead + marked).split("\n\n")
    ).replace("\n", "<br>")


@dataclass(frozen=True)
class Verdict:
    """The answer to an exercise or question: `status`, `mistake` (an id or None), `message`."""

    id: str
    status: str
    mistake: str | None = None
    message: str = ""
    look: str = ""  # which line to look at
    see: str = ""  # where the notebook explains it
    remarks: tuple[str, ...] = ()  # true things that do not change the status
    narrow: bool = False  # right, but for fewer inputs than the cells below will use
    title: str = ""
    asked: str = ""  # the question that this answers, shown above it

    @property
    def passed(self) -> bool:
        return self.status in ("passed", "right")

    def __bool__(self) -> bool:
        return self.passed

    def _lines(self) -> list[str]:
        lines = [self.message] if self.message else []
        if self.look:
            lines.append(f"Look at: {self.look}")
        if self.see:
            lines.append(f"Explained in: {self.see}")
        return lines + [f"Remark: {remark}" for remark in self.remarks]

    def __repr__(self) -> str:
        icon, _ = LOOKS[self.status]
        head = f"{icon} {self.id}: {self.status}"
        if self.mistake:
            head += f" ({self.mistake})"
        asked = [self.asked, ""] if self.asked else []
        return "\n".join([*asked, head, *self._lines()])

    def _repr_html_(self) -> str:
        heading = f"<b>{LOOKS[self.status][0]} {self.status}</b> · "
        heading += f"<b>{html.escape(self.id)}</b> {html.escape(self.title)}"
        if self.mistake:
            heading += f" <small>(mistake: <code>{html.escape(self.mistake)}</code>)</small>"
        asked = as_html(self.asked) if self.asked else ""
        body = "".join(as_html(line) for line in self._lines())
        return asked + box(str(self.status), heading, body)


@dataclass(frozen=True)
class Note:
    """A rich text with a heading that is no verdict: a hint, a solution, a kind sentence."""

    heading: str
    text: str
    look: str = "note"
    code: str = ""

    def __repr__(self) -> str:
        return "\n".join(part for part in (self.heading, self.text, self.code) if part)

    def _repr_html_(self) -> str:
        heading = f"<b>{LOOKS[self.look][0]} {html.escape(self.heading)}</b>"
        text = as_html(self.text) if self.text else ""
        if not self.code:
            return box(self.look, heading, text)
        # Code is scrolled where it is too wide, by keys as well; a broken line could mislead.
        style = "margin:.4em 0;overflow:auto;white-space:pre"
        code = f'<pre tabindex="0" style="{style}">{html.escape(self.code)}</pre>'
        return box(self.look, heading, text + code, width="100%")
