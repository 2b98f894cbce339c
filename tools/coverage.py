"""Which items of the lectures the notebooks show.  `make coverage` prints it.

A cell that shows an item, poses an exercise or a question carries the item's id as a tag; the list
of all ids is tests/lecture_items.txt.
"""

import re
from functools import cache

import nbformat

from tools.project import ROOT, notebook_paths

ITEM = re.compile(r"[CXQ]\d\d-\d+|E-\d+")
# Notebooks that must show every item of theirs; a test holds them to it.
COMPLETE = ("01", "02", "03", "04", "05", "06", "07", "08", "09")


def all_items() -> set[str]:
    text = (ROOT / "tests" / "lecture_items.txt").read_text(encoding="utf-8")
    return {line for line in text.split("\n") if line and not line.startswith("#")}


def items_of(number: str) -> set[str]:
    """The items that belong to notebook ``number``, such as ``03``."""
    return {item for item in all_items() if item[1:3] == number}


@cache
def shown() -> frozenset[str]:
    """The items tagged in any notebook: those of 03 may stand in 03b, slide checks in A1."""
    tags = {
        tag
        for path in notebook_paths()
        for cell in nbformat.read(path, as_version=4).cells
        for tag in cell.metadata.get("tags", [])
    }
    return frozenset(tag for tag in tags if ITEM.fullmatch(tag))


def in_order(items: set[str]) -> list[str]:
    return sorted(items, key=lambda item: [*item.split("-")[:1], int(item.split("-")[1])])


def main() -> None:
    tagged = shown()
    for number in sorted({item[1:3] for item in all_items() if item[0] != "E"}):
        wanted = items_of(number)
        missing = in_order(wanted - tagged)
        print(f"{number}  {len(wanted) - len(missing):3} of {len(wanted):3}  ", end="")
        print("all shown" if not missing else f"missing {' '.join(missing)}")
    checks = {item for item in all_items() if item[0] == "E"}
    print(f"slide checks  {len(checks & tagged)} of {len(checks)}")


if __name__ == "__main__":
    main()
