"""Word by word with a cache is the same as all words at once."""

import pytest
import torch

from tests.test_transformer import BLOCK, MODELS, PAIRS, POST, SMALL
from utils.layers.masks import causal_mask
from utils.layers.weights import Weights
from utils.models.language_model import LanguageModel
from utils.runtime import set_seed
from utils.text.vocabulary import BOS, EOS, PAD, make_batch
from utils.train.generation import decode, select

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
BATCH = make_batch(PAIRS)  # ragged: sources of 5, 2 and 3 words, targets of 2, 4 and 1


def lively(make):
    """A model that does not say the same word for ever: larger weights than at the start."""
    set_seed(5)
    model = make().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "words" not in name:
                parameter *= 3
            else:
                parameter += 0.1 * torch.randn_like(parameter)
    return model


@pytest.fixture(params=MODELS)
def model(request):
    return lively(MODELS[request.param])


@pytest.fixture(params=[BLOCK, POST], ids=["pre", "post"])
def language(request):
    return lively(lambda: LanguageModel(12, **SMALL | {"block": request.param}))


def walk(model, state, tokens):
    """Logits (B, M, V) of tokens (B, M) fed one by one, and the last state."""
    steps = []
    for column in tokens.unbind(dim=1):
        logits, state, weights = model.step(column, state)
        assert not weights
        steps.append(logits)
    return torch.stack(steps, dim=1), state


def test_steps_equal_teacher_forcing(model):
    want, _ = model(BATCH.source, BATCH.decoder_input)
    logits, state = walk(model, model.start(BATCH.source), BATCH.decoder_input)
    torch.testing.assert_close(logits, want, **CLOSE)
    assert state.length == BATCH.decoder_input.shape[1]


def test_steps_hand_out_the_rows_of_the_whole_passs_weights(model):
    _, want = model(BATCH.source, BATCH.decoder_input, need_weights=True)
    state, steps = model.start(BATCH.source, need_weights=True), []
    for tokens in BATCH.decoder_input.unbind(dim=1):
        _, state, weights = model.step(tokens, state, need_weights=True)
        steps.append(weights)
    together = Weights.of_steps(steps)
    for name, block in want.blocks().items():
        torch.testing.assert_close(getattr(together, name), block, **CLOSE)


def test_a_translation_carries_the_weights_that_made_it(model):
    ids, weights = decode(model, BATCH.source, 9, need_weights=True)
    given = torch.cat([torch.full((3, 1), BOS), ids[:, :-1]], dim=1)
    _, want = model(BATCH.source, given, need_weights=True)
    for name, block in want.blocks().items():
        torch.testing.assert_close(getattr(weights, name), block, **CLOSE)


def snapshot(state):
    return [
        [None if pair is None else [t.clone() for t in pair] for pair in (cache.past, cache.memory)]
        for cache in state.caches
    ]


def test_an_old_state_can_be_stepped_from_again(model, language):
    """Two ways on from the same beginning, as a beam needs it."""
    for one, start in ((model, BATCH.source), (language, BATCH.decoder_input)):
        _, state = walk(one, one.start(start), BATCH.decoder_input[:, :2])
        before, length = snapshot(state), state.length
        first, after, _ = one.step(torch.tensor([5, 6, 7]), state)
        other, *_ = one.step(torch.tensor([8, 8, 4]), state)
        again, *_ = one.step(torch.tensor([5, 6, 7]), state)
        assert torch.equal(first, again)
        assert not torch.allclose(first, other)
        assert state.length == length and after.length == length + 1
        for old, new in zip(before, snapshot(state), strict=True):
            for a, b in zip(old, new, strict=True):
                assert a is b is None or all(map(torch.equal, a, b))


def test_the_cache_holds_one_key_a_word_and_the_memory_is_read_once(model):
    calls = {"keys": 0, "encoder": 0, "words": 0}

    def count(name):
        def hook(module, args, output):
            calls[name] += 1
            if name == "words":  # the newest word only
                assert args[0].shape[1] == 1

        return hook

    model.encoder.register_forward_hook(count("encoder"))
    for block in model.decoder.blocks:
        block.cross_attention.w_k.register_forward_hook(count("keys"))
        block.attention.w_k.register_forward_hook(count("words"))
    state = model.start(BATCH.source)
    for t in range(1, 5):
        _, state, _ = model.step(torch.tensor([4, 5, 6]), state)
        for cache in state.caches:
            assert [tuple(x.shape) for x in cache.past] == [(3, 3, t, 4)] * 2
            assert [tuple(x.shape) for x in cache.memory] == [(3, 3, 5, 4)] * 2
    assert calls == {"keys": 2, "encoder": 1, "words": 8}


def recompute(run, first, steps):
    """Greedy without a cache: every word from the whole sentence so far."""
    said, finished = first, torch.zeros(len(first), dtype=torch.bool)
    for _ in range(steps):
        word = run(said)[0][:, -1].argmax(dim=-1).masked_fill(finished, PAD)
        finished |= word == EOS
        said = torch.cat([said, word[:, None]], dim=1)
        if finished.all():
            break
    return said[:, first.shape[1] :]


def test_the_same_words_as_computing_everything_again(model):
    ids, weights = decode(model, BATCH.source, 12)
    bos = torch.full((3, 1), BOS)
    assert torch.equal(ids, recompute(lambda said: model(BATCH.source, said), bos, 12))
    assert not weights
    assert len({tuple(row) for row in ids.tolist()}) > 1  # not the same whatever it reads


def test_words_said_are_those_of_teacher_forcing_and_each_sentence_is_alone(model):
    ids, _ = decode(model, BATCH.source, 9)
    given = torch.cat([torch.full((3, 1), BOS), ids[:, :-1]], dim=1)
    again = model(BATCH.source, given)[0].argmax(dim=-1)
    for i, (source, _) in enumerate(PAIRS):
        alone, _ = decode(model, torch.tensor([source]), 9)
        n = alone.shape[1]
        assert ids[i, :n].tolist() == alone[0].tolist() == again[i, :n].tolist()
        assert (ids[i, n:] == PAD).all()


TEXT = torch.tensor([[1, 5, 6, 7, 8, 9, 4], [1, 9, 9, 4, 5, 5, 6]])


@pytest.mark.parametrize("prompt", [0, 1, 4])
def test_a_language_model_goes_on_from_any_prompt(language, prompt):
    want, _ = language(TEXT)
    state = language.start(TEXT[:, :prompt])
    assert state.length == prompt
    logits, state = walk(language, state, TEXT[:, prompt:])
    torch.testing.assert_close(logits, want[:, prompt:], **CLOSE)
    assert state.length == 7


def test_a_language_model_says_what_recomputing_says(language):
    want = recompute(language, TEXT, 8)
    ids, _ = decode(language, TEXT[:, :-1], 8, first=TEXT[:, -1])
    assert torch.equal(ids, want)
    from_nothing, _ = decode(language, TEXT[:, :0], 8)  # an empty prompt: <bos> comes first
    assert torch.equal(from_nothing, recompute(language, torch.full((2, 1), BOS), 8))


def test_a_language_models_weights_and_padding(language):
    """Padding behind a text changes nothing before it; rows are those of the whole pass."""
    want, whole = language(TEXT, need_weights=True)
    padded, _ = language(torch.cat([TEXT, torch.zeros(2, 3, dtype=torch.long)], dim=1))
    torch.testing.assert_close(padded[:, :7], want, **CLOSE)
    assert [*whole.blocks()] == ["decoder"] and whole.decoder.shape[1] == 2
    state = language.start(TEXT[:, :3])
    _, state, weights = language.step(TEXT[:, 3], state, need_weights=True)
    assert (whole.decoder[..., ~causal_mask(7)] == 0).all()
    torch.testing.assert_close(weights.decoder[..., 0, :], whole.decoder[..., 3, :4], **CLOSE)


def test_a_sentence_that_is_too_long_is_named(model, language):
    state = model.start(BATCH.source)
    _, state = walk(model, state, torch.full((3, 20), 5))
    with pytest.raises(ValueError, match="the model has 20 positions, and 21 are needed"):
        model.step(torch.tensor([5, 5, 5]), state)
    with pytest.raises(ValueError, match="the model has 20 positions, and 23 are needed"):
        language.start(torch.full((1, 23), 5))


def test_states_from_one_beginning_do_not_write_over_each_other(language):
    """Two ways on from one state, and rows picked anew: each sees its own past only."""
    _, state, _ = language.step(TEXT[:, 1], language.start(TEXT[:, :1]))
    first = [language.step(TEXT[:, i], state)[1] for i in (2, 3)]
    for i, branch in zip((2, 3), first):
        logits, _, _ = language.step(TEXT[:, 4], branch)
        words = torch.stack([TEXT[:, 0], TEXT[:, 1], TEXT[:, i], TEXT[:, 4]], dim=1)
        torch.testing.assert_close(logits, language(words)[0][:, -1], **CLOSE)
    rows = torch.tensor([1, 0])
    logits, _, _ = language.step(TEXT[rows, 4], select(first[0], rows))
    words = TEXT[rows][:, [0, 1, 2, 4]]
    torch.testing.assert_close(logits, language(words)[0][:, -1], **CLOSE)
