"""Seed, device and threads; and that importing the library does no work."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from utils.runtime import get_device, set_seed, set_threads

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def world_as_it_was(monkeypatch):
    """No test here leaves a seed, a thread count or a variable behind."""
    monkeypatch.delenv("COURSE_THREADS", raising=False)
    monkeypatch.delenv("COURSE_DEVICE", raising=False)
    threads = torch.get_num_threads()
    states = random.getstate(), np.random.get_state(), torch.random.get_rng_state()
    yield
    torch.set_num_threads(threads)
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.random.set_rng_state(states[2])


def draw():
    return random.random(), np.random.rand(), torch.rand(1).item()


def test_a_seed_repeats_all_three_sources_of_chance():
    generator = set_seed(7)
    first, drawn = draw(), torch.rand(3, generator=generator)
    other = set_seed(8)
    assert all(a != b for a, b in zip(first, draw()))
    assert not torch.equal(torch.rand(3, generator=other), drawn)
    again = set_seed(7)
    assert draw() == first
    assert torch.equal(torch.rand(3, generator=again), drawn)


def test_the_generator_does_not_care_what_else_is_drawn():
    generator = set_seed(0)
    want = torch.rand(3, generator=generator)
    generator = set_seed(0)
    torch.rand(100)
    assert torch.equal(torch.rand(3, generator=generator), want)
    assert generator.device.type == "cpu"
    assert torch.equal(torch.rand(3, generator=set_seed()), want)  # 0 is the default


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(seed):
    before = random.getstate()
    with pytest.raises(ValueError, match=rf"2\*\*32 - 1, got {seed}"):
        set_seed(seed)
    assert random.getstate() == before


@pytest.mark.parametrize("seed", [1.5, "3", None, True])
def test_a_seed_that_is_no_whole_number_is_refused_before_anything_is_seeded(seed):
    before = random.getstate()
    with pytest.raises((TypeError, ValueError), match=rf"whole number.*got {seed!r}"):
        set_seed(seed)
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("cuda", "mps", "want"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu"), (True, False, "cuda")],
)
def test_the_fastest_device_is_chosen(monkeypatch, cuda, mps, want):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert get_device() == torch.device(want)


def test_course_device_overrides_the_choice(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for wish in ("cpu", " cpu "):
        monkeypatch.setenv("COURSE_DEVICE", wish)
        assert get_device() == torch.device("cpu")
    monkeypatch.setenv("COURSE_DEVICE", "  ")
    assert get_device() == torch.device("cuda")


# of the last two one is a word that torch knows but needs a plug-in for
@pytest.mark.parametrize("wish", ["quantum", "cuda:77", "3", "hpu", "privateuseone"])
def test_a_device_that_is_not_there_is_named(monkeypatch, wish):
    monkeypatch.setenv("COURSE_DEVICE", wish)
    with pytest.raises(ValueError, match=rf"COURSE_DEVICE='{wish}' cannot be used"):
        get_device()


def test_one_thread_by_default():
    torch.set_num_threads(2)
    assert set_threads() == 1
    assert torch.get_num_threads() == 1


def test_the_variable_overrides_the_default_and_the_argument_both(monkeypatch):
    monkeypatch.setenv("COURSE_THREADS", " 2 ")
    assert set_threads() == 2
    assert torch.get_num_threads() == 2
    assert set_threads(3) == 3
    assert torch.get_num_threads() == 3
    monkeypatch.setenv("COURSE_THREADS", "")
    assert set_threads() == 1


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_a_bad_variable_is_named(monkeypatch, text):
    monkeypatch.setenv("COURSE_THREADS", text)
    threads = torch.get_num_threads()
    with pytest.raises(ValueError, match=rf"COURSE_THREADS .* at least 1, got '?{text}"):
        set_threads()
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("count", [0, -2, 1.0, "2", True])
def test_a_bad_count_is_named(count):
    with pytest.raises(ValueError, match=rf"count .* at least 1, got {count!r}"):
        set_threads(count)


IMPORTS = """
import random, sys, threading
import torch

torch.set_num_threads(2)
forbidden = {"matplotlib", "seaborn", "pandas", "ipywidgets", "IPython", "anywidget"}
states = torch.random.get_rng_state(), random.getstate(), torch.get_default_dtype()

def check(*allowed):
    forbidden.difference_update(allowed)
    extra = forbidden & set(sys.modules)
    assert not extra, f"{sorted(extra)} imported too early"

check()
import utils.runtime; check()
import utils.layers.masks; check()
import utils.layers.attention; check()
import utils.fonts; check()
import utils.figures.plots; check("matplotlib")
assert "matplotlib.pyplot" not in sys.modules
import utils.notebook.cells; check()
import utils.notebook.live; check("ipywidgets", "IPython")

assert threading.active_count() == 1, threading.enumerate()
assert torch.get_num_threads() == 2
assert torch.equal(torch.random.get_rng_state(), states[0])
assert random.getstate() == states[1]
assert torch.get_default_dtype() == states[2]
"""


def test_importing_does_no_work():
    result = subprocess.run(
        [sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr == ""
