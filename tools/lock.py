"""Write requirements.lock: the exact version of every package that the course was tested with.

`make lock` runs this in `.venv`.  Versions are those installed there; packages that only another
system needs (Windows consoles, say) are looked up with pip.  The lock is a list of *constraints*:
it says which version, not what to install, so that one file serves Linux, macOS and Windows, CPU
and CUDA builds of torch, and Python 3.11 to 3.13.

To move to newer versions: `rm -r .venv && make test-newest && make lock`, then `make test`.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, distribution
from itertools import product

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.project import ROOT

LOCK = ROOT / "requirements.lock"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "darwin": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "win32": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
WHEEL_TAG = {"linux": "manylinux_2_28_x86_64", "darwin": "macosx_14_0_arm64", "win32": "win_amd64"}
# Only the CUDA build of torch asks for these, and it pins them itself.
OF_CUDA = re.compile(r"(nvidia|triton|cuda)\b")

HEADER = """\
# Every package the course was tested with, for Python 3.11 to 3.13 on Linux, macOS and Windows.
# A constraints file:  pip install -r requirements-dev.txt -c requirements.lock
# Written by `make lock` (tools/lock.py says how to move to newer versions); do not edit by hand.
"""


def wanted() -> list[Requirement]:
    """The requirements of both lists, in order."""
    text = (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-dev.txt").read_text()
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def pins(lock_text: str) -> dict[str, Requirement]:
    """The lines of a lock by name."""
    lines = (line.split("#")[0].strip() for line in lock_text.splitlines())
    found = [Requirement(line) for line in lines if line]
    return {canonicalize_name(pin.name): pin for pin in found}


class Versions:
    """Version and dependencies of packages, installed here or known to pip."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, list[str]]] = {}

    def of(self, name: str, system: str) -> tuple[str, list[str]]:
        if name not in self._known:
            try:
                found = distribution(name)
                self._known[name] = found.version, list(found.requires or [])
            except PackageNotFoundError:
                self._known[name] = self._ask_pip(name, system)
        return self._known[name]

    def _ask_pip(self, name: str, system: str) -> tuple[str, list[str]]:
        print(f"asking pip for {name} ({system})")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-"]
        command += ["--no-deps", "--ignore-installed", "--only-binary", ":all:"]
        command += ["--target", "unused", "--python-version", "3.12"]
        command += ["--platform", WHEEL_TAG[system], name]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        metadata = json.loads(report)["install"][0]["metadata"]
        return metadata["version"], metadata.get("requires_dist", [])


def closure(system: str, python: str, versions: Versions) -> dict[str, str]:
    """Name and version of all that ``requirements-dev.txt`` pulls in on one kind of machine."""
    environment = {
        **SYSTEMS[system],
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_machine": "x86_64",
    }
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    todo = [(need, "") for need in wanted()]
    while todo:
        need, parents_extra = todo.pop()
        if need.marker and not need.marker.evaluate({**environment, "extra": parents_extra}):
            continue
        name = canonicalize_name(need.name)
        if OF_CUDA.match(name):
            continue
        found[name], requires = versions.of(name, system)
        for extra in ("", *need.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                todo += [(Requirement(line), extra) for line in requires]
    return found


def lock_text(versions: Versions) -> str:
    where: dict[str, set[str]] = defaultdict(set)
    version_of: dict[str, str] = {}
    for system, python in product(sorted(SYSTEMS), PYTHONS):
        for name, version in closure(system, python, versions).items():
            where[name].add(system)
            version_of[name] = version.split("+")[0]  # 2.13.0+cpu: any build of it will do
    lines = [f"{name}=={version_of[name]}{_marker(where[name])}" for name in sorted(where)]
    return HEADER + "\n".join(lines) + "\n"


def _marker(systems: set[str]) -> str:
    """`; sys_platform == ...` for a package that only some systems need."""
    if len(systems) == len(SYSTEMS):
        return ""
    return " ; " + " or ".join(f'sys_platform == "{system}"' for system in sorted(systems))


def main() -> None:
    text = lock_text(Versions())
    LOCK.write_text(text, encoding="utf-8")
    print(f"wrote {LOCK.name}: {len(pins(text))} packages")


if __name__ == "__main__":
    main()
