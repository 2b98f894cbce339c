"""The rooms of the library keep their direction, the README draws them, no file is too long."""

import re

import pytest

from tools import rooms, stamp
from tools.project import ROOT

MOST_LINES = 400
FOLDERS = ("utils", "tests", "tools", "bench", "experiments")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))


def house(folder, files):
    """A small house in ``folder``: ``{"layers/a.py": source}``, each room with its door."""
    for name, source in files.items():
        file = folder / "utils" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(source)
    return folder


def test_no_room_uses_one_above_it():
    assert rooms.violations() == []
    for place, (room, below) in enumerate(rooms.MAY_USE.items()):
        assert set(below) <= set(list(rooms.MAY_USE)[:place]), f"{room} could be part of a circle"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"layers/a.py": "def f():\n    import utils.models.b", "models/b.py": ""},
         "layers must not use models: utils/layers/a.py imports utils/models/b.py"),
        ({"models/a.py": "from ..tasks import b", "tasks/b.py": ""},
         "models must not use tasks: utils/models/a.py imports utils/tasks/b.py"),
        ({"fonts.py": "from utils.text.b import c", "text/b.py": "c = 1"},
         "ground floor must not use text: utils/fonts.py imports utils/text/b.py"),
        ({"attic/a.py": ""}, "utils/attic is no room yet: give it a place in tools/rooms.py"),
    ],
)  # fmt: skip
def test_an_import_against_the_direction_is_named(tmp_path, files, sentence):
    assert rooms.violations(house(tmp_path, files)) == [sentence]


def test_the_library_does_not_lean_on_the_tools(tmp_path):
    root = house(tmp_path, {"text/a.py": "from tools.b import c"})
    (root / "tools").mkdir()
    (root / "tools" / "b.py").write_text("c = 1")
    assert rooms.violations(root) == [
        "text must not use tools/: utils/text/a.py imports tools/b.py"
    ]


def test_a_name_that_a_room_hands_on_is_followed_to_its_file(tmp_path):
    root = house(tmp_path, {"train/loop.py": "train = 1", "train/other.py": "", "tasks/a.py": ""})
    (root / "utils" / "train" / "__init__.py").write_text("from .loop import train")
    asking = root / "utils" / "tasks" / "a.py"
    asking.write_text("from utils.train import train, other")
    found = {file.name for file in rooms.imports(asking, root)}
    assert found == {"loop.py", "other.py"}


def test_the_picture_shows_each_room_and_leaves_out_what_follows(tmp_path):
    drawn = rooms.picture()
    assert drawn in README, "run `make stamp`"
    assert all(re.search(rf"\b{room.split()[0]}\b", drawn) for room in rooms.MAY_USE)
    files = {
        "layers/a.py": "",
        "models/a.py": "import utils.layers.a",
        "tasks/a.py": "import utils.models.a, utils.layers.a",
    }
    arrows = rooms.picture(house(tmp_path, files)).splitlines()[2:-1]
    assert [arrow.strip() for arrow in arrows] == ["tasks --> models", "models --> layers"]
    assert stamp.stamp_readme(README.replace(drawn, "")) == README


def test_no_file_is_too_long_to_read_in_one_sitting():
    files = [f for folder in FOLDERS for f in (ROOT / folder).rglob("*.*")]
    sizes = {
        f: len(f.read_bytes().splitlines()) for f in files if f.suffix in (".py", ".js", ".css")
    }
    long = {str(f.relative_to(ROOT)): n for f, n in sizes.items() if n > MOST_LINES}
    assert long == {}
    assert max(sizes.values()) > 100, "something was read"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_for_contributors_is_short_linked_and_names_what_exists(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert f"](docs/{page.name})" in README
    named = re.findall(r"`((?:notebooks|utils|data|tests|tools|experiments)/[\w./]*)`", text)
    links = [page.parent / link for link in re.findall(r"\]\((?!https://)([^)#]+)\)", text)]
    assert named
    assert [path for path in (*(ROOT / name for name in named), *links) if not path.exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    for module in re.findall(r"python -m ((?:tools|utils|bench)[\w.]*)", text):
        assert rooms.file_of(module), f"{page.name} names {module}"


def test_there_is_a_page_for_each_way_in():
    assert [page.stem for page in PAGES] == [
        "add_a_language_pair", "add_a_notebook", "add_an_exercise", "change_a_model",
    ]  # fmt: skip
