"""README, Makefile and workflows name only what exists, and all that exists is named."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tools import library_map, lock, stamp
from tools.project import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_first_screen_shows_the_two_commands():
    first_screen = "\n".join(README.splitlines()[:12])
    assert "make lab" in first_screen
    assert "make test" in first_screen


def test_the_readme_is_stamped():
    assert stamp.stamp_readme(README) == README, "run `make stamp`"


def test_the_map_is_there_and_its_functions_exist():
    rows = re.findall(r"^\| \[(utils/[^\]]+)\].*?\| (`.*?`) \|", README, re.MULTILINE)
    assert len(rows) >= 8
    for file, names in rows:
        assert (ROOT / file).exists()
        module = importlib.import_module(file.rstrip("/").removesuffix(".py").replace("/", "."))
        for name in re.findall(r"`([^`]+)`", names):
            assert callable(getattr(module, name)), f"{file} has no {name}"


def test_every_file_of_the_library_says_what_it_is_for():
    files = [*library_map.UTILS.rglob("*.py")]
    assert [str(f.relative_to(ROOT)) for f in files if not library_map.purpose(f)] == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Words.  Notebook 09, sections 3 and 11.", "09"),
        ("Words.  Notebooks 02 and 07.", "02 07"),
        ("Words.  Notebooks 03, 05b, and A1 show it; notebook 07, 12 heads.", "03 05b 07 A1"),
        ("Shown in notebooks 06\nand 07, 30 times.", "06 07"),
        ("A notebook 2020 years old.", ""),
    ],
)
def test_the_map_finds_every_notebook_that_a_file_names(tmp_path, text, numbers):
    (tmp_path / "file.py").write_text(f'"""{text}"""', encoding="utf-8")
    assert library_map.taught_in(tmp_path / "file.py") == numbers


def test_each_dependency_has_its_reason():
    table = re.search(r"\| package \| why \|\n\|---\|---\|\n(.*?)\n\n", README, re.DOTALL)[1]
    reasons = dict(re.findall(r"^\| (\S+) \| (.+) \|$", table, re.MULTILINE))
    assert list(reasons) == [need.name for need in lock.wanted()]


def test_each_dependency_of_the_notebooks_is_imported_somewhere():
    sources = [*(ROOT / "utils").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    listed = (ROOT / "requirements.txt").read_text()
    for name in re.findall(r"^(\w+)>", listed, re.MULTILINE):
        module = {"pillow": "PIL"}.get(name, name)
        assert re.search(rf"\b(import|from) {module}\b", text), f"nothing imports {name}"


def test_files_and_links_in_the_readme_exist():
    links = re.findall(r"\]\((?!https://)([^)#]+)\)", README)
    paths = re.findall(r"`((?:notebooks|utils|data|tests|tools|\.github)/[\w./]*)`", README)
    assert [path for path in {*links, *paths} if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "Makefile", *WORKFLOWS], ids=str)
def test_every_make_command_named_is_a_target(path):
    text = path.read_text(encoding="utf-8")
    pattern = r"(?:`|run: |echo \"|^)make ([a-z][a-z-]*)"
    named = set(re.findall(pattern, text, re.MULTILINE))
    assert named <= TARGETS, f"{named - TARGETS} is no target"


def test_make_help_lists_every_target():
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    listed = set(re.findall(r"^make ([a-z-]+)", shown, re.MULTILINE))
    assert TARGETS - listed == {"help"}


def test_ci_run_is_make_test():
    lines = (ROOT / ".ci" / "run").read_text().strip().splitlines()
    assert lines[-1] == "make test"
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_step_of_a_workflow_also_runs_here(path):
    """A step is an action of GitHub's, a make target, or an installation of fonts."""
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            if "run" in step:
                assert re.match(r"make [a-z-]+$|sudo apt-get ", step["run"])
            else:
                assert step["uses"].startswith("actions/")


def tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def run_linters(folder: Path) -> list[int]:
    """Exit codes of the schema check and of the security check over the workflows in ``folder``."""
    files = sorted(str(path) for path in folder.glob("*.yml"))
    schema = [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files]
    safety = [tool("zizmor"), "--offline", "--quiet"]
    safety += ["--config", str(ROOT / ".github" / "zizmor.yml"), *files]
    return [subprocess.run(command, capture_output=True).returncode for command in (schema, safety)]


def test_the_workflows_pass_the_linters():
    assert run_linters(WORKFLOWS[0].parent) == [0, 0]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("runs-on:", "run-on:"), ("- uses: actions/checkout@v4", "- uses: someone/checkout@v4")],
    ids=["no runner", "an action that may change"],
)
def test_the_linters_can_fail(tmp_path, right, wrong):
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert right in text
    (tmp_path / "ci.yml").write_text(text.replace(right, wrong))
    assert run_linters(tmp_path) != [0, 0]
