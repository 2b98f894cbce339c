"""Notebook 07's exercises: solutions as students write them, and what its questions promise."""

import re

import pytest
import torch
from torch import nn

from tests.test_quiz_corpus import read, verdict_on
from utils.models.transformer import DecoderBlock, EncoderBlock, FeedForward, Transformer
from utils.quiz import registry
from utils.train.loop import count_parameters

ITEMS = registry.load("07")
RIGHT = read("nb07_right.txt")


@pytest.mark.parametrize(
    ("key", "source"), RIGHT, ids=[f"{k}-{i}" for i, (k, _) in enumerate(RIGHT)]
)
def test_a_right_solution_passes_with_the_librarys_network_too(key, source):
    """`carry_on` gives the library's network to a student whose own is not right yet."""
    given = {} if key == "X07-2" else {"FFN": FeedForward}
    for verdict in (verdict_on(key, source), verdict_on(key, source, **given)):
        assert verdict.status == "passed", verdict
        assert not verdict.remarks, verdict


def test_everything_that_was_asked_for_is_there():
    kinds = {kind: sorted(k for k in ITEMS if k.startswith(kind)) for kind in "XQGP"}
    assert kinds["X"] == [f"X07-{i}" for i in range(1, 5)]
    assert kinds["Q"] == [f"Q07-{i}" for i in range(1, 7)]
    assert kinds["G"] == [f"G07-{i}" for i in range(1, 4)]
    assert kinds["P"] == [f"P07-{i}" for i in range(1, 5)]


def renamed(block):
    return {name.replace("feed_forward", "ffn"): p for name, p in block.state_dict().items()}


@pytest.mark.parametrize("pre_norm", [True, False])
def test_the_blocks_asked_for_are_the_librarys(pre_norm):
    """The exercises' references with the library's weights, layer by layer under the same names."""
    torch.manual_seed(0)
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    library = EncoderBlock(d_model=8, num_heads=2, d_ff=12, pre_norm=pre_norm)
    own = ITEMS["X07-3"].reference(8, 2, 12, pre_norm)
    own.load_state_dict(
        {k.replace("feed_forward", "ffn"): v for k, v in library.state_dict().items()}
    )
    torch.testing.assert_close(own(x), library(x)[0])
    library = DecoderBlock(d_model=8, num_heads=2, d_ff=12)
    own = ITEMS["X07-4"].reference(8, 2, 12)
    own.load_state_dict(
        {k.replace("feed_forward", "ffn"): v for k, v in library.state_dict().items()}
    )
    output, weights = own(x, memory, None, None)
    want, _, cross = library(x, memory, need_weights=True)
    torch.testing.assert_close(output, want)
    torch.testing.assert_close(weights, cross)


def right(question) -> str:
    return next(option for option in question.options if option.right).text


def test_counted_parameters_are_pytorchs():
    for seed in range(40):
        asked = ITEMS["G07-1"].with_seed(seed)
        d, wide = (int(x) for x in re.search(r"= (\d+), d_ff = (\d+)", asked.text).groups())
        kind = (
            nn.TransformerDecoderLayer if "a decoder" in asked.text else nn.TransformerEncoderLayer
        )
        assert int(right(asked).replace(",", "")) == count_parameters(kind(d, 4, wide))


def test_the_shape_marked_right_is_pytorchs():
    for seed in range(40):
        asked = ITEMS["G07-2"].with_seed(seed)
        b, n, m, d, h = (int(x) for x in re.findall(r"\d+", asked.text)[:5])
        layer = nn.MultiheadAttention(d, h, batch_first=True)
        memory = torch.zeros(b, n, d)
        weights = layer(torch.zeros(b, m, d), memory, memory, average_attn_weights=False)[1]
        assert right(asked) == str(tuple(weights.shape))


def test_the_base_models_size_is_the_one_told():
    told = int(re.search(r"= ([\d,]+)\.", ITEMS["P07-4"].reveal)[1].replace(",", ""))
    with torch.device("meta"):
        sizes = {"d_model": 512, "num_heads": 8, "num_layers": 6, "d_ff": 2048, "max_len": 8}
        assert count_parameters(Transformer(37_000, **sizes, pre_norm=False)) == told
    assert right(ITEMS["P07-4"]) == f"About {told // 10**6} million"
