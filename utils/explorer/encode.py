"""From weights to bytes: whole thousandths, packed small, never a wrong decimal.

A weight w travels as the whole number k = round(w · 1000 · m), with m = 1 for short sequences, 3
for long ones and 15 for very long ones.  Two things follow.

* What is drawn is off by at most 0.0005, well inside 1/255.
* The three decimals on screen are the right ones.  A three-decimal bin ends at (j + ½)/1000, which
  is (j·m + m/2) steps of size 1/(1000·m); m is odd, so that is a half-step, which is where a fine
  bin ends too.  Every fine bin therefore lies inside exactly one three-decimal bin.

Most k fit one byte.  Those that do not are written as 255 in the byte plane, and their true values
follow as 16-bit numbers in the same order.  Huffman coding (raw deflate, which every browser can
undo by itself) then takes the sum to 0.3-0.8 bytes a weight.  Everything an explorer shows is one
deflate stream, which the page undoes in one go: the byte planes, each followed by its mask if it
has one, and then the 16-bit values of all of them in the same order.  The page is told how many of
these belong to each layer, so that it can turn a layer into numbers when it is first looked at.
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ESCAPE = 255  # a byte that says: the value is in the 16-bit list
# Weights that are coded in one go (or one layer, if that is more).  Fewer are not worth a second
# thread: it takes the core on which the page is to be drawn.
PIECE = 1 << 20
LONG, VERY_LONG = 64, 512  # more keys than this: weights are small, and so must the steps be
END = zlib.compressobj(wbits=-15).flush()  # closes a stream of pieces


def steps_per_thousandth(num_keys: int) -> int:
    """The m above: odd, so that three decimals stay exact."""
    return 1 if num_keys <= LONG else 3 if num_keys <= VERY_LONG else 15


def quantise(weights: np.ndarray, m: int) -> np.ndarray:
    """Round to whole steps of 1/(1000·m), each on the right side of ``format(w, ".3f")``."""
    scaled = weights * weights.dtype.type(1000 * m)
    steps = np.rint(scaled)
    # Near the middle between two steps the multiplication may round to the wrong side.  There are
    # few such weights: ask Python's exact formatting for each of them.
    np.subtract(scaled, steps, out=scaled)
    slack = 1000 * m * 2.0 ** (-23 if weights.dtype == np.float32 else -40)  # twice what it may err
    doubtful = np.abs(scaled, out=scaled) > 0.5 - slack
    if doubtful.any():
        right = np.array([int(f"{w:.3f}".replace(".", "")) for w in weights[doubtful].tolist()])
        half = (m - 1) // 2
        steps[doubtful] = np.clip(steps[doubtful], right * m - half, right * m + half)
    return np.minimum(steps.astype(np.uint16), np.uint16(1000 * m))


def pack_weights(weights: np.ndarray, m: int) -> tuple[bytes, list[np.ndarray]]:
    """Weights (L, H, M, N) as a coded byte plane, and by layer the values that did not fit."""
    parts = np.array_split(weights, max(1, min(len(weights), weights.size // PIECE)))
    if len(parts) == 1:
        return _pack_part(weights, m)
    with ThreadPoolExecutor(2) as workers:  # neither numpy nor zlib holds Python's lock
        planes, large = zip(*workers.map(_pack_part, parts, [m] * len(parts)))
    return b"".join(planes), sum(large, [])


def _pack_part(weights: np.ndarray, m: int) -> tuple[bytes, list[np.ndarray]]:
    plane, large = np.empty((len(weights), weights[0].size), np.uint8), []
    for layer, row in zip(weights, plane):  # what fits the cache takes two thirds of the time
        steps = quantise(layer, m).reshape(-1)
        np.minimum(steps, ESCAPE, out=row, casting="unsafe")
        large.append(steps[row == ESCAPE].astype("<u2"))
    return deflate(plane.tobytes()), large


def deflate(piece: bytes) -> bytes:
    """One piece of a raw deflate stream; others may follow, and `END` is the last."""
    # Z_RLE = Huffman codes plus runs of one byte (masked triangles): as small as the full search
    # for matches on such data, and ten times faster.
    coder = zlib.compressobj(6, zlib.DEFLATED, -15, 9, zlib.Z_RLE)
    return coder.compress(piece) + coder.flush(zlib.Z_SYNC_FLUSH)


def unpack(data: bytes, counts: list[int]) -> list[np.ndarray]:
    """What js/weights.js reads: planes of so many values (or masks), one after the other."""
    raw = np.frombuffer(zlib.decompress(data, -15), np.uint8)
    found, large = [], raw[sum(counts) :].view("<u2")
    for count in counts:
        steps, raw = raw[:count].astype(np.uint16), raw[count:]
        escaped = steps == ESCAPE
        steps[escaped], large = large[: escaped.sum()], large[escaped.sum() :]
        found.append(steps)
    return found
