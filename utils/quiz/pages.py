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
        return (
            f"<p><b>{_finished(self.rows)} of {len(self.rows)} done</b></p>"
            f"{_table(self.rows)}<p><small>Kept in {html.escape(str(store.path()))}</small></p>"
        )


def _table(rows: list) -> str:
    cells = []
    for key, title, status, entry in rows:
        icon, colour = LOOKS.get(status, LOOKS["open"])
        values = [entry.get("attempts", ""), entry.get("mistake") or "", entry.get("answer") or ""]
        cells.append(
            f"<tr><td>{html.escape(key)}</td><td>{html.escape(title)}</td>"
            f'<td><span style="color:{colour}">{icon}</span> {html.escape(status)}</td>'
            + "".join(f"<td>{html.escape(str(v))}</td>" for v in values)
            + f"<td>{html.escape(str(entry.get('time', '')))}</td></tr>"
        )
    head = "".join(
        f'<th style="text-align:left">{h}</th>'
        for h in (
            "",
            "title",
            "best result",
            "tries",
            "last mistake",
            "last answer",
            "last time (UTC)",
        )
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table>"


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
        f"<h1>Attention course: report</h1>{who}<p>{_finished(rows)} of {len(rows)} done, {now}</p>"
        f"{_table(rows)}</html>\n"
    )
    target = Path(file).expanduser()
    target.write_text(page, encoding="utf-8")
    return target
