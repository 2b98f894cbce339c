"""requirements.txt, requirements-dev.txt, requirements.lock and environment.yml say the same."""

import importlib.util
import platform
import re
import subprocess
import sys
from importlib.metadata import version as installed_version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools import lock
from tools.project import ROOT

PINS = lock.pins((ROOT / "requirements.lock").read_text())
WANTED = {canonicalize_name(need.name): need for need in lock.wanted()}
HERE = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}[platform.system()]
THIS_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
STAMP = ROOT / ".venv" / "course-stamp"
needs_the_lock = pytest.mark.skipif(
    not (STAMP.exists() and " locked" in STAMP.read_text()),
    reason="this environment was not made from the lock",
)


def pinned(name: str) -> str:
    """The version of a pin, which must be exact."""
    (clause,) = PINS[name].specifier
    assert clause.operator == "==", f"{name} is not pinned exactly"
    return clause.version


@pytest.mark.parametrize("name", sorted(WANTED))
def test_the_lock_pins_a_version_within_the_range(name):
    assert pinned(name) in WANTED[name].specifier
    assert PINS[name].marker is None, "what is asked for everywhere is pinned everywhere"


def test_ranges_have_an_upper_end_or_none_is_needed():
    """An open range would let a new major version break a course that nobody touched."""
    open_ended = [n for n, need in WANTED.items() if "<" not in str(need.specifier)]
    assert open_ended == ["packaging"]  # versions by year, never incompatible


def test_the_lock_says_which_system_alone_needs_a_package(monkeypatch):
    needs = {
        "a": ["b ; sys_platform == 'win32'", "c ; python_version < '3.12'", "d[more]"],
        "d": ["e ; extra == 'more' and os_name == 'posix'", "f ; extra == 'other'"],
    }

    class Known:
        def of(self, name, system):
            return "1.0+cpu", needs.get(name, [])

    monkeypatch.setattr(lock, "wanted", lambda: [Requirement("a")])
    assert lock.lock_text(Known()).removeprefix(lock.HEADER).splitlines() == [
        "a==1.0",
        'b==1.0 ; sys_platform == "win32"',
        "c==1.0",
        "d==1.0",
        'e==1.0 ; sys_platform == "darwin" or sys_platform == "linux"',
    ]


@needs_the_lock
def test_the_lock_is_the_closure_of_the_lists():
    """What pip would bring on this machine, found by walking the installed packages."""
    closure = lock.closure(HERE, THIS_PYTHON, lock.Versions())
    assert len(closure) > 100
    for name, found in closure.items():
        assert pinned(name) == Version(found).public, f"{name}: run `make lock`"
    needed_here = {name for name, pin in PINS.items() if not pin.marker or pin.marker.evaluate()}
    assert needed_here - set(closure) <= {"setuptools", "typing-extensions"}, "of other Pythons"


@needs_the_lock
def test_the_running_packages_are_the_locked_ones():
    for name in WANTED:
        assert Version(installed_version(name)).public == pinned(name)


def test_the_cuda_build_of_torch_is_not_hindered():
    assert [name for name in PINS if lock.OF_CUDA.match(name)] == []
    assert pinned("torch") == Version(pinned("torch")).public, "no +cpu: any build may be used"


def test_environment_yml_reads_the_same_lists():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["name"] == "attention-course"
    *conda, pip = environment["dependencies"]
    assert pip == {"pip": ["-r requirements-dev.txt", "-c requirements.lock"]}
    assert [re.split("[=><]", line)[0] for line in conda] == ["python", "pip"]
    python = conda[0].split("=")[1]
    assert python in SpecifierSet(">=3.11,<3.14")
    assert (ROOT / "requirements-dev.txt").read_text().splitlines()[1] == "-r requirements.txt"


@needs_the_lock
def test_pip_accepts_the_lists_with_nothing_left_to_install():
    """The command of environment.yml, on an environment made by make: pip finds it complete."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--quiet"]
    command += ["--report", "-", "-r", "requirements-dev.txt", "-c", "requirements.lock"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert '"install": []' in result.stdout


def test_nothing_that_breaks_torch_is_installed():
    """torchvision from the index does not fit a CPU torch, and breaks others by being there."""
    assert importlib.util.find_spec("torchvision") is None


@pytest.mark.parametrize("python", lock.PYTHONS)
def test_the_course_declares_the_pythons_of_the_lock(python):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert python in workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
