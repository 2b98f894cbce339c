"""The training loop on two processes does what it does on one."""

import json
import os
import subprocess
import sys

import pytest
import torch

from tools.project import ROOT
from utils.text.vocabulary import Batch
from utils.train.distributed import average, mean_over_all, parallel, processes, share, world

TRAIN = ["-m", "utils.tasks.train_translation", "--pairs", "60", "--steps", "6", "--batch", "8"]


def losses(count: int, *more: str) -> dict:
    """Train under torchrun with ``count`` processes; the report of the first one."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", str(count), *TRAIN, "--test", "0", *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COURSE_DEVICE": "cpu"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without it")
def test_two_processes_have_the_same_losses_as_one():
    one, two = losses(1), losses(2)
    assert one["steps"] == two["steps"] == 6
    # sentences of different lengths: a mean of the two means would differ in the second digit
    assert two["first_losses"] == pytest.approx(one["first_losses"], rel=1e-5)
    assert len(set(one["first_losses"])) == 6  # it does train


def test_one_process_is_the_usual_case(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with processes() as gpu:
        assert gpu is None and world() == (0, 1) and average(3.5) == 3.5
        model = torch.nn.Linear(2, 2)
        assert parallel(model) is model
        total, count = torch.tensor(6.0), torch.tensor(4)
        assert mean_over_all(total, count) == 1.5
    rows = torch.arange(6).view(3, 2)
    (batch,) = share([Batch(rows, rows, rows)])
    assert torch.equal(batch.source, rows)


def test_each_process_takes_its_own_rows(monkeypatch):
    rows = torch.arange(10).view(5, 2)
    taken = []
    for rank in (0, 1):
        monkeypatch.setattr("utils.train.distributed.world", lambda rank=rank: (rank, 2))
        stream = list(share([Batch(rows, rows, rows), Batch(rows[:1], rows[:1], rows[:1])]))
        assert len(stream) == 1  # one row cannot be shared: both leave that batch out
        taken.append(stream[0].source)
    assert torch.equal(torch.cat(taken).sort(dim=0).values, rows)
