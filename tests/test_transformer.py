"""What must be true of the Transformer, whatever its weights: masks, weights, tables, sizes."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tests.test_attention_parity import random
from tests.test_transformer_parity import WIDE, D, H, M, N, shaken, whole_twin
from utils.layers.masks import causal_mask, padding_mask
from utils.layers.positions import sinusoidal_encoding
from utils.models.language_model import LanguageModel
from utils.models.transformer import (
    BlockSizes,
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForward,
    Transformer,
)
from utils.runtime import set_seed
from utils.text.vocabulary import PAD, make_batch
from utils.train.loop import count_parameters
from utils.train.sequences import sequence_loss

BLOCK = BlockSizes(d_model=D, num_heads=H, d_ff=WIDE)
POST = replace(BLOCK, norm_first=False)
SMALL = {"block": BLOCK, "num_layers": 2, "max_len": 20}
CLOSE = {"atol": 1e-10, "rtol": 1e-10}
PAIRS = [([5, 6, 7, 8, 9], [9, 8]), ([6, 5], [4, 5, 6, 7]), ([7, 7, 8], [4])]
MODELS = {
    "pre-norm": lambda: Transformer(12, 11, **SMALL),
    "post-norm": lambda: Transformer(12, 11, **SMALL | {"block": POST}),
    "untied": lambda: Transformer(12, 11, **SMALL, tied=False),
    "one vocabulary": lambda: Transformer(12, **SMALL),
}
NORMS = pytest.mark.parametrize("block", [BLOCK, POST], ids=["pre", "post"])


@pytest.fixture(params=MODELS)
def model(request):
    """Weights as after some training: no norm at 1, no bias at 0."""
    set_seed(3)
    model = MODELS[request.param]().double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


@NORMS
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_whole_model_is_pytorchs_between_two_tables(block):
    set_seed(0)
    ours = shaken(Transformer(12, 11, block, num_layers=2, max_len=20, tied=False).double())
    theirs = whole_twin(ours.encoder, ours.decoder)
    batch = make_batch(PAIRS)
    padded, m = batch.source == PAD, batch.decoder_input.shape[1]
    table = sinusoidal_encoding(20, D).double()
    x = [
        math.sqrt(D) * embedding.words.weight[tokens] + table[: tokens.shape[1]]
        for embedding, tokens in (
            (ours.source_embedding, batch.source),
            (ours.target_embedding, batch.decoder_input),
        )
    ]
    forbidden = torch.ones(m, m, dtype=torch.bool).triu(1)
    want = theirs(
        *x, tgt_mask=forbidden, src_key_padding_mask=padded, memory_key_padding_mask=padded
    )
    logits, weights = ours(batch.source, batch.decoder_input)
    torch.testing.assert_close(logits, want @ ours.output.weight.T, **CLOSE)
    assert not weights


def test_weights_on_request_of_every_layer_and_the_output_stays(model):
    batch = make_batch(PAIRS)
    m, n = batch.decoder_input.shape[1], batch.source.shape[1]
    without, nothing = model(batch.source, batch.decoder_input)
    logits, weights = model(batch.source, batch.decoder_input, need_weights=True)
    torch.testing.assert_close(logits, without, **CLOSE)
    assert not nothing
    shapes = {"encoder": (3, H, n, n), "decoder": (3, H, m, m), "cross": (3, H, m, n)}
    for name, shape in shapes.items():
        layers = getattr(weights, name).unbind(dim=1)
        assert [layer.shape for layer in layers] == [shape, shape]
        assert not torch.allclose(*layers)
        for layer in layers:
            torch.testing.assert_close(layer.sum(-1), torch.ones(shape[:-1], dtype=torch.float64))
    hidden = (batch.source == PAD)[:, None, None].expand(shapes["cross"])
    assert all((layer[hidden] == 0).all() for layer in weights.cross.unbind(dim=1))
    assert (weights.decoder.triu(1) == 0).all()
    assert (weights.encoder.triu(1) > 0).any()


def test_a_padded_batch_equals_single_sentences(model):
    """Also with much more padding than needed."""
    batch = make_batch(PAIRS)
    wide = torch.cat([batch.source, torch.full((3, 4), PAD)], dim=1)
    logits, _ = model(wide, batch.decoder_input)
    for i, pair in enumerate(PAIRS):
        alone = make_batch([pair])
        single, _ = model(alone.source, alone.decoder_input)
        torch.testing.assert_close(logits[i, : len(pair[1]) + 1], single[0], **CLOSE)


def leaks(y, x):
    """The largest gradient of any y (B, M, ...) with respect to a later x (B, M, ...)."""
    found = 0.0
    for t in range(y.shape[1] - 1):
        (gradient,) = torch.autograd.grad(y[:, t].sum(), x, retain_graph=True)
        assert gradient[:, t].abs().max() > 0
        found = max(found, float(gradient[:, t + 1 :].abs().max()))
    return found


@NORMS
@pytest.mark.parametrize("need_weights", [True, False])
def test_nothing_leaks_from_the_future(block, need_weights):
    set_seed(0)
    x, memory = random(2, M, D).requires_grad_(), random(2, N, D)
    decoder = Decoder(2, block).double()
    y = decoder(x, memory, causal_mask(M), need_weights=need_weights)[0]
    assert leaks(y * random(2, M, D, seed=3), x) == 0
    encoder = Encoder(2, block).double()
    y = encoder(x, causal_mask(M), need_weights=need_weights)[0]
    assert leaks(y * random(2, M, D, seed=3), x) == 0
    y = encoder(x)[0]
    assert leaks(y * random(2, M, D, seed=3), x) > 1e-3  # without the mask it does


def test_a_later_word_changes_no_earlier_logit(model):
    set_seed(0)
    language = LanguageModel(11, **SMALL).double()
    batch = make_batch(PAIRS)
    changed = batch.decoder_input.clone()
    changed[:, 3:] = 9
    for run in (lambda y: model(batch.source, y)[0], lambda y: language(y)[0]):
        before, after = run(batch.decoder_input), run(changed)
        torch.testing.assert_close(before[:, :3], after[:, :3], **CLOSE)
        assert (before[:, 3] - after[:, 3]).abs().max() > 1e-3


@NORMS
def test_the_memory_is_a_set_and_the_encoder_follows_the_order(block):
    set_seed(0)
    decoder = Decoder(2, block).double()
    encoder = Encoder(2, block).double()
    x, memory, order = random(2, M, D), random(2, N, D), torch.tensor([4, 0, 6, 2, 5, 1, 3])
    mask = padding_mask([4, 6], N)
    output = decoder(x, memory, causal_mask(M), mask)[0]
    other = decoder(x, memory[:, order], causal_mask(M), mask[..., order])[0]
    torch.testing.assert_close(output, other, **CLOSE)
    changed = decoder(x, memory[:, order], causal_mask(M), mask)[0]
    assert (changed - output).abs().max() > 1e-3  # the mask counts, and so the memory
    moved = encoder(memory[:, order], mask[..., order])[0]
    torch.testing.assert_close(moved, encoder(memory, mask)[0][:, order], **CLOSE)


def test_the_feed_forward_network_works_on_each_word_alone():
    set_seed(0)
    for name, function in (("relu", F.relu), ("gelu", F.gelu)):
        layer = FeedForward(D, WIDE, activation=name).double()
        x = random(2, M, D)
        want = function(x @ layer.up.weight.T + layer.up.bias) @ layer.down.weight.T
        torch.testing.assert_close(layer(x), want + layer.down.bias, **CLOSE)
        for t in range(M):
            torch.testing.assert_close(layer(x)[:, t], layer(x[:, t]), **CLOSE)


def test_words_and_positions_are_equally_large_at_the_start():
    set_seed(0)
    embedding = Transformer(2000, None, BlockSizes(d_model=64), num_layers=1).source_embedding
    words = embedding.words.weight.detach()[1:] * math.sqrt(64)
    assert words.std() == pytest.approx(1.0, abs=0.02)
    assert (embedding.words.weight[PAD] == 0).all()
    tokens = torch.tensor([[5, 6, 7]])
    want = words[tokens - 1] + embedding.positions.table[2:5]
    torch.testing.assert_close(embedding(tokens, past=2), want)


def test_tables_are_shared_as_asked_for():
    one, two = Transformer(12, **SMALL), Transformer(12, 11, **SMALL)
    assert one.target_embedding is one.source_embedding
    assert two.target_embedding is not two.source_embedding
    assert count_parameters(two) - count_parameters(one) == 11 * D
    untied = Transformer(12, 11, **SMALL, tied=False)
    assert count_parameters(untied) - count_parameters(two) == 11 * D
    x = random(1, 3, D, dtype=torch.float32)
    torch.testing.assert_close(two.logits(x), x @ two.target_embedding.words.weight.T)
    torch.testing.assert_close(untied.logits(x), x @ untied.output.weight.T)


BASE = BlockSizes(d_model=512, num_heads=8, d_ff=2048, norm_first=False)
BIG = BlockSizes(d_model=1024, num_heads=16, d_ff=4096, norm_first=False)


def test_the_papers_models_have_their_sizes():
    with torch.device("meta"):  # shapes only
        assert count_parameters(EncoderBlock(BASE)) == 3_152_384
        assert count_parameters(DecoderBlock(BASE)) == 4_204_032
        paper = {"num_layers": 6, "max_len": 8}
        assert count_parameters(Transformer(37_000, None, BASE, **paper)) == 63_082_496
        assert count_parameters(Transformer(37_000, None, BIG, **paper)) == 214_245_376
        pre_norm = Transformer(37_000, None, replace(BASE, norm_first=True), **paper)
        assert count_parameters(pre_norm) == 63_082_496 + 4 * 512  # two norms more


def test_every_parameter_learns_and_layers_have_weights_of_their_own(model):
    sequence_loss(model, make_batch(PAIRS)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith("w_k.bias"), name
    first, second = model.encoder.blocks
    assert not {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}


def test_dropout_drops_in_training_only():
    batch = make_batch(PAIRS)
    for make in (
        lambda p: Transformer(12, **SMALL | {"block": replace(BLOCK, dropout=p)}),
        lambda p: LanguageModel(12, **SMALL | {"block": replace(BLOCK, dropout=p)}),
    ):
        set_seed(0)
        model = make(0.2)
        inputs = (
            (batch.source, batch.decoder_input)
            if isinstance(model, Transformer)
            else (batch.source,)
        )
        assert not torch.equal(model(*inputs)[0], model(*inputs)[0])
        table = model.source_embedding if isinstance(model, Transformer) else model.embedding
        dropped = table(torch.full((1, 20), 5)) == 0
        assert 0.1 < dropped.float().mean() < 0.3
        model.eval()
        still = make(0.0)
        still.load_state_dict(model.state_dict())
        assert torch.equal(model(*inputs)[0], still(*inputs)[0])


def test_bad_input_is_named():
    x = torch.zeros(2, 3, D)
    with pytest.raises(
        ValueError, match=r"activation must be one of \['relu', 'gelu'\], got 'tan'"
    ):
        FeedForward(D, WIDE, activation="tan")
    for stack in (Encoder, Decoder):
        with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
            stack(0, BLOCK)
    with pytest.raises(ValueError, match="multiple of num_heads.*d_model = 12, num_heads = 5"):
        EncoderBlock(BlockSizes(d_model=12, num_heads=5, d_ff=8))
    for block in (BLOCK, POST):
        with pytest.raises(ValueError, match=r"context must have shape .*, got \(2, 3, 8\)"):
            DecoderBlock(block)(x, torch.zeros(2, 3, 8))
        with pytest.raises(ValueError, match="needs the encoder's memory .* got memory = None"):
            DecoderBlock(block)(x, None)
    with pytest.raises(TypeError, match="mask must be a boolean tensor"):
        EncoderBlock(BLOCK)(x, torch.ones(3, 3))
    model = Transformer(12, **SMALL)
    with pytest.raises(ValueError, match="at least one word that is not <pad>"):
        model(torch.tensor([[5, 6], [PAD, PAD]]), torch.tensor([[1], [1]]))
    with pytest.raises(ValueError, match="the model has 20 positions, and 21 are needed"):
        model(torch.full((1, 21), 5), torch.tensor([[1]]))
