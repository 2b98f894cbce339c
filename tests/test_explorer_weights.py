"""The explorer takes a model's `Weights` as they are, and says what it lacks."""

import numpy as np
import pytest
import torch

from utils.arrays import to_array
from utils.explorer import AttentionExplorer, head_entropy, rollout
from utils.layers import Weights

SOURCE, TARGET = list("abcd"), ["x", "y", "z"]


def softmax(*shape):
    return torch.softmax(torch.randn(shape, generator=torch.Generator().manual_seed(0)), dim=-1)


def blocks(*batch):
    sizes = {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}
    return Weights(**{name: softmax(*batch, 2, 5, *size) for name, size in sizes.items()})


@pytest.mark.parametrize("batch", [(), (1,)])
def test_all_blocks_of_one_example(batch):
    weights = blocks(*batch)
    explorer = AttentionExplorer(weights, source=SOURCE, target=TARGET, block="cross")
    assert repr(explorer).startswith("AttentionExplorer(blocks=encoder+decoder+cross, layers=2")
    for name, tokens in (("encoder", (SOURCE, SOURCE)), ("cross", (TARGET, SOURCE))):
        panel = next(entry for entry in explorer.meta["panels"] if entry["name"] == name)
        assert (panel["queries"], panel.get("keys", panel["queries"])) == tokens
        block = getattr(weights, name)
        assert (explorer.blocks[name] == (block[0] if batch else block).numpy()).all()


def test_a_batch_is_refused_and_one_of_it_taken():
    weights = blocks(3)
    with pytest.raises(ValueError, match=r"a batch of 3 examples: pass one, such as weights\[0\]"):
        AttentionExplorer(weights, source=SOURCE, target=TARGET)
    assert AttentionExplorer(weights[2], source=SOURCE, target=TARGET).block == "encoder"


@pytest.mark.parametrize("name", ["encoder", "decoder", "cross"])
def test_a_block_alone_needs_no_name(name):
    block = getattr(blocks(1), name)
    queries, keys = (SOURCE if name == "encoder" else TARGET), (TARGET, SOURCE)[name != "decoder"]
    one = AttentionExplorer(Weights(**{name: block}), queries, keys)
    two = AttentionExplorer(Weights(**{name: block}), source=SOURCE, target=TARGET)
    assert one.meta == two.meta and one.block == ""
    assert (one.weights == block[0].numpy()).all()


@pytest.mark.parametrize(
    ("weights", "tokens", "sentence"),
    [
        (Weights(), {"queries": SOURCE}, "no attention, or was not asked"),
        (blocks(), {}, "the blocks encoder, decoder, cross: pass source= and target="),
        (blocks(), {"queries": SOURCE}, "the blocks encoder, decoder, cross: pass source="),
        (blocks(), {"source": SOURCE}, "a block 'decoder': pass target= too"),
        (blocks(), {"target": TARGET}, "a block 'encoder': pass source= too"),
        (blocks(), {"source": SOURCE, "queries": TARGET}, "source= and target=, or queries"),
        (blocks(), {"source": TARGET, "target": TARGET}, "of block 'encoder' have 4 rows but 3"),
        (blocks(), {"source": "abcd", "target": TARGET}, "of block 'encoder' .* got one string"),
        (softmax(4, 4), {"source": SOURCE}, "source= and target= are for Weights"),
    ],
)
def test_what_is_missing_is_said(weights, tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        AttentionExplorer(weights, **tokens)


def test_pictures_and_comparisons_take_them_too():
    image = np.zeros((4, 4))
    seen = AttentionExplorer.vit(Weights(encoder=softmax(1, 2, 5, 4, 4)), image)
    assert list(seen.blocks) == ["", "rollout"]
    told = AttentionExplorer.caption(blocks(1), TARGET, image)  # the words look at patches
    assert (told.weights == blocks(1).cross[0].numpy()).all()
    alone = Weights(cross=blocks().cross)
    assert AttentionExplorer(alone, TARGET, SOURCE, compare=alone, difference=True).difference
    with pytest.raises(ValueError, match="to compare several blocks, pass another"):
        AttentionExplorer(blocks(), source=SOURCE, target=TARGET, compare=blocks())


def test_measures_take_them_too():
    encoder = blocks().encoder
    assert (head_entropy(Weights(encoder=encoder[None])) == head_entropy(encoder)).all()
    assert (rollout(blocks(1)) == rollout(encoder)).all()  # of what looks at itself
    with pytest.raises(ValueError, match="exactly one block"):
        head_entropy(blocks())


def test_one_way_to_an_array():
    half = torch.tensor([0.5, 0.25], dtype=torch.bfloat16, requires_grad=True)
    for given in (half, [half[0], half[1]], [0.5, 0.25], np.array([0.5, 0.25])):
        assert to_array(given).tolist() == [0.5, 0.25]
    assert to_array(half.double()).dtype == np.float64
    assert to_array([[half], [half]]).shape == (2, 1, 2)
