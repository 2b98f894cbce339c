"""Find an item by its id: X03-1 lives in `content/nb03`, loaded when first asked for."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from functools import cache
from types import ModuleType
from typing import Any

from utils.quiz import content

LISTS = ("QUESTIONS", "GENERATED", "PREDICTIONS")
KINDS = {"X": "exercise", "Q": "question", "G": "generated question", "P": "prediction"}


@cache
def load(notebook: str) -> dict[str, Any]:
    """Everything that the files of one notebook ("03") define, by id."""
    package = f"{content.__name__}.nb{notebook}"
    if importlib.util.find_spec(package) is None:
        return {}
    folder = importlib.import_module(package).__path__
    files = [importlib.import_module(f"{package}.{m.name}") for m in pkgutil.iter_modules(folder)]
    items = {item.id: item for file in files for item in _items(file)}
    order = "".join(KINDS)
    return dict(sorted(items.items(), key=lambda i: (order.index(i[0][0]), int(i[0][4:]))))


def _items(file: ModuleType) -> list[Any]:
    """What a file holds under the names that authors use."""
    one = [file.EXERCISE] if hasattr(file, "EXERCISE") else []
    return one + [item for name in LISTS for item in getattr(file, name, ())]


def notebooks() -> list[str]:
    """Numbers of the notebooks that have content."""
    names = (m.name for m in pkgutil.iter_modules(content.__path__))
    return sorted(name[2:] for name in names if re.fullmatch(r"nb\d\d", name))


def everything() -> dict[str, Any]:
    return {key: item for number in notebooks() for key, item in load(number).items()}


def get(key: str, kinds: str) -> Any:
    """The item ``key``; ``kinds`` are the letters that the caller can use ("X", "QG", "P")."""
    wanted = " or ".join(KINDS[k] for k in kinds)
    article = "an" if wanted[0] in "aeiou" else "a"
    match = re.fullmatch(r"([A-Z])(\d\d)-\d+", str(key).strip().upper())
    if not match or match[1] not in kinds:
        raise ValueError(
            f"expected the id of {article} {wanted}, such as '{kinds[0]}03-1', got {key!r}"
        )
    items = load(match[2])
    key = match[0]
    if key not in items:
        there = ", ".join(k for k in items if k[0] in kinds) or "none"
        raise ValueError(f"notebook {match[2]} has no {wanted} {key!r}; it has {there}")
    return items[key]
