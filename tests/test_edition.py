"""Minutes, lecture path and the second edition's rules, on a small notebook: no real one is yet
rewritten.  Each rule can be broken, and is then reported."""

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import edition, lecture, minutes
from tools.project import ROOT, notebook_paths, number

STORED = {number(path.name): nbformat.read(path, as_version=4) for path in notebook_paths()}
TITLE = "# 03 · Title\n\nHow can a word ask? **Time** 5 minutes. *Run All* takes under 10 seconds."
BLANK = 'def attention(q, k, v):\n    ...\n\n\ncheck("X03-1", attention)'
OURS = """\
def our_attention(q, k, v):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return weights @ v, weights"""
BLIND = "print('x', f'y' if a else 'n')\n"


def code(source, *tags, hidden=False):
    return new_code_cell(source, metadata={"tags": tags, "jupyter": {"source_hidden": hidden}})


def rewritten():
    """A small notebook that keeps every rule of the second edition."""
    cells = [
        new_markdown_cell(TITLE),
        code("from utils.quiz import said", "setup", hidden=True),
        code("import math", "lecture"),
        code(BLANK, "X03-1"),
        code(OURS, "our-version", "X03-1", hidden=True),
        new_markdown_cell("> **Slide check (Lin, *Add & Norm*; Lecture 7, *Q* and *K*).** No."),
        code("half = math.sqrt(0.25)", "lecture", "E-01"),
        code('predict("P03-1")'),
        code('print(f"half of it: {half}")\nsaid("P03-1")', "lecture"),
    ]
    return new_notebook(cells=nbformat.from_dict(cells))


def edit(place, **changes):
    """Change cell ``place``, counted from 1 as in the sentences."""
    return lambda notebook: notebook.cells[place - 1].update(changes)


def add(*cells):
    return lambda notebook: notebook.cells.extend(cells)


def no_lecture(notebook):
    notebook.cells = [c for c in notebook.cells if not minutes.tagged(c, "lecture")]


ALWAYS = {  # rules for every notebook that has such a cell
    "the import cell has 11 lines, more than 10": edit(3, source="import math\n" * 11),
    "cell 5 shows our version": edit(5, metadata={"tags": ["our-version", "X03-1"]}),
    "cell 5 is our version of None": edit(5, metadata={"tags": ["our-version"]}),
    "cell 4 is our version of X03-1, not checked above": lambda n: n.cells.insert(
        4, n.cells.pop(3)
    ),
}
REWRITTEN = {
    "exercise X03-1 has no cell tagged": lambda n: n.cells.pop(4),
    "cell 1 asks no question": edit(1, source="# 05 · Where am I?\n\nNobody asks."),
    "no cell is tagged `lecture`": no_lecture,
    "the core has 86 cells, more than 85": add(*[code("1")] * 79),
    "words, more than 2000": add(new_markdown_cell("word " * 2000)),
    "the core has 5 slide checks": add(new_markdown_cell("**Slide check\n" * 4)),
    "2 of 12 prints of the core show no value": add(code(BLIND * 2 + "print(1, x)\n" * 9)),
    "slide check without deck": edit(6, source="> **Slide check.** Somebody says so."),
    "deck and section: '> **Slide check (Ng": edit(6, source="> **Slide check (Ng, *Heads*).**"),
    "neither it nor the next cell a tag E-": edit(7, metadata={"tags": ["lecture"]}),
    'cell 8 must hold nothing but predict("P03-1")': edit(8, source='predict("P03-1", draw)'),
    'behind cell 8 does not call said("P03-1")': lambda n: n.cells.insert(8, code("x = 1")),
}


@pytest.mark.parametrize("sentence", ["", *ALWAYS, *REWRITTEN])
def test_a_broken_rule_is_reported(sentence, monkeypatch):
    notebook = rewritten()
    (ALWAYS | REWRITTEN | {"": lambda n: None})[sentence](notebook)
    before = "\n".join(edition.complaints(notebook, "00_test.ipynb"))
    assert sentence in before if sentence in ALWAYS else not before  # not rewritten, not held to it
    if "slide check without" in sentence:
        assert sentence in "\n".join(edition.complaints(notebook, "A1_errata.ipynb"))
    monkeypatch.setattr(edition, "SECOND_EDITION", ("03",))
    after = "\n".join(edition.complaints(notebook, "03_test.ipynb"))
    assert sentence in after and bool(sentence) == bool(after)


def test_rewritten_notebooks_are_there():
    assert set(edition.SECOND_EDITION) <= set(STORED)


@pytest.mark.parametrize("name", STORED)
def test_an_eleventh_line_of_imports_is_reported(name):
    notebook = copy.deepcopy(STORED[name])
    cell = next(c for _, c in minutes.code_cells(notebook)[1:] if "import " in c.source)
    cell.source += "\nimport math" * (10 - minutes.code_lines(cell))
    assert "the import cell" not in "\n".join(edition.complaints(notebook, f"{name}_test.ipynb"))
    cell.source += "\nimport math"
    found = "\n".join(edition.complaints(notebook, f"{name}_test.ipynb"))
    assert "the import cell has 11 lines, more than 10" in found


@pytest.mark.parametrize("name", STORED)
def test_our_versions_pass_their_checks(name):
    assert list(edition.failing_versions(STORED[name])) == []


VERSIONS = {
    OURS: "",
    OURS.replace(" / math.sqrt(q.shape[-1])", ""): "cell 5 does not pass X03-1: ✘ X03-1",
    OURS.replace("our_attention", "attention"): "must define our_attention last, not attention",
    OURS.replace("math", "numbers"): "cell 5 does not pass X03-1: ✘ X03-1: mistake named",
    OURS.replace("-2, -1", "1, 2"): "cell 5 does not pass X03-1: ✔ X03-1: passed\n",  # 3-D only
    "our_attention = attention": "must define our_attention last, not None",
    "": "",  # none in this cell: below, the student's name means the library's
}


@pytest.mark.parametrize("source", VERSIONS)
def test_our_version_is_checked(source):
    notebook = rewritten()
    edit(5, source=source, **({} if source else {"metadata": {}}))(notebook)
    later = "def our_module(q, k, v):\n    return attention(q, k, v)"  # may use the one above
    notebook.cells += [code("def f(x=never): ..."), code(later, "our-version", "X03-1")]
    found = "\n".join(edition.failing_versions(notebook))
    assert VERSIONS[source] in found and bool(VERSIONS[source]) == bool(found)


def test_minutes_count_the_core_only():
    cells = [new_markdown_cell(TITLE), new_markdown_cell("word " * 1300), code("x = 1\n" * 150)]
    cells += [code('check("X03-1", f)\nquestion("Q03-1")\npredict("P03-1")')]
    notebook = new_notebook(cells=cells)
    assert minutes.reading(notebook) == 30  # 10 words, 10 lines, 6 exercise, 3 questions, title
    edit(1, source=TITLE.replace("under 10 seconds", "about 9 minutes"))(notebook)
    assert minutes.reading(notebook) == 40
    notebook.cells += [code("y = 2\n" * 150, hidden=True), new_markdown_cell("## Further reading")]
    notebook.cells += [new_markdown_cell("word " * 1300)]
    assert minutes.reading(notebook) == 40


def test_a_lecture_takes_forty_to_forty_five_minutes():
    notebook = rewritten()
    edit(1, source=TITLE.replace("5", "10"))(notebook)  # an exercise and a question
    (found,) = minutes.complaints(notebook, "03_test.ipynb")
    assert "tagged `lecture` take 0 minutes, not 40 to 45" in found
    notebook.cells += [code("x = 1\n" * 312 + 'question("Q03-1")', "lecture", hidden=True)]
    assert minutes.speaking(notebook) == 42  # 39 for the lines, 2 for the question, and the rest
    assert minutes.complaints(notebook, "03_test.ipynb") == []


def test_the_lecture_path_runs_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook, source, folder = rewritten(), tmp_path / "03_test.ipynb", tmp_path / "lecture"
    nbformat.write(notebook, source)
    assert "4 cells" in lecture.write(source, folder)
    stored = nbformat.read(folder / source.name, as_version=4).cells
    assert stored[-1].outputs[0].text.startswith("half of it: 0.5\nP03-1: you have not said")
    assert [cell.execution_count for cell in stored] == [1, 2, 3, 4]

    (folder / source.name).unlink()
    notebook.cells[6].metadata.tags = []
    nbformat.write(notebook, source)
    with pytest.raises(
        ValueError, match="stops at cell 9: NameError: name 'half'.*cell 7 makes it"
    ):
        lecture.write(source, folder)
    no_lecture(notebook)
    nbformat.write(notebook, source)
    with pytest.raises(ValueError, match="no cell tagged `lecture`"):
        lecture.write(source, folder)
    assert list(folder.iterdir()) == []
