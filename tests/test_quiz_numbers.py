"""What the numbers alone tell about a wrong solution: transforms, influence, counterexamples."""

import math
import time

import pytest
import torch

from utils.quiz.naming import counterexample, influence, transforms
from utils.quiz.outcome import failed, normalise

BOTH = ("output", "weights")
ONE = ("result",)


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


def of_weights(change):
    """Attention with other weights, and the output that follows from them."""

    def wrong(q, k, v, mask=None):
        weights = change(attention(q, k, v, mask)[1])
        return weights @ v, weights

    return wrong


def without_scale(q, k, v, mask=None):
    return attention(q * math.sqrt(q.shape[-1]), k, v, mask)


def split_heads(x, num_heads):
    b, n, d = x.shape
    return x.view(b, n, num_heads, d // num_heads).transpose(1, 2)


def layer_norm(x, gain, bias):
    return torch.nn.functional.layer_norm(x, x.shape[-1:]) * gain + bias


def causal(n):
    return torch.ones(n, n).tril().bool()


def positions(n, d):
    angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def cosines_zero(n, d):
    table = positions(n, d)
    table[:, 1::2] = 0
    return table


SEEN = torch.tensor([[True, False, True, True], [True, True, False, True], [True] * 4])
ATTENTION = (attention, BOTH, [(randn(2, 3, 5), randn(2, 4, 5), randn(2, 4, 6), None),
                               (randn(3, 5), randn(4, 5), randn(4, 6), SEEN),
                               (randn(3, 7), randn(4, 7), randn(4, 6), SEEN)])  # fmt: skip
HEADS = (split_heads, ("heads",), [(randn(2, 5, 12), 3), (randn(3, 4, 8), 2)])
NORM = (layer_norm, ONE, [(randn(2, 3, 8), randn(8), randn(2, 8)[1]),
                          (randn(4, 6), randn(6), randn(2, 6)[1])])  # fmt: skip
CAUSAL = (causal, ("mask",), [(4,), (6,)])
POSITIONS = (positions, ("table",), [(5, 8), (7, 4)])
FREE = (lambda x: x * 1.0, ONE, [(randn(2, 3, 5),), (randn(4, 3, 6),)])
NAMES = {attention: ["q", "k", "v", "mask"], split_heads: ["x", "num_heads"],
         layer_norm: ["x", "gain", "bias"], causal: ["n"], positions: ["n", "d"]}  # fmt: skip


def outcome(function, args):
    try:
        return normalise(function(*args))
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        return failed(str(error))


def asked(exercise, wrong):
    right, parts, probes = exercise
    got, want = ([outcome(f, args) for args in probes] for f in (wrong, right))
    return parts, got, want, probes, NAMES.get(right, ["x"]), 1e-4


WRONG = [  # exercise, mistake, kind, a word of the message, does it name the mistake?
    (ATTENTION, without_scale, "score-scale", "root of the size of the last axis of `q`", True),
    (ATTENTION, of_weights(lambda w: w.softmax(-1)), "extra-softmax", "columns", True),
    (ATTENTION, of_weights(lambda w: w.flip(-1)), "flipped", "last column", True),
    (ATTENTION, of_weights(lambda w: w.log().clamp(-50) + 3), "no-softmax", "scores", True),
    (ATTENTION, of_weights(lambda w: w / w.sum(-2, keepdim=True)), "wrong-axis", "rows", False),
    (ATTENTION, lambda *a: attention(*a)[::-1], "exchanged", "order", True),
    (ATTENTION, lambda *a: attention(*a)[0], "one-part", "Only the output", True),
    (ATTENTION, lambda *a: dict(zip("ow", attention(*a))), "packed", "packed", True),
    (ATTENTION, lambda *a: attention(*a[:3]), "some-inputs", "`mask` is None", False),
    (ATTENTION, lambda *a: (attention(*a)[0], attention(*a)[1].mT), "transposed", "axes", True),
    (HEADS, lambda x, h: x.view(len(x), h, x.shape[1], -1), "reshaped", "another shape", True),
    (HEADS, lambda x, h: split_heads(x, h).mT, "transposed", "axes -2 and -1", True),
    (HEADS, lambda x, h: split_heads(x, h)[:, :, :-1], "cut-off", "missing at the end", True),
    (HEADS, lambda x, h: x, "input-returned", "`x` as it came", True),
    (NORM, lambda x, g, b: layer_norm(x, g, b) + x, "input-added", "`x`", True),
    (NORM, lambda x, g, b: layer_norm(x, g, b) - b, "input-missing", "`bias`", True),
    (NORM, lambda x, g, b: layer_norm(x, g, b) * math.sqrt((x.shape[-1] - 1) / x.shape[-1]),
     "scaled", "√((N − 1)/N)", True),
    (CAUSAL, lambda n: ~causal(n), "inverted", "exchanged", True),
    (CAUSAL, lambda n: causal(n).tril(-1), "wrong-place", "on the diagonal", True),
    (CAUSAL, lambda n: causal(n).float(), "dtype", "float32, not bool", True),
    (CAUSAL, lambda n: causal(n)[None], "size-one-axis", "size 1", True),
    (CAUSAL, lambda n: torch.ones(n, n).bool(), "constant", "True", True),
    (POSITIONS, cosines_zero, "wrong-place", "every second column", True),
    (POSITIONS, lambda n, d: positions(n + 1, d)[1:], "shifted", "too early", True),
    (POSITIONS, lambda n, d: positions(n, d).cumsum(0), "extra-cumulative-sum", "rows", True),
    (FREE, lambda x: -x, "negated", "wrong sign", True),
    (FREE, lambda x: x.roll(1, 1), "rolled", "row", True),
    (FREE, lambda x: x.sqrt().nan_to_num(nan=torch.nan), "nan", "NaN", False),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "wrong", "kind", "word", "names"), WRONG)
def test_what_was_done_to_the_right_answer_is_said(exercise, wrong, kind, word, names):
    found = {f.kind: f for f in transforms.explain(*asked(exercise, wrong))}
    assert kind in found and word in found[kind].says, found
    assert (found[kind].score >= 7) == names
    if names:
        assert found[kind].score == max(f.score for f in found.values())


@pytest.mark.parametrize("exercise", [ATTENTION, HEADS, NORM, CAUSAL, POSITIONS])
def test_of_a_right_answer_nothing_is_said(exercise):
    right, parts, (*_, args) = exercise
    run = runner(right)
    assert transforms.explain(*asked(exercise, right)) == []
    assert transforms.symptoms(*asked(exercise, right)) == []
    assert influence.explain(run, run, args, NAMES[right], parts, 1e-4) == []
    assert counterexample.smallest(run, run, args, NAMES[right], ("result",), 1e-4) == ""


def test_a_part_that_stays_unexplained_keeps_the_other_from_naming():
    wrong = lambda *a: (attention(*a)[0] ** 3, attention(*a)[1].flip(-1))  # noqa: E731
    assert all(f.score < 7 for f in transforms.explain(*asked(ATTENTION, wrong)))


def test_one_number_or_truth_value_per_input_is_too_little_to_name_anything():
    for right, wrong in ((lambda n: n > 3, lambda n: n <= 3), (lambda n: n * n, lambda n: n + 9)):
        found = transforms.explain(*asked((right, ONE, [(2,), (4,), (7,)]), wrong))
        assert all(f.score < 5 for f in found), found


SYMPTOMS = [
    (ATTENTION, of_weights(lambda w: (w**2 + w).log().softmax(-1)), "though each row sums to 1"),
    (ATTENTION, lambda *a: (attention(*a)[0] ** 3, attention(*a)[1]), "The weights are right."),
    (ATTENTION, lambda *a: None, "Nothing comes back"),
    (HEADS, lambda x, h: split_heads(x, h)[..., :1], "The heads have shape (2, 3, 5, 1)"),
    (CAUSAL, lambda n: causal(n) * 2.5, "of floats, expected are booleans of the same shape"),
    (NORM, lambda x, g, b: layer_norm(x * 1.001, g, b) + x * 1e-3, "nearly right"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "wrong", "words"), SYMPTOMS)
def test_a_symptom_is_said_in_plain_words(exercise, wrong, words):
    found = transforms.symptoms(*asked(exercise, wrong))
    assert words in " ".join(f.says for f in found)


def runner(function):
    return lambda *args: outcome(function, args).arrays or None


def masked_too_late(q, k, v, mask):
    weights = attention(q, k, v)[1] * mask
    return weights @ v, weights


def over_the_batch(q, k, v, mask=None):
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(0)
    return weights @ v, weights


def causal_attention(q, k, v):
    return attention(q, k, v, torch.ones(q.shape[-2], k.shape[-2]).tril().bool())


BATCH = (randn(2, 3, 5), randn(2, 4, 5), randn(2, 4, 6))
TOKENS = (randn(2, 4, 5), randn(2, 4, 5), randn(2, 4, 6))
MASKED = (randn(2, 3, 5), randn(2, 4, 5), randn(2, 4, 6), SEEN)
INFLUENCE = [
    (attention, lambda q, k, v: attention(q, k, v * 0 + 1), BATCH, "ignored-argument", "`v`"),
    (attention, lambda q, k, v, m: attention(q, k, v), MASKED, "ignored-argument", "`mask`"),
    (attention, over_the_batch, BATCH, "batch-leak", "second example"),
    (causal_attention, attention, TOKENS, "future-leak", "later token"),
    (attention, masked_too_late, MASKED, "mask-leak", "hidden"),
    (lambda x: layer_norm(x, 1, 0), lambda x: (x - x.mean(-2, keepdim=True)), BATCH[:1],
     "row-leak", "rows influence"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "args", "kind", "word"), INFLUENCE)
def test_what_an_input_should_not_change_or_should_is_said(right, wrong, args, kind, word):
    names = NAMES[attention] if len(args) > 1 else ["x"]
    parts = BOTH if len(args) > 1 else ONE
    calls = []
    run = lambda *a: calls.append(a) or runner(wrong)(*a)  # noqa: E731
    found = {f.kind: f for f in influence.explain(run, runner(right), args, names, parts, 1e-4)}
    assert kind in found and word in found[kind].says, found
    assert 6 <= found[kind].score <= 7.2 and len(calls) <= 12


def test_the_smallest_counterexample_is_small_and_round():
    text = counterexample.smallest(
        runner(lambda x: x.flip(-1)), runner(lambda x: x * 1.0), (randn(4, 7),), ["x"], ONE, 1e-4
    )
    assert "`x` = [[1, 0]]. Came: [[0, 1]]. Expected: [[1, 0]]." in text
    text = counterexample.smallest(
        runner(without_scale), runner(attention), MASKED, NAMES[attention], BOTH, 1e-4
    )
    assert "`q`" in text and "Came" in text and len(text) < 300


def test_a_large_counterexample_shows_one_place_and_never_raises():
    right = lambda x: x.reshape(3, 3, 3) * 1.0  # noqa: E731, for this one shape only
    text = counterexample.smallest(
        runner(lambda x: right(x) + 1), runner(right), (torch.zeros(27),), ["x"], ONE, 1e-4
    )
    assert "At [0, 0, 0]: came 1, expected 0" in text and "shape (27,)" in text
    broken = lambda *a: 1 / 0  # noqa: E731
    assert counterexample.smallest(broken, broken, (1, "a", None), ["x"], ("result",), 1e-4) == ""


@pytest.mark.parametrize(
    "value", [None, "text", [], {}, [[1.0], [2.0, 3.0]], object(), (1, (2, None)), torch.ones(0), 3]
)
def test_odd_results_are_no_trouble(value):
    for exercise in (ATTENTION, CAUSAL):
        everything = asked(exercise, lambda *a: value)
        assert isinstance(transforms.explain(*everything), list)
        assert transforms.symptoms(*everything)


def test_it_is_quick():
    everything = asked(ATTENTION, of_weights(lambda w: w + 3 * w**2))
    start = time.perf_counter()
    transforms.explain(*everything)
    assert time.perf_counter() - start < 0.1  # under 0.01; a busy machine is slower
