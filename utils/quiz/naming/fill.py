"""Copy the weights of one module into another, whatever its layers are called.

Both modules are taken apart into units: attentions, norms, matrices, tables and vectors. Units are
matched by kind, then by role (a name such as `w_q`, `query`, `to_q`, `q_proj`), then by shape and
order. Queries, keys and values may be fused into one matrix, or kept head by head.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention

Attention = MultiHeadAttention | nn.MultiheadAttention
WORDS = {"query": "q", "queries": "q", "key": "k", "keys": "k", "value": "v", "values": "v"}
WORDS |= {"output": "o", "out": "o"}
FILLER = r"(?:w|m|to|fc|lin|linear|proj|projection|weight|weights|mat|matrix|layer|dense|self|c)"
LAYERS = nn.Linear | nn.Conv1d | nn.Conv2d | nn.Embedding | nn.MultiheadAttention
LAYOUTS = 12  # ways of matching that are tried


@dataclass(frozen=True)
class Matrix:
    """A weight with rows for outputs, as nn.Linear keeps it, or a bare parameter, mostly turned."""

    name: str
    weight: nn.Parameter
    bare: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.weight.flatten(1).shape) if not self.bare else tuple(self.weight.shape)


@dataclass
class Units:
    """The parts of a module that hold parameters, in the order in which they were made."""

    attentions: list[nn.Module]
    norms: list[tuple[nn.Parameter, nn.Parameter | None]]
    matrices: list[Matrix]
    vectors: list[tuple[str, nn.Parameter]]


def units_of(module: nn.Module, given: set[int], whole: bool = True) -> Units:
    """Take a module apart; parameters whose id is ``given`` were handed in and stay as they are.

    An attention is left ``whole``, or taken apart into its matrices.
    """
    units = Units([], [], [], [])
    _collect(module, "", given, units, whole)
    return units


def _collect(module: nn.Module, path: str, given: set[int], units: Units, whole: bool) -> None:
    own = [(n, p) for n, p in module.named_parameters(recurse=False) if id(p) not in given]
    if whole and isinstance(module, Attention):
        if own or any(id(p) not in given for p in module.parameters()):
            units.attentions.append(module)
        return
    if isinstance(module, nn.LayerNorm) or _is_norm(module, own):
        if own:
            units.norms.append((own[0][1], own[1][1] if len(own) > 1 else None))
        return
    layer = isinstance(module, LAYERS)
    for name, parameter in own:
        if parameter.dim() > 1:
            label = path if layer else f"{path}.{name}"
            bare = not layer or isinstance(module, nn.Embedding)
            units.matrices.append(Matrix(label, parameter, bare))
        else:
            units.vectors.append((f"{path}.{name}", parameter))
    for name, child in module.named_children():
        _collect(child, f"{path}.{name}" if path else name, given, units, whole)


def _is_norm(module: nn.Module, own: list) -> bool:
    """A norm of the student's own: a gain and a shift of one length, and nothing below."""
    flat = [p for _, p in own if p.dim() == 1]
    return (
        len(own) == len(flat) == 2
        and flat[0].shape == flat[1].shape
        and not list(module.children())
    )


def role(name: str) -> str:
    """Which of q, k, v, o a layer's name means: "to_kv" is "kv", "net.0" is ""."""
    found = ""
    last = re.sub(r"[.\d]+$", "", name.lower()).rsplit(".", 1)[-1]  # "qs.0": one of a list
    for word in re.findall(r"[a-z]+", last):
        short = next((s for long, s in WORDS.items() if long in word), "")
        match = re.fullmatch(rf"{FILLER}*?([qkvo]+)s?{FILLER}*", word)
        found += short or (match[1] if match else "")
    return "".join(dict.fromkeys(found))


def fillings(
    ours: nn.Module, known: set[int], theirs: nn.Module, given: set[int], sizes: tuple
) -> Iterator[int]:
    """Fill ``theirs`` in the most plausible way, then in others; yields after each.

    Each way is one choice of which norm, which attention and which layout of a fused matrix.
    ``known`` and ``given`` are the parameters of parts that both were handed.
    """
    mine = units_of(ours, known)
    found = units_of(theirs, given, whole=bool(mine.attentions))
    heads = sorted({n for n in sizes if type(n) is int and 1 < n < 17})
    norms = list(itertools.permutations(range(len(found.norms))))[:6]
    attentions = list(itertools.permutations(range(len(found.attentions))))[:2]
    ways = itertools.product([0, *heads], norms, attentions)
    done: set[bytes] = set()
    for layout, norm_order, attention_order in ways:
        with torch.no_grad():  # not around the yield: there the student's module is called
            for unit, index in zip(mine.attentions, attention_order, strict=False):
                _copy_attention(unit, found.attentions[index])
            for (gain, shift), index in zip(mine.norms, norm_order, strict=False):
                _copy_norm(gain, shift, *found.norms[index])
            _fill_matrices(mine, found, layout, heads)
            state = b"".join(p.detach().numpy().tobytes() for p in theirs.parameters())
        if state not in done:
            done.add(state)
            yield len(done)
        if len(done) >= LAYOUTS:
            return


def _copy_norm(gain: Tensor, shift: Tensor, theirs: Tensor, their_shift: Tensor | None) -> None:
    if theirs.shape == gain.shape:
        theirs.copy_(gain)
        if their_shift is not None:
            their_shift.copy_(shift)


def attention_matrices(layer: nn.Module) -> dict[str, Tensor]:
    """W^Q, W^K, W^V and W^O of either kind of attention, as views that can be written to."""
    if isinstance(layer, nn.MultiheadAttention):
        q, k, v = layer.in_proj_weight.chunk(3)
        return {"q": q, "k": k, "v": v, "o": layer.out_proj.weight}
    return {letter: getattr(layer, f"w_{letter}").weight for letter in "qkvo"}


def _copy_attention(ours: nn.Module, theirs: nn.Module) -> None:
    for parameter in theirs.parameters():
        if parameter.dim() == 1:
            parameter.zero_()
    for letter, matrix in attention_matrices(theirs).items():
        source = attention_matrices(ours)[letter]
        if matrix.shape == source.shape:
            matrix.copy_(source)


def _fill_matrices(mine: Units, found: Units, layout: int, heads: list[int]) -> None:
    for _, vector in found.vectors:
        vector.zero_()
    left = {m.name: m for m in mine.matrices}
    by_role = {role(name): m.weight for name, m in left.items() if len(role(name)) == 1}
    rest = _fill_by_role(by_role, found.matrices, layout, heads)
    used = {role(m.name) for m in found.matrices if m not in rest}
    free = [m for m in left.values() if not set(role(m.name)) & set("".join(used)) or not by_role]
    for matrix in rest:
        match = next((m for m in free if _fits(m, matrix)), None)
        if match is not None:
            free.remove(match)
            _put(match.weight, matrix)
        else:
            _scatter(matrix)
    for name, vector in found.vectors:  # a class token may be a plain row
        match = next((m for m in free if m.weight.numel() == vector.numel()), None)
        if match is not None and not name.endswith("bias"):
            free.remove(match)
            vector.copy_(match.weight.reshape(vector.shape))


def _fill_by_role(
    by_role: dict[str, Tensor], matrices: list[Matrix], layout: int, heads: list[int]
) -> list[Matrix]:
    """Queries, keys, values and outputs by name or as one fused matrix. Returns what is left."""
    if not by_role:
        return list(matrices)
    rest = []
    fused = torch.cat([by_role[x] for x in "qkv" if x in by_role])
    counts: dict[str, int] = {}
    for matrix in matrices:
        letters = role(matrix.name)
        if set(matrix.shape) == set(fused.shape) and matrix.weight.numel() == fused.numel():
            _put(_fused(by_role, "qkv", layout), matrix)
        elif len(letters) > 1 and all(x in by_role for x in letters):
            _put(_fused(by_role, letters, layout), matrix)
        elif letters in by_role:
            place = counts[letters] = counts.get(letters, -1) + 1
            if not _put_head(by_role[letters], matrix, place, heads):
                rest.append(matrix)
        else:
            rest.append(matrix)
    return rest


def _fused(by_role: dict[str, Tensor], letters: str, layout: int) -> Tensor:
    """Blocks [Q, K, V], or [q, k, v] of the first head, of the second, and so on."""
    blocks = [by_role[x] for x in letters if x in by_role]
    even = len({b.shape for b in blocks}) == 1
    if not layout or not even or blocks[0].shape[0] % layout:
        return torch.cat(blocks)
    return torch.stack([b.unflatten(0, (layout, -1)) for b in blocks], dim=1).flatten(0, 2)


def _put_head(whole: Tensor, matrix: Matrix, place: int, heads: list[int]) -> bool:
    """The whole matrix, or the part of one head, or all heads stacked."""
    if _put(whole, matrix):
        return True
    rows, width = whole.shape
    for h in (h for h in heads if rows % h == 0):
        parts = whole.reshape(h, rows // h, width)
        for form in (parts, parts.transpose(1, 2), parts.permute(2, 0, 1)):
            if matrix.weight.shape == form.shape:
                matrix.weight.copy_(form)
                return True
        if place < h and _put(parts[place], matrix):
            return True
    return False


def _fits(ours: Matrix, theirs: Matrix) -> bool:
    if theirs.weight.numel() == ours.weight.numel():
        return theirs.bare or theirs.weight.shape[0] == ours.weight.shape[0]
    rows = ours.weight.numel() - ours.weight.shape[-1]  # a table that lacks its first row
    return ours.bare and theirs.bare and theirs.weight.numel() == rows > 0


def _put(ours: Tensor, theirs: Matrix) -> bool:
    """Copy if the sizes allow. A bare matrix is used as `x @ w`, a layer as `x @ weight.T`."""
    weight = theirs.weight
    if theirs.bare and ours.dim() == 2 and weight.shape == ours.T.shape:
        weight.copy_(ours.T)
    elif _long(weight) == _long(ours) or not theirs.bare and _rows(weight) == _rows(ours):
        weight.copy_(ours.reshape(weight.shape))
    elif weight.numel() == ours.numel() - ours.shape[-1] and theirs.bare:
        weight.copy_(ours.reshape(-1, ours.shape[-1])[1:].reshape(weight.shape))
    else:
        return False
    return True


def _long(tensor: Tensor) -> list[int]:
    """The axes that are longer than 1: (1, n, d) and (n, d) hold the same table."""
    return [size for size in tensor.shape if size > 1]


def _rows(tensor: Tensor) -> torch.Size:
    """A kernel as a matrix, which is what a linear layer on its pixels would be."""
    return tensor.flatten(1).shape


def _scatter(matrix: Matrix) -> None:
    """A layer that the task does not have: small numbers, always the same."""
    count = torch.arange(matrix.weight.numel(), dtype=torch.float32)
    matrix.weight.copy_((0.3 * torch.sin(1.7 * count + 0.3)).reshape(matrix.weight.shape))
