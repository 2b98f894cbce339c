"""How long a notebook takes, by one formula; `make stamp` writes it into the title cell.

A reader works through the core: cells that are not folded, up to a heading with "Further".  It is
read at 130 words and 15 lines of code a minute; an exercise takes 6 minutes, a question 1½, and
the wait is what the title cell says of *Run All*.  The sum is rounded to 5 minutes.

A lecturer shows the cells tagged `lecture`: 100 words and 8 lines a minute, 1 minute for each
figure, 2 for each question put to the class.  The path was run before the class came in.
"""

import re

from nbformat import NotebookNode

from tools.project import number

TIME = re.compile(r"\*\*Time\*\* (\d+) minutes")
RUN_ALL = re.compile(r"\*Run All\* takes (?:about|under) (\d+) (second|minute)s?\b")
ASKS = re.compile(r'\b(?:check|question|predict)\(\s*"([XQGP]\d\d-\d+)"')
LECTURE = range(40, 46)


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def hidden(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def core(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that one sitting holds: not folded, and before the part *Further*."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and re.search(r"^#+ .*Further", cell.source, re.MULTILINE):
            break
        if not hidden(cell):
            cells.append(cell)
    return cells


def words(cells: list[NotebookNode]) -> int:
    return sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")


def code_lines(cells: list[NotebookNode]) -> int:
    """Lines with code on them: neither empty nor only a comment."""
    lines = [line for c in cells if c.cell_type == "code" for line in c.source.splitlines()]
    return sum(bool(line.split("#")[0].strip()) for line in lines)


def asked(cells: list[NotebookNode]) -> set[str]:
    """The ids of the exercises (X), questions (Q, G) and predictions (P) in ``cells``."""
    return {key for c in cells if c.cell_type == "code" for key in ASKS.findall(c.source)}


def run_seconds(notebook: NotebookNode) -> int | None:
    """What the title cell says of *Run All*."""
    match = RUN_ALL.search(notebook.cells[0].source)
    return match and int(match[1]) * {"second": 1, "minute": 60}[match[2]]


def reading(notebook: NotebookNode) -> int:
    """Minutes for a reader alone, rounded to 5."""
    cells = core(notebook)
    exercises = sum(key[0] == "X" for key in asked(cells))
    questions = len(asked(cells)) - exercises
    total = words(cells) / 130 + code_lines(cells) / 15 + 6 * exercises + 1.5 * questions
    return max(5, 5 * round((total + (run_seconds(notebook) or 0) / 60) / 5))


def lecture_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if "lecture" in tags(cell)]


def speaking(notebook: NotebookNode) -> int:
    """Minutes for a lecturer who shows the cells tagged `lecture`."""
    cells = lecture_cells(notebook)
    pictures = sum("image/png" in o.get("data", {}) for c in cells for o in c.get("outputs", []))
    questions = sum(key[0] != "X" for key in asked(cells))
    return round(words(cells) / 100 + code_lines(cells) / 8 + pictures + 2 * questions)


def stamp_minutes(notebook: NotebookNode) -> None:
    """Write the minutes into the title cell, where it names some."""
    first = notebook.cells[0]
    first.source = TIME.sub(f"**Time** {reading(notebook)} minutes", first.source)


def complaints(notebook: NotebookNode, name: str) -> list[str]:
    found = []
    time = TIME.search(notebook.cells[0].source)
    if time is None or run_seconds(notebook) is None:
        wanted = "`**Time** 60 minutes. *Run All* takes about 40 seconds`"
        found.append(f"cell 1 does not say how long {number(name)} takes, as in {wanted}")
    elif int(time[1]) != (minutes := reading(notebook)):
        found.append(f"cell 1 says {time[1]} minutes, the formula {minutes}: run `make stamp`")
    if lecture_cells(notebook) and (minutes := speaking(notebook)) not in LECTURE:
        found.append(f"the cells tagged `lecture` take {minutes} minutes, not 40 to 45")
    return found
