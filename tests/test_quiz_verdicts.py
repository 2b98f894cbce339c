"""What single exercises promise beyond the corpus: a number named, a remark, our own block."""

import re

import pytest
import torch

from tests.test_quiz_corpus import read, verdict_on
from utils.models.transformer import (
    BlockSizes,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    Transformer,
)
from utils.quiz import registry
from utils.train.loop import count_parameters

ITEMS = registry.everything()
BLOCKS = [(key, source) for key, _, source in read("nb07_right.txt")]
SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 12}
MASKED = """
def masked_attention(q, k, v, mask):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    w = s.masked_fill(~mask, {}).softmax(-1)
    return w @ v, w
"""


def test_the_number_that_is_filled_in_is_named():
    assert "-7.5" in verdict_on("X06-2", MASKED.format(-7.5)).message


@pytest.mark.parametrize(("fill", "word"), [("-torch.inf", "NaN"), ("-1e9", "everywhere")])
def test_a_row_with_nothing_to_look_at_earns_a_remark(fill, word):
    verdict = verdict_on("X06-2", MASKED.format(fill))
    assert verdict.passed
    assert any(word in remark for remark in verdict.remarks)


@pytest.mark.parametrize(
    ("key", "source"), BLOCKS, ids=[f"{k}-{i}" for i, (k, _) in enumerate(BLOCKS)]
)
def test_a_right_solution_passes_with_the_librarys_network_too(key, source):
    """`carry_on` gives the library's network to a student whose own is not right yet."""
    given = {} if key == "X07-2" else {"FFN": FeedForward}
    for verdict in (verdict_on(key, source), verdict_on(key, source, **given)):
        assert verdict.status == "passed", verdict
        assert all("dropout" in remark for remark in verdict.remarks), verdict


def filled(reference: torch.nn.Module, library: torch.nn.Module) -> torch.nn.Module:
    """An exercise's reference with the library's weights, layer by layer under the same names."""
    state = library.state_dict()
    reference.load_state_dict({k.replace("feed_forward", "ffn"): v for k, v in state.items()})
    return reference


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_encoder_block_asked_for_is_the_librarys(norm_first):
    torch.manual_seed(0)
    library = EncoderBlock(BlockSizes(**SMALL, norm_first=norm_first))
    own, x = filled(ITEMS["X07-3"].reference(8, 2, 12, norm_first), library), torch.randn(2, 5, 8)
    torch.testing.assert_close(own(x), library(x)[0])


def test_the_decoder_block_asked_for_is_the_librarys():
    torch.manual_seed(0)
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    library = DecoderBlock(BlockSizes(**SMALL))
    output, weights = filled(ITEMS["X07-4"].reference(8, 2, 12), library)(x, memory, None, None)
    want, _, cross = library(x, memory, need_weights=True)
    torch.testing.assert_close(output, want)
    torch.testing.assert_close(weights, cross)


def test_the_base_models_size_is_the_one_told():
    told = int(re.search(r"= ([\d,]+)\.", ITEMS["P07-4"].reveal)[1].replace(",", ""))
    with torch.device("meta"):
        block = BlockSizes(d_model=512, num_heads=8, d_ff=2048, norm_first=False)
        base = Transformer(37_000, block=block, num_layers=6, max_len=8)
    assert count_parameters(base) == told
    right = next(option.text for option in ITEMS["P07-4"].options if option.right)
    assert right == f"About {told // 10**6} million"


def test_a_linear_layer_for_the_convolution_passes_with_a_remark():
    right = read("nb08_right.txt")
    sources = [s for key, _, s in right if key == "X08-2" and "nn.Linear" in s]
    assert sources
    for source in sources:
        assert any("nn.Conv2d" in remark for remark in verdict_on("X08-2", source).remarks)
