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


def notebook_paths(chosen: str = "") -> list[Path]:
    """The notebooks in order; ``chosen`` is the beginning of a name, such as ``03``."""
    return sorted((ROOT / "notebooks").glob(f"{chosen}*.ipynb"))
