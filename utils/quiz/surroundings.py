"""Everything around a student's function that it could change, put back afterwards.

Also the check that torch itself is still torch: answers are computed with it.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import math
import os
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
import torch
import torch.nn.functional as F

# What the references of the exercises are computed with, as it was when the course was imported.
_OWNERS = {
    torch: "softmax matmul bmm exp sqrt einsum sum tanh sigmoid allclose equal isclose",
    torch.Tensor: "softmax matmul bmm exp sqrt sum transpose __matmul__ __mul__ __truediv__ "
    "allclose equal masked_fill detach tolist numpy",
    F: "softmax scaled_dot_product_attention log_softmax",
    math: "sqrt exp",
}
_ORIGINAL = [(o, n, getattr(o, n)) for o, names in _OWNERS.items() for n in names.split()]


class Stopped(BaseException):
    """The student's code tried to leave Python or to ask at the keyboard."""

    def __init__(self, by_input: bool = False):
        super().__init__()
        self.by_input = by_input


def _leave(*args: Any, **kwargs: Any) -> None:
    raise Stopped


def _ask(*args: Any, **kwargs: Any) -> None:
    raise Stopped(by_input=True)


@contextlib.contextmanager
def preserved(prints: TextIO | io.TextIOBase) -> Iterator[None]:
    """Send prints to ``prints``; afterwards put back streams, settings and random states."""
    shell = _shell()
    swaps = [
        (sys, "stdout", prints),
        (sys, "stderr", prints),
        (sys, "stdin", io.StringIO()),
        (builtins, "input", _ask),
        (os, "_exit", _leave),
        (os, "abort", _leave),
    ]
    if shell is not None:  # exit() and quit() of IPython end in this
        swaps.append((shell, "ask_exit", _leave))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in swaps]
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    settings = _settings()
    recursion, folder = sys.getrecursionlimit(), os.getcwd()
    torch.set_num_threads(1)  # as in `clean_torch`
    for owner, name, value in swaps:
        setattr(owner, name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        sys.setrecursionlimit(recursion)
        _put_back(settings)
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
        if os.getcwd() != folder:
            os.chdir(folder)


def _shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    return sys.modules["IPython"].get_ipython()


def _settings() -> dict[str, Any]:
    return {
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
    }


def _put_back(settings: dict[str, Any]) -> None:
    setters = {
        "grad": torch.set_grad_enabled,
        "dtype": torch.set_default_dtype,
        "device": torch.set_default_device,
        "threads": torch.set_num_threads,
        "deterministic": torch.use_deterministic_algorithms,
        "anomaly": torch.autograd.set_detect_anomaly,
    }
    for name, now in _settings().items():
        if now != settings[name]:
            setters[name](settings[name])


@contextlib.contextmanager
def clean_torch() -> Iterator[None]:
    """Original torch functions, default settings, no gradients: where a reference runs.

    On one thread: for tables this small, waiting for a second one takes far longer than the work.
    """
    patched = [
        (o, n, getattr(o, n)) for o, n, original in _ORIGINAL if getattr(o, n) is not original
    ]
    for owner, name, original in _ORIGINAL:
        if getattr(owner, name) is not original:
            setattr(owner, name, original)
    settings = _settings()
    standard = settings | {"dtype": torch.float32, "device": torch.device("cpu"), "grad": False}
    standard["threads"] = 1
    _put_back(standard)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _put_back(settings)
        for owner, name, value in patched:
            setattr(owner, name, value)


def torch_is_sound() -> bool:
    """Does torch still compute what it says? Compared with arithmetic in plain Python."""
    row = [0.5, -1.0, 2.0]
    total = sum(2.718281828459045**x for x in row)
    want = [2.718281828459045**x / total for x in row]
    x = torch.tensor([row], dtype=torch.float32, device="cpu")
    for got in (torch.softmax(x, dim=-1), x.softmax(-1), F.softmax(x, -1), x.exp() / x.exp().sum()):
        if any(abs(a - b) > 1e-5 for a, b in zip(got.tolist()[0], want, strict=True)):
            return False
    product = [(x @ x.transpose(0, 1)).tolist(), torch.matmul(x, x.transpose(-2, -1)).tolist()]
    square = sum(a * a for a in row)
    return all(abs(p[0][0] - square) < 1e-4 for p in product)
