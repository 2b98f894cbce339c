"""Stored results: the runner, its fingerprint, going on after an interruption, and the figure."""

import signal
from types import SimpleNamespace

import pandas as pd
import pytest

from experiments import recall
from tests.figures import catcher
from tools import results, rooms
from utils.figures import results as figure
from utils.figures.results import header_of, plot_results, read_results
from utils.tasks.recall import RecallModel, recall_batches, recall_loss
from utils.train import train


def little(calls=None, stop_at=None):
    """An experiment of two models at two sizes; a third model is only tried."""

    def measure(model, size, seed):
        if calls is not None:
            calls.append((model, size, seed))
            if len(calls) == stop_at:
                raise KeyboardInterrupt
        return {"score": len(model) / size + seed}

    def experiment(run):
        assert run(role="validation", model="tried", size=1, seed=9)["score"] == 14
        for model in ("a", "bb"):
            for size in (1, 2):
                for seed in (0, 1):
                    run(role="test", model=model, size=size, seed=seed)

    return SimpleNamespace(__doc__="A little one.", measure=measure, experiment=experiment)


# ---- the runner -------------------------------------------------------------------------------


def test_a_table_carries_its_head_and_is_read_back(tmp_path):
    results.write("little", little(), code="c0de", folder=tmp_path)
    frame = read_results("little", folder=tmp_path)
    assert list(frame.columns) == ["model", "size", "seed", "score", "seconds"]
    assert frame["score"].tolist() == [1, 2, 0.5, 1.5, 2, 3, 1, 2]
    assert frame.attrs["command"] == "make results ONLY=little"
    assert (frame.attrs["seeds"], frame.attrs["code"]) == ("0 1", "c0de")
    assert "torch" in frame.attrs["versions"]
    assert len(read_results("little", role="validation", folder=tmp_path)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["little.csv"], "nothing else is left"


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    calls = []
    results.write("little", little(), code="c", folder=tmp_path / "at_once")
    with pytest.raises(KeyboardInterrupt):
        results.write("little", little(calls, stop_at=5), code="c", folder=tmp_path)
    assert not (tmp_path / "little.csv").exists()
    with (tmp_path / "little.part").open("a") as part:
        part.write('[{"role": "te')  # the machine was switched off while it wrote
    results.write("little", little(calls), code="c", folder=tmp_path)
    assert len(calls) == 10, "nine rows, of which one was begun twice"
    both = [read_results("little", folder=f) for f in (tmp_path, tmp_path / "at_once")]
    pd.testing.assert_frame_equal(*(frame.drop(columns="seconds") for frame in both))


def test_a_training_that_was_stopped_halfway_is_no_row(tmp_path):
    """The course's loop takes Ctrl-C as the end of a training and returns."""
    part = tmp_path / "x.part"

    def measure(distance, ctrl_c):
        def loss_of(model, batch):
            if ctrl_c:
                signal.raise_signal(signal.SIGINT)
            return recall_loss(model, batch)

        learner = RecallModel("rnn")
        train(learner, recall_batches(distance), loss_of, steps=2, progress=False)
        return {}

    run = results.Recorder(measure, part, "c")
    run(role="test", distance=1, ctrl_c=False)
    with pytest.raises(KeyboardInterrupt):
        run(role="test", distance=1, ctrl_c=True)
    assert len(part.read_text().splitlines()) == 1 + 1, "the code, and the row that is whole"


def test_rows_of_other_code_are_not_gone_on_with(tmp_path):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        results.write("little", little(calls, stop_at=5), code="old", folder=tmp_path)
    results.write("little", little(calls), code="new", folder=tmp_path)
    assert len(calls) == 5 + 9


def test_a_failed_run_leaves_the_old_table(tmp_path):
    results.write("little", little(), code="old", folder=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        results.write("little", little([], stop_at=2), code="new", folder=tmp_path)
    assert header_of(tmp_path / "little.csv")["code"] == "old"


def test_an_unknown_name_or_role_is_refused(tmp_path, capsys):
    assert results.main(["nothing"]) == 1
    assert "no experiment nothing: there are" in capsys.readouterr().out
    with pytest.raises(ValueError, match="'validation' or 'test', got 'train'"):
        results.Recorder(None, tmp_path / "x.part", "c")(role="train")


# ---- the fingerprint --------------------------------------------------------------------------


def test_no_stored_table_is_stale():
    assert results.stale() == []


@pytest.fixture
def course(tmp_path):
    """A course of one experiment, which uses one file of a room and not the other."""
    sources = {
        "experiments/one.py": "from utils.train import train\n",
        "utils/train/__init__.py": "from utils.train.loop import train\n",
        "utils/train/loop.py": 'def train(lr):\n    """Train."""\n    return lr * 2  # twice\n',
        "utils/train/other.py": "x = 1\n",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    (tmp_path / "data").mkdir()
    results.write(
        "one", little(), code=results.fingerprint("one", tmp_path), folder=tmp_path / "data"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("utils/train/loop.py", "lr * 2", "lr * 3", True),
        ("utils/train/loop.py", "# twice", "# two times", False),
        ("utils/train/loop.py", "Train.", "Train it.", False),
        ("utils/train/loop.py", "lr * 2", "lr  *  2", False),
        ("utils/train/other.py", "1", "2", False),
        ("experiments/one.py", "train\n", "train\nSTEPS = 3\n", True),
    ],
    ids=["code", "comment", "docstring", "layout", "unused file", "experiment"],
)
def test_only_a_change_of_code_that_is_used_makes_a_table_stale(course, file, old, new, stale):
    assert results.stale(course, course / "data") == []
    text = (course / file).read_text()
    (course / file).write_text(text.replace(old, new))
    rooms.tree_of.cache_clear()
    sentence = "data/results/one.csv came from other code: run `make results ONLY=one`."
    assert results.stale(course, course / "data") == ([sentence] if stale else [])


def test_a_missing_table_and_one_too_many_are_named(course):
    (course / "data" / "one.csv").rename(course / "data" / "two.csv")
    assert results.stale(course, course / "data") == [
        "data/results/one.csv is missing: run `make results ONLY=one`.",
        "data/results/two.csv has no experiment: delete it, or write one.",
    ]


# ---- the recall table -------------------------------------------------------------------------


def test_the_same_seed_measures_the_same():
    once, again = (recall.measure("gru", 3, 0.01, seed=0, steps=3) for _ in range(2))
    assert once == again
    assert once != recall.measure("gru", 3, 0.01, seed=1, steps=3)


def test_the_recall_table_is_fair_and_whole():
    tested, tried = read_results("recall"), read_results("recall", role="validation")
    by = ["model", "distance"]
    assert (tested.groupby(by)["seed"].nunique() == 3).all()
    assert len(tested.groupby(by)) == 16
    assert (tried.groupby(by)["lr"].nunique() == 3).all()
    assert not set(tried["seed"]) & set(tested["seed"])
    best = tried.loc[tried.groupby(by)["loss"].idxmin()].set_index(by)["lr"]
    assert (tested.groupby(by)["lr"].agg("unique").map(list) == best.map(lambda lr: [lr])).all()


# ---- reading and drawing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "# seeds: 0 1\n",
            "",
            "little.csv lacks seeds in its head: run `make results ONLY=little`",
        ),
        ("test,bb,2,1,2.0", "", "broken: it must hold 9 whole rows"),
        ("test,bb,2,1,2.0", "test,bb,2,1,", "broken: it must hold 9 whole rows"),
        ("role,", "rule,", "broken"),
        ("test,a,1,0,", "test,a,1,0,7,7,7,7,7,", "broken"),
    ],
    ids=["head", "a row less", "an empty cell", "columns", "too many cells"],
)
def test_a_broken_table_is_refused_with_a_sentence(tmp_path, old, new, sentence):
    table = results.write("little", little(), code="c", folder=tmp_path)
    text = table.read_text()
    assert old in text
    table.write_text("".join(
        line.replace(old, new) if line.rstrip() != old or new else ""
        for line in text.splitlines(keepends=True)
    ))  # fmt: skip
    with pytest.raises(ValueError, match=sentence):
        read_results("little", folder=tmp_path)


def test_results_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ValueError, match="no stored results 'rcall'; there are: .*recall"):
        read_results("rcall")


@pytest.fixture
def drawn(monkeypatch):
    shown = []
    monkeypatch.setattr(figure, "show", lambda fig, alt, crop=True: shown.append((fig, alt)))
    return catcher(shown)


TABLE = pd.DataFrame(
    [(m, x, s, i + x * s / 10) for i, m in enumerate("ab") for x in (5, 40) for s in (0, 1, 2)],
    columns=["model", "distance", "seed", "score"],
)
COLUMNS = {"x": "distance", "y": "score", "by": "model"}


def test_a_line_has_its_mean_its_band_and_every_seed(drawn):
    fig, alt = drawn(plot_results, TABLE, **COLUMNS, title="Far", target=(0.1, "chance"), log=True)
    (ax,) = fig.axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["a"].get_ydata() == pytest.approx([0.5, 4.0])
    band = ax.collections[1].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (0, 8)
    assert ax.collections[0].get_offsets().shape == (6, 2)
    assert lines["a"].get_color() != lines["b"].get_color()
    assert lines["a"].get_marker() != lines["b"].get_marker()
    assert set(lines["chance"].get_ydata()) == {0.1}
    assert alt == (
        "Far. score by distance, mean of 3 seeds (lowest to highest). "
        "a: 5 0.50 (0.00 to 1.00), 40 4.00 (0.00 to 8.00); "
        "b: 5 1.50 (1.00 to 2.00), 40 5.00 (1.00 to 9.00)."
    )


def test_words_on_the_axis_get_dots_and_whiskers_side_by_side(drawn):
    table = TABLE.assign(distance=TABLE["distance"].map({5: "near", 40: "far"}))
    fig, alt = drawn(plot_results, table, **COLUMNS)
    (ax,) = fig.axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["near", "far"]
    places = [set(line.get_xdata()) for line in ax.get_lines()]
    assert not places[0] & places[1]
    (first, _) = ax.collections[1].get_segments()
    assert first[:, 1].tolist() == [0, 1]
    assert "near 0.50 (0.00 to 1.00)" in alt


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="no column length; it has model, distance, seed, score"):
        plot_results(TABLE, x="length", y="score", by="model")
    with pytest.raises(ValueError, match="must have a number as score"):
        plot_results(TABLE.assign(score=float("nan")), **COLUMNS)
