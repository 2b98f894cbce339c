"""What the first cell of each notebook calls: check that everything is there, then be ready.

On Colab, packages of requirements.txt that are missing are installed; everywhere else a sentence
says which are missing and what to do.  Only the standard library is imported at the top, because
this must run before anything is known to be installed.
"""

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def on_colab() -> bool:
    """Whether this notebook runs in Google Colab."""
    find_spec = importlib.util.find_spec
    return bool(find_spec("google") and find_spec("google.colab"))


def missing_packages(requirements: Path = ROOT / "requirements.txt") -> list[str]:
    """The lines of requirements.txt that the installed packages do not satisfy."""
    lines = (line.split("#")[0].strip() for line in requirements.read_text("utf-8").splitlines())
    return [line for line in lines if line and not _satisfied(line)]


def _satisfied(requirement: str) -> bool:
    """``requirement`` reads like ``numpy>=2.0,<3``: a name, then lower and upper bounds."""
    name, bounds = re.fullmatch(r"([\w.-]+)(.*)", requirement).groups()
    try:
        installed = _numbers(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False
    for bound in filter(None, bounds.split(",")):
        sign, limit = re.fullmatch(r"(>=|<)([\d.]+)", bound.strip()).groups()
        if (installed >= _numbers(limit)) != (sign == ">="):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """(2, 13) for ``2.13.0+cpu``: the release numbers, without zeros at the end."""
    numbers = [int(part) for part in re.match(r"\d+(\.\d+)*", version)[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def start() -> None:
    """Make this notebook ready to run.  Running it again does nothing new."""
    missing = missing_packages()
    if missing and on_colab():
        _install(missing)
    elif missing:
        raise RuntimeError(
            f"This Python lacks {', '.join(missing)}.  Start the course with `make lab`, or run "
            f"`{Path(sys.executable).name} -m pip install -r requirements.txt` in its folder, "
            "then restart the kernel."
        )

    from utils.runtime import set_threads  # imports torch: only now it is known to be there

    set_threads()
    print("Ready.")


def _install(missing: list[str]) -> None:
    """Install with pip, but never torch over torch: that is gigabytes and breaks Colab's GPU."""
    torch = [line for line in missing if re.match(r"torch\b", line)]
    if torch and importlib.util.find_spec("torch"):
        have = importlib.metadata.version("torch")
        print(f"The course is tested with {torch[0]}; this machine has {have}, which is kept.")
        missing = [line for line in missing if line not in torch]
    if not missing:
        return
    print(f"Installing {', '.join(missing)}.")
    command = [sys.executable, "-m", "pip", "install", "--quiet", *missing]
    if subprocess.run(command).returncode != 0:
        raise RuntimeError(
            f"pip could not install {', '.join(missing)}: see its words above, "
            "then run this cell again."
        )
    importlib.invalidate_caches()


def report() -> str:
    """This machine in a few lines: Python, packages, CPU or GPU, what is missing and what to do."""
    import torch

    from utils.runtime import get_device

    device = get_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()
    kind = "no GPU is needed" if device.type == "cpu" else "faster, but not needed"
    lines = [
        f"Python   {sys.version.split()[0]}{' in Colab' if on_colab() else ''}",
        f"torch    {torch.__version__}",
        f"device   {name} ({kind})",
        f"threads  {torch.get_num_threads()} (COURSE_THREADS changes it)",
    ]
    missing = missing_packages()
    if not missing:
        return "\n".join([*lines, "missing  nothing"])
    what_to_do = "run the set-up cell again" if on_colab() else "run `make lab` in the course"
    return "\n".join([*lines, f"missing  {', '.join(missing)}: {what_to_do}"])
