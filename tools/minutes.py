"""How long a notebook takes, by one formula; `make stamp` writes it into the title cell.

A reader works through the core: cells that are not folded, up to a heading with "Further".  It is
read at 130 words and 15 lines of code a minute; an exercise takes 6 minutes, a question 1½, and
the wait is what the title cell says of *Run All*.  The sum is rounded to 5 minutes.

A lecturer shows the cells tagged `lecture`: 100 words and 8 lines a minute, 1 minute for each
figure, 2 for each question put to the class.  The path was run before the class came in.
"""

import re

from nbformat import NotebookNode

TIME = re.compile(r"\*\*Time\*\* (\d+) minutes")
RUN_ALL = re.compile(r"\*Run All\* takes (?:about|under) (\d+) (second|minute)s?\b")
ASKS = re.compile(r'\b(?:check|question|predict)\(\s*"([XQGP]\d\d-\d+)"')
FURTHER = re.compile(r"^#+ .*Further", re.MULTILINE)


def tagged(cell: NotebookNode, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def code_cells(notebook: NotebookNode) -> list[tuple[int, NotebookNode]]:
    """The code cells with their place in the notebook, counted from 1; the set-up cell first."""
    return [(i, c) for i, c in enumerate(notebook.cells, start=1) if c.cell_type == "code"]


def core(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that one sitting holds: not folded, and before the part *Further*."""
    text = ((i, c.source) for i, c in enumerate(notebook.cells) if c.cell_type == "markdown")
    cells = notebook.cells[: next((i for i, source in text if FURTHER.search(source)), None)]
    return [c for c in cells if not c.metadata.get("jupyter", {}).get("source_hidden")]


def asked(cell: NotebookNode) -> list[str]:
    """The exercises (X), questions (Q, G) and predictions (P) that a cell poses."""
    return ASKS.findall(cell.source) if cell.cell_type == "code" else []


def code_lines(cell: NotebookNode) -> int:
    """Lines with code on them: neither empty nor only a comment."""
    return sum(bool(line.split("#")[0].strip()) for line in cell.source.splitlines())


def counts(cells: list[NotebookNode]) -> tuple[int, int, int, int]:
    """Words, lines of code, exercises and questions."""
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    lines = sum(code_lines(cell) for cell in cells if cell.cell_type == "code")
    kinds = [key[0] for key in {key for cell in cells for key in asked(cell)}]
    return words, lines, kinds.count("X"), len(kinds) - kinds.count("X")


def run_seconds(notebook: NotebookNode) -> int | None:
    """What the title cell says of *Run All*."""
    match = RUN_ALL.search(notebook.cells[0].source)
    return match and int(match[1]) * {"second": 1, "minute": 60}[match[2]]


def reading(notebook: NotebookNode) -> int:
    """Minutes for a reader alone."""
    words, lines, exercises, questions = counts(core(notebook))
    total = words / 130 + lines / 15 + 6 * exercises + 1.5 * questions
    return max(5, 5 * round((total + (run_seconds(notebook) or 0) / 60) / 5))


def speaking(notebook: NotebookNode) -> int:
    """Minutes for a lecturer; 0 where no cell is tagged `lecture`."""
    cells = [cell for cell in notebook.cells if tagged(cell, "lecture")]
    words, lines, _, questions = counts(cells)
    figures = sum("image/png" in o.get("data", {}) for c in cells for o in c.get("outputs", []))
    return round(words / 100 + lines / 8 + figures + 2 * questions)


def complaints(notebook: NotebookNode, name: str) -> list[str]:
    stated, minutes = TIME.search(notebook.cells[0].source), reading(notebook)
    if stated is None or run_seconds(notebook) is None:
        return ["cell 1 lacks `**Time** 60 minutes. *Run All* takes about 40 seconds`"]
    if int(stated[1]) != minutes:
        return [f"cell 1 says {stated[1]} minutes, the formula {minutes}: run `make stamp`"]
    if any(tagged(c, "lecture") for c in notebook.cells) and not 40 <= speaking(notebook) <= 45:
        return [f"the cells tagged `lecture` take {speaking(notebook)} minutes, not 40 to 45"]
    return []
