"""Every stored notebook keeps the rules of tools/hygiene.py, and every rule can be broken."""

import copy
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tools import coverage, hygiene, minutes, project, stamp
from tools.notebooks import WIDGET_VIEW, normalise
from tools.project import ROOT, notebook_paths
from utils.notebook.contents import Contents, notebooks

PATHS = notebook_paths()
NAMES = [path.name for path in PATHS]
TIME = "**Time** 5 minutes. *Run All* takes under 10 seconds."
PICTURE = new_output(
    "display_data",
    {"image/png": "iVBORw0KGgo=", "text/plain": "a red square"},
    metadata={"image/png": {"alt": "a red square"}},
)


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_notebook_keeps_the_rules(path):
    assert hygiene.complaints(nbformat.read(path, as_version=4), path.name) == []
    assert path.stat().st_size < hygiene.MOST_BYTES


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_storing_again_would_change_nothing_but_outputs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    stamp.stamp_notebook(notebook, path.name)
    normalise(notebook)
    nbformat.write(notebook, tmp_path / path.name)
    assert (tmp_path / path.name).read_text("utf-8") == path.read_text("utf-8")


def good_notebook():
    """A small notebook that keeps every rule."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        new_markdown_cell(f"# 03 · A title\n\n{TIME}", id="title"),
        new_code_cell("1 + 1", id="sum", metadata={"tags": ["C03-01"]}, outputs=[printed("≈ 2 s")]),
        new_code_cell("figure()", id="figure", outputs=[copy.deepcopy(PICTURE)]),
        new_code_cell("train()", id="train", metadata={"tags": ["nbval-ignore-output"]}),
        new_code_cell("assert loss < 1", id="assert"),
    ]
    stamp.stamp_notebook(notebook, "03_test.ipynb")
    normalise(notebook)
    for count, cell in enumerate(notebook.cells[1:], start=1):
        cell.execution_count = count
    return notebook


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(**data):
    return new_output("display_data", {kind.replace("__", "/"): v for kind, v in data.items()})


def put(cell, **changes):
    def breaker(notebook):
        for name, value in changes.items():
            notebook.cells[cell][name] = value

    return breaker


def lose_the_alternative(notebook):
    notebook.cells[3].outputs[0].metadata = {}


def lose_the_badge(notebook):
    notebook.cells[0].source = notebook.cells[0].source.replace("/blob/main/", "/blob/old/")


BREAKERS = {
    "has count None": put(2, execution_count=None),
    "has count 7": put(2, execution_count=7),
    "stores an error": put(2, outputs=[new_output("error", ename="ValueError")]),
    "stores a warning": put(2, outputs=[printed("careful", "stderr")]),
    "a view of a widget": put(2, outputs=[new_output("display_data", {WIDGET_VIEW: {}})]),
    "a memory address": put(2, outputs=[printed("<Thing at 0x7f3c2a1b9d30>")]),
    "a bare object": put(2, outputs=[shown(text__plain="<Figure size 640x480 with 1 Axes>")]),
    "a path of one machine": put(2, outputs=[printed("saved to /home/ada/x.pt")]),
    "stores a timing": put(2, outputs=[printed("took 3.2 s")]),
    "not PNG": put(2, outputs=[new_output("display_data", {"image/svg+xml": "<svg/>"})]),
    "without a text alternative": lose_the_alternative,
    "not plain Python": put(2, source="%matplotlib inline"),
    "no shell commands": put(2, source="!ls"),
    "through get_ipython": put(2, source="get_ipython().run_line_magic('time', '')"),
    "more than 25": put(2, source="x = 1\n" * 26),
    "more than 140": put(0, source="# 03 · word" + " word" * 140),
    "lacks `**Time** 60 minutes": put(0, source="# 03 · A title\n\n**Time** 5 minutes."),
    "says 5 minutes, the formula 60": put(0, source=TIME.replace("10 seconds", "60 minutes")),
    "must begin with the title": put(0, source="# Attention"),
    "lacks the Colab badge": lose_the_badge,
    "not the common set-up cell": put(1, source="import sys"),
    "a second set-up cell": put(2, metadata={"tags": ["setup"]}),
    "the unknown tag": put(2, metadata={"tags": ["todo"]}),
    "belongs to another notebook": put(2, metadata={"tags": ["C04-01"]}),
    "no lecture item has": put(2, metadata={"tags": ["C03-99"]}),
    "carries the metadata": put(2, metadata={"execution": {"iopub.execute_input": "now"}}),
    "two cells have the same id": put(2, id="assert"),
    "asserts nothing": put(5, source="print('assert')"),
    "metadata is not the common one": lambda notebook: notebook.metadata.update(widgets={}),
}


def test_a_good_notebook_gives_no_complaint():
    assert hygiene.complaints(good_notebook(), "03_test.ipynb") == []


@pytest.mark.parametrize("sentence", BREAKERS)
def test_a_broken_rule_is_reported(sentence):
    notebook = good_notebook()
    BREAKERS[sentence](notebook)
    assert sentence in "\n".join(hygiene.complaints(notebook, "03_test.ipynb"))


@pytest.mark.parametrize("name", ["03b_test.ipynb", "A1_errata.ipynb"])
def test_a_name_may_carry_a_letter(name):
    """03b has the ids of 03; the errata have slide checks and nothing else."""
    notebook = good_notebook()
    notebook.cells[0].source = f"# {name.split('_')[0]} · A title\n\n{TIME}"
    notebook.cells[2].metadata["tags"] = ["E-01", "C03-01"]
    alien = "cell 3 has the tag C03-01, which belongs to another notebook"
    wanted = [alien] if name[0] == "A" else []
    assert hygiene.complaints(stamped(notebook, name), name) == wanted


def test_notebooks_stand_in_the_course_s_order(tmp_path, monkeypatch):
    names = ["00_a", "03_self", "03b_depth", "04_heads", "13_exam", "A1_errata"]
    (tmp_path / "notebooks").mkdir()
    for name in reversed(names):
        title = new_markdown_cell(f"# {name.split('_')[0]} · T\n\n**Time** 10 minutes.")
        file = tmp_path / "notebooks" / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[title]), file)
    monkeypatch.setattr(project, "ROOT", tmp_path)
    assert [path.stem for path in notebook_paths()] == names
    assert [path.stem for path in notebook_paths("03")] == ["03_self"]  # and not 03b
    shutil.copy(file, file.with_stem("00_a-Copy1"))  # a student's
    table = [row[0] for row in notebooks(tmp_path / "notebooks")]
    assert table == ["00", "03", "03b", "04", "13", "A1"]


def test_normalise_removes_what_differs_from_run_to_run():
    notebook = good_notebook()
    notebook.metadata["widgets"] = {"state": {}}
    notebook.metadata.language_info["version"] = "3.11.7"
    cell = notebook.cells[2]
    cell.metadata["execution"] = {"iopub.execute_input": "now"}
    bar = shown(text__plain="ViT:  17%|#6        | 149/900 [00:00<?, ?step/s]")
    view = shown(text__plain="x", **{WIDGET_VIEW: {}})
    cell.outputs = [printed("a\n"), printed("b\n"), bar, view]
    normalise(notebook)
    assert hygiene.complaints(notebook, "03_test.ipynb") == []
    assert [output.get("text") for output in cell.outputs] == ["a\nb\n", None]


def stamped(notebook, name="03_test.ipynb"):
    stamp.stamp_notebook(notebook, name)
    return notebook


def test_a_new_address_reaches_badge_and_set_up_cell(monkeypatch):
    notebook = good_notebook()
    monkeypatch.setattr(stamp, "address", lambda: "https://github.com/ada/course")
    monkeypatch.setattr(stamp, "version", lambda: "9.8.7")
    text = "\n".join(cell.source for cell in stamped(notebook).cells)
    assert text.count("github.com/ada/course") == 1  # the set-up cell
    assert text.count("research.google.com/github/ada/course/blob/main/notebooks/03_test") == 1
    assert 'tag = "v9.8.7"' in text
    assert "attention-course/attention-course" not in text


@pytest.mark.parametrize("number", coverage.COMPLETE)
def test_a_complete_notebook_shows_every_item(number):
    assert coverage.in_order(coverage.items_of(number) - coverage.shown()) == []


def test_the_list_of_items_is_whole():
    """Ids run from 1 without a gap, so that none can be lost from the list unseen."""
    numbers: dict[str, list[int]] = {}
    for item in coverage.all_items():
        kind, number = item.split("-")
        numbers.setdefault(kind, []).append(int(number))
    assert {kind: sorted(found) for kind, found in numbers.items()} == {
        kind: list(range(1, len(found) + 1)) for kind, found in numbers.items()
    }
    assert len(numbers["C03"]) == 54
    assert len(numbers["E"]) == 100


def test_the_table_of_notebooks_agrees_with_the_files():
    assert [name for *_, name in notebooks()] == NAMES
    for path, (number, _, time, _) in zip(PATHS, notebooks(), strict=True):
        notebook = nbformat.read(path, as_version=4)
        assert (number, int(time)) == (path.name.split("_")[0], minutes.reading(notebook))
    assert repr(Contents()).count("\n") == len(NAMES)


def test_the_table_links_to_colab_when_it_runs_there(monkeypatch):
    name = "00_start_here.ipynb"
    assert f"]({name})" in Contents()._repr_markdown_()
    monkeypatch.setattr("utils.notebook.contents.on_colab", lambda: True)
    assert f"]({stamp.colab_link(name)})" in Contents()._repr_markdown_()


def run_nbval(folder: Path, name: str, *more: str) -> subprocess.CompletedProcess:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    options = re.search(r"^NBVAL := (.*)$", makefile, re.MULTILINE)[1]
    options = options.replace("tests/", f"{ROOT}/tests/").split()
    command = [sys.executable, "-m", "pytest", *options, "-q", *more]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", f"notebooks/{name}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


SAME = {  # what is stored, and what the cell now says
    "exact match ≈ 0.97 ± 0.01 of all, ≈  12,000 steps": "exact match ≈ 1 ± 1e-3 of all, ≈ 9 steps",
    "loss ≈ 1.2e-07; ≈ −3 °C; ≈ 97 %": "loss ≈ 8.91e+2; ≈ 4 °C; ≈ 103 %",
}
DIFFERENT = [("exact ≈ 0.97", "inexact ≈ 0.97"), ("≈ 0.97 of all", "≈ 0.97 of some")]
DIFFERENT += [("0.97", "0.98"), ("≈ 0.97 of 3", "≈ 0.97 of 4"), ("≈ 97 %", "≈ 97 steps")]
DIFFERENT += [("≈ 0.97", "= 0.97"), ("≈ 0.97", "≈ nan")]


def test_a_number_behind_an_almost_equal_sign_is_not_compared(tmp_path):
    """Printed, as a value's plain text, and as Markdown; everything else stays strict."""
    cells = []
    for stored, now in [*SAME.items(), *DIFFERENT]:
        plain, marked = ({f"text/{kind}": now} for kind in ("plain", "markdown"))
        for source, output in (
            (f"print({now!r})", printed(f"{stored}\n")),
            (f"display({plain}, raw=True)", shown(text__plain=stored)),
            (f"display({marked}, raw=True)", shown(text__markdown=stored)),
        ):
            cells.append(new_code_cell(source, outputs=[output], execution_count=1))
    (tmp_path / "notebooks").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / "m.ipynb")
    result = run_nbval(tmp_path, "m.ipynb", "-rA")
    failed = {int(n) for n in re.findall(r"^FAILED .*::Cell (\d+)", result.stdout, re.MULTILINE)}
    assert failed == set(range(3 * len(SAME), len(cells))), result.stdout
    assert f"{3 * len(SAME)} passed" in result.stdout


def test_a_broken_helper_makes_nbval_fail(tmp_path):
    """Strict nbval must see a wrong softmax; without this a green run would mean nothing."""
    name = next((name for name in NAMES if name.startswith("03")), None)
    assert name, "notebook 03 is missing"
    for part in ("notebooks", "utils", "data"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    helper = tmp_path / "utils" / "layers" / "attention.py"
    text = helper.read_text("utf-8")
    assert "softmax(dim=-1)" in text, "the line to break has changed: change this test too"
    helper.write_text(text.replace("softmax(dim=-1)", "softmax(dim=-2)"), "utf-8")
    result = run_nbval(tmp_path, name, "-x")
    assert result.returncode == 1, result.stdout
    # with -x the first failure ends the run; the set-up cell before it must have passed
    assert re.search(r"\b1 failed, \d+ passed", result.stdout), result.stdout
