"""What the explorer accepts, checked once and brought into one form: a list of panels.

A panel is one attention block with its own tokens: the only one of a plain call, or the encoder,
the decoder and the cross-attention of a Transformer, or the same block of a second model.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MAX_TOKENS = 2048  # a side: more has no readable picture
MAX_WEIGHTS = 48_000_000  # in all: 12 layers × 12 heads × 512² fits with room
ROW_TOLERANCE = 0.02  # lets bfloat16 and weights typed with two decimals pass


@dataclass
class Panel:
    """One block of weights (L, H, M, N) with the words for its rows and columns."""

    name: str
    weights: np.ndarray
    queries: list[str]
    keys: list[str]
    mask: np.ndarray | None = None  # (M, N) boolean, True = may look
    gold: list[tuple[int, int]] = field(default_factory=list)  # (query, key) pairs


def make_panel(
    name: str, weights: Any, queries: Any, keys: Any = None, mask: Any = None, gold: Any = None
) -> Panel:
    """Check one block and put it into a `Panel`."""
    where = f" of block {name!r}" if name else ""
    array = to_weights(weights, where)
    rows, columns = array.shape[-2:]
    queries = to_tokens(queries, rows, "queries", "rows", where)
    if keys is None:
        if rows != columns:
            raise ValueError(
                f"the weights{where} have {rows} rows (queries) and {columns} columns (keys): "
                f"this is cross-attention, so pass keys= with {columns} tokens"
            )
        keys = queries
    keys = to_tokens(keys, columns, "keys", "columns", where)
    may_look = None if mask is None else to_mask(mask, rows, columns, where)
    check_rows(array, may_look, where)
    return Panel(name, array, queries, keys, may_look, to_gold(gold, rows, columns, where))


def to_numpy(value: Any) -> np.ndarray:
    """A numpy array from a tensor on any device and of any precision, an array or nested lists."""
    if hasattr(value, "detach"):  # torch: numpy knows no bfloat16, so widen first
        value = value.detach()
        if value.is_floating_point() and value.element_size() < 4:
            value = value.float()
        return value.cpu().numpy()
    return np.asarray(value)


def to_weights(weights: Any, where: str = "") -> np.ndarray:
    """Bring weights to (L, H, M, N) floats between 0 and 1, or say what is wrong with them."""
    try:
        if isinstance(weights, Sequence) and len(weights) and hasattr(weights[0], "shape"):
            array = np.stack([to_numpy(layer) for layer in weights])
        else:
            array = to_numpy(weights)
        array = array if array.dtype == np.float64 else array.astype(np.float32)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"the weights{where} must be numbers in one rectangular array: every layer with the "
            f"same number of heads, every row with the same number of columns ({error})"
        ) from None
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
    if not np.isfinite(array).all():
        raise ValueError(
            f"the weights{where} hold NaN or infinity, first at (layer, head, query, key) = "
            f"{first(~np.isfinite(array))}; a softmax over a row masked everywhere gives NaN"
        )
    if array.min() < 0:
        raise ValueError(
            f"the weights{where} hold a negative number, {array.min():.3g} at (layer, head, query, "
            f"key) = {first(array < 0)}: pass the weights after the softmax, not the scores"
        )
    return array


def first(bad: np.ndarray) -> tuple[int, ...]:
    """Where the first True is."""
    return tuple(int(i) for i in np.unravel_index(int(bad.argmax()), bad.shape))


def check_rows(array: np.ndarray, mask: np.ndarray | None, where: str) -> None:
    """Every row sums to 1; a row whose mask forbids every key may sum to 0."""
    sums = array.sum(-1, dtype=np.float64)  # (L, H, M)
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


def to_tokens(tokens: Any, count: int, what: str, side: str, where: str) -> list[str]:
    """Token texts as a list of strings of the right length."""
    if isinstance(tokens, str):
        raise ValueError(
            f"{what}{where} must be a list of {count} tokens, got one string: use .split() or "
            f"list(...)"
        )
    try:
        texts = [str(token) for token in tokens]
    except TypeError:
        raise ValueError(
            f"{what}{where} must be a list of {count} tokens, got {tokens!r}"
        ) from None
    if len(texts) != count:
        raise ValueError(
            f"the weights{where} have {count} {side} but {len(texts)} {what} came: one token for "
            f"each of the {side}"
        )
    # A lone surrogate is no text that can be sent; show what it is instead.
    return [text.encode("utf-8", "backslashreplace").decode("utf-8") for text in texts]


def to_mask(mask: Any, rows: int, columns: int, where: str) -> np.ndarray:
    """A boolean (M, N) mask, True = may look; leading dimensions must all say the same."""
    array = to_numpy(mask)
    if array.dtype != np.bool_:
        raise ValueError(f"the mask{where} must be boolean (True = may look), got {array.dtype}")
    try:
        full = np.broadcast_to(array, array.shape[:-2] + (rows, columns)).reshape(-1, rows, columns)
    except ValueError:
        raise ValueError(
            f"the mask{where} must fit (queries, keys) = ({rows}, {columns}), got {array.shape}"
        ) from None
    if not (full == full[:1]).all():
        raise ValueError(
            f"the mask{where} differs between its {len(full)} heads or examples: pass one of shape "
            f"({rows}, {columns})"
        )
    return full[0].copy()


def to_gold(gold: Any, rows: int, columns: int, where: str) -> list[tuple[int, int]]:
    """Gold links as (query, key) pairs, from such pairs or from a 0/1 matrix (M, N)."""
    if gold is None:
        return []
    array = to_numpy(gold)
    if array.shape == (rows, columns) and np.isin(array, (0, 1)).all() and array.shape != (2, 2):
        return [(int(q), int(k)) for q, k in np.argwhere(array)]
    if array.size == 0:
        return []
    if array.dtype == np.bool_ and array.shape == (rows, columns):
        return [(int(q), int(k)) for q, k in np.argwhere(array)]
    inside = array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu"
    if not inside or array.min() < 0 or (array >= (rows, columns)).any():
        raise ValueError(
            f"gold{where} must be (query, key) pairs with queries under {rows} and keys under "
            f"{columns}, or a matrix of 0 and 1 of shape ({rows}, {columns})"
        )
    return [(int(q), int(k)) for q, k in array]


def by_block(value: Any, name: str) -> Any:
    """The part of ``value`` for one block: its own entry of a dict, else the value itself."""
    return value.get(name) if isinstance(value, Mapping) else value


def to_picture(image: Any) -> bytes:
    """PNG bytes of a picture: a PIL image, bytes, or an array (H, W), (H, W, 3) or (3, H, W)."""
    from PIL import Image

    if isinstance(image, bytes):
        picture = Image.open(io.BytesIO(image))
    elif isinstance(image, Image.Image):
        picture = image
    else:
        array = to_numpy(image)
        if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (3, 4):
            array = np.moveaxis(array, 0, -1)
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[..., 0]
        if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
            raise ValueError(
                f"image must have shape (height, width), (height, width, 3) or (3, height, width), "
                f"got {array.shape}"
            )
        if array.dtype.kind == "f":
            if not np.isfinite(array).all() or array.min() < 0 or array.max() > 1:
                raise ValueError(
                    f"a float image must lie between 0 and 1, got {array.min():.3g} to "
                    f"{array.max():.3g}: undo the normalisation first"
                )
            array = array * 255 + 0.5
        picture = Image.fromarray(array.astype(np.uint8))
    picture = picture.convert("RGB")
    if max(picture.size) > 512:
        picture.thumbnail((512, 512))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


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
    try:
        high, wide = (int(side) for side in patch_grid)
    except (TypeError, ValueError):
        raise ValueError(f"patch_grid must be (rows, columns), got {patch_grid!r}") from None
    if high < 1 or wide < 1 or not high * wide <= columns <= high * wide + 16:
        raise ValueError(
            f"patch_grid {high} × {wide} makes {high * wide} patches, but there are {columns} keys"
        )
    return high, wide
