"""What the explorer takes, and the sentence it answers with when it cannot."""

import tracemalloc

import numpy as np
import pytest
import torch

from utils.explorer import AttentionExplorer, inputs
from utils.explorer.encode import unpack

TOKENS = ["the", "cat", "sat"]
GOOD = [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]]


def weights(*shape):
    return torch.softmax(torch.randn(*shape, generator=torch.Generator().manual_seed(0)), -1)


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        (GOOD, (1, 1, 3, 3)),
        (np.array(GOOD), (1, 1, 3, 3)),
        (weights(3, 3), (1, 1, 3, 3)),
        (weights(4, 3, 3), (1, 4, 3, 3)),
        (weights(2, 4, 3, 3), (2, 4, 3, 3)),
        (weights(2, 4, 3, 3).bfloat16(), (2, 4, 3, 3)),
        (weights(2, 4, 3, 3).half(), (2, 4, 3, 3)),
        (weights(2, 4, 3, 3).double(), (2, 4, 3, 3)),
        (weights(4, 3, 3).requires_grad_(), (1, 4, 3, 3)),
        ([weights(4, 3, 3), weights(4, 3, 3)], (2, 4, 3, 3)),
        (tuple(weights(1, 4, 3, 3) for _ in range(2)), (2, 4, 3, 3)),
        ([weights(4, 3, 3).requires_grad_()] * 2, (2, 4, 3, 3)),
        ([[weights(3, 3).requires_grad_()] * 4] * 2, (2, 4, 3, 3)),
        ([list(row) for row in weights(3, 3).bfloat16().requires_grad_()], (1, 1, 3, 3)),
        ([np.array(GOOD)[None], np.array(GOOD)[None]], (2, 1, 3, 3)),
        (np.eye(3, dtype=bool), (1, 1, 3, 3)),
    ],
)
def test_every_usual_form_of_weights(given, shape):
    explorer = AttentionExplorer(given, TOKENS)
    assert explorer.weights.shape == shape
    entry = explorer.meta["panels"][0]
    assert entry["shape"] == list(shape)
    sent = unpack(explorer.data, [np.prod(shape)])[0].reshape(shape)
    assert np.abs(sent / 1000 - explorer.weights).max() <= 0.0005 + 1e-6


@pytest.mark.parametrize(
    ("given", "tokens", "sentence"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], ["a", "b"], "row 0 sums to 0.900"),
        (torch.nn.functional.dropout(weights(3, 3), 0.5), TOKENS, r"must sum to 1.*model\.eval"),
        ([[0.2, 0.9], [0.8, 0.1]], ["a", "b"], "the columns do: swap"),
        (
            [[np.nan, 1.0], [0.5, 0.5]],
            ["a", "b"],
            r"hold NaN or infinity, first at .* \(0, 0, 0, 0\)",
        ),
        ([[-0.5, 1.5], [0.5, 0.5]], ["a", "b"], "negative number, -0.5 .* not the scores"),
        ([[0.0, 0.0], [0.5, 0.5]], ["a", "b"], "pass the mask too"),
        ([1.0], ["a"], r"must have shape .* got \(1,\)"),
        (weights(2, 3, 4, 3, 3), TOKENS, "choose one example of the batch"),
        ([[0.5, 0.5], [1.0]], ["a", "b"], "rectangular"),
        ("weights", ["a"], "must be numbers"),
        (None, ["a"], "weights"),
        (GOOD, ["a", "b"], "3 rows but 2 queries came"),
        (GOOD, "the cat sat", r"got one string: use \.split"),
        (GOOD, 3, "must be a list of 3 tokens"),
        (np.zeros((0, 0)), [], "there must be a token"),
        (np.zeros((1, 0, 3, 3)), TOKENS, "empty"),
        (weights(2, 5), ["a", "b"], "pass keys= with 5 tokens"),
        ({}, {}, "there must be a block"),
        ([[1.015, 0.0], [0.5, 0.5]], ["a", "b"], r"above 1, 1\.015 at .* \(0, 0, 0, 0\)"),
        (
            np.stack([np.eye(2), [[0, 1.0006], [1.002, 0]]]),
            ["a", "b"],
            r"above 1, 1\.002 at \(layer, head, query, key\) = \(0, 1, 1, 0\)",
        ),
        ([[-0.1, 1.1], [-0.5, 1.5]], ["a", "b"], r"-0\.5 at .* \(0, 0, 1, 0\)"),
        (np.array(GOOD) + 0j, TOKENS, "must be numbers .* got complex128"),
        (torch.tensor(GOOD) + 0j, TOKENS, "must be numbers .* got complex64"),
        ([["0.5", "0.5"], ["0.5", "0.5"]], ["a", "b"], r"must be numbers .* got \[\['0\.5'"),
        (np.array(GOOD, object), TOKENS, "must be numbers .* got object"),
        ({1.0}, ["a"], r"must be numbers .* got \{1\.0\}"),
        ((row for row in GOOD), TOKENS, "must be numbers .* got <generator"),
        (torch.empty(3, 3, device="meta"), TOKENS, "must be numbers .* meta"),
        (torch.eye(3).to_sparse(), TOKENS, "must be numbers .* Sparse"),
        ([weights(3, 3), weights(2, 2)], TOKENS, "rectangular .* same shape"),
        ([[0.5, torch.tensor(0.5, requires_grad=True)], [0.5, 0.5]], ["a", "b"], "rectangular"),
        (GOOD, None, "must be a list of 3 tokens, got None"),
        (GOOD, dict.fromkeys(TOKENS), "must be a list of 3 tokens, got {'cat': None"),
        (GOOD, {"cat"}, "must be a list of 3 tokens, got {'cat'}"),
        (GOOD, b"cat", "must be a list of 3 tokens, got b'cat'"),
        (GOOD, ["the", None, "sat"], "number 1 is no token: None"),
        (GOOD, [["the"], ["cat"], ["sat"]], r"number 0 is no token: \['the'\]"),
        (GOOD, np.array([["the", "cat"]] * 3), r"number 0 is no token: \['the', 'cat'\]"),
        ({"a": GOOD, "b": weights(4, 4)}, TOKENS, "of block 'b' have 4 rows but 3 queries came"),
        ({"a": GOOD, "b": GOOD}, {"a": TOKENS}, "of block 'b' must be a list of 3 tokens"),
        ({1: GOOD, "1": GOOD}, TOKENS, "a name of its own, '1' is there twice"),
    ],
)
def test_bad_weights_and_tokens(given, tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        AttentionExplorer(given, tokens)


@pytest.mark.parametrize(
    "given",
    [
        np.eye(3),
        np.eye(3, dtype=np.float32),
        torch.eye(3),
        torch.eye(3).double(),
        torch.eye(3).bfloat16(),
        [np.eye(3)],
        [torch.eye(3)],
    ],
)
def test_weights_that_change_afterwards_change_nothing(given):
    explorer = AttentionExplorer(given, TOKENS)
    before = explorer.describe()
    (given[0] if isinstance(given, list) else given)[:] = 1 / 3
    assert (explorer.weights == np.eye(3)).all()
    assert explorer.describe() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda w: w.numpy(),
        lambda w: w.double().numpy(),
        lambda w: w,
        lambda w: list(w),
        lambda w: [layer.numpy() for layer in w],
    ],
)
def test_weights_are_copied_once(make):
    given = make(weights(2, 4, 64, 64))
    inputs.to_weights(given)
    tracemalloc.start()
    array = inputs.to_weights(given)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert array.nbytes <= most < 1.5 * array.nbytes


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_weight_a_hair_above_1_is_1(kind):
    given = np.array([[1.0004, 0], [0.5, 0.5]], kind)
    assert AttentionExplorer(given, ["a", "b"]).weights.max() == 1
    assert given.max() > 1


def test_tokens_may_be_numbers():
    for tokens in (torch.tensor([5, 6, 7]), np.array([5, 6, 7]), list(torch.tensor([5, 6, 7]))):
        entry = AttentionExplorer(GOOD, tokens).meta["panels"][0]
        assert entry["queries"] == ["5", "6", "7"]


def test_too_much_says_what_to_do():
    big = np.lib.stride_tricks.as_strided(np.float32(1e-4), (10_000, 10_000), (0, 0))
    with pytest.raises(ValueError, match=r"10000 tokens are too many .* weights\[\.\.\., :256"):
        AttentionExplorer(big, [str(i) for i in range(10_000)])
    many = np.lib.stride_tricks.as_strided(np.float32(1e-3), (30, 12, 512, 512), (0, 0, 0, 0))
    with pytest.raises(ValueError, match="fewer layers"):
        AttentionExplorer(many, ["x"] * 512)


def test_blocks_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(inputs, "MAX_WEIGHTS", 20)
    AttentionExplorer({"a": GOOD, "b": GOOD}, TOKENS)  # 18 weights
    with pytest.raises(ValueError, match=r"27 weights in 3 blocks .* limit is 20"):
        AttentionExplorer({"a": GOOD, "b": GOOD, "c": GOOD}, TOKENS)
    with pytest.raises(ValueError, match=r"32 weights in 2 blocks .* limit is 20"):
        AttentionExplorer(weights(4, 4), list("abcd"), compare=weights(4, 4))


def test_names_of_compared_blocks():
    with pytest.raises(ValueError, match="a name of its own, 'this' is there twice"):
        AttentionExplorer(GOOD, TOKENS, compare={"this": GOOD})
    twice = {"a": GOOD, "other: a": GOOD}
    with pytest.raises(ValueError, match="a name of its own, 'other: a' is there twice"):
        AttentionExplorer(twice, TOKENS, compare=AttentionExplorer({"a": GOOD}, TOKENS))


@pytest.mark.parametrize(
    ("rows", "tokens", "sentence"),
    [
        (3, ["a"], "have 3 rows but 1 token came: one token for each of the rows"),
        (1, ["a", "b"], "have 1 row but 2 queries came: one token"),
        (1, "a", "must be a list of 1 token, got one string"),
        (3, [TOKENS], "have 3 rows but 1 token came: one list too many is around the tokens"),
        (3, (tuple(TOKENS),), "but 1 token came: one list too many is around the tokens"),
        (3, np.array([TOKENS]), "but 1 token came: one list too many is around the tokens"),
        (3, torch.tensor([[5, 6, 7]]), "but 1 token came: one list too many is around the tokens"),
        (3, [TOKENS[:2]], "but 1 token came: one token for each of the rows"),
        (3, ["cat"], "but 1 token came: one token for each of the rows"),
    ],
)
def test_one_token_and_one_list_too_many(rows, tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        AttentionExplorer(np.eye(rows), tokens)


def test_cross_attention_with_one_query_or_key():
    with pytest.raises(ValueError, match=r"1 row \(queries\) and 2 columns \(keys\).* 2 tokens"):
        AttentionExplorer([[0.5, 0.5]], ["a"])
    with pytest.raises(
        ValueError, match=r"2 rows \(queries\) and 1 column \(keys\).* with 1 token$"
    ):
        AttentionExplorer([[1.0], [1.0]], ["a", "b"])


def test_cross_attention_needs_both_sides():
    explorer = AttentionExplorer(weights(2, 5), ["a", "b"], list("vwxyz"))
    assert explorer.meta["panels"][0]["keys"] == list("vwxyz")
    with pytest.raises(ValueError, match="5 columns but 2 keys came"):
        AttentionExplorer(weights(2, 5), ["a", "b"], ["v", "w"])
    with pytest.raises(ValueError, match="3 columns but 2 keys came"):
        AttentionExplorer(GOOD, TOKENS, ["v", "w"])
    with pytest.raises(ValueError, match="keys must be a list of 3 tokens, got {"):
        AttentionExplorer(GOOD, TOKENS, dict.fromkeys(TOKENS))


def test_masks():
    causal = torch.tril(torch.ones(3, 3, dtype=torch.bool))
    masked = torch.randn(3, 3).masked_fill(~causal, -torch.inf).softmax(-1)
    explorer = AttentionExplorer(masked, TOKENS, mask=causal[None, None])
    assert explorer.meta["panels"][0]["masked"]
    sent = unpack(explorer.data, [9, 9])[1].reshape(3, 3)
    assert (sent == causal.numpy()).all()
    with pytest.raises(ValueError, match=r"must be boolean \(True = may look\), got float32"):
        AttentionExplorer(masked, TOKENS, mask=causal.float())
    with pytest.raises(ValueError, match=r"must fit .* = \(3, 3\), got \(2, 2\)"):
        AttentionExplorer(masked, TOKENS, mask=causal[:2, :2])
    with pytest.raises(ValueError, match="differs between its 2 heads"):
        AttentionExplorer(masked, TOKENS, mask=torch.stack([causal, ~causal]))
    nowhere = causal.clone()
    nowhere[0] = False
    AttentionExplorer(torch.where(nowhere, masked, 0.0), TOKENS, mask=nowhere)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (np.ones((3, 3), int), "got int64"),
        ([[1, 0, 0], [1, 1, 0], [1, 1, 1]], r"got \[\[1, 0, 0\]"),
        ("causal", "got 'causal'"),
        ({}, "got {}"),
        ([[True], [True, False]], "must be boolean .* same shape"),
        (torch.ones(3, 3, dtype=torch.bool, device="meta"), "must be boolean .* meta"),
        (np.ones((0, 3, 3), bool), r"must fit .* got \(0, 3, 3\)"),
        (np.ones((3, 0), bool), r"must fit .* got \(3, 0\)"),
    ],
)
def test_bad_masks(mask, sentence):
    with pytest.raises(ValueError, match=f"the mask .*{sentence}"):
        AttentionExplorer(GOOD, TOKENS, mask=mask)


@pytest.mark.parametrize(
    ("rows", "columns", "gold", "pairs"),
    [
        (3, 3, [(0, 1), (2, 0)], [(0, 1), (2, 0)]),
        (3, 3, np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]]), [(0, 1), (2, 0)]),
        (3, 2, [(0, 0), (1, 1), (1, 0)], [(0, 0), (1, 1), (1, 0)]),
        (2, 2, ((1, 0), (0, 1)), [(1, 0), (0, 1)]),
        (2, 2, {(1, 0)}, [(1, 0)]),
        (2, 2, [(np.int64(1), np.int64(0)), (0, 1)], [(1, 0), (0, 1)]),
        # What can be a matrix is one, unless it is made of tuples.
        (2, 2, [[1, 0], [0, 1]], [(0, 0), (1, 1)]),
        (2, 2, [[True, False], [False, True]], [(0, 0), (1, 1)]),
        (2, 2, np.eye(2), [(0, 0), (1, 1)]),
        (2, 2, np.eye(2, dtype=int), [(0, 0), (1, 1)]),
        (2, 2, torch.eye(2), [(0, 0), (1, 1)]),
        (2, 2, torch.eye(2, requires_grad=True), [(0, 0), (1, 1)]),
        (3, 2, [[0, 0], [1, 1], [1, 0]], [(1, 0), (1, 1), (2, 0)]),
        (2, 2, np.zeros((2, 2), bool), []),
        # Whole numbers in twos that can be no matrix.
        (2, 2, [[1, 0]], [(1, 0)]),
        (3, 2, [[2, 0], [1, 1], [0, 0]], [(2, 0), (1, 1), (0, 0)]),
        (3, 3, np.array([[0, 1], [2, 0]]), [(0, 1), (2, 0)]),
        (3, 3, torch.tensor([[0, 1], [1, 0], [1, 1]]), [(0, 1), (1, 0), (1, 1)]),
        (2, 2, None, []),
        (2, 2, [], []),
        (2, 2, set(), []),
        (2, 2, np.zeros((0, 2)), []),
        (2, 2, torch.zeros(0, dtype=torch.long), []),
    ],
)
def test_gold_as_pairs_or_as_matrix(rows, columns, gold, pairs):
    given = np.full((rows, columns), 1 / columns)
    explorer = AttentionExplorer(given, ["q"] * rows, ["k"] * columns, gold=gold)
    assert explorer.meta["panels"][0]["gold"] == [list(pair) for pair in pairs]


@pytest.mark.parametrize(
    ("gold", "got"),
    [
        ([(0, 3)], r"the pair \(0, 3\)"),
        ([(-1, 0)], r"the pair \(-1, 0\)"),
        ([[0, -1]], r"the pair \(0, -1\)"),
        ([(10**30, 0)], r"the pair \(1000"),
        ([(0.5, 1)], r"float64 of shape \(1, 2\)"),
        ([(True, False)], r"bool of shape \(1, 2\)"),
        (np.full((3, 3), 0.5), r"float64 of shape \(3, 3\)"),
        (np.eye(2), r"float64 of shape \(2, 2\)"),
        ((0, 1), r"int64 of shape \(2,\)"),
        (1, r"int64 of shape \(\)"),
        (np.eye(3) + 0j, "complex128"),
        ([("0", "1")], r"\[\('0', '1'\)\]"),
        ([None], r"\[None\]"),
        ([(0, 1), (1,)], r"\[\(0, 1\), \(1,\)\]"),
        ("x", "'x'"),
        ({0: 1}, "{0: 1}"),
        (torch.eye(3, device="meta"), "tensor.*meta"),
    ],
)
def test_bad_gold(gold, got):
    with pytest.raises(ValueError, match=f"gold must be .* 0 and 1 of shape .*, got {got}"):
        AttentionExplorer(GOOD, TOKENS, gold=gold)


def test_any_text_can_be_a_token():
    odd = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\n\t\0", "", " "]
    odd += ["🦊" * 3, "x" * 10_000, "\ud800", "$x^2$", '"`${1}']
    explorer = AttentionExplorer(np.full((10, 10), 0.1), odd)
    sent = explorer.meta["panels"][0]["queries"]
    assert sent[:5] == odd[:5]
    assert sent[7] == "\\ud800"
    for view in ("heatmap", "lines", "heads"):
        explorer.view = view
        assert explorer.to_png().startswith(b"\x89PNG")
