"""The rooms of the house: who may use whom, and who does, read off the imports.

``MAY_USE`` is the one place that holds the order.  A room names only rooms above it in this list,
so there can be no circle.  `make stamp` draws the real imports into the README.
"""

import ast
from functools import cache
from pathlib import Path

from tools.project import ROOT

GROUND = "ground floor"  # the files that lie in utils/ itself
MAY_USE = {
    GROUND: (),
    "extras": (GROUND,),
    "text": (GROUND,),
    "layers": (GROUND,),
    "models": (GROUND, "text", "layers"),
    "train": (GROUND, "text", "layers"),  # the model and its trainer are strangers
    "tasks": (GROUND, "extras", "text", "layers", "models", "train"),
    "figures": (GROUND, "text", "layers", "tasks"),
    "explorer": (GROUND, "layers"),
    "notebook": (GROUND, "extras", "tasks", "figures", "explorer"),
    "quiz": (GROUND, "extras", "text", "layers", "models", "train", "tasks", "figures", "notebook"),
}


def file_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of ``utils.layers.masks``; None for what is not ours."""
    path = root.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path, root: Path = ROOT) -> set[Path]:
    """Our files that ``file`` imports, anywhere in it.

    A name that a room only hands on counts as an import of the file that it comes from.
    """
    package = list(file.relative_to(root).parts[:-1])
    found = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            found |= {file_of(alias.name, root) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            found |= {_source(module, alias.name, root, file) for alias in node.names}
    return found - {None, file}


def _source(module: str, name: str, root: Path, asking: Path) -> Path | None:
    """The file behind ``from module import name``."""
    here = file_of(module, root)
    if here is None or here.name != "__init__.py":
        return here or file_of(f"{module}.{name}", root)
    if inside := file_of(f"{module}.{name}", root):
        return inside
    for node in tree_of(here).body if here != asking else ():
        if isinstance(node, ast.ImportFrom) and name in {a.asname or a.name for a in node.names}:
            origin = f"{module}.{node.module}" if node.level else node.module
            return _source(origin, name, root, asking)
    return here


def room_of(file: Path, root: Path = ROOT) -> str:
    """``layers`` for utils/layers/masks.py; for a file outside of utils its folder, as a path."""
    top, *rest = file.relative_to(root).parts
    if top != "utils":
        return f"{top}/"
    return rest[0] if len(rest) > 1 else GROUND


def uses(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """For each room the rooms it uses, each with one import as a witness."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted((root / "utils").rglob("*.py")):
        room = found.setdefault(room_of(file, root), {})
        for other in sorted(imports(file, root)):
            if room_of(other, root) != room_of(file, root):
                names = (path.relative_to(root).as_posix() for path in (file, other))
                room.setdefault(room_of(other, root), " imports ".join(names))
    return found


def violations(root: Path = ROOT) -> list[str]:
    """A sentence for each import that goes against the direction; none, if all is well."""
    sentences = []
    for room, others in uses(root).items():
        if room not in MAY_USE:
            sentences.append(f"utils/{room} is no room yet: give it a place in tools/rooms.py")
            continue
        sentences += [
            f"{room} must not use {other}: {witness}"
            for other, witness in others.items()
            if other not in MAY_USE[room]
        ]
    return sentences


def picture(root: Path = ROOT) -> str:
    """The rooms as a Mermaid graph, which GitHub draws and which reads well as it is.

    An arrow that follows from two others is left out.
    """
    graph = {room: set(others) for room, others in uses(root).items()}

    def below(room: str) -> set[str]:
        return graph[room].union(*(below(other) for other in graph[room]))

    lines = ["```mermaid", "graph TD"]
    used = set().union(*graph.values())
    for room in reversed([room for room in MAY_USE if room in graph]):
        if room not in used and not graph[room] and room != GROUND:
            lines.append(f"    {_node(room)}")  # stands alone, and is a room all the same
        implied = set().union(*(below(other) for other in graph[room]))
        for other in (other for other in MAY_USE if other in graph[room] - implied):
            lines.append(f"    {_node(room)} --> {_node(other)}")
    return "\n".join([*lines, "```"])


def _node(room: str) -> str:
    return "ground[ground floor]" if room == GROUND else room
