"""The progress page in a notebook, and the one-page report that a student can hand in."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from pathlib import Path

from utils.quiz import registry, store
from utils.quiz.verdict import LOOKS


def _rows() -> list[tuple[str, str, str, dict]]:
    """(id, title, best status, record) of everything that exists, in order."""
    done = store.read()
    rows = []
    for key, item in registry.everything().items():
        entry = done.get(key, {})
        rows.append((key, item.title, entry.get("best", "open"), entry))
    return rows


def _finished(rows: list) -> int:
    return sum(status in ("passed", "right") for _, _, status, _ in rows)


class Page:
    """What is passed and what is open, notebook by notebook."""

    def __init__(self) -> None:
        self.rows = _rows()

    def __repr__(self) -> str:
        lines = [f"{_finished(self.rows)} of {len(self.rows)} done"]
        for key, title, status, entry in self.rows:
            icon = LOOKS.get(status, LOOKS["open"])[0]
            tries = entry.get("attempts", 0)
            count = f", {tries} {'try' if tries == 1 else 'tries'}" if tries else ""
            lines.append(f"{icon} {key:7}{status}{count}  {title}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # In a narrow window the table scrolls, and keys can scroll only what has the focus.
        return (
            f"<p><b>{_finished(self.rows)} of {len(self.rows)} done</b></p>"
            f'<div tabindex="0" style="overflow:auto">{_table(self.rows)}</div>'
            f"<p><small>Kept in {html.escape(str(store.path()))}</small></p>"
        )


COLUMNS = ("id", "title", "best result", "tries", "last mistake", "last answer", "last time (UTC)")


def _table(rows: list) -> str:
    head = "".join(_cell("th", name) for name in COLUMNS)
    body = ""
    for key, title, status, entry in rows:
        result = f"{LOOKS.get(status, LOOKS['open'])[0]} {status}"
        last = (entry.get(name) or "" for name in ("attempts", "mistake", "answer", "time"))
        body += f"<tr>{''.join(_cell('td', str(v)) for v in (key, title, result, *last))}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, text: str) -> str:
    """A cell of the table. JupyterLab would move it to the right, and break an id at its dash."""
    style = "text-align:left" + ("" if " " in text else ";white-space:nowrap")
    return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'


def write_report(file: str | Path, name: str = "") -> Path:
    """Write the report as one self-contained HTML page and return its path."""
    rows = _rows()
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    who = f"<p>Name: {html.escape(name)}</p>" if name else ""
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        "<title>Attention course: report</title>"
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em "
        "auto;padding:0 1em}table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;"
        "border-bottom:1px solid #ccc;text-align:left;vertical-align:top}</style>"
        f"<main><h1>Attention course: report</h1>{who}"
        f"<p>{_finished(rows)} of {len(rows)} done, {now}</p>{_table(rows)}</main></html>\n"
    )
    target = Path(file).expanduser()
    target.write_text(page, encoding="utf-8")
    return target
