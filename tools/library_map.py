"""The README's map of the library: which file holds which function, and where it is taught.

The map is read off the source, so it cannot name what does not exist; `make stamp` writes it, and
a test proves that the README holds the map of today.
"""

import ast
import re
from pathlib import Path

from tools import rooms
from tools.project import ROOT

UTILS = ROOT / "utils"
CLOSED = ("explorer", "extras", "quiz")
NUMBER = r"(?:\d\d[a-z]?|A\d)\b"
TAUGHT = re.compile(
    rf"\bnotebook\s+{NUMBER}|\bnotebooks\s+{NUMBER}(?:(?:,\s+{NUMBER})*,?\s+and\s+{NUMBER})?",
    re.IGNORECASE,
)


def public_names(file: Path) -> list[str]:
    """Names that a reader may look for: ``__all__``, or the public functions and classes."""
    names = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            names.append(node.name)
    return names


def purpose(file: Path) -> str:
    """The first sentence of a file's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"(?<=[.?!]) ", first)[0].rstrip(".").replace("|", "\\|")


def taught_in(file: Path) -> str:
    """The notebooks that a file names, such as ``03``, or ``02 07`` for "Notebooks 02 and 07"."""
    named = " ".join(TAUGHT.findall(file.read_text("utf-8")))
    return " ".join(sorted(set(re.findall(rf"\b{NUMBER}", named))))


def table() -> str:
    """One line for each room, in the order of tools/rooms.py, and its files below it."""
    lines = ["| file | what it is for | functions and classes | taught in |", "|---|---|---|---|"]
    for room in rooms.MAY_USE:
        folder = UTILS if room == rooms.GROUND else UTILS / room
        if room in CLOSED:  # used through its door
            lines.append(_row(folder / "__init__.py"))
            continue
        about = "What every room may use" if folder == UTILS else _about(folder / "__init__.py")
        lines.append(f"| **{room}** | **{about}** | | |")
        files = sorted(file for file in folder.glob("*.py") if file.name != "__init__.py")
        lines += [_row(file) for file in files if public_names(file)]
    return "\n".join(lines)


def _row(file: Path) -> str:
    where = file.relative_to(ROOT).as_posix().removesuffix("__init__.py")
    shown = ", ".join(f"`{name}`" for name in public_names(file))
    return f"| [{where}]({where}) | {purpose(file)} | {shown} | {taught_in(file)} |"


def _about(file: Path) -> str:
    """The first paragraph of a room's docstring."""
    docstring = ast.get_docstring(rooms.tree_of(file)) or ""
    return " ".join(docstring.split("\n\n")[0].split()).rstrip(".")
