"""Writing words one by one: greedy, drawn by chance, or with a beam.  Notebooks 02 and 07.

Works with every model that has ``start(source)`` and ``step(tokens, state)``: the recurrent ones
and the attending ones of ``utils/models``.
"""

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from utils.layers.weights import Weights
from utils.text.vocabulary import BOS, EOS, PAD


@torch.no_grad()
def decode(
    model: nn.Module,
    source: Tensor,
    max_length: int,
    generator: torch.Generator | None = None,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    first: Tensor | None = None,
    need_weights: bool = False,
) -> tuple[Tensor, Weights]:
    """Free running: feed each word back until <eos>, for at most ``max_length`` words.

    Takes the likeliest word; with a ``generator`` it draws from the probabilities instead, which
    ``temperature``, ``top_k`` and ``top_p`` shape (see ``chances``).  ``first`` (B) is what the
    model is given first: <bos>, or the last word of a language model's prompt.
    Returns ``(ids, weights)``: ids (B, M) with <pad> after each <eos>; on request the weights that
    made these very words, one row for each, empty if the model has no attention.
    """
    _check_length(max_length)
    if generator is None and (temperature != 1.0 or top_k is not None or top_p is not None):
        raise ValueError("temperature, top_k and top_p shape a draw: give a generator to draw with")
    was_training = model.training
    model.eval()
    try:
        asked = {"need_weights": True} if need_weights else {}  # a small model knows no such word
        state = model.start(source, **asked)
        tokens = _first(source, first)
        finished = torch.zeros_like(tokens, dtype=torch.bool)
        ids, steps = [], []
        while len(ids) < max_length and not finished.all():
            logits, state, weights = model.step(tokens, state, **asked)
            if generator is None:
                tokens = logits.argmax(dim=-1)
            else:
                p = chances(logits, temperature, top_k, top_p).to(generator.device)
                tokens = torch.multinomial(p, 1, generator=generator)[:, 0].to(source.device)
            tokens = tokens.masked_fill(finished, PAD)
            finished = finished | (tokens == EOS)
            ids.append(tokens)
            steps.append(weights if need_weights else Weights())
    finally:
        model.train(was_training)
    return torch.stack(ids, dim=1), Weights.of_steps(steps)


def chances(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """softmax(logits / temperature) over the words that may be drawn; the others get exactly 0.

    ``top_k`` keeps the k likeliest words.  ``top_p`` keeps the fewest words that together have at
    least that probability, always at least one.  logits (..., vocabulary) -> the same shape.
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be more than 0, got {temperature}: for 0 decode greedy")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must keep at least 1 word, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be more than 0 and at most 1, got {top_p}")
    logits = logits / temperature
    order = logits.argsort(dim=-1, descending=True, stable=True)
    p = logits.gather(-1, order).softmax(dim=-1)  # likeliest first
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1], device=p.device) < top_k)
        p = p / p.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:  # 1 keeps all: rounding must not drop the rarest
        before = p.cumsum(dim=-1) - p  # what the likelier words have already
        p = p * (before < top_p)
        p = p / p.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


@torch.no_grad()
def beam_search(
    model: nn.Module,
    source: Tensor,
    max_length: int,
    *,
    beams: int = 4,
    length_penalty: float = 0.6,
    first: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Keep the ``beams`` likeliest beginnings at each word, not only the likeliest one.

    Sentences are compared by log p / ((5 + length) / 6)^``length_penalty`` (Wu et al. 2016): with
    0 short ones win too easily, because every further word costs probability.
    Returns ``(ids, scores)``: ids (B, M) with <pad> after <eos>, scores (B).
    """
    _check_length(max_length)
    if beams < 1:
        raise ValueError(f"beams must be at least 1, got {beams}")
    was_training = model.training
    model.eval()
    try:
        B = len(source)
        rows = torch.arange(B, device=source.device).repeat_interleave(beams)  # B · beams
        state = select(model.start(source), rows)
        tokens = _first(source, first)[rows]
        # at first all beams of a sentence are alike: only one of them may grow
        scores = torch.full((B, beams), -torch.inf, device=source.device)
        scores[:, 0] = 0.0
        ids = torch.empty(B * beams, 0, dtype=torch.long, device=source.device)
        finished = torch.zeros(B * beams, dtype=torch.bool, device=source.device)
        lengths = torch.zeros(B * beams, dtype=torch.long, device=source.device)
        for _ in range(max_length):
            logits, state, _ = model.step(tokens, state)
            log_p = logits.float().log_softmax(dim=-1)  # (B · beams, vocabulary)
            # a finished sentence goes on with <pad>, at no cost, and with nothing else
            log_p[finished] = -torch.inf
            log_p[finished, PAD] = 0.0
            total = (scores.flatten()[:, None] + log_p).view(B, -1)  # (B, beams · vocabulary)
            scores, best = total.topk(beams, dim=-1)
            words = logits.shape[-1]
            parents = (
                best // words + torch.arange(B, device=best.device)[:, None] * beams
            ).flatten()
            tokens = (best % words).flatten()
            state, finished = select(state, parents), finished[parents]
            ids = torch.cat([ids[parents], tokens[:, None]], dim=1)
            lengths = lengths[parents] + ~finished
            finished = finished | (tokens == EOS)
            if finished.all():
                break
    finally:
        model.train(was_training)
    lengths = lengths.view(B, beams)
    ranked = scores / ((5 + lengths) / 6) ** length_penalty
    value, winner = ranked.max(dim=-1)
    rows = torch.arange(B, device=ids.device)
    longest = int(lengths[rows, winner].max())
    return ids.view(B, beams, -1)[rows, winner, :longest], value


def select(state: Any, rows: Tensor) -> Any:
    """The same state for other rows of the batch: every tensor in it is indexed by ``rows``."""
    if isinstance(state, Tensor):
        return state[rows]
    if isinstance(state, tuple):
        return tuple(select(part, rows) for part in state)
    if dataclasses.is_dataclass(state):
        parts = {f.name: select(getattr(state, f.name), rows) for f in dataclasses.fields(state)}
        return dataclasses.replace(state, **parts)
    return state


def _first(source: Tensor, first: Tensor | None) -> Tensor:
    return torch.full((len(source),), BOS, device=source.device) if first is None else first


def _check_length(max_length: int) -> None:
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1 word, got {max_length}")
