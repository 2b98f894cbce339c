"""The second edition's rules, our versions and the lecture path: each can be broken, and is told.

No notebook has been rewritten yet, so the rules are proved on small ones.
"""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import edition, lecture, minutes, our_version
from tools.project import notebook_paths, number
from tools.stamp import setup_cell

STORED = {path.name: nbformat.read(path, as_version=4) for path in notebook_paths()}
BLANK = 'def attention(q, k, v):\n    ...\n\n\ncheck("X03-1", attention)'
OURS = """\
def our_attention(q, k, v):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return weights @ v, weights"""
BLIND = "print('x', f'y' if a else 'n')\n"
TITLE = "# 03 · Title\n\nHow can a word ask? **Time** 5 minutes. *Run All* takes under 10 seconds."


def code(source, *tags, hidden=False):
    metadata = {"tags": list(tags)} | ({"jupyter": {"source_hidden": True}} if hidden else {})
    return new_code_cell(source, metadata=metadata)


def rewritten():
    """A small notebook that keeps every rule of the second edition but the lecture's minutes."""
    cells = [
        new_markdown_cell(TITLE, metadata={"tags": ["lecture"]}),
        code(setup_cell(), "setup", hidden=True),
        code("import math", "lecture"),
        code(BLANK, "X03-1"),
        code(OURS, "our-version", "X03-1", hidden=True),
        new_markdown_cell("> **Slide check (Lin, *Add & Norm*; Kim, *Heads*).** It says so."),
        code("half = math.sqrt(0.25)", "lecture", "E-01"),
        code('predict("P03-1")'),
        code('print(f"half of it: {half}")\nsaid("P03-1")', "lecture"),
    ]
    return new_notebook(cells=cells)


def complaints(notebook, monkeypatch, name="03_test.ipynb"):
    monkeypatch.setattr(edition, "SECOND_EDITION", ("03",))
    return list(edition.complaints(notebook, name))


def edit(place, **changes):
    """Change cell ``place``, counted from 1 as in the sentences."""
    return lambda notebook: notebook.cells[place - 1].update(changes)


def add(*cells):
    return lambda notebook: notebook.cells.extend(cells)


def no_lecture(notebook):
    for cell in minutes.lecture_cells(notebook):
        cell.metadata.tags.remove("lecture")


ALWAYS = {  # rules for every notebook that has such a cell
    "the import cell has 11 lines, more than 10": edit(3, source="import math\n" * 11),
    "cell 5 shows our version": edit(5, metadata={"tags": ["our-version", "X03-1"]}),
    "cell 5 is tagged `our-version` with 0 ids": edit(5, metadata={"tags": ["our-version"]}),
    "cell 5 is tagged `our-version` and defines neither": edit(5, source="x = 1"),
    "cell 4 stands before the cell that checks X03-1": lambda n: n.cells.insert(4, n.cells.pop(3)),
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
    'behind cell 8 does not call said("P03-1")': edit(9, source="print(half)"),
}


def test_a_rewritten_notebook_gives_no_complaint(monkeypatch):
    assert complaints(rewritten(), monkeypatch) == []


@pytest.mark.parametrize("sentence", ALWAYS | REWRITTEN)
def test_a_broken_rule_is_reported(sentence, monkeypatch):
    notebook = rewritten()
    (ALWAYS | REWRITTEN)[sentence](notebook)
    if sentence in REWRITTEN:  # one that waits to be rewritten is not held to it
        assert list(edition.complaints(notebook, "04_test.ipynb")) == []
    else:
        assert sentence in "\n".join(edition.complaints(notebook, "00_test.ipynb"))
    assert sentence in "\n".join(complaints(notebook, monkeypatch))


def test_the_errata_name_deck_and_section_always():
    notebook = rewritten()
    edit(6, source="> **Slide check.** Somebody says so.")(notebook)
    (found,) = edition.complaints(notebook, "A1_errata.ipynb")
    assert "without deck and section" in found


def test_limits_of_import_cells_only_fall():
    """A limit is the number of lines today; a notebook that needs none has none."""
    lines = {number(name): edition.import_lines(notebook) for name, notebook in STORED.items()}
    long = {key: count for key, count in lines.items() if count > edition.MOST_IMPORT_LINES}
    assert long == edition.IMPORT_LINES, "lower the limit in tools/edition.py, or shorten the cell"
    assert not set(edition.SECOND_EDITION) & set(edition.IMPORT_LINES)
    assert set(edition.SECOND_EDITION) <= set(lines)


@pytest.mark.parametrize("name", STORED)
def test_our_versions_pass_their_checks(name):
    assert list(our_version.failures(STORED[name])) == []


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (OURS, None),
        (OURS.replace(" / math.sqrt(q.shape[-1])", ""), "cell 5 does not pass X03-1: ✘ X03-1"),
        (OURS.replace("our_attention", "attention"), "over the student's: call it our_attention"),
        (OURS.replace("math", "numbers"), "cell 5 does not pass X03-1: ! X03-1: raised"),
    ],
)
def test_our_version_is_checked(source, sentence):
    notebook = rewritten()
    edit(5, source=source)(notebook)
    found = "\n".join(our_version.failures(notebook))
    assert sentence in found if sentence else not found


def test_our_version_may_use_what_an_earlier_exercise_built():
    notebook = rewritten()
    later = "def our_module(q, k, v):\n    return attention(q, k, v)"
    notebook.cells += [code("def broken(x=never): ..."), code(later, "our-version", "X03-1")]
    assert list(our_version.failures(notebook)) == []


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
    minutes.stamp_minutes(notebook)
    assert minutes.complaints(notebook, "03_test.ipynb") == []


def test_a_lecture_takes_forty_to_forty_five_minutes():
    notebook = rewritten()
    minutes.stamp_minutes(notebook)
    (found,) = minutes.complaints(notebook, "03_test.ipynb")
    assert "tagged `lecture` take 1 minutes, not 40 to 45" in found
    notebook.cells.append(code("x = 1\n" * 304 + 'question("Q03-1")', "lecture"))
    assert minutes.speaking(notebook) == 41  # 38 for the lines, 2 for the question, and the rest
    no_lecture(notebook)
    minutes.stamp_minutes(notebook)
    assert minutes.complaints(notebook, "03_test.ipynb") == []


@pytest.mark.parametrize("missing", [None, "half"])
def test_the_lecture_path_runs_by_itself(tmp_path, missing, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    notebook = rewritten()
    notebook.cells[1].source = "from utils.quiz import said"  # the course is not in this folder
    monkeypatch.setenv("PYTHONPATH", str(minutes.__file__.rsplit("/tools/", 1)[0]))
    if missing:
        notebook.cells[6].metadata.tags.remove("lecture")
    nbformat.write(notebook, tmp_path / "03_test.ipynb")
    if missing:
        with pytest.raises(ValueError, match="stops at cell 9: NameError: name 'half'.*; cell 7 m"):
            lecture.write(tmp_path / "03_test.ipynb", tmp_path / "lecture")
        assert list((tmp_path / "lecture").iterdir()) == []
        return
    assert "5 cells" in lecture.write(tmp_path / "03_test.ipynb", tmp_path / "lecture")
    stored = nbformat.read(tmp_path / "lecture" / "03_test.ipynb", as_version=4)
    assert stored.cells[-1].outputs[0].text.startswith("half of it: 0.5\nP03-1: you have not said")
    assert [cell.execution_count for cell in stored.cells[1:]] == [1, 2, 3, 4]


def test_a_notebook_without_a_path_says_so(tmp_path):
    nbformat.write(new_notebook(cells=[code("1")]), tmp_path / "00_x.ipynb")
    with pytest.raises(ValueError, match="no cell tagged `lecture`"):
        lecture.write(tmp_path / "00_x.ipynb", tmp_path)
