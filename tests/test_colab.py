"""The way through Colab, acted out: a notebook alone in an empty folder fetches the course, runs.

Stand-ins: a package ``google.colab``, a git repository on this disk in place of GitHub, and a
``pip`` that writes down what it is asked to install.  Everything else is real: the notebook runs in
a kernel that does not know the course, until its set-up cell has fetched it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from packaging.requirements import Requirement
from packaging.version import Version

from tools.project import ROOT, notebook_paths, version
from tools.stamp import setup_cell
from utils import setup

PIP = """
import json, os, sys
with open(os.environ["PIP_LOG"], "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
"""
# What is installed, as far as importlib.metadata tells: PRETEND overrides it, null means missing.
# Once pip was asked for a package, the real answer is given.
SITE = """
import importlib.metadata as metadata, json, os
real, pretended = metadata.version, json.loads(os.environ["PRETEND"])
def version(name):
    log = open(os.environ["PIP_LOG"]).read()
    if name in pretended and f'"{name}>' not in log:
        if pretended[name] is None:
            raise metadata.PackageNotFoundError(name)
        return pretended[name]
    return real(name)
metadata.version = version
"""


@pytest.fixture(scope="module")
def github(tmp_path_factory):
    """A git repository with the course as it is now, tagged with its version."""
    ignored = (ROOT / ".gitignore").read_text().replace("/", "").split()
    repository = tmp_path_factory.mktemp("github") / "course"
    shutil.copytree(ROOT, repository, ignore=shutil.ignore_patterns(".git", *ignored))
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "the course"], check=True)
    subprocess.run([*git, "tag", f"v{version()}"], check=True)
    return repository


class Colab:
    """A machine that has Colab's module and packages, but not the course."""

    def __init__(self, folder: Path, github: Path):
        self.content, self.standins, self.log = (folder / n for n in ("content", "python", "pip"))
        for made in (self.content, self.standins / "google" / "colab", self.standins / "pip"):
            made.mkdir(parents=True)
        (self.standins / "google" / "colab" / "__init__.py").touch()
        (self.standins / "pip" / "__init__.py").touch()
        (self.standins / "pip" / "__main__.py").write_text(PIP)
        (self.standins / "sitecustomize.py").write_text(SITE)
        self.log.touch()
        self.course = self.content / f"course-v{version()}"
        self.url = github.as_uri()

    def run(self, notebook: nbformat.NotebookNode, **pretend: str | None) -> str:
        """Run all cells in the empty folder; return what they printed."""
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env |= {"PYTHONPATH": str(self.standins), "COURSE_URL": self.url}
        env |= {"PIP_LOG": str(self.log), "PRETEND": json.dumps(pretend)}
        resources = {"metadata": {"path": str(self.content)}}
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources)
        client.execute(env=env)
        outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
        return "".join(output.text for output in outputs if output.output_type == "stream")

    def installed(self) -> list[list[str]]:
        """The calls of pip."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def colab(tmp_path, github):
    return Colab(tmp_path, github)


def only_the_set_up_cell() -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(setup_cell())])


CHOSEN = [path for path in notebook_paths() if path.name[:2] in ("00", "03")]


@pytest.mark.parametrize("path", CHOSEN, ids=[path.name for path in CHOSEN])
def test_a_notebook_alone_runs_to_its_end(colab, path):
    shutil.copy(path, colab.content)
    notebook = nbformat.read(colab.content / path.name, as_version=4)
    assert "Ready." in colab.run(notebook)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert sorted(p.name for p in colab.content.iterdir()) == [path.name, colab.course.name]
    head = ["git", "-C", str(colab.course), "describe", "--tags", "--exact-match"]
    fetched = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    assert fetched == f"v{version()}"
    assert colab.installed() == [], "everything is there: nothing may be installed"


def test_the_second_run_needs_neither_network_nor_pip(colab):
    colab.run(only_the_set_up_cell())
    colab.url = "file:///nowhere"
    assert colab.run(only_the_set_up_cell()) == "Ready.\n"
    assert colab.installed() == []


def test_what_is_missing_is_installed_and_nothing_else(colab):
    said = colab.run(only_the_set_up_cell(), anywidget=None)
    wanted = next(line for line in requirement_lines() if line.startswith("anywidget"))
    assert colab.installed() == [["install", "--quiet", wanted]]
    assert said == f"Installing {wanted}.\nReady.\n"


def test_torch_is_never_replaced(colab):
    said = colab.run(only_the_set_up_cell(), torch="2.1.0+cu121")
    assert colab.installed() == []
    assert "this machine has 2.1.0+cu121, which is kept" in said


def test_a_missing_version_falls_back_to_the_newest_with_one_line(colab, github):
    without_tag = colab.content.parent / "untagged"
    subprocess.run(["git", "clone", "--quiet", "--no-tags", github, without_tag], check=True)
    colab.url = without_tag.as_uri()
    (colab.content / "course.part").mkdir()  # what a clone that was cut short leaves
    (colab.content / "course.part" / "half").touch()
    said = colab.run(only_the_set_up_cell())
    assert said.splitlines() == [
        f"v{version()} could not be fetched from {colab.url}: trying the newest version.",
        "Ready.",
    ]
    assert not (colab.content / "course.part").exists()


def test_no_network_is_said_and_the_next_run_works(colab, github):
    colab.url = "file:///nowhere"
    with pytest.raises(CellExecutionError, match="The course could not be fetched: does file:"):
        colab.run(only_the_set_up_cell())
    colab.url = github.as_uri()
    assert colab.run(only_the_set_up_cell()) == "Ready.\n"


def test_elsewhere_nothing_is_fetched(colab):
    shutil.rmtree(colab.standins / "google")
    with pytest.raises(CellExecutionError, match="The course is not here: `git clone file:"):
        colab.run(only_the_set_up_cell())
    assert list(colab.content.iterdir()) == []


def test_elsewhere_missing_packages_are_named_and_not_installed(colab, github):
    shutil.rmtree(colab.standins / "google")
    shutil.copytree(github, colab.course)
    with pytest.raises(CellExecutionError, match="This Python lacks anywidget.*make lab"):
        colab.run(only_the_set_up_cell(), anywidget=None)
    assert colab.installed() == []


def requirement_lines() -> list[str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("line", requirement_lines())
def test_bounds_are_read_as_pip_reads_them(line, monkeypatch):
    """utils/setup.py reads the ranges with the standard library alone: compare with packaging."""
    need = Requirement(line)
    edges = [Version(clause.version) for clause in need.specifier]
    tried = {"0.1", "2.13.0+cpu", "7.7.1", "8.1.9", "3.10.0", "4.66", "0.13.2", "2.4.6", "99"}
    for edge in edges:
        tried |= {str(edge), f"{edge}.0", f"{edge}.1", f"{edge}+cpu", f"{edge.major}.999"}
    for candidate in sorted(tried):
        monkeypatch.setattr("importlib.metadata.version", lambda name, found=candidate: found)
        assert setup._satisfied(line) == need.specifier.contains(candidate), candidate


def test_the_stand_in_for_pip_really_stands_in(colab):
    """Otherwise "nothing was installed" would prove nothing."""
    env = {**os.environ, "PYTHONPATH": str(colab.standins)}
    env |= {"PIP_LOG": str(colab.log), "PRETEND": "{}"}
    subprocess.run([sys.executable, "-m", "pip", "install", "x"], check=True, env=env)
    assert colab.installed() == [["install", "x"]]
