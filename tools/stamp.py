"""Write what stands in one place into what repeats it: badges, minutes, set-up cells, README.

The address and the version come from pyproject.toml, the minutes from the formula in minutes.py,
the README's map from the library.  The set-up cell has its source here and is the same in every
notebook; a test proves that all copies agree.
"""

import re

import nbformat

from tools import library_map, rooms
from tools.minutes import TIME, reading
from tools.project import ROOT, address, notebook_paths, version

SETUP_CELL = """\
# Set-up: run this cell first.  In Colab it fetches the course; elsewhere it only finds it.
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

tag = "v{version}"
url = "{address}"
url = os.environ.get("COURSE_URL", url)
places = [Path.cwd(), *Path.cwd().parents, Path.cwd() / f"course-{{tag}}"]
course = next((p for p in places if (p / "utils" / "setup.py").is_file()), None)
if course is None:
    if not (find_spec("google") and find_spec("google.colab")):
        raise RuntimeError(f"The course is not here: `git clone {{url}}`, then `make lab` in it.")
    shutil.rmtree("course.part", ignore_errors=True)  # a try that was cut short
    clone = ["git", "clone", "--quiet", "--depth", "1", url, "course.part"]
    if subprocess.run([*clone, "--branch", tag], capture_output=True).returncode:
        print(f"{{tag}} could not be fetched from {{url}}: trying the newest version.")
        if subprocess.run(clone).returncode:
            raise RuntimeError(f"The course could not be fetched: does {{url}} open in a browser?")
    course = Path("course.part").rename(places[-1])
sys.path.insert(0, str(course))
from utils.setup import start

start()"""

COLAB = "https://colab.research.google.com"
BADGE = re.compile(rf"\[!\[Open in Colab\]\([^)]*\)\]\({re.escape(COLAB)}/github/[^)]*\)")

BINDER = re.compile(r"https://mybinder\.org/v2/gh/[^)\s]*")
MAP = re.compile(r"(<!-- map:.*?-->).*?(<!-- end of map -->)", re.DOTALL)
ROOMS = re.compile(r"(<!-- rooms:.*?-->).*?(<!-- end of rooms -->)", re.DOTALL)


def setup_cell() -> str:
    return SETUP_CELL.format(address=address(), version=version())


def colab_link(notebook: str) -> str:
    """Where Colab opens ``notebook`` (a file name): the newest commit on the main branch."""
    owner_and_name = address().removeprefix("https://github.com/")
    return f"{COLAB}/github/{owner_and_name}/blob/main/notebooks/{notebook}"


def binder_link() -> str:
    owner_and_name = address().removeprefix("https://github.com/")
    return f"https://mybinder.org/v2/gh/{owner_and_name}/main?labpath=notebooks/00_start_here.ipynb"


def badge(notebook: str) -> str:
    return f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({colab_link(notebook)})"


def stamp_notebook(notebook: nbformat.NotebookNode, name: str) -> None:
    """Put badge, set-up cell and minutes into ``notebook``; only minutes must be there before."""
    first = notebook.cells[0]
    if BADGE.search(first.source):
        first.source = BADGE.sub(lambda _: badge(name), first.source)
    else:
        first.source = f"{first.source}\n\n{badge(name)}"

    if "setup" not in notebook.cells[1].metadata.get("tags", []):
        notebook.cells.insert(1, nbformat.v4.new_code_cell(id="setup"))
    cell = notebook.cells[1]
    cell.source = setup_cell()
    # Folded away in JupyterLab and in Colab: it is the house's plumbing, not a lesson.
    cell.metadata.update(
        {"tags": ["setup"], "cellView": "form", "jupyter": {"source_hidden": True}}
    )
    first.source = TIME.sub(f"**Time** {reading(notebook)} minutes", first.source)


def stamp_readme(text: str) -> str:
    """The README with today's badge, address, picture of the rooms and map of the library."""
    text = BADGE.sub(lambda _: badge("00_start_here.ipynb"), text)
    text = BINDER.sub(lambda _: binder_link(), text)
    text = re.sub(r"git clone https://\S+", lambda _: f"git clone {address()}", text)
    text = ROOMS.sub(lambda match: f"{match[1]}\n\n{rooms.picture()}\n\n{match[2]}", text)
    return MAP.sub(lambda match: f"{match[1]}\n\n{library_map.table()}\n\n{match[2]}", text)


def main() -> None:
    for path in notebook_paths():
        before = nbformat.read(path, as_version=4)
        after = nbformat.read(path, as_version=4)
        stamp_notebook(after, path.name)
        if after != before:
            nbformat.write(after, path)
            print(f"stamped {path.name}")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    if stamp_readme(text) != text:
        readme.write_text(stamp_readme(text), encoding="utf-8")
        print("stamped README.md")


if __name__ == "__main__":
    main()
