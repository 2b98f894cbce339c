"""The table of notebooks, read off their title cells: what each is about and how long it takes."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from utils.setup import ROOT, on_colab

FOLDER = ROOT / "notebooks"
NAME = re.compile(r"(\d\d[a-z]?|A\d)_[a-z0-9_]+\.ipynb")  # not a student's 03_name-Copy1.ipynb
TITLE = re.compile(r"# (\w+) · (.+)")
MINUTES = re.compile(r"\*\*Time\*\* (\d+) minutes")


@dataclass(frozen=True)
class Notebook:
    """One row of the table."""

    name: str  # of its file
    number: str  # 03, 03b, A1
    title: str
    minutes: str


def notebooks(folder: Path = FOLDER) -> list[Notebook]:
    """The notebooks of ``folder`` in the course's order, which is that of their names."""
    found = []
    for path in sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name)):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        first = "".join(cells[0]["source"])
        title, minutes = TITLE.match(first), MINUTES.search(first)
        if title and minutes:  # a title cell that somebody is just rewriting does no harm here
            found.append(Notebook(path.name, *title.groups(), minutes[1]))
    return found


class Contents:
    """The table, as a notebook shows it: with links, or as plain text."""

    def __repr__(self) -> str:
        rows = [("", "notebook", "minutes")]
        rows += [(n.number, n.title, n.minutes) for n in notebooks()]
        width = max(len(title) for _, title, _ in rows)
        return "\n".join(f"{a:3}  {b:{width}}  {c:>7}".rstrip() for a, b, c in rows)

    def _repr_markdown_(self) -> str:
        lines = ["| | notebook | minutes |", "|---|---|---:|"]
        for n in notebooks():
            lines.append(f"| {n.number} | [{n.title}]({_link(n.name)}) | {n.minutes} |")
        return "\n".join(lines)


def _link(name: str) -> str:
    """A notebook lies beside this one, except in Colab, which opens one file at a time."""
    if not on_colab():
        return name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Repository"].removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}"
