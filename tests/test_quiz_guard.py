"""Nothing a student writes may hang, end or bend the kernel."""

import math
import os
import random
import signal
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from utils.quiz import registry
from utils.quiz.diagnose import diagnose
from utils.quiz.guard import guarded

EXERCISE = registry.get("X03-1", "X")
QUICK = replace(EXERCISE, seconds=0.3)


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def right(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights


def loop(q, k, v):
    while True:
        pass


ENOUGH = (
    threading.Event()
)  # a thread cannot be killed: without an end it would slow all that follows


def stubborn(q, k, v):
    while not ENOUGH.is_set():
        try:
            while not ENOUGH.is_set():
                pass
        except BaseException:
            pass


def stubborn_in_a_helper(q, k, v):
    def helper():
        try:
            while True:
                try:
                    sum(range(100))
                except BaseException:
                    pass
        except BaseException:
            pass

    while True:
        try:
            helper()
        except BaseException:
            continue
        finally:
            pass


def sleeper(q, k, v):
    time.sleep(1000)


def sleeper_again(q, k, v):
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass


@pytest.mark.parametrize(
    "student",
    [loop, stubborn, stubborn_in_a_helper, sleeper, sleeper_again],
    ids=lambda f: f.__name__,
)
def test_endless_code_is_too_slow(student):
    started = time.monotonic()
    verdict = diagnose(QUICK, student)
    assert verdict.status == "too slow"
    assert time.monotonic() - started < 3
    assert sys.gettrace() is None or "coverage" in sys.modules
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_real_limit_is_below_six_seconds():
    started = time.monotonic()
    assert diagnose(EXERCISE, stubborn).status == "too slow"
    assert time.monotonic() - started < 6


@pytest.mark.parametrize("student", [loop, stubborn, sleeper], ids=lambda f: f.__name__)
def test_endless_code_off_the_main_thread(student):
    found = []
    worker = threading.Thread(target=lambda: found.append(diagnose(QUICK, student)))
    worker.start()
    worker.join(6)
    ENOUGH.set()
    threading.Event().wait(0.1)
    ENOUGH.clear()
    assert found and found[0].status == "too slow"


def test_right_code_off_the_main_thread():
    found = []
    worker = threading.Thread(target=lambda: found.append(diagnose(EXERCISE, right)))
    worker.start()
    worker.join(20)
    assert found and found[0].passed


def test_a_flood_of_prints_is_stopped(capfd):
    def chatty(q, k, v):
        while True:
            print("x" * 100_000)

    verdict = diagnose(QUICK, chatty)
    assert (verdict.status, verdict.mistake) == ("raised", "prints-without-end")
    assert capfd.readouterr().out == ""


def test_a_few_prints_are_no_mistake_and_are_swallowed(capfd):
    def talks(q, k, v):
        print("shape", q.shape, file=sys.stderr)
        print("shape", q.shape)
        return right(q, k, v)

    verdict = diagnose(EXERCISE, talks)
    assert verdict.passed
    assert "prints" in " ".join(verdict.remarks)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("leave", [sys.exit, lambda: os._exit(3), lambda: os.abort(), exit])
def test_leaving_python_is_named(leave):
    verdict = diagnose(QUICK, lambda q, k, v: leave())
    assert (verdict.status, verdict.mistake) == ("raised", "leaves-python")


def test_asking_at_the_keyboard_is_named():
    verdict = diagnose(QUICK, lambda q, k, v: input("?"))
    assert (verdict.status, verdict.mistake) == ("raised", "asks-keyboard")


def recursive(q, k, v):
    return recursive(q, k, v)


class Hostile(Exception):
    def __str__(self):
        raise ValueError("no text for you")


def hostile(q, k, v):
    raise Hostile


def interrupts_itself(q, k, v):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "student",
    [
        recursive,
        hostile,
        interrupts_itself,
        lambda q, k, v: torch.zeros(10**13),
        lambda q, k, v: [0] * 10**15,
        lambda q, k, v: 1 / 0,
        lambda q, k, v, d_k: q,
        lambda q: q,
        lambda q, k, v: undefined_name,  # noqa: F821
    ],
)
def test_exceptions_become_a_verdict(student):
    verdict = diagnose(EXERCISE, student)
    assert verdict.status in ("raised", "mistake named")
    assert len(verdict.message) > 20


def test_odd_results_become_a_verdict():
    def generator(q, k, v):
        yield q

    for student in (
        generator,
        lambda q, k, v: "done",
        lambda q, k, v: {1: 2},
        lambda q, k, v: (),
        lambda q, k, v: (q, (k, [v, object()])),
        lambda q, k, v: (q.to_sparse(), k),
        lambda q, k, v: torch.zeros(3_000_000),
        lambda q, k, v: (right(q, k, v)[0] * 1j, right(q, k, v)[1]),
        lambda q, k, v: (q[:0], k[:0]),
    ):
        verdict = diagnose(EXERCISE, student)
        assert not verdict.passed, verdict
        assert verdict.message


def test_not_a_function_is_named():
    for thing in (3, "attention", (torch.zeros(2), torch.zeros(2)), torch.zeros(3)):
        assert diagnose(EXERCISE, thing).mistake == "not-a-function"


def test_a_real_ctrl_c_gets_through():
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        diagnose(EXERCISE, loop)
    assert diagnose(EXERCISE, right).passed


def test_ctrl_c_on_code_that_swallows_it_gets_through_too():
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        diagnose(QUICK, stubborn)


def test_surroundings_are_put_back():
    def meddler(q, k, v):
        torch.manual_seed(99)
        random.seed(99)
        np.random.seed(99)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_num_threads(2)
        torch.set_default_device("meta")
        sys.setrecursionlimit(5000)
        os.chdir("/")
        sys.stdout = None
        return right(q, k, v)

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    before = (
        torch.get_num_threads(),
        sys.getrecursionlimit(),
        os.getcwd(),
        sys.stdout,
        random.getstate(),
    )
    assert diagnose(EXERCISE, meddler).status in ("passed", "mistake named", "raised")
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert torch.zeros(1).device.type == "cpu"
    after = (
        torch.get_num_threads(),
        sys.getrecursionlimit(),
        os.getcwd(),
        sys.stdout,
        random.getstate(),
    )
    assert after == before


def test_patched_torch_does_not_help(monkeypatch):
    def cheat(q, k, v):
        return torch.zeros(*q.shape[:-1], v.shape[-1]), torch.zeros(*q.shape[:-1], k.shape[-2])

    fresh = replace(EXERCISE)
    monkeypatch.setattr(torch, "allclose", lambda *a, **k: True)
    monkeypatch.setattr(torch, "equal", lambda *a, **k: True)
    monkeypatch.setattr(torch, "isclose", lambda *a, **k: True)
    monkeypatch.setattr(np, "allclose", lambda *a, **k: True)
    assert not diagnose(fresh, cheat).passed


def test_patched_softmax_does_not_bend_the_reference(monkeypatch):
    fresh = replace(EXERCISE)
    flat = lambda x, dim=-1: torch.full_like(x, 1 / x.shape[-1])  # noqa: E731
    monkeypatch.setattr(torch, "softmax", flat)
    monkeypatch.setattr(torch.Tensor, "softmax", flat)
    assert diagnose(fresh, right).status == "mistake named"


def test_somebody_elses_timer_goes_on():
    rung = []
    old = signal.signal(signal.SIGALRM, lambda *a: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        guarded(lambda: time.sleep(0.01), 1)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 3 < left < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_in_place_edit_is_named_with_its_argument():
    def edits(q, k, v):
        k.mul_(1 / math.sqrt(k.shape[-1]))
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return weights @ v, weights

    verdict = diagnose(EXERCISE, edits)
    assert verdict.mistake == "changes-inputs"
    assert "`k`" in verdict.message
