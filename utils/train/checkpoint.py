"""Trained weights in a file: saved whole or not at all, read without running any code.

The format is safetensors: names, shapes and numbers, and nothing that could be executed.  (A file
of ``torch.save`` is a pickle, and a pickle from a stranger is a program.)  Notebook 07, section 12.
"""

import os
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn


def save_weights(model: nn.Module, path: str | Path, **notes: str) -> Path:
    """Write the weights of ``model``, and ``notes`` about them, to ``path``; returns the path.

    The file appears under its name only when it is complete.
    """
    path = Path(path)
    tensors = {name: tensor.detach().contiguous() for name, tensor in _tensors(model).items()}
    wrong = [name for name, note in notes.items() if not isinstance(note, str)]
    if wrong:
        raise TypeError(f"notes must be text, got {wrong[0]} = {notes[wrong[0]]!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save into")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file(tensors, part, metadata=notes)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def load_weights(model: nn.Module, path: str | Path) -> dict[str, str]:
    """Read weights into ``model`` and return the notes that were saved with them.

    Everything is compared first: if the file does not fit, the model stays as it was.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with safe_open(path, framework="pt") as file:
            notes = file.metadata() or {}
            found = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(
            f"{path.name} is not a complete safetensors file: it was cut off, or is of another "
            f"kind, such as a pickle ({error})"
        ) from error
    wanted = _tensors(model)
    _compare(wanted, found, path.name)
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(found[name])
    return notes


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and saved buffers by name; one that is shared appears once."""
    seen: dict[int, str] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        seen.setdefault(id(tensor), name)
    tensors = model.state_dict(keep_vars=True)
    return {name: tensors[name] for name in seen.values()}


def _compare(wanted: dict[str, Tensor], found: dict[str, Tensor], file: str) -> None:
    missing, extra = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    if missing or extra:
        parts = [f"it lacks {_some(missing)}"] if missing else []
        parts += [f"it holds {_some(extra)}, which the model has not"] if extra else []
        raise ValueError(f"{file} is of another model: {'; '.join(parts)}")
    for name, tensor in wanted.items():
        other = found[name]
        if other.shape != tensor.shape:
            raise ValueError(
                f"{file} is of another size: {name} is {tuple(other.shape)} there and "
                f"{tuple(tensor.shape)} in the model"
            )
        if other.is_floating_point() != tensor.is_floating_point():
            raise ValueError(
                f"{file} holds {name} as {other.dtype}, and the model needs {tensor.dtype}"
            )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
