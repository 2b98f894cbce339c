"""The way through Colab, acted out: a notebook alone in an empty folder fetches the course, runs.

The kernel has the packages that Colab has (tests/colabenv.py), and does not know the course until
the set-up cell has fetched it.  Stand-ins: a package ``google.colab``, a git repository on this
disk in place of GitHub, and a ``pip`` that writes down what it is asked to install, and from then
on has it as far as ``importlib.metadata`` tells.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from packaging.requirements import Requirement
from packaging.version import Version

from tests import colabenv
from tools import lock
from tools.project import ROOT, notebook_paths, version
from tools.stamp import setup_cell
from utils import setup

PIP = """
import json, os, pathlib, re, sys
with open(os.environ["PIP_LOG"], "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
for name, version in re.findall(r"([\\w-]+)>=([\\d.]+)", " ".join(sys.argv)):
    folder = pathlib.Path(__file__).parents[1] / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: {name}\\nVersion: {version}\\n")
"""
# What is installed, as far as importlib.metadata tells: PRETEND overrides it.
SITE = """
import importlib.metadata as metadata, json, os
real, pretended = metadata.version, json.loads(os.environ["PRETEND"])
metadata.version = lambda name: pretended.get(name) or real(name)
"""
SACREBLEU = "sacrebleu>=2.4,<3"  # all that Colab lacks


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


@pytest.fixture(scope="module")
def python():
    """The Python of an environment with Colab's packages."""
    try:
        return colabenv.colab_python()
    except colabenv.NotBuilt as reason:
        if colabenv.EXACT:
            raise
        pytest.skip(str(reason))


class Colab:
    """A machine that has Colab's module and packages, but not the course."""

    def __init__(self, folder: Path, github: Path, python: Path):
        self.content, self.standins, self.log = (folder / n for n in ("content", "python", "pip"))
        for made in (self.content, self.standins / "google" / "colab", self.standins / "pip"):
            made.mkdir(parents=True)
        (self.standins / "google" / "colab" / "__init__.py").touch()
        (self.standins / "pip" / "__init__.py").touch()
        (self.standins / "pip" / "__main__.py").write_text(PIP)
        (self.standins / "sitecustomize.py").write_text(SITE)
        self.log.touch()
        kernel = folder / "jupyter" / "kernels" / "colab"
        kernel.mkdir(parents=True)
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": "Colab", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec))
        self.course = self.content / f"course-v{version()}"
        self.url = github.as_uri()

    def run(self, notebook: nbformat.NotebookNode, **pretend: str) -> str:
        """Run all cells in the empty folder; return what they printed."""
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env |= {"PYTHONPATH": str(self.standins), "COURSE_URL": self.url}
        env |= {"PIP_LOG": str(self.log), "PRETEND": json.dumps(pretend)}
        resources = {"metadata": {"path": str(self.content)}}
        client = NotebookClient(notebook, timeout=300, kernel_name="colab", resources=resources)
        client.execute(env=env)
        outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
        return "".join(output.text for output in outputs if output.output_type == "stream")

    def installed(self) -> list[list[str]]:
        """The calls of pip."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def colab(tmp_path, github, python, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    return Colab(tmp_path, github, python)


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
    assert colab.installed() == [["install", "--quiet", SACREBLEU]], "all else is there"


def test_the_second_run_needs_neither_network_nor_pip(colab):
    colab.run(only_the_set_up_cell())
    colab.url = "file:///nowhere"
    assert colab.run(only_the_set_up_cell()) == "Ready.\n"
    assert len(colab.installed()) == 1


def test_what_is_missing_is_installed_and_nothing_of_our_tools(colab, python):
    said = colab.run(only_the_set_up_cell(), anywidget="0.1")
    lines = requirement_lines()
    wanted = [line for line in lines if line.startswith("anywidget")] + [SACREBLEU]
    assert colab.installed() == [["install", "--quiet", *wanted]]
    assert said == f"Installing {', '.join(wanted)}.\nReady.\n"
    tools = {need.name for need in lock.wanted()} - {line.split(">")[0] for line in lines}
    assert "jupyterlab" in tools and not tools & {line.split(">")[0] for line in wanted}
    ask = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n)])"
    command = [python, "-c", ask, "numpy", "sacrebleu", "jupyterlab", "pytest", "nbval", "ruff"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert found == ["numpy"], "what the course has besides must not be seen on Colab"


def test_torch_is_never_replaced(colab):
    said = colab.run(only_the_set_up_cell(), torch="2.1.0+cu121")
    assert colab.installed() == [["install", "--quiet", SACREBLEU]]
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
        f"Installing {SACREBLEU}.",
        "Ready.",
    ]
    assert not (colab.content / "course.part").exists()


def test_no_network_is_said_and_the_next_run_works(colab, github):
    colab.url = "file:///nowhere"
    with pytest.raises(CellExecutionError, match="The course could not be fetched: does file:"):
        colab.run(only_the_set_up_cell())
    colab.url = github.as_uri()
    assert colab.run(only_the_set_up_cell()).endswith("Ready.\n")


def test_elsewhere_nothing_is_fetched(colab):
    shutil.rmtree(colab.standins / "google")
    with pytest.raises(CellExecutionError, match="The course is not here: `git clone file:"):
        colab.run(only_the_set_up_cell())
    assert list(colab.content.iterdir()) == []


def test_elsewhere_missing_packages_are_named_and_not_installed(colab, github):
    shutil.rmtree(colab.standins / "google")
    shutil.copytree(github, colab.course)
    with pytest.raises(CellExecutionError, match="This Python lacks sacrebleu.*make lab"):
        colab.run(only_the_set_up_cell())
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


def test_colab_has_what_the_notebooks_want_but_sacrebleu():
    lacking = []
    for need in map(Requirement, requirement_lines()):
        pin = str(colabenv.PINS[need.name].specifier)[2:] if need.name in colabenv.PINS else "0"
        if pin not in need.specifier:
            lacking.append(need.name)
    assert lacking == ["sacrebleu"]


def test_the_weekly_workflow_takes_the_python_of_colab():
    said = rf"as seen in \w+ 20\d\d, on Python {colabenv.PYTHON}\."
    assert re.search(said, colabenv.LIST.read_text())
    weekly = yaml.safe_load((ROOT / ".github" / "workflows" / "weekly.yml").read_text())
    job = weekly["jobs"]["colab"]
    assert job["env"]["COURSE_COLAB"] == "exact"
    assert {"python-version": colabenv.PYTHON} in [step.get("with") for step in job["steps"]]


def test_every_file_of_the_library_can_be_imported_on_colab(python):
    """Only nbconvert itself imports notebook_export, and where it does, nbconvert is there."""
    code = (
        "import importlib, pkgutil, utils\n"
        "for module in pkgutil.walk_packages(utils.__path__, 'utils.'):\n"
        "    if not module.name.endswith(('__main__', 'notebook_export')):\n"
        "        importlib.import_module(module.name)"
    )
    subprocess.run([python, "-c", code], check=True, cwd=ROOT)


def test_the_versions_are_those_of_colab(python):
    """What stands in for Colab's own is said, in the reason for the skip."""
    ask = (
        "import platform, sys; from importlib.metadata import version\n"
        "print(platform.python_version(), *map(version, sys.argv[1:]))"
    )
    names = [name for name in colabenv.PINS if colabenv.EXACT or name not in colabenv.FRONT_END]
    found = subprocess.run([python, "-c", ask, *names], check=True, capture_output=True, text=True)
    here, *versions = found.stdout.split()
    other = {n: v for n, v in zip(names, versions) if v not in colabenv.PINS[n].specifier}
    assert set(other) <= {"torch"}
    if other or not here.startswith(colabenv.PYTHON):
        said = f"Python {here} and torch {other.get('torch', 'as there')} stand in for Colab's own"
        assert not colabenv.EXACT, said
        pytest.skip(f"{said}; COURSE_COLAB=exact takes those")


def test_the_stand_in_for_pip_really_stands_in(colab):
    """Otherwise "nothing was installed" would prove nothing."""
    env = {**os.environ, "PYTHONPATH": str(colab.standins)}
    env |= {"PIP_LOG": str(colab.log), "PRETEND": "{}"}
    subprocess.run([sys.executable, "-m", "pip", "install", "x"], check=True, env=env)
    assert colab.installed() == [["install", "x"]]
