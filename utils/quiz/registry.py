"""Find an item by its id: X03-1 lives in `content/nb03`, loaded when first asked for."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from functools import cache
from typing import Any

from utils.quiz import content

KINDS = {"X": "exercise", "Q": "question", "G": "generated question", "P": "prediction"}


@cache
def load(notebook: str) -> dict[str, Any]:
    """Everything of one notebook ("03"), by id, in the order of its ``ITEMS``."""
    module = f"{content.__name__}.nb{notebook}"
    if importlib.util.find_spec(module) is None:
        return {}
    return {item.id: item for item in importlib.import_module(module).ITEMS}


def notebooks() -> list[str]:
    """Numbers of the notebooks that have content."""
    names = (m.name for m in pkgutil.iter_modules(content.__path__))
    return sorted(name[2:] for name in names if re.fullmatch(r"nb\d\d", name))


def everything() -> dict[str, Any]:
    return {key: item for number in notebooks() for key, item in load(number).items()}


def get(key: str, kinds: str) -> Any:
    """The item ``key``; ``kinds`` are the letters that the caller can use ("X", "QG", "P")."""
    wanted = " or ".join(KINDS[k] for k in kinds)
    match = re.fullmatch(r"([A-Z])(\d\d)-\d+", str(key))
    if not match or match[1] not in kinds:
        raise ValueError(f"expected the id of a {wanted}, such as '{kinds[0]}03-1', got {key!r}")
    items = load(match[2])
    if key not in items:
        there = ", ".join(k for k in items if k[0] in kinds) or "none"
        raise ValueError(f"notebook {match[2]} has no {wanted} {key!r}; it has {there}")
    return items[key]
