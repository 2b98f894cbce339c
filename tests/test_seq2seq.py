"""The recurrent models: padding, steps, attention, decoding, learning."""

import pytest
import torch

from utils.layers.attention import AdditiveAttention
from utils.models.seq2seq import AttentionSeq2Seq, FixedSeq2Seq
from utils.runtime import set_seed
from utils.tasks.translation import share_by_length
from utils.text.vocabulary import BOS, EOS, PAD, batches, make_batch
from utils.train.generation import decode
from utils.train.loop import train
from utils.train.sequences import exact_matches, sequence_loss

PAIRS = [([5, 6, 7, 8, 9], [9, 8]), ([6, 5], [4, 5, 6, 7]), ([7, 7, 8], [4])]
MODELS = {
    "fixed": lambda: FixedSeq2Seq(12, 11, d_embedding=8, d_model=10),
    "one way": lambda: FixedSeq2Seq(12, 11, d_embedding=8, d_model=9, bidirectional=False),
    "additive": lambda: AttentionSeq2Seq(12, 11, d_embedding=8, d_model=10),
    "dot": lambda: AttentionSeq2Seq(12, 11, d_embedding=8, d_model=10, score="dot"),
}


@pytest.fixture(params=MODELS)
def model(request):
    set_seed(3)
    return MODELS[request.param]().eval()


def test_a_padded_batch_equals_single_sentences(model):
    """Also with much more padding than needed, and for the gradients."""
    batch = make_batch(PAIRS)
    wide = torch.cat([batch.source, torch.full((3, 4), PAD)], dim=1)
    logits, weights = model(wide, batch.decoder_input)
    for i, pair in enumerate(PAIRS):
        alone = make_batch([pair])
        single, single_weights = model(alone.source, alone.decoder_input)
        torch.testing.assert_close(logits[i, : len(pair[1]) + 1], single[0])
        if weights:
            n, cross = len(pair[0]), weights.cross[i, 0, 0]
            torch.testing.assert_close(cross[: len(pair[1]) + 1, :n], single_weights.cross[0, 0, 0])
            assert (cross[:, n:] == 0).all()


def test_the_loss_of_a_padded_batch_is_the_mean_over_all_words(model):
    single = [sequence_loss(model, make_batch([pair])) * (len(pair[1]) + 1) for pair in PAIRS]
    words = sum(len(pair[1]) + 1 for pair in PAIRS)
    torch.testing.assert_close(sequence_loss(model, make_batch(PAIRS)), sum(single) / words)


def test_steps_equal_teacher_forcing(model):
    batch = make_batch(PAIRS)
    logits, weights = model(batch.source, batch.decoder_input)
    state = model.start(batch.source)
    for i, tokens in enumerate(batch.decoder_input.unbind(dim=1)):
        step, state, row = model.step(tokens, state)
        torch.testing.assert_close(step, logits[:, i])
        if weights:
            torch.testing.assert_close(row.cross, weights.cross[:, :, :, i : i + 1])


def test_weights_are_the_ones_used():
    set_seed(1)
    model = MODELS["additive"]()
    state = model.start(make_batch(PAIRS).source)
    context, weights = model.attend(state)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3))
    torch.testing.assert_close(context, torch.einsum("bn,bnd->bd", weights, state.annotations))


def test_attention_equals_the_courses_additive_attention():
    """The model projects the keys once for all steps; the result must be the library's."""
    set_seed(1)
    model = MODELS["additive"]()
    assert isinstance(model.attention, AdditiveAttention)
    state = model.start(make_batch(PAIRS).source)
    context, weights = model.attend(state)
    library, library_weights = model.attention(
        state.s[:, None], state.annotations, mask=state.mask[:, None]
    )
    torch.testing.assert_close(context, library[:, 0])
    torch.testing.assert_close(weights, library_weights[:, 0])


def test_dot_scores_are_dot_products():
    model = MODELS["dot"]()
    state = model.start(make_batch(PAIRS[:1]).source)
    _, weights = model.attend(state)
    scores = torch.stack([state.annotations[0, j] @ state.s[0] for j in range(5)])
    torch.testing.assert_close(weights[0], scores.softmax(dim=0))


def test_decoding_stops_at_eos_for_each_sentence(model):
    ids, weights = decode(model, make_batch(PAIRS).source, 9, need_weights=True)
    assert ids.shape[0] == 3
    assert ids.shape[1] <= 9
    for row in ids.tolist():
        if EOS in row:
            assert set(row[row.index(EOS) + 1 :]) <= {PAD}
    assert bool(weights) == isinstance(model, AttentionSeq2Seq)
    if weights:
        assert weights.only().shape == (3, 1, 1, ids.shape[1], 5)


class Chatty(torch.nn.Module):
    """Sentence b says 7 for ``b`` steps, then <eos>, and goes on talking if it is let."""

    def start(self, source):
        return 0

    def step(self, tokens, step):
        words = torch.tensor([EOS if step == b else 7 for b in range(len(tokens))])
        return torch.nn.functional.one_hot(words, 9).float(), step + 1, None


def test_nothing_is_said_after_eos_and_others_may_go_on():
    ids, _ = decode(Chatty(), torch.ones(3, 2).long(), 9)
    assert ids.tolist() == [[EOS, PAD, PAD], [7, EOS, PAD], [7, 7, EOS]]
    cut, _ = decode(Chatty(), torch.ones(3, 2).long(), 2)
    assert cut.tolist() == [[EOS, PAD], [7, EOS], [7, 7]]


def test_decoding_is_fed_with_its_own_words(model):
    """Teacher forcing on what was said must say the same again."""
    source = make_batch(PAIRS).source
    ids, _ = decode(model, source, 6)
    given = torch.cat([torch.full((3, 1), BOS), ids[:, :-1]], dim=1)
    again = model(source, given)[0].argmax(dim=-1)
    said = ids != PAD
    assert torch.equal(again[said], ids[said])


def test_decoding_alone_or_in_a_batch_says_the_same(model):
    ids, _ = decode(model, make_batch(PAIRS).source, 7)
    for row, pair in zip(ids.tolist(), PAIRS):
        alone, _ = decode(model, make_batch([pair]).source, 7)
        said = alone[0].tolist()
        assert row[: len(said)] == said


def test_sampling_follows_its_generator(model):
    source = make_batch(PAIRS * 5).source
    draw = [decode(model, source, 8, torch.Generator().manual_seed(s))[0] for s in (1, 1, 2)]
    assert torch.equal(draw[0], draw[1])
    assert draw[0].shape != draw[2].shape or not torch.equal(draw[0], draw[2])


def test_decoding_leaves_the_mode_as_it_was(model):
    model.train()
    decode(model, make_batch(PAIRS).source, 3)
    assert model.training


@pytest.mark.parametrize("kind", MODELS)
def test_gradients_reach_every_parameter(kind):
    model = MODELS[kind]()
    sequence_loss(model, make_batch(PAIRS)).backward()
    for name, parameter in model.named_parameters():
        if kind in ("fixed", "one way") and "shortcut" in name:
            continue  # the annotations themselves are not used without attention
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_attention_learns_to_reverse_and_a_fixed_vector_of_the_same_size_does_not():
    """The course's central claim, in a few seconds."""
    generator = torch.Generator().manual_seed(0)
    pairs = []
    for n in torch.randint(2, 10, (4000,), generator=generator).tolist():
        digits = torch.randint(4, 12, (n,), generator=generator).tolist()
        pairs.append((digits, digits[::-1]))
    long = [pair for pair in pairs[:800] if len(pair[0]) >= 8]
    share = {}
    for kind in (AttentionSeq2Seq, FixedSeq2Seq):
        set_seed(0)
        model = kind(12, 12, d_embedding=32, d_model=48)
        data = batches(pairs, 64, seed=0)
        train(model, data, sequence_loss, steps=300, lr=8e-3, progress=False)
        share[kind] = share_by_length(exact_matches(model, make_batch(long)), long, [(8, 9)])[0]
    assert share[AttentionSeq2Seq] > 0.7
    assert share[FixedSeq2Seq] < 0.3


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="score must be 'additive' or 'dot', got 'cosine'"):
        AttentionSeq2Seq(5, 5, score="cosine")
    with pytest.raises(ValueError, match="d_model must be even for two directions, got 7"):
        FixedSeq2Seq(5, 5, d_model=7)
    with pytest.raises(ValueError, match="at least one word that is not <pad>"):
        FixedSeq2Seq(9, 9).start(torch.tensor([[5, 6], [PAD, PAD]]))
    with pytest.raises(ValueError, match="max_length must be at least 1 word, got 0"):
        decode(FixedSeq2Seq(9, 9), torch.tensor([[5]]), 0)
