"""One training on several processes.  With one process, which is the usual case, nothing changes.

    torchrun --nproc_per_node 2 -m utils.tasks.train_translation --steps 200

starts two processes (on CPUs they talk over gloo, on GPUs over nccl).  Each holds the same model
and takes its rows of every batch; the gradients are averaged, so that all copies stay equal.
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@contextmanager
def processes() -> Iterator[torch.device | None]:
    """Join the processes that torchrun started; yields this one's GPU, or None on CPUs."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield None
        return
    on_gpu = torch.cuda.is_available()
    gpu = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else None
    if gpu is not None:
        torch.cuda.set_device(gpu)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield gpu
    finally:
        dist.destroy_process_group()


def world() -> tuple[int, int]:
    """(number of this process, number of processes): (0, 1) if there is only one."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def parallel(model: nn.Module) -> nn.Module:
    """The model to call in training: itself, or a wrapper that averages the gradients."""
    return model if world()[1] == 1 else DistributedDataParallel(model)


def share(batches: Iterable[Any]) -> Iterator[Any]:
    """This process's rows of every batch: a dataclass of tensors, each (B, ...)."""
    rank, size = world()
    for batch in batches:
        parts = {f.name: getattr(batch, f.name) for f in dataclasses.fields(batch)}
        if min(map(len, parts.values())) < size:
            continue  # too few rows to go round: every process leaves the batch out
        yield dataclasses.replace(batch, **{k: part[rank::size] for k, part in parts.items()})


def mean_over_all(total: Tensor, count: Tensor) -> Tensor:
    """total / count, where both are sums over the rows of *all* processes.

    A mean of means would weigh a word more where its process has fewer of them.  The result is such
    that the average over the processes, which is what they exchange, is the true mean.
    """
    size = world()[1]
    if size == 1:
        return total / count
    everyone = count.detach().clone().to(total.dtype)
    dist.all_reduce(everyone)
    return total * size / everyone


def average(number: float) -> float:
    """The average of a number over the processes."""
    size = world()[1]
    if size == 1:
        return number
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    tensor = torch.tensor(number, dtype=torch.float64, device=device)
    dist.all_reduce(tensor)
    return tensor.item() / size
