"""What the explorer accepts, checked once, and the sentence when it is wrong."""

from __future__ import annotations

import io
import reprlib
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from utils.arrays import to_array
from utils.layers.weights import Weights

MAX_TOKENS = 2048  # a side: more has no readable picture
MAX_WEIGHTS = 48_000_000  # in all: 12 layers × 12 heads × 512² fits with room
ROW_TOLERANCE = 0.02  # lets bfloat16 and weights typed with two decimals pass
TOP = 1.0005  # a single weight that is more would not be shown as what it is
IMAGE = (
    "image must be a PIL image, the bytes of a PNG or JPEG file, or an array of shape (height, "
    "width), (height, width, 3) or (3, height, width)"
)


def example(weights: Weights) -> dict[str, Any]:
    """The blocks of one example by name, (L, H, M, N) each; a batch of one will do."""
    blocks = weights.blocks()
    if not blocks:
        raise ValueError(
            "the weights are empty: the model has no attention, or was not asked for its weights"
        )
    for block in blocks.values():
        if block.ndim == 5 and len(block) != 1:
            raise ValueError(
                f"the weights hold a batch of {len(block)} examples: pass one, such as weights[0]"
            )
    return {name: block[0] if block.ndim == 5 else block for name, block in blocks.items()}


def one_block(weights: Any, name: str = "") -> Any:
    """Of ``Weights`` the block of this name, or the only one; anything else as it is."""
    if not isinstance(weights, Weights):
        return weights
    blocks = example(weights)
    if name not in blocks:
        weights.only()  # complains if there are several
    return blocks.get(name, next(iter(blocks.values())))


def to_numpy(value: Any, expected: str, kinds: str = "biuf") -> np.ndarray:
    """A numpy array of numbers, or a ValueError that begins with the sentence ``expected``.

    The array may share its memory with ``value``.  ``kinds`` are numpy's letters for the types of
    number that will do: booleans, whole numbers with and without sign, floats.
    """
    try:
        array = to_array(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{expected}, got {short(value)} ({error})") from None
    if array.dtype.kind not in kinds:
        raise ValueError(
            f"{expected}, got {array.dtype if hasattr(value, 'dtype') else short(value)}"
        )
    return array


def short(value: Any) -> str:
    """What came, in few characters."""
    text = reprlib.repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def to_weights(weights: Any, where: str = "") -> np.ndarray:
    """A copy of the weights as (L, H, M, N) floats from 0 to 1, or what is wrong with them."""
    array = to_numpy(
        weights,
        f"the weights{where} must be numbers in one rectangular array: every layer with the same "
        f"number of heads, every row with the same number of columns",
    )
    if array.ndim == 5 and array.shape[1] == 1:  # a list over layers of (1, H, M, N)
        array = array[:, 0]
    if not 2 <= array.ndim <= 4:
        raise ValueError(
            f"the weights{where} must have shape (queries, keys), (heads, queries, keys) or "
            f"(layers, heads, queries, keys), got {array.shape}"
            + ("; choose one example of the batch first" if array.ndim == 5 else "")
        )
    array = array.reshape((1,) * (4 - array.ndim) + array.shape)  # (L, H, M, N)
    if 0 in array.shape:
        raise ValueError(f"the weights{where} are empty: there must be a token, got {array.shape}")
    rows, columns = array.shape[-2:]
    if max(rows, columns) > MAX_TOKENS:
        raise ValueError(
            f"{max(rows, columns)} tokens are too many to draw (the limit is {MAX_TOKENS}): pass a "
            f"window, for example weights[..., :256, :256] with the same 256 tokens, and divide "
            f"each row by its sum"
        )
    if array.size > MAX_WEIGHTS:
        raise ValueError(
            f"{array.size:,} weights are too many to send to the page (the limit is "
            f"{MAX_WEIGHTS:,}): pass fewer layers, for example weights[:2], or fewer tokens"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        array = own(array, weights)
        low, high = array.min(), array.max()  # each is NaN if one of the weights is
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(
            f"the weights{where} hold NaN or infinity, first at (layer, head, query, key) = "
            f"{first(~np.isfinite(array))}; a softmax over a row masked everywhere gives NaN"
        )
    if low < 0:
        raise ValueError(
            f"the weights{where} hold a negative number, {low:.3g} at (layer, head, query, "
            f"key) = {first(array == low)}: pass the weights after the softmax, not the scores"
        )
    if high > TOP:
        raise ValueError(
            f"the weights{where} hold a number above 1, {high:.5g} at (layer, head, query, key) = "
            f"{first(array == high)}, but a row of shares must sum to 1: pass the weights after "
            f"the softmax, and call model.eval() first, so that no dropout changes them"
        )
    if high > 1:
        np.minimum(array, 1, out=array)
    return array


def own(array: np.ndarray, given: Any) -> np.ndarray:
    """Floats in memory of our own, copied once: what was ``given`` may change afterwards."""
    if hasattr(given, "data_ptr"):
        shared = given.data_ptr() == array.ctypes.data
    else:
        shared = not isinstance(given, (list, tuple))
    return array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=shared)


def first(bad: np.ndarray) -> tuple[int, ...]:
    """Where the first True is."""
    return tuple(int(i) for i in np.unravel_index(int(bad.argmax()), bad.shape))


def check_rows(array: np.ndarray, mask: np.ndarray | None, where: str) -> None:
    """Every row sums to 1; a row whose mask forbids every key may sum to 0."""
    sums = array.sum(-1)  # (L, H, M)
    bad = np.abs(sums - 1) > ROW_TOLERANCE
    if mask is not None:
        bad &= ~((sums == 0) & ~mask.any(-1))
    if not bad.any():
        return
    layer, head, query = first(bad)
    hint = ""
    if (np.abs(array.sum(-2) - 1) <= ROW_TOLERANCE).all():
        hint = "; the columns do: swap the last two dimensions, rows are queries"
    elif mask is None and (sums[bad] == 0).all():
        hint = "; if that query may look nowhere, pass the mask too"
    elif (np.abs(array - np.round(array)) > 1e-6).any():
        hint = "; did dropout change them? call model.eval() first"
    raise ValueError(
        f"the rows of the weights{where} must sum to 1, but layer {layer}, head {head}, row "
        f"{query} sums to {sums[layer, head, query]:.3f}{hint}"
    )


def counted(count: int, things: str) -> str:
    """So many of them, or one."""
    return f"{count} {things if count != 1 else things[:-1]}"


def to_tokens(tokens: Any, count: int, what: str, side: str, where: str) -> list[str]:
    """Token texts as a list of strings of the right length."""
    expected = f"{what}{where} must be a list of {counted(count, 'tokens')}"
    if isinstance(tokens, str):
        raise ValueError(f"{expected}, got one string: use .split() or list(...)")
    try:
        if isinstance(tokens, (Mapping, set, frozenset, bytes)):  # these would loop, but wrongly
            raise TypeError
        plain = [token.tolist() if hasattr(token, "tolist") else token for token in tokens]
    except (TypeError, RuntimeError):
        raise ValueError(f"{expected}, got {short(tokens)}") from None
    if len(plain) != count:
        came = f"{len(plain)} {what}" if len(plain) != 1 else "1 token"
        hint = f"one token for each of the {side}"
        if len(plain) == 1 and isinstance(plain[0], (list, tuple)) and len(plain[0]) == count:
            hint = "one list too many is around the tokens"
        raise ValueError(f"the weights{where} have {counted(count, side)} but {came} came: {hint}")
    for i, token in enumerate(plain):
        if token is None or isinstance(token, (list, dict, set)):
            raise ValueError(f"{expected}, but number {i} is no token: {short(token)}")
    return [to_text(token) for token in plain]


def to_text(value: Any) -> str:
    """The value as text that can be sent: a lone surrogate cannot, so it is spelled out."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def to_mask(mask: Any, rows: int, columns: int, where: str) -> np.ndarray:
    """A boolean (M, N) mask, True = may look; leading dimensions must all say the same."""
    array = to_numpy(mask, f"the mask{where} must be boolean (True = may look)", "b")
    try:
        full = np.broadcast_to(array, array.shape[:-2] + (rows, columns)).reshape(-1, rows, columns)
    except ValueError:
        full = np.empty(0)
    if not len(full):
        raise ValueError(
            f"the mask{where} must fit (queries, keys) = ({rows}, {columns}), got {array.shape}"
        )
    if not (full == full[:1]).all():
        raise ValueError(
            f"the mask{where} differs between its {len(full)} heads or examples: pass one of shape "
            f"({rows}, {columns})"
        )
    return full[0].copy()


def to_gold(gold: Any, rows: int, columns: int, where: str) -> list[tuple[int, int]]:
    """Gold links as (query, key) pairs, from such pairs or from a matrix (M, N).

    A list, tuple or set of tuples of two whole numbers: pairs.
    An array, a tensor or nested lists of shape (M, N) with nothing but 0 and 1: a matrix.
    Whole numbers of shape (K, 2) that can be no such matrix: pairs.
    """
    if gold is None:
        return []
    expected = (
        f"gold{where} must be (query, key) pairs with queries under {rows} and keys under "
        f"{columns}, or a matrix of 0 and 1 of shape ({rows}, {columns})"
    )
    gold = list(gold) if isinstance(gold, (set, frozenset)) else gold
    if isinstance(gold, (list, tuple)) and all(is_pair(item) for item in gold):
        pairs = gold
    else:
        array = to_numpy(gold, expected)
        if array.shape == (rows, columns) and ((array == 0) | (array == 1)).all():
            pairs = np.argwhere(array)
        elif array.size == 0 or (array.shape[1:] == (2,) and array.dtype.kind in "iu"):
            pairs = array.reshape(-1, 2)
        else:
            raise ValueError(f"{expected}, got {array.dtype} of shape {array.shape}")
    pairs = [(int(query), int(key)) for query, key in pairs]
    for query, key in pairs:
        if not (0 <= query < rows and 0 <= key < columns):
            raise ValueError(f"{expected}, got the pair {short((query, key))}")
    return pairs


def is_pair(item: Any) -> bool:
    """Is it a tuple of two whole numbers?"""
    if not isinstance(item, tuple) or len(item) != 2:
        return False
    return all(isinstance(i, Integral) and not isinstance(i, bool) for i in item)


def to_picture(image: Any) -> bytes:
    """PNG bytes of a picture: a PIL image, bytes, or an array (H, W), (H, W, 3) or (3, H, W)."""
    from PIL import Image

    if isinstance(image, (bytes, Image.Image)):
        try:
            picture = Image.open(io.BytesIO(image)) if isinstance(image, bytes) else image
            picture.load()
        except Exception:  # PIL has many kinds for a file that is broken
            raise ValueError(f"{IMAGE}, got one that PIL cannot read: {short(image)}") from None
        # Modes I and F hold bare numbers, which PIL would cut off at 255.
        image = np.asarray(picture) if picture.mode[0] in "IF" else picture
    if not isinstance(image, Image.Image):
        image = Image.fromarray(to_pixels(image))
    if 0 in image.size:
        raise ValueError(f"the image is empty: its size is {image.size}")
    picture = image.convert("RGB")
    if max(picture.size) > 512:
        picture.thumbnail((512, 512))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def to_pixels(image: Any) -> np.ndarray:
    """Bytes (H, W), (H, W, 3) or (H, W, 4) from floats 0 to 1, booleans or whole numbers to 255."""
    array = to_numpy(image, IMAGE)
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (3, 4):
        array = np.moveaxis(array, 0, -1)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise ValueError(f"{IMAGE}, got {array.shape}")
    if array.size == 0:
        raise ValueError(f"the image is empty: its shape is {array.shape}")
    low, high = array.min(), array.max()
    if array.dtype.kind in "iu":
        if low < 0 or high > 255:
            raise ValueError(f"an image of whole numbers must lie in 0 to 255, got {low} to {high}")
        return array.astype(np.uint8)
    if not (low >= 0 and high <= 1):  # also where they are NaN
        raise ValueError(
            f"a float image must lie between 0 and 1, got {low:.3g} to {high:.3g}: undo the "
            f"normalisation first"
        )
    return (array * 255 + 0.5).astype(np.uint8)


def to_patch_grid(patch_grid: Any, columns: int) -> tuple[int, int]:
    """(rows, columns) of patches; if not told, the square that leaves at most two extra keys."""
    if patch_grid is None:
        side = int(np.sqrt(columns))
        if columns - side * side > 2:
            raise ValueError(
                f"{columns} keys are no square of patches with a class token: pass patch_grid="
                f"(rows, columns)"
            )
        return side, side
    expected = "patch_grid must be two whole numbers above 0, (rows, columns)"
    grid = to_numpy(patch_grid, expected, "iu")
    if grid.shape != (2,) or grid.min() < 1:
        raise ValueError(f"{expected}, got {short(patch_grid)}")
    high, wide = (int(side) for side in grid)
    if not high * wide <= columns <= high * wide + 16:
        raise ValueError(
            f"patch_grid {high} × {wide} makes {high * wide} patches, but there are {columns} keys"
        )
    return high, wide
