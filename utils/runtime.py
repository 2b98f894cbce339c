"""Where and how the course computes: seed, device and threads, decided here and nowhere else."""

import os
import random

import numpy as np
import torch


def set_seed(seed: int = 0) -> torch.Generator:
    """Seed Python, NumPy and torch, and return a CPU generator with the same seed.

    Numbers drawn from the returned generator are the same on every machine, GPU or not, and do not
    depend on what else was drawn in between.
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
        raise ValueError(f"seed must be a whole number from 0 to 2**32 - 1, got {seed!r}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator("cpu").manual_seed(seed)


def get_device() -> torch.device:
    """The fastest device there is: CUDA, then Apple's MPS, then the CPU.

    The environment variable ``COURSE_DEVICE`` (for example ``cpu`` or ``cuda:1``) overrides it.
    """
    wanted = os.environ.get("COURSE_DEVICE", "").strip()
    if wanted:
        try:
            device = torch.device(wanted)
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError, ImportError) as error:
            raise ValueError(
                f"COURSE_DEVICE={wanted!r} cannot be used on this machine: {error}"
            ) from error
        return device
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def set_threads(count: int | None = None) -> int:
    """Set how many CPU threads torch uses, and return that number.

    The default is one: the course's models are small, and on a busy two-core laptop two threads
    wait for each other and are many times slower than one.  The environment variable
    ``COURSE_THREADS`` overrides the default, an argument overrides both.
    """
    source = "count"
    if count is None:
        source, text = "COURSE_THREADS", os.environ.get("COURSE_THREADS", "").strip() or "1"
        count = int(text) if text.isdecimal() else text
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{source} must be a whole number of at least 1, got {count!r}")
    torch.set_num_threads(count)
    return count
