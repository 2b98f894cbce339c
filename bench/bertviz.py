"""BertViz for comparison: fetched by name when the bench runs, never a part of the course.

BertViz takes three scripts from a CDN.  With no network it shows nothing at all, so the bench
answers those requests itself, with the same scripts from npm.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGE = "bertviz==1.4.1"
# What BertViz asks for  ->  (npm package, file inside it).  npm has no jquery 2.0.0; 2.1.4 is next.
SCRIPTS = {
    "require.min.js": ("requirejs@2.3.6", "package/require.js"),
    "d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
    "jquery.min.js": ("jquery@2.1.4", "package/dist/jquery.min.js"),
}


def fetch(folder: Path) -> tuple[Path, dict[str, str]]:
    """Put BertViz under ``folder``; returns its import path and its scripts by file name."""
    target = folder / "bertviz"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    _run([*pip, PACKAGE], folder)
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is needed to serve BertViz its scripts")
    scripts = {}
    for name, (package, inside) in SCRIPTS.items():
        archive = _run([npm, "pack", "--silent", package], folder).strip().splitlines()[-1]
        with tarfile.open(folder / archive) as files:
            scripts[name] = files.extractfile(inside).read().decode("utf-8")
    return target, scripts


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[-2:])} failed: {done.stderr.strip()[-300:]}")
    return done.stdout
