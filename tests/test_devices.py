"""Nothing is made on the wrong device, proved without a GPU.

The ``meta`` device stands in for one: its tensors have shapes but no numbers, and any operation
that mixes it with the CPU fails or is seen by the watch below.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from utils.layers.attention import (
    AdditiveAttention,
    AttentionLayer,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from utils.layers.masks import causal_mask, local_mask, padding_mask, to_additive, to_torch_blocked
from utils.runtime import set_seed


class Watch(TorchDispatchMode):
    """Fails as soon as any operation yields a tensor that is not on ``device``."""

    def __init__(self, device):
        super().__init__()
        self.device, self.seen = torch.device(device), 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                assert leaf.device == self.device, f"{func} made a tensor on {leaf.device}"
                self.seen += 1
        return result


def empty(*shape, device):
    return torch.empty(shape, device=device)


MODULES = {
    "multi-head": (lambda: MultiHeadAttention(8, 2, dropout=0.1), (2, 5, 8), (2, 5, 8)),
    "layer": (lambda: AttentionLayer(8, 4, 3), (2, 5, 8), (2, 5, 3)),
    "additive": (lambda: AdditiveAttention(8, 8, 4), (2, 5, 8), (2, 5, 8)),
}


@pytest.mark.parametrize("born", ["on it", "moved to it"])
@pytest.mark.parametrize("name", MODULES)
def test_modules_stay_on_their_device(name, born):
    make, shape, out_shape = MODULES[name]
    if born == "on it":
        with torch.device("meta"), Watch("meta"):
            module = make()
    else:
        module = make().to("meta")
    tensors = (*module.parameters(), *module.buffers())
    assert tensors
    assert all(tensor.is_meta for tensor in tensors)

    # here the default device is the CPU, and nothing may land on it
    with Watch("meta") as watch:
        x, context = empty(*shape, device="meta"), empty(2, 7, 8, device="meta")
        mask = causal_mask(5, past=2, device="meta")
        fused = {"need_weights": False} if name == "multi-head" else None
        for options in ({}, fused) if fused else ({},):
            output, weights = module(x, context, mask=mask, **options)
            assert output.is_meta
            assert output.shape[:2] == out_shape[:2]
            assert options or (weights.is_meta and weights.shape[-2:] == (5, 7))
    assert watch.seen > 5
    assert all(tensor.is_meta for tensor in module.state_dict().values())


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_scaled_dot_product_stays_on_the_device_of_its_input(need_weights, dropout):
    q, k, v = (empty(2, 3, n, 4, device="meta") for n in (5, 7, 7))
    with Watch("meta"):
        output, weights = scaled_dot_product_attention(
            q, k, v, causal_mask(5, past=2, device="meta"), dropout=dropout,
            need_weights=need_weights,
        )  # fmt: skip
    assert output.is_meta
    assert output.shape == (2, 3, 5, 4)
    assert weights is None or (weights.is_meta and weights.shape == (2, 3, 5, 7))


MASKS = {
    "causal": lambda device: causal_mask(4, past=2, device=device),
    "local": lambda device: local_mask(4, 1, device=device),
    "padding from a list": lambda device: padding_mask([2, 4], 4, device=device),
    "padding from a tensor": lambda device: padding_mask(
        torch.tensor([2, 4], device="cpu").to(device), 4
    ),
    "blocked": lambda device: to_torch_blocked(causal_mask(4, device=device)),
    "additive": lambda device: to_additive(causal_mask(4, device=device)),
    "composed": lambda device: (
        causal_mask(4, device=device) & padding_mask([2, 4], 4, device=device)
    ),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_made_where_they_are_wanted(name):
    assert MASKS[name]("cpu").device.type == "cpu"
    assert MASKS[name]("meta").is_meta  # against the default
    with torch.device("meta"):
        assert MASKS[name]("cpu").device.type == "cpu"  # and against another default
    with torch.device("meta"), Watch("meta"):
        if name != "padding from a tensor":
            assert MASKS[name](None).is_meta  # no wish: the default device


def test_a_default_device_does_not_pull_cpu_work_over():
    layer, x, mask = MultiHeadAttention(8, 2), torch.randn(2, 5, 8), causal_mask(5)
    with torch.device("meta"):
        for need_weights in (True, False):
            output, _ = layer(x, mask=mask, need_weights=need_weights)
            assert output.device.type == "cpu"
            assert output.isfinite().all()
        assert set_seed(0).device.type == "cpu"


def test_set_default_device_is_respected():
    try:
        torch.set_default_device("meta")
        assert causal_mask(3).is_meta
        assert padding_mask([1, 3], 3).is_meta
        assert all(parameter.is_meta for parameter in MultiHeadAttention(4, 2).parameters())
    finally:
        torch.set_default_device(None)
