"""The rules that every stored notebook keeps, each as a check that names the cell that breaks it.

``complaints`` returns sentences; no sentence, no fault.  `make notebooks` prints them after a run,
and tests/test_notebooks.py proves that each rule can be broken and is then reported.  The minutes
have their rule in minutes.py, the second edition its own in edition.py.
"""

import ast
import re
from collections.abc import Iterator

from nbformat import NotebookNode
from nbval.plugin import get_sanitize_patterns

from tools import edition, minutes
from tools.coverage import ITEM, all_items
from tools.minutes import code_cells, code_lines
from tools.notebooks import CELL_METADATA, METADATA, WIDGET_VIEW
from tools.project import ROOT, number
from tools.stamp import badge, setup_cell

MOST_BYTES = 1_000_000
MOST_CODE_LINES = 25
MOST_WORDS = 140
# C claim, X exercise, Q question, G guess first, P puzzle: all of one notebook; E slide check.
ID = re.compile(r"[CXQGP](\d\d)-\d+|E-\d+")
NOT_PROSE = re.compile(r"```.*?```|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|<[^>]*>", re.DOTALL)
WORDS = {"setup", "nbval-ignore-output", "slide-check", "exercise", "question", "check", "extra"}
WORDS |= {"lecture", "our-version"}

FAULTS_IN_TEXT = {
    "a memory address": re.compile(r"\b0x[0-9a-f]{6,}"),
    "a bare object": re.compile(r"^<[\w.]+( object)?>$|<Figure size|<IPython\.", re.MULTILINE),
    "a path of one machine": re.compile(
        r"(?<![\w.])/(home|root|Users|tmp|work|content|opt|usr)/\w|[A-Z]:\\\w|site-packages"
    ),
}
TIMING = re.compile(
    r"\b\d+(\.\d+)? ?(ms|µs|us|ns|s|sec|secs|second|seconds|min|minutes|it/s)\b(?!-)"
)
# What stands behind ≈ is not compared, so there it may differ from run to run.
MEASURED = get_sanitize_patterns((ROOT / "tests" / "nbval.cfg").read_text("utf-8"))


def complaints(notebook: NotebookNode, name: str) -> list[str]:
    """What is wrong with ``notebook``, whose file is called ``name``."""
    rules = (_opening, _counts, _cells, _tags, _outputs, _figures, _ignored)
    rules += (minutes.complaints, edition.complaints)
    found = [sentence for rule in rules for sentence in rule(notebook, name)]
    if notebook.metadata != METADATA:
        found.append("the notebook's metadata is not the common one: run `make notebooks`")
    return found


def _texts(output: NotebookNode) -> list[str]:
    """Everything in an output that is text."""
    if output.output_type == "stream":
        return [output.text]
    data = output.get("data", {})
    return [value for kind, value in data.items() if kind.startswith("text/")]


def _compared(text: str) -> str:
    """What nbval compares of a text."""
    for pattern, replacement in MEASURED:
        text = re.sub(pattern, replacement, text)
    return text


def _opening(notebook: NotebookNode, name: str) -> Iterator[str]:
    first, second = notebook.cells[0], notebook.cells[1]
    if not first.source.startswith(f"# {number(name)} · "):
        yield f"cell 1 must begin with the title `# {number(name)} · ...`"
    if badge(name) not in first.source:
        yield "cell 1 lacks the Colab badge of this address: run `make stamp`"
    if second.source != setup_cell() or second.metadata.get("tags") != ["setup"]:
        yield "cell 2 is not the common set-up cell: run `make stamp`"
    for place, cell in code_cells(notebook):
        if place != 2 and "setup" in cell.metadata.get("tags", []):
            yield f"cell {place} is a second set-up cell"


def _counts(notebook: NotebookNode, name: str) -> Iterator[str]:
    """nbval compares nothing in a cell without a count, so a stripped notebook would pass."""
    for wanted, (place, cell) in enumerate(code_cells(notebook), start=1):
        if cell.execution_count != wanted:
            yield f"cell {place} has count {cell.execution_count}, not {wanted}: `make notebooks`"
            return


def _cells(notebook: NotebookNode, name: str) -> Iterator[str]:
    ids = [cell.id for cell in notebook.cells]
    if len(set(ids)) < len(ids):
        yield "two cells have the same id"
    for place, cell in enumerate(notebook.cells, start=1):
        if traces := set(cell.metadata) - CELL_METADATA:
            yield f"cell {place} carries the metadata {sorted(traces)}"
        if cell.cell_type == "markdown" and (words := _words(cell.source)) > MOST_WORDS:
            yield f"cell {place} has {words} words, more than {MOST_WORDS}"
    for place, cell in code_cells(notebook):
        if (lines := code_lines(cell)) > MOST_CODE_LINES:
            yield f"cell {place} has {lines} lines of code, more than {MOST_CODE_LINES}"
        try:
            ast.parse(cell.source)
        except SyntaxError:
            yield f"cell {place} is not plain Python: no magics, no shell commands"
        if "get_ipython" in cell.source:
            yield f"cell {place} calls a magic through get_ipython"


def _words(source: str) -> int:
    """Words of prose: formulas, code and links are read at another speed."""
    prose = NOT_PROSE.sub(" ", source)
    return len(re.findall(r"\w[\w'’-]*", prose))


def _tags(notebook: NotebookNode, name: str) -> Iterator[str]:
    known = all_items()
    for place, cell in enumerate(notebook.cells, start=1):
        for tag in cell.metadata.get("tags", []):
            match = ID.fullmatch(tag)
            if not match and tag not in WORDS:
                yield f"cell {place} has the unknown tag {tag!r}"
            elif match and match[1] not in (None, name[:2]):  # 03b has the ids of 03, A1 only E
                yield f"cell {place} has the tag {tag}, which belongs to another notebook"
            elif ITEM.fullmatch(tag) and tag not in known:
                yield f"cell {place} has the tag {tag}, which no lecture item has"


def _outputs(notebook: NotebookNode, name: str) -> Iterator[str]:
    for place, cell in enumerate(notebook.cells, start=1):
        texts = [cell.source]
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"cell {place} stores an error: {output.ename}"
            if output.get("name") == "stderr":
                yield f"cell {place} stores a warning: {output.text.strip()[:80]!r}"
            if WIDGET_VIEW in output.get("data", {}):
                yield f"cell {place} stores a view of a widget, which dies with its kernel"
            texts += _texts(output)
            if "nbval-ignore-output" not in cell.metadata.get("tags", []):
                for found in filter(None, map(TIMING.search, map(_compared, _texts(output)))):
                    yield f"cell {place} stores a timing: {found[0]!r}"
        for what, pattern in FAULTS_IN_TEXT.items():
            for found in filter(None, map(pattern.search, texts)):
                yield f"cell {place} stores {what}: {found[0]!r}"


def _figures(notebook: NotebookNode, name: str) -> Iterator[str]:
    for place, cell in code_cells(notebook):
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/svg+xml" in data or "image/jpeg" in data:
                yield f"cell {place} stores a picture that is not PNG"
            if "image/png" in data:
                alt = output.metadata.get("image/png", {}).get("alt", "")
                if not alt.strip():
                    yield f"cell {place} shows a picture without a text alternative"
                elif not "".join(data.get("text/plain", "")).strip():
                    yield f"cell {place} has a picture without plain text"


def _ignored(notebook: NotebookNode, name: str) -> Iterator[str]:
    """An output that is not compared must be followed by a cell that asserts what must hold."""
    cells = code_cells(notebook)
    for (place, cell), (_, following) in zip(cells, [*cells[1:], (0, None)]):
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            continue
        if following is None or not _asserts(following.source):
            yield f"cell {place} is not compared, and the next code cell asserts nothing"


def _asserts(source: str) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))
