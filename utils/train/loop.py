"""One small training loop for the whole course.  The model and the trainer are strangers.

The loop knows neither words nor images: it is given batches, and a function that turns the model
and a batch into a loss.  It shows a progress bar, keeps to a budget of CPU seconds, and Ctrl-C (or
the notebook's stop button) ends it early without losing the model so far.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from utils.train.distributed import average, parallel

SHOW_AFTER = 3.0  # seconds: quicker trainings need no progress bar


@dataclass
class History:
    """What happened: the loss of every step, the score at each evaluation, and why it ended."""

    losses: list[float] = field(default_factory=list)
    scores: list[tuple[int, float]] = field(default_factory=list)  # (step, score)
    cpu_seconds: float = 0.0  # of the training steps alone, without evaluations
    ended: str = "all steps done"

    @property
    def steps(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return f"History: {self.steps} steps, {self.ended}"  # no times, no trained digits


def train(
    model: nn.Module,
    batches: Iterable[Any],
    loss_of: Callable[[nn.Module, Any], Tensor],
    *,
    steps: int,
    lr: float = 3e-3,
    warmup: int = 50,
    decay: bool = True,
    clip: float = 1.0,
    weight_decay: float = 0.0,
    budget: float | None = None,
    stop_below: float | None = None,
    evaluate: Callable[[nn.Module], float] | None = None,
    every: int = 100,
    name: str = "training",
    progress: bool = True,
) -> History:
    """Train ``model`` in place for ``steps`` steps of Adam and return what happened.

    The learning rate rises over ``warmup`` steps to ``lr`` and, with ``decay``, falls to zero along
    a cosine.  ``budget`` stops after that many CPU seconds, ``stop_below`` once the mean of the
    last 20 losses is less.  ``evaluate(model)`` is called ``every`` so many steps and at the end;
    its times are not counted.  The model is left in evaluation mode.
    """
    if steps < 1 or lr <= 0:
        raise ValueError(f"steps and lr must be positive, got steps = {steps}, lr = {lr}")
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=lr,
        betas=(0.9, 0.98),
        weight_decay=weight_decay,
        fused=all(p.device.type in ("cpu", "cuda") for p in model.parameters()),  # far quicker
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_schedule(steps, warmup, decay))
    history, bar = History(), None
    model.train()
    stream = iter(batches)
    runner = parallel(model)  # the model itself, unless torchrun started several processes
    started = time.monotonic()
    try:
        for step in range(1, steps + 1):
            began = time.process_time()
            batch = next(stream, None)
            if batch is None:
                history.ended = "the batches ran out"
                break
            loss = loss_of(runner, batch)
            value = average(loss.item())
            _check_finite("loss", value, step)  # before it reaches the weights
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            _check_finite("gradient", nn.utils.clip_grad_norm_(model.parameters(), clip), step)
            optimizer.step()
            schedule.step()
            history.losses.append(value)
            history.cpu_seconds += time.process_time() - began
            if progress and bar is None and time.monotonic() - started > SHOW_AFTER:
                bar = _bar(name, steps, step)
            if bar is not None:
                bar.update(step - bar.n)
                bar.set_postfix_str(f"loss {history.losses[-1]:.3f}", refresh=False)
            solved = stop_below is not None and _recent(history.losses) < stop_below
            out_of_time = budget is not None and history.cpu_seconds >= budget
            last = step == steps or out_of_time or solved
            if evaluate is not None and (step % every == 0 or last):
                history.scores.append((step, _evaluated(model, evaluate)))
            if (solved or out_of_time) and step < steps:
                history.ended = "solved" if solved else "budget used up"
                break
    except KeyboardInterrupt:
        history.ended = "stopped by hand; the model keeps what it learnt"
        print(f"Stopped after {history.steps} of {steps} steps. The model keeps what it learnt.")
    finally:
        model.eval()
        if bar is not None:
            bar.close()
    return history


def rate_schedule(steps: int, warmup: int, decay: bool = True) -> Callable[[int], float]:
    """The factor on the learning rate in each step: a short rise, then a cosine down to zero."""

    def factor(step: int) -> float:
        rise = min(1.0, (step + 1) / max(1, warmup))
        if not decay:
            return rise
        return rise * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))

    return factor


def _check_finite(name: str, value: float | Tensor, step: int) -> None:
    if not math.isfinite(value):
        raise ValueError(
            f"the {name} became {float(value)} in step {step}: lower lr? "
            "The model keeps the weights it had before."
        )


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _recent(losses: list[float]) -> float:
    return sum(losses[-20:]) / 20 if len(losses) >= 20 else math.inf


def _evaluated(model: nn.Module, evaluate: Callable[[nn.Module], float]) -> float:
    model.eval()
    with torch.no_grad():
        score = float(evaluate(model))
    model.train()
    return score


def _bar(name: str, steps: int, done: int):
    from tqdm.auto import tqdm  # only a long training needs it

    return tqdm(total=steps, initial=done, desc=name, unit="step", leave=False)
