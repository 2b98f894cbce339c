"""Make a student's module and copy known weights into it, whatever its layers are called.

So a class can be compared with a reference number by number. Layers are found by name (`w_q`,
`query`, `to_q`, `q_proj`, a fused `qkv`) and, where the name says nothing, by shape and order.
"""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from utils.quiz.exercise import Mistake

WORDS = {"query": "q", "queries": "q", "key": "k", "keys": "k", "value": "v", "values": "v"}
FILLER = r"(?:w|m|to|fc|lin|linear|proj|projection|weight|weights|mat|matrix|layer|dense|self)"
NO_SUPER_INIT = r"before Module.__init__|no attribute '_(buffers|parameters|modules)'"


def made(student, *sizes) -> nn.Module:
    """``student(*sizes)`` in evaluation mode, or the mistake that keeps it from being a module."""
    if isinstance(student, nn.Module):
        raise Mistake("instance-given")
    try:
        module = student(*sizes)
    except AttributeError as error:
        if re.search(
            "before Module.__init__|no attribute '_(buffers|parameters|modules)", str(error)
        ):
            raise Mistake("no-super-init") from None
        raise
    if not isinstance(module, nn.Module):
        raise Mistake("not-a-module")
    return module.eval()


def holds_layers(value) -> bool:
    """Is it a plain list or dict with layers in it, where no module would see them?"""
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | tuple | dict) and any(isinstance(v, nn.Module) for v in items)


def role(name: str) -> str:
    """Which of q, k, v a parameter's name means: "w_q.weight" is "q", "to_kv.weight" is "kv"."""
    found = ""
    for word in re.findall(r"[a-z]+", name.lower().removesuffix(".weight").removesuffix(".bias")):
        if word in WORDS:
            found += WORDS[word]
            continue
        for long, short in WORDS.items():
            if long in word:
                found += short
                word = ""
                break
        match = re.fullmatch(rf"{FILLER}*?([qkv]+)s?{FILLER}*", word)
        if match:
            found += match[1]
    return "".join(dict.fromkeys(found))


def fill(module: nn.Module, matrices: dict[str, Tensor]) -> dict[str, nn.Parameter]:
    """Write the matrices (each (d_out, d_in), as nn.Linear keeps them) into ``module``.

    Returns the parameters filled, by role. Raises LookupError if a matrix fits nowhere.
    Biases are set to 0.
    """
    filled: dict[str, nn.Parameter] = {}
    unclear: list[tuple[str, nn.Parameter]] = []
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() < 2:
                parameter.zero_()
                continue
            letters = role(name)
            if not letters or any(letter not in matrices for letter in letters):
                unclear.append((name, parameter))
                continue
            joined = torch.cat([matrices[letter] for letter in letters])
            if joined.shape[0] != max(parameter.shape) or len(letters) == 1:
                if not _put(name, parameter, matrices[letters[0]]) and not _put(
                    name, parameter, joined
                ):
                    raise LookupError(_misfit(name, parameter, joined))
            elif not _put(name, parameter, joined):
                raise LookupError(_misfit(name, parameter, joined))
            filled[letters] = parameter
        for name, parameter in unclear:  # names that say nothing: the first free role that fits
            for letter, matrix in matrices.items():
                if not any(letter in done for done in filled) and _put(name, parameter, matrix):
                    filled[letter] = parameter
                    break
    return filled


def _put(name: str, parameter: nn.Parameter, matrix: Tensor) -> bool:
    """Copy if the shape fits. A bare Parameter is used as `x @ w`, a Linear as `x @ weight.T`."""
    linear = name.endswith(".weight")
    if not linear and parameter.shape == matrix.T.shape:
        parameter.copy_(matrix.T)
    elif parameter.shape == matrix.shape:
        parameter.copy_(matrix)
    else:
        return False
    return True


def _misfit(name: str, parameter: nn.Parameter, matrix: Tensor) -> str:
    return (
        f"`{name}` has shape {tuple(parameter.shape)}; from {matrix.shape[1]} to {matrix.shape[0]} "
        f"features it should have {tuple(matrix.shape)}."
    )
