"""The progress file: never half written, never lost, never in the way."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from utils.quiz import check, predict, registry, said, store


@pytest.fixture(autouse=True)
def file(monkeypatch, tmp_path):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    monkeypatch.setattr(store, "_told", set())
    monkeypatch.setattr(store, "_waiting", {})
    return path


def test_records_are_kept_and_counted(file):
    store.record("X03-1", "mistake named", "no-scale")
    store.record("X03-1", "passed")
    store.record("X03-1", "raised")
    entry = json.loads(file.read_text())["items"]["X03-1"]
    assert entry["best"] == "passed" and entry["status"] == "raised"
    assert entry["attempts"] == 3 and entry["mistake"] == "no-scale"
    assert entry["time"].endswith("+00:00")
    assert json.loads(file.read_text())["schema"] == 1


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"schema": 1, "items": [1]}', b'{"schema": 99, "items": {}}', b"\xff\xfe"],
)
def test_a_damaged_file_is_set_aside_and_reported(file, damage, capsys):
    file.parent.mkdir()
    file.write_bytes(damage)
    store.record("X03-1", "passed")
    assert store.read()["X03-1"]["best"] == "passed"
    spare = list(file.parent.glob("progress.damaged-*.json"))
    assert [p.read_bytes() for p in spare] == [damage]
    assert str(spare[0]) in capsys.readouterr().err


def test_unknown_fields_survive(file):
    file.parent.mkdir()
    file.write_text(json.dumps({"schema": 1, "items": {"Q03-1": {"note": "mine", "attempts": 1}}}))
    store.record("Q03-1", "right", answer="c")
    assert store.read()["Q03-1"]["note"] == "mine"
    assert store.read()["Q03-1"]["attempts"] == 2


def test_concurrent_kernels_lose_nothing(file):
    code = (  # the file alone: importing torch three times would take longer than the test
        "import sys, runpy\n"
        "store = runpy.run_path(sys.argv[2])\n"
        "for i in range(40): store['record'](f'X0{sys.argv[1]}-{i}', 'passed')"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(n), store.__file__]) for n in range(4)
    ]
    assert [p.wait(120) for p in running] == [0, 0, 0, 0]
    assert len(store.read()) == 160
    assert not list(file.parent.glob("*.new"))


def test_a_locked_file_is_left_alone_and_the_record_comes_later(file, monkeypatch, capsys):
    store.record("X03-1", "passed")
    before = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(store, "_grab", lambda handle: False)
        patch.setattr(store, "PATIENCE", 0.05)
        store.record("X03-2", "raised")
        store.record("X03-2", "mistake named", "no-scale")
        assert file.read_bytes() == before
        assert store.read()["X03-2"]["attempts"] == 2  # the progress page knows it already
    assert capsys.readouterr().err.count("keeps the file locked") == 1  # said once
    store.record("X03-3", "passed")
    items = json.loads(file.read_text())["items"]
    assert items["X03-2"]["attempts"] == 2 and items["X03-2"]["mistake"] == "no-scale"
    assert items["X03-1"]["best"] == items["X03-3"]["best"] == "passed"
    store.record("X03-3", "passed")
    assert store.read()["X03-2"]["attempts"] == 2  # merged once only


def test_a_lock_held_elsewhere_never_costs_more_than_two_seconds(file):
    store.record("X03-1", "passed")
    with store._lock(file, 1):
        start = time.monotonic()
        store.record("X03-2", "passed")
        assert time.monotonic() - start < store.PATIENCE + 0.5
    store._last_try()  # as at the end of Python
    assert "X03-2" in json.loads(file.read_text())["items"]


def test_a_failed_write_leaves_the_old_file(file, monkeypatch, capsys):
    store.record("X03-1", "passed")
    before = file.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dump", full)
    store.record("X03-2", "passed")
    store.record("X03-3", "passed")
    assert file.read_bytes() == before
    assert not list(file.parent.glob("*.new"))
    assert capsys.readouterr().err.count("not saved") == 1  # said once


def test_a_place_that_cannot_be_written_never_stops_a_check(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "progress.json"))
    assert check("X03-3", lambda z, t: (z / t).softmax(-1)).passed
    check("X03-3", lambda z, t: (z / t).softmax(-1))
    assert capsys.readouterr().err.count("Progress") == 1


def test_where_the_file_is(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_PROGRESS")
    assert store.path() == Path.home() / ".attention_course" / "progress.json"
    monkeypatch.setitem(sys.modules, "google.colab", object())
    assert store.path().parent == Path(store.__file__).resolve().parents[2]
    monkeypatch.setenv("COURSE_PROGRESS", "~/mine.json")
    assert store.path() == Path.home() / "mine.json"


def test_a_prediction_is_kept_for_the_cell_below(capsys):
    """Asked alone, it gives nothing away; the experiment's cell says what was guessed."""

    def printed():
        said("P03-1")
        return capsys.readouterr().out

    def click(number):
        box = view._widget()
        box.children[1 + number].children[0].click()
        return box.children[-2].value

    item, view = registry.get("P03-1", "P"), predict("P03-1")
    assert "next cell shows what happens" in repr(view)
    neutral = printed()
    assert "not said yet" in neutral and neutral.count("\n") == 1
    for noted in (repr(predict("P03-1", guess="a")), click(1)):
        assert "noted" in noted and "next cell" in noted
        secrets = [item.reveal, *(option.reason for option in item.options)]
        assert not any(text[:30] in noted for text in secrets)
    assert f"you said b) {item.options[1].text}" in printed()  # the later one, clicked
    assert click(0) and item.options[0].reason in printed()
    store.record("P03-1", "right", answer="f")  # an option that is no longer there
    assert printed() == neutral
