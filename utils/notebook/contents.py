"""The table of notebooks, read off their title cells: what each is about and how long it takes."""

import json
import re
import tomllib
from pathlib import Path

from utils.setup import ROOT, on_colab

FOLDER = ROOT / "notebooks"
NAME = re.compile(r"(\d\d[a-z]?|A\d)_[a-z0-9_]+\.ipynb")  # not a student's 03_name-Copy1.ipynb
TITLE = re.compile(r"# (\w+) · (.+?)\n.*\*\*Time\*\* (\d+) minutes", re.DOTALL)


def notebooks(folder: Path = FOLDER) -> list[tuple[str, str, str, str]]:
    """Number, title, minutes and file name of each notebook, in the order of their names."""
    rows = []
    for path in sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name)):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if match := TITLE.match("".join(cells[0]["source"])):  # else somebody is rewriting it
            rows.append((*match.groups(), path.name))
    return rows


class Contents:
    """The table, as a notebook shows it: with links, or as plain text."""

    def __repr__(self) -> str:
        rows = [("", "notebook", "minutes", ""), *notebooks()]
        width = max(len(title) for _, title, _, _ in rows)
        return "\n".join(f"{a:3}  {b:{width}}  {c:>7}" for a, b, c, _ in rows)

    def _repr_markdown_(self) -> str:
        lines = ["| | notebook | minutes |", "|---|---|---:|"]
        lines += [f"| {a} | [{b}]({_link(name)}) | {c} |" for a, b, c, name in notebooks()]
        return "\n".join(lines)


def _link(name: str) -> str:
    """A notebook lies beside this one, except in Colab, which opens one file at a time."""
    if not on_colab():
        return name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Repository"].removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}"
