"""`make lab` on a fresh machine: the environment is made once, and no failure breaks the next try.

The set-up runs for real, on a course whose only requirement is a wheel made here, so that no
network is needed.
"""

import ast
import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import setup_env
from tools.project import ROOT

MAKE = shutil.which("make")
ONE_SENTENCE_AND_NO_TRACE = "one sentence, no traceback, no half-made environment"


def write_wheel(folder: Path, version: str) -> None:
    info = f"tiny-{version}.dist-info"
    with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", f"version = {version!r}\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


class Course:
    """A course of one package in ``root``, and the environment variables to set it up with."""

    def __init__(self, folder: Path):
        self.root, self.wheels, self.bin = folder / "course", folder / "wheels", folder / "bin"
        for made in (self.root / "tools", self.wheels, self.bin):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "setup_env.py", self.root / "tools")
        shutil.copy(ROOT / "Makefile", self.root)
        self.ask_for("1.0")
        write_wheel(self.wheels, "1.0")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "MAKE"))}
        self.env = {**kept, "PIP_CONFIG_FILE": os.devnull, "PYTHON": sys.executable}
        self.offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}

    def ask_for(self, version: str) -> None:
        (self.root / "requirements.txt").write_text("tiny>=1\n")
        (self.root / "requirements-dev.txt").write_text("-r requirements.txt\n")
        (self.root / "requirements.lock").write_text(f"tiny=={version}\n")

    def command(self) -> list[str]:
        return [sys.executable, str(self.root / "tools" / "setup_env.py")]

    def set_up(self, **env: str) -> subprocess.CompletedProcess:
        env = {**self.env, **(env or self.offline)}
        return subprocess.run(self.command(), env=env, capture_output=True, text=True, timeout=600)

    def installed(self) -> str:
        python = setup_env.venv_python(self.venv)
        ask = [python, "-c", "import tiny; print(tiny.version)"]
        return subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()

    @property
    def venv(self) -> str:
        return str(self.root / ".venv")

    def fake_python(self, name: str, version: str, script: str = "exit 0") -> Path:
        """A command that says it is Python ``version`` and otherwise does ``script``."""
        path = self.bin / name
        path.write_text(
            f'#!/bin/sh\ncase "$*" in *version_info*) echo {version}; exit 0;; esac\n{script}\n'
        )
        path.chmod(0o755)
        return path

    def assert_failed(self, result: subprocess.CompletedProcess, sentence: str) -> None:
        assert result.returncode == 1
        last = result.stderr.strip().splitlines()[-1]
        assert sentence in last
        assert last.endswith(".")
        assert "Traceback" not in result.stderr, ONE_SENTENCE_AND_NO_TRACE
        assert not os.path.lexists(self.venv), ONE_SENTENCE_AND_NO_TRACE


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_made_once_then_left_alone_until_the_lists_change(course):
    first = course.set_up()
    assert first.returncode == 0, first.stderr
    assert course.installed() == "1.0"

    nothing_to_be_had = {"PIP_NO_INDEX": "1"}  # so that a second installation would fail
    second = course.set_up(**nothing_to_be_had)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")

    course.ask_for("2.0")
    refused = course.set_up()  # there is no wheel of 2.0 yet: the old environment stays
    assert refused.returncode == 1
    assert course.installed() == "1.0"

    write_wheel(course.wheels, "2.0")
    assert course.set_up().returncode == 0
    assert course.installed() == "2.0"
    assert course.set_up(**nothing_to_be_had).stdout == ""


def test_without_network_says_so_and_the_next_try_works(course):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    course.assert_failed(course.set_up(**nowhere), "check the network connection")
    assert course.set_up().returncode == 0
    assert course.installed() == "1.0"


def test_an_unknown_package_is_not_blamed_on_the_network(course):
    course.ask_for("7.0")
    course.assert_failed(course.set_up(), "the lines above say why")


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "power cut"])
def test_an_interruption_does_not_break_the_next_try(course, kill):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        process = subprocess.Popen(
            course.command(),
            env={**course.env, "PIP_INDEX_URL": index},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C reaches pip too: the whole group gets the signal
        )
        silent.settimeout(300)
        connection, _ = silent.accept()  # pip is in the middle of its work
        assert os.path.exists(course.venv)
        os.killpg(process.pid, kill)
        _, said = process.communicate(timeout=120)
        connection.close()
    if kill == signal.SIGINT:
        assert process.returncode == 130
        assert said.strip() == "Stopped.  Nothing half-made is left: run the same command again."
        assert not os.path.exists(course.venv)
    else:
        assert os.path.exists(course.venv), "a power cut cleans nothing up"
    assert course.set_up().returncode == 0
    assert course.installed() == "1.0"


def test_too_old_a_python_named(course):
    old = course.fake_python("python3.8", "3 8 10")
    result = course.set_up(PYTHON=str(old))
    course.assert_failed(result, "is Python 3.8.10, but the course needs 3.11 or newer: install")


def test_too_old_a_python_found(course):
    course.fake_python("python3", "3 10 4")
    course.fake_python("python", "2 7 18")
    result = course.set_up(PYTHON="", PATH=str(course.bin))
    course.assert_failed(result, "The newest Python found here is 3.10.4, but the course needs")


def test_no_python_at_all(course):
    result = course.set_up(PYTHON="", PATH=str(course.bin))
    course.assert_failed(result, "No Python was found here: install Python 3.12")


def test_a_name_that_is_no_python(course):
    result = course.set_up(PYTHON="no-such-python")
    course.assert_failed(result, "PYTHON=no-such-python does not start a Python")


def test_no_venv_module(course):
    script = 'case "$*" in *ensurepip*) exit 1;; esac'
    bare = course.fake_python("python3", "3 11 2", script)
    result = course.set_up(PYTHON=str(bare))
    course.assert_failed(result, "sudo apt install python3.11-venv")


def test_a_full_disk(course):
    script = (
        'case "$*" in *"-m venv"*) mkdir "$3"; '
        'echo "OSError: [Errno 28] No space left on device"; exit 1;; esac'
    )
    full = course.fake_python("python3", "3 12 1", script)
    course.assert_failed(course.set_up(PYTHON=str(full)), "The disk is full: free about 5 GB")


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ({"python3": "3 12 4", "python3.13": "3 13 0"}, "python3"),
        ({"python3": "3 9 1", "python3.11": "3 11 9"}, "python3.11"),
        ({"python3": "3 15 0", "python3.12": "3 12 4"}, "python3.12"),  # a tested one comes first
        ({"python3": "3 15 0"}, "python3"),
        ({"python": "3 13 0"}, "python"),
    ],
)
def test_which_python_is_chosen(course, monkeypatch, found, chosen):
    for name, version in found.items():
        course.fake_python(name, version)
    monkeypatch.setenv("PATH", str(course.bin))
    assert setup_env.find_python()[0] == chosen


@pytest.fixture
def steps(monkeypatch):
    """The steps that a set-up takes, without taking them."""
    steps = []

    def create(python, version, venv):
        steps.append("create")
        python = Path(setup_env.venv_python(venv))
        python.parent.mkdir(parents=True)
        python.touch()

    monkeypatch.setattr(setup_env, "create", create)
    monkeypatch.setattr(setup_env, "install", lambda root, venv, newest: steps.append("install"))
    return steps


def set_up_again(course, steps, **options):
    """Set up twice; what the second time did."""
    setup_env.set_up(str(course.root), sys.executable)
    assert steps == ["create", "install"]
    steps.clear()
    options.pop("then", lambda: None)()
    setup_env.set_up(str(course.root), **options)
    return steps


def test_the_second_time_does_nothing(course, steps):
    assert set_up_again(course, steps, wanted_python=sys.executable) == []


def test_no_python_is_looked_for_when_there_is_nothing_to_do(course, steps, monkeypatch):
    assert set_up_again(course, steps, then=lambda: monkeypatch.setenv("PATH", "")) == []


def test_another_python_makes_the_environment_anew(course, steps):
    other = course.fake_python("python3", "3 12 99")
    assert set_up_again(course, steps, wanted_python=str(other)) == ["create", "install"]


def test_an_environment_whose_python_is_gone_is_made_anew(course, steps):
    def remove():
        os.remove(setup_env.venv_python(course.venv))

    assert set_up_again(course, steps, then=remove) == ["create", "install"]


def test_newest_ignores_the_stamp_but_keeps_the_folder(course, steps):
    assert set_up_again(course, steps, newest=True) == ["install"]
    steps.clear()
    setup_env.set_up(str(course.root))  # and back to the lock
    assert steps == ["install"]


def make_lock(course) -> subprocess.CompletedProcess:
    """`make lock`, with a tool in the place of ours that only says what is installed."""
    says = "import tiny\nprint('tiny', tiny.version)\n"
    (course.root / "tools" / "lock.py").write_text(says)
    command = [MAKE, "-s", "-C", str(course.root), "lock"]
    env = {**course.env, **course.offline}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)


def test_make_lock_takes_the_newest_versions_as_they_are(course):
    write_wheel(course.wheels, "2.0")
    env = {**course.env, **course.offline}
    subprocess.run([*course.command(), "--newest"], env=env, check=True, capture_output=True)
    assert course.installed() == "2.0"
    result = make_lock(course)
    assert (result.returncode, result.stdout) == (0, "tiny 2.0\n"), result.stderr
    assert course.set_up().returncode == 0
    assert course.installed() == "1.0", "the next command with a set-up goes back to the lock"


def test_make_lock_without_an_environment_says_so(course):
    result = make_lock(course)
    assert result.returncode == 2
    assert "There is no .venv to read the versions from: run `make test-newest`" in result.stderr
    assert "Traceback" not in result.stderr
    assert not os.path.exists(course.venv)


def test_an_old_python_can_read_the_set_up():
    """No syntax newer than Python 2.7, or it could not even say that it is too old."""
    tree = ast.parse((ROOT / "tools" / "setup_env.py").read_text())
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Nonlocal)
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, newer)] == []
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        arguments = function.args
        assert arguments.kwonlyargs == arguments.posonlyargs == []
        assert [function.returns, *(argument.annotation for argument in arguments.args)] == [
            None for _ in range(1 + len(arguments.args))
        ]
    raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    assert not any(node.cause for node in raised)


@pytest.mark.parametrize("target", ["lab", "test", "notebooks"])
def test_make_stops_when_the_set_up_fails(course, target):
    old = course.fake_python("python3", "3 8 10", f'exec "{sys.executable}" "$@"')
    result = subprocess.run(
        [MAKE, "-C", str(course.root), target, f"PYTHON={old}"],
        env=course.env,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert "the course needs 3.11 or newer" in result.stderr
    assert "Traceback" not in result.stderr
    assert "jupyterlab" not in result.stdout
    assert not os.path.exists(course.venv)


def test_make_without_any_python(course):
    result = subprocess.run(
        [MAKE, "-C", str(course.root), "lab"],
        env={"PATH": str(course.bin)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert "No Python was found: install Python 3.12" in result.stderr
