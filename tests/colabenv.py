"""An environment with the packages that Colab has, built from requirements-colab.txt and kept.

Every week ``COURSE_COLAB=exact`` lets pip install the whole list.  On other days that would be
slow, and torch gigabytes: only the pins are installed, without torch, and what they need besides
is linked from the course's own environment.  Nothing else of the course's is seen there.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock
from tools.project import ROOT

LIST = ROOT / "requirements-colab.txt"
PINS = lock.pins(LIST.read_text())
PYTHON = "3.13"  # of Colab
EXACT = os.environ.get("COURSE_COLAB") == "exact"
# What draws the page there; the kernel, which is all that we run, never imports it.
FRONT_END = {"notebook", "widgetsnbextension", "jupyterlab-widgets"}


class NotBuilt(Exception):
    """Why there is no such environment here."""


def colab_python() -> Path:
    """The Python of the environment; built anew when a list, this file or our torch changes."""
    files = [LIST, lock.LOCK, Path(__file__)]
    state = [EXACT, distribution("torch").version, *(file.read_bytes() for file in files)]
    key = hashlib.sha256(repr(state).encode()).hexdigest()[:12]
    kept = Path(sys.prefix) / f"colab-{key}"
    if not kept.exists():
        part = kept.with_name(f"{kept.name}-{os.getpid()}")
        try:
            _build(part)
            os.rename(part, kept)
        except (OSError, subprocess.CalledProcessError) as error:
            if not kept.exists():  # else another process was faster
                said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
                raise NotBuilt(f"Colab's environment could not be built: {said}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return _python(kept)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _build(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    ask = [_python(folder), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())

    def install(*wanted: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", _python(folder), "install", "--quiet"]
        command += ["--no-compile", "--only-binary=:all:", *wanted]
        subprocess.run(command, check=True, capture_output=True, text=True)

    if EXACT:
        install("-r", str(LIST))
        return
    install("--no-deps", *(str(PINS[name]) for name in PINS if name not in {"torch", *FRONT_END}))
    if absent := _link_the_rest(site):
        install("--no-deps", *absent)
    assert _link_the_rest(site) == []


def _link_the_rest(site: Path) -> list[str]:
    """Link all that the pins need, torch among it, into ``site``; return what we have not."""
    waiting, seen, absent = list(PINS), set(FRONT_END), []
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        found = next(iter(distributions(name=name, path=[str(site)])), None)
        if found is None:
            try:
                found = distribution(name)
            except PackageNotFoundError:
                absent.append(name)
                continue
            for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
                if not (site / top).exists():
                    (site / top).symlink_to(found.locate_file(top))
        needs = [Requirement(line) for line in found.requires or []]
        needed = [need for need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
        waiting += [canonicalize_name(need.name) for need in needed]
    return absent
