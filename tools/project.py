"""What every tool needs to know: where the course stands, its address, its notebooks."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def address() -> str:
    """The repository's address, without a slash at its end."""
    return _project()["urls"]["Repository"].rstrip("/")


def version() -> str:
    return _project()["version"]


def number(name: str) -> str:
    """What a notebook is called for short: ``03``, ``03b`` or ``A1``."""
    return name.split("_")[0]


def notebook_paths(chosen: str = "") -> list[Path]:
    """The notebooks in order, or the one whose number is ``chosen``, such as ``03b``."""
    return sorted((ROOT / "notebooks").glob(f"{chosen or '*'}_*.ipynb"))
