"""The bench tells what it measured, whatever goes wrong on the way; no browser is needed here."""

import json
from collections import namedtuple

import pytest

from bench import explorer as bench
from bench.viewers import VIEWERS

RUNS = {
    (32, "explorer"): [{"drawn s": 0.2, "payload MB": 0.16, "click ms": 20.0, "memory MB": 5.0}],
    (32, "BertViz head_view"): [{"drawn s": 2.0, "payload MB": 6.4, "memory MB": 75.0}],
}


class NoLab:
    """As much of a Lab as a viewer that fails at once needs."""

    def __init__(self, folder):
        self.root = folder
        (folder / "notebooks").mkdir()

    def open(self, page, path):
        raise RuntimeError("the page crashed\nand more lines")

    def stop(self):
        pass


class NoPage:
    closed = 0

    def __init__(self, answers, patience):
        pass

    def close(self):
        NoPage.closed += 1


@pytest.fixture(autouse=True)
def a_browser_is_there(monkeypatch):
    monkeypatch.setattr(bench, "chromium", lambda: "/bin/chromium")
    monkeypatch.setattr(bench, "Page", NoPage)
    monkeypatch.setattr(bench, "Lab", NoLab)


def test_a_viewer_that_fails_is_a_line_and_the_others_go_on(capsys):
    names = ["explorer", "explorer, all heads"]
    before = NoPage.closed
    bench.main([32, 64], 1, 1, names, None)
    printed = capsys.readouterr().out
    for size in (32, 64):
        for name in names:
            assert f"1/1 {size} tokens, {name}: gave up: the page crashed\n" in printed
    assert "| 32 | gave up | gave up |" in printed
    assert NoPage.closed == before + 4


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError])
def test_tables_come_also_when_it_is_stopped(capsys, monkeypatch, tmp_path, trouble):
    def half(folder, viewers, sizes, repeats, large_repeats, patience, results):
        results.update(RUNS)
        raise trouble

    monkeypatch.setattr(bench, "run", half)
    out = tmp_path / "all.json"
    if trouble is KeyboardInterrupt:
        bench.main([32, 64], 3, 1, None, str(out))
    else:
        with pytest.raises(RuntimeError):
            bench.main([32, 64], 3, 1, None, str(out))
    printed = capsys.readouterr().out
    ratios = next(line for line in printed.splitlines() if line.startswith("| 32 | explorer | "))
    assert ratios == "| 32 | explorer | BertViz head_view | 40× (40×) | 10× (6×) | – | 15× (30×) |"
    assert {row["viewer"] for row in json.loads(out.read_text())} == {n for _, n in RUNS}


def test_every_ratio_is_of_viewers_that_exist():
    names = {viewer.name for viewer in VIEWERS}
    assert {name for ours, theirs, _ in bench.RATIOS for name in (ours, theirs)} <= names
    assert set(bench.LARGEST) <= names


@pytest.mark.parametrize(
    ("shares", "kept"),
    [
        ([4.0, 0.0], [4.0, 0.0]),  # quiet: no second try
        ([30.0, 2.0, 1.0], [2.0, 1.0]),  # made again until it is quiet
        ([9.0, 7.0, 8.0, 5.0], [7.0, 5.0]),  # never quiet: three tries, the best of them
        ([9.0, None, 3.0], [9.0, 3.0]),  # a second try that fails does not lose the first
    ],
)
def test_a_showing_is_made_again_when_the_host_takes_the_cpu_away(
    capsys, monkeypatch, shares, kept
):
    left = [{"gave up": "crashed"} if share is None else {"steal %": share} for share in shares]
    monkeypatch.setattr(bench, "measure", lambda *anything: left.pop(0))
    bench.main([32, 64], 1, 1, ["explorer"], None)
    printed = capsys.readouterr().out
    assert not left
    for size, share in zip((32, 64), kept):
        assert f"1/1 {size} tokens, explorer: steal % {share}\n" in printed


def test_steal_is_a_share_of_what_was_asked_for():
    times = namedtuple("times", "user system idle steal")
    assert bench.stolen(times(1, 1, 5, 2), times(3, 2, 9, 3)) == 25  # 1 of 2 + 1 + 1
    no_steal = namedtuple("times", "user system idle")  # macOS and Windows do not say
    assert bench.stolen(no_steal(1, 1, 5), no_steal(3, 2, 9)) == 0
    assert bench.stolen(no_steal(1, 1, 5), no_steal(1, 1, 5)) == 0
