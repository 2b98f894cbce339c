"""Weights come back exactly; a file that does not fit changes nothing and runs nothing."""

import os
import pickle

import pytest
import torch
from torch import nn

from utils.models.transformer import BlockSizes, Transformer
from utils.train.checkpoint import load_weights, save_weights


def model(seed: int = 0, **sizes) -> Transformer:
    torch.manual_seed(seed)
    sizes = {"num_layers": 2, "d_ff": 8} | sizes
    block = BlockSizes(d_model=16, num_heads=2, d_ff=sizes.pop("d_ff"))
    return Transformer(12, None, block, max_len=9, **sizes)


def state(module: nn.Module) -> dict:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def equal(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("vocabulary", [None, 14])  # one shared table, or two
def test_weights_and_notes_come_back(tmp_path, vocabulary):
    torch.manual_seed(1)
    block = BlockSizes(d_model=16, num_heads=2, d_ff=8)
    first, second = (Transformer(12, vocabulary, block) for _ in range(2))
    assert not equal(state(first), state(second))
    path = save_weights(first, tmp_path / "w.safetensors", task="toy")
    assert load_weights(second, path) == {"task": "toy"}
    assert equal(state(first), state(second))
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]  # nothing left behind


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = save_weights(model(), tmp_path / "w.safetensors")
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("utils.train.checkpoint.save_file", full)
    with pytest.raises(OSError, match="no space"):
        save_weights(model(1), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["w.safetensors"]


class Bomb:
    """What a stranger's pickle can do."""

    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def spoil(path, how: str) -> None:
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "cut in the header":
        path.write_bytes(path.read_bytes()[:20])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "a pickle":
        path.write_bytes(pickle.dumps({"weights": Bomb()}))
    elif how == "a torch.save of a bomb":
        torch.save({"weights": Bomb()}, path)


@pytest.mark.parametrize(
    "how", ["truncated", "cut in the header", "empty", "a pickle", "a torch.save of a bomb"]
)
def test_a_broken_or_foreign_file_is_named_and_nothing_runs(tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    target = model()
    path = save_weights(model(1), tmp_path / "w.safetensors")
    spoil(path, how)
    before = state(target)
    with pytest.raises(ValueError, match="w.safetensors is not a complete safetensors file"):
        load_weights(target, path)
    assert equal(state(target), before)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda: model(1, num_layers=3), r"another model: it holds decoder.blocks.2.*more"),
        (lambda: model(1, num_layers=1), r"another model: it lacks decoder.blocks.1.*more"),
        (lambda: model(1, d_ff=9), r"another size: \S+ is \(\d+,?[ \d]*\) there and"),
        (lambda: nn.Linear(2, 3), r"it lacks .* and \d+ more; it holds bias, weight"),
    ],
)
def test_a_file_of_another_model_changes_nothing(tmp_path, other, says):
    target = model()
    path = save_weights(other(), tmp_path / "w.safetensors")
    before = state(target)
    with pytest.raises(ValueError, match=says):
        load_weights(target, path)
    assert equal(state(target), before)


def test_other_bad_input(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_weights(model(), tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_weights(model(), tmp_path / "no" / "w.safetensors")
    with pytest.raises(TypeError, match="notes must be text, got steps = 3"):
        save_weights(model(), tmp_path / "w", steps=3)
    whole = nn.ParameterDict({"a": nn.Parameter(torch.ones(2))})
    counts = nn.Module()
    counts.register_buffer("a", torch.ones(2, dtype=torch.long))
    path = save_weights(counts, tmp_path / "w")
    with pytest.raises(ValueError, match="holds a as torch.int64, and the model needs"):
        load_weights(whole, path)
