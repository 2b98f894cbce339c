"""The table of notebooks: the one place that says what each is about and how long it takes."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from utils.setup import ROOT, on_colab

FOLDER = ROOT / "notebooks"


@dataclass(frozen=True)
class Notebook:
    """One row of the table.  A notebook is ready when its file is there."""

    number: str
    title: str
    minutes: int

    @property
    def path(self) -> Path | None:
        return next(FOLDER.glob(f"{self.number}_*.ipynb"), None)


NOTEBOOKS = (
    Notebook("00", "Start here", 10),
    Notebook("01", "What recurrent networks find hard", 60),
    Notebook("02", "Sequence to sequence, and the first attention", 75),
    Notebook("03", "Queries, keys and values: self-attention from scratch", 75),
    Notebook("04", "Many heads", 60),
    Notebook("05", "Where am I? Positional encoding", 60),
    Notebook("06", "Who may look at whom: masks", 70),
    Notebook("07", "The whole Transformer", 90),
    Notebook("08", "Images as words: the Vision Transformer", 75),
    Notebook("09", "Describing pictures", 75),
)


class Contents:
    """The table, as a notebook shows it: with links, or as plain text."""

    def __repr__(self) -> str:
        rows = [("", "notebook", "minutes", "")]
        rows += [(n.number, n.title, str(n.minutes), _status(n)) for n in NOTEBOOKS]
        width = max(len(title) for _, title, _, _ in rows)
        lines = (f"{a:2}  {b:{width}}  {c:>7}  {d}".rstrip() for a, b, c, d in rows)
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        lines = ["| | notebook | minutes | |", "|---|---|---:|---|"]
        for n in NOTEBOOKS:
            title = f"[{n.title}]({_link(n.path.name)})" if n.path else n.title
            lines.append(f"| {n.number} | {title} | {n.minutes} | {_status(n)} |")
        return "\n".join(lines)


def _status(notebook: Notebook) -> str:
    return "ready" if notebook.path else "coming"


def _link(name: str) -> str:
    """A notebook lies beside this one, except in Colab, which opens one file at a time."""
    if not on_colab():
        return name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Repository"].removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}"
