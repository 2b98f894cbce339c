"""One type for attention weights: every model speaks it, and it keeps what it was given."""

import re

import pytest
import torch

from tests.test_captioning import BATCH as PICTURES
from tests.test_captioning import MAKE as CAPTIONERS
from tests.test_plots import drawn  # noqa: F401 (a fixture)
from tests.test_seq2seq import MODELS as RECURRENT
from tests.test_seq2seq import PAIRS
from tests.test_transformer import MODELS as TRANSFORMERS
from tests.test_vit import small
from utils.figures.plots import plot_attention, plot_heads
from utils.layers.weights import Weights
from utils.models.vit import SmallCNN
from utils.text.vocabulary import make_batch

BATCH = make_batch(PAIRS)
TEXTS = {**RECURRENT, **TRANSFORMERS}
READS = {"attending": ("cross",), "additive": ("cross",), "dot": ("cross",)}
NOTHING = ("fixed", "one way")


@pytest.mark.parametrize("name", [*TEXTS, *CAPTIONERS])
def test_every_model_that_writes_hands_out_the_one_type(name):
    model, batch = (TEXTS[name](), BATCH) if name in TEXTS else (CAPTIONERS[name](), PICTURES)
    _, weights = model.eval()(batch.source, batch.decoder_input, need_weights=True)
    wanted = () if name in NOTHING else READS.get(name, ("encoder", "decoder", "cross"))
    assert tuple(weights.blocks()) == wanted and bool(weights) == bool(wanted)
    for block in weights.blocks().values():
        assert block.dim() == 5 and len(block) == len(batch.target)
        torch.testing.assert_close(block.sum(-1), torch.ones(block.shape[:-1]))


def test_those_that_see_do_too():
    images = torch.randn(3, 1, 8, 8)
    assert [*small()(images, need_weights=True)[1].blocks()] == ["encoder"]
    assert not SmallCNN()(images)[1]


def test_one_example_and_its_written_words():
    cross, decoder = torch.rand(2, 3, 4, 5, 6), torch.rand(2, 3, 4, 5, 5)
    weights = Weights(decoder=decoder, cross=cross)
    one = weights[1].written(2)
    assert torch.equal(one.cross, cross[1, :, :, :2]) and one.encoder is None
    assert torch.equal(one.decoder, decoder[1, :, :, :2, :2])
    assert repr(one) == "Weights(decoder (3, 4, 2, 2), cross (3, 4, 2, 6))"
    with pytest.raises(IndexError, match="of one example already"):
        one[0]
    with pytest.raises(TypeError, match="no sequence"):
        list(weights)


def test_weights_are_the_same_only_as_themselves():
    """Tensors have no single answer to ==, so there is no comparison by content."""
    table = torch.rand(1, 2, 3)
    one, other = Weights.of_map(table), Weights.of_map(table)
    assert one == one and one != other and len({one, other}) == 2


@pytest.mark.parametrize("shape", [(3,), (4, 5), (2, 4, 5), (1, 1, 2, 3, 4, 5)])
@pytest.mark.parametrize("name", ["encoder", "decoder", "cross"])
def test_a_block_of_another_form_is_refused_by_name(name, shape):
    sentence = (
        rf"^{name} must be \(B, layers, heads, queries, keys\).* got {re.escape(str(shape))}$"
    )
    with pytest.raises(ValueError, match=sentence):
        Weights(**{name: torch.rand(shape)})


def test_steps_are_put_below_each_other():
    steps = [Weights(decoder=torch.full((1, 1, 1, 1, t), 1 / t)) for t in (1, 2, 3)]
    want = torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert torch.equal(Weights.of_steps(steps).decoder[0, 0, 0], want)
    assert not Weights.of_steps([Weights(), Weights()]) and not Weights.of_steps([])


def test_the_only_block_is_found_or_named():
    table = torch.rand(2, 5, 6)
    assert torch.equal(Weights.of_map(table).only()[:, 0, 0], table)
    for several in (Weights(), Weights(*[table[:, None, None]] * 2)):
        with pytest.raises(ValueError, match="exactly one block, got (none|encoder and decoder)"):
            several.only()


def test_plots_take_them_as_they_are(drawn):  # noqa: F811
    table = torch.rand(1, 2, 3).softmax(dim=-1)
    fig, alt = drawn(plot_attention, Weights.of_map(table), ["a", "b"], ["x", "y", "z"])
    same, other = drawn(plot_attention, table[0], ["a", "b"], ["x", "y", "z"])
    assert alt == other
    heads = Weights(encoder=torch.rand(1, 1, 4, 2, 2).softmax(dim=-1))
    assert drawn(plot_heads, heads, ["a", "b"])[1].count("head") >= 4
    with pytest.raises(ValueError, match=r"got \(2, 4, 2, 2\)"):
        plot_heads(Weights(encoder=torch.rand(1, 2, 4, 2, 2)), ["a", "b"])
