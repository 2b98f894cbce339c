"""How fast is our Transformer?  Ratios against ``torch.nn``, measured turn by turn in one run.

Every round times one call of each rival, so that a busy moment of the machine hits all of them; a
ratio is made within each round, and the table shows the median with the quartiles.  Times are CPU
seconds of one thread.  More than 1 means that ours is faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median, quantiles

import torch
from torch import Tensor, nn

from utils.layers.masks import causal_mask, to_torch_blocked
from utils.models.transformer import BlockSizes, Encoder, Transformer
from utils.text.vocabulary import BOS, EOS
from utils.train.generation import decode

TOKENS = 2048  # in each batch: long sentences come in small batches
LAYERS = 2


def main(rounds: int, lengths: list[int] | None = None) -> None:
    torch.set_num_threads(1)
    peak = matmul_peak()
    print(f"Transformer, one thread, {rounds} rounds; matrix-multiply peak {peak:.0f} GFLOP/s")
    print("ratio = time of the rival / ours: median (quartiles)\n")
    head = f"{'':22}{'torch.nn':>20}{'plain formula':>20}{'ms':>8}{'of peak':>9}"
    for d_model in (128, 256):
        for what in ("training", "inference", "causal training"):
            print(f"{what}, d = {d_model}\n{head}")
            for n in lengths or [32, 64, 128, 256, 512]:
                print(_encoder_row(what, n, d_model, rounds, peak))
    print(f"\nencoder-decoder, training step, d = 128\n{head}")
    for n in (16, 32, 64):
        print(_pair_row(n, 128, rounds, peak))
    print("\nKV cache, greedy decoding, 16 sentences: recomputed / cached")
    for words in (16, 32, 64, 128, 256):
        print(f"{words:6} words{_ratio(_decoding(words, max(3, rounds // 4))):>20}")


def turns(rivals: dict[str, Callable[[], object]], rounds: int) -> list[dict[str, float]]:
    """CPU seconds of each rival in each round; a call that is quick is repeated within its turn."""
    repeats = {}
    for name, call in rivals.items():
        call()
        began = time.process_time()
        call()
        repeats[name] = max(1, int(0.02 / max(1e-4, time.process_time() - began)))
    found = []
    for turn in range(rounds):
        times = {}
        order = list(rivals) if turn % 2 else list(rivals)[::-1]
        for name in order:
            began = time.process_time()
            for _ in range(repeats[name]):
                rivals[name]()
            times[name] = (time.process_time() - began) / repeats[name]
        found.append(times)
    return found


def matmul_peak(size: int = 1024) -> float:
    """GFLOP/s of the best of some square matrix multiplications."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    times = [t["matmul"] for t in turns({"matmul": lambda: a @ b}, 10)]
    return 2 * size**3 / min(times) / 1e9


def encoder_flops(tokens: int, n: int, d: int, *, layers: int = LAYERS) -> float:
    """Multiply-adds of the matrices, times two: 4 D² + 8 D² weights, and scores and values."""
    return 2 * layers * tokens * (12 * d * d + 2 * n * d)


def _encoder_row(what: str, n: int, d: int, rounds: int, peak: float) -> str:
    tokens = max(TOKENS, n)
    x = torch.randn(tokens // n, n, d)
    mask = causal_mask(n) if what.startswith("causal") else None
    ours = Encoder(LAYERS, BlockSizes(d_model=d, num_heads=d // 32, d_ff=4 * d))
    layer = nn.TransformerEncoderLayer(
        d, d // 32, 4 * d, dropout=0.0, batch_first=True, norm_first=True
    )
    rival = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(d), enable_nested_tensor=False)
    theirs = None if mask is None else to_torch_blocked(mask)
    calls = {
        "ours": lambda: ours(x, mask)[0],
        "torch.nn": lambda: rival(x, mask=theirs, is_causal=mask is not None),
        "plain": lambda: ours(x, mask, need_weights=True)[0],
    }
    if what == "inference":
        ours.eval(), rival.eval()
        steps = {name: torch.inference_mode()(call) for name, call in calls.items()}
        passes = 1
    else:
        steps = {
            name: _training(call, m) for (name, call), m in zip(calls.items(), (ours, rival, ours))
        }
        passes = 3  # backward is two more
    flops = passes * encoder_flops(tokens, n, d)
    return _row(f"  {tokens // n:3} x {n:3} tokens", turns(steps, rounds), flops, peak)


def _pair_row(n: int, d: int, rounds: int, peak: float) -> str:
    batch = max(1, TOKENS // (2 * n))
    x, y = torch.randn(batch, n, d), torch.randn(batch, n, d)
    mask = causal_mask(n)
    ours = Transformer(
        8, 8, BlockSizes(d_model=d, num_heads=d // 32, d_ff=4 * d), num_layers=LAYERS
    )
    rival = nn.Transformer(
        d, d // 32, LAYERS, LAYERS, 4 * d, dropout=0.0, batch_first=True, norm_first=True
    )
    blocked = to_torch_blocked(mask)

    def run(need_weights: bool) -> Tensor:
        memory, _ = ours.encoder(x, need_weights=need_weights)
        return ours.decoder(y, memory, mask, need_weights=need_weights)[0]

    steps = {
        "ours": _training(lambda: run(False), ours),
        "torch.nn": _training(lambda: rival(x, y, tgt_mask=blocked, tgt_is_causal=True), rival),
        "plain": _training(lambda: run(True), ours),
    }
    flops = 3 * 2 * LAYERS * batch * n * (28 * d * d + 6 * n * d)
    return _row(f"  {batch:3} x {n:3} -> {n:3} words", turns(steps, rounds), flops, peak)


def _decoding(words: int, rounds: int) -> list[float]:
    model = Transformer(400, 400, max_len=512).eval()
    source = torch.randint(4, 400, (16, 20))
    with torch.no_grad():
        model.target_embedding.words.weight[EOS] = -1.0  # never stop: we want all the words
        memory_mask = (source != 0)[:, None, None]

    def recomputed() -> Tensor:
        memory, _ = model.encoder(model.source_embedding(source), memory_mask)
        said = torch.full((16, 1), BOS)
        for m in range(1, words + 1):
            x = model.target_embedding(said)
            x, _ = model.decoder(x, memory, causal_mask(m), memory_mask)
            said = torch.cat([said, model.logits(x[:, -1:]).argmax(-1)], dim=1)
        return said[:, 1:]

    recomputed = torch.no_grad()(recomputed)
    cached = decode(model, source, words)[0]
    assert torch.equal(recomputed()[:, : cached.shape[1]], cached), "the cache changed the words"
    rivals = {"ours": lambda: decode(model, source, words), "again": recomputed}
    return [t["again"] / t["ours"] for t in turns(rivals, rounds)]


def _training(call: Callable[[], Tensor], model: nn.Module) -> Callable[[], None]:
    def step() -> None:
        model.zero_grad(set_to_none=True)
        call().square().mean().backward()

    return step


def _row(name: str, rounds: list[dict[str, float]], flops: float, peak: float) -> str:
    against = [_ratio([t[rival] / t["ours"] for t in rounds]) for rival in ("torch.nn", "plain")]
    seconds = median(t["ours"] for t in rounds)
    share = flops / seconds / peak / 1e9
    return f"{name:22}{against[0]:>20}{against[1]:>20}{1000 * seconds:8.1f}{share:9.0%}"


def _ratio(ratios: list[float]) -> str:
    low, _, high = quantiles(ratios, n=4)
    return f"{median(ratios):.2f} ({low:.2f}-{high:.2f})"
