"""From weights to bytes: whole thousandths, packed small, never a wrong decimal.

A weight w travels as the whole number k = round(w · 1000 · m), with m = 1 for short sequences and
m = 3 for long ones.  Two things follow.

* What is drawn is off by at most 0.0005, well inside 1/255.
* The three decimals on screen are the right ones.  A three-decimal bin ends at (j + ½)/1000, which
  is (j·m + m/2) steps of size 1/(1000·m); m is odd, so that is a half-step, which is where a fine
  bin ends too.  Every fine bin therefore lies inside exactly one three-decimal bin.

Most k fit one byte.  Those that do not are written as 255 in the byte plane, and their true values
follow as 16-bit numbers in the same order.  Huffman coding (raw deflate, which every browser can
undo by itself) then takes the sum to 0.3-0.8 bytes a weight.
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np

ESCAPE = 255  # a byte that says: the value is in the 16-bit list
PIECE = 1 << 19  # bytes that are coded in one go
LONG = 64  # more keys than this: weights are small, so use three steps to a thousandth


def steps_per_thousandth(num_keys: int) -> int:
    """The m above: odd, so that three decimals stay exact."""
    return 1 if num_keys <= LONG else 3


def quantise(weights: np.ndarray, m: int) -> np.ndarray:
    """Round to whole steps of 1/(1000·m), each on the right side of ``format(w, ".3f")``."""
    scaled = weights * weights.dtype.type(1000 * m)
    steps = np.rint(scaled)
    # Near the middle between two three-decimal numbers the multiplication may round to the wrong
    # side.  There are few such weights: ask Python's exact formatting for each of them.
    thousandths = scaled / m
    slack = 2e-4 if weights.dtype == np.float32 else 1e-9
    doubtful = np.abs(thousandths - np.floor(thousandths) - 0.5) < slack
    if doubtful.any():
        right = np.array([int(f"{w:.3f}".replace(".", "")) for w in weights[doubtful].tolist()])
        half = (m - 1) // 2
        steps[doubtful] = np.clip(steps[doubtful], right * m - half, right * m + half)
    return np.clip(steps, 0, 1000 * m).astype(np.uint16)


def pack(steps: np.ndarray) -> bytes:
    """Byte plane, then the values that did not fit, Huffman-coded."""
    flat = steps.reshape(-1)
    plane = np.minimum(flat, ESCAPE).astype(np.uint8).tobytes()
    large = flat[flat >= ESCAPE].astype("<u2").tobytes()
    # Pieces are coded side by side, zlib does not hold Python's lock; one after the other they are
    # one stream again.
    pieces = [plane[i : i + PIECE] for i in range(0, len(plane), PIECE)] + [large]
    with ThreadPoolExecutor(2) as workers:
        return b"".join(workers.map(_deflate, pieces, range(len(pieces) - 1, -1, -1)))


def _deflate(piece: bytes, after: int) -> bytes:
    """One piece of a raw deflate stream, of which ``after`` more follow."""
    # Z_RLE = Huffman codes plus runs of one byte (masked triangles): as small as the full search
    # for matches on such data, and ten times faster.
    coder = zlib.compressobj(6, zlib.DEFLATED, -15, 9, zlib.Z_RLE)
    return coder.compress(piece) + coder.flush(zlib.Z_SYNC_FLUSH if after else zlib.Z_FINISH)


def unpack(data: bytes, count: int) -> np.ndarray:
    """The inverse of `pack`, as explorer.js does it: ``count`` values as uint16."""
    raw = zlib.decompress(data, -15)
    steps = np.frombuffer(raw, np.uint8, count).astype(np.uint16)
    steps[steps == ESCAPE] = np.frombuffer(raw, "<u2", offset=count)
    return steps
