"""What the explorer takes, and the sentence it answers with when it cannot."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

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
    ],
)
def test_every_usual_form_of_weights(given, shape):
    explorer = AttentionExplorer(given, TOKENS)
    assert explorer.weights.shape == shape
    entry = explorer.meta["panels"][0]
    assert entry["shape"] == list(shape)
    start, length = entry["at"]
    sent = unpack(explorer.data[start : start + length], np.prod(shape)).reshape(shape)
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
        ([[np.inf, 0.0], [0.5, 0.5]], ["a", "b"], "NaN or infinity"),
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
    ],
)
def test_bad_weights_and_tokens(given, tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        AttentionExplorer(given, tokens)


def test_too_much_says_what_to_do():
    big = np.lib.stride_tricks.as_strided(np.float32(1e-4), (10_000, 10_000), (0, 0))
    with pytest.raises(ValueError, match=r"10000 tokens are too many .* weights\[\.\.\., :256"):
        AttentionExplorer(big, [str(i) for i in range(10_000)])
    many = np.lib.stride_tricks.as_strided(np.float32(1e-3), (30, 12, 512, 512), (0, 0, 0, 0))
    with pytest.raises(ValueError, match="fewer layers"):
        AttentionExplorer(many, ["x"] * 512)


def test_cross_attention_needs_both_sides():
    explorer = AttentionExplorer(weights(2, 5), ["a", "b"], list("vwxyz"))
    assert explorer.meta["panels"][0]["keys"] == list("vwxyz")
    with pytest.raises(ValueError, match="5 columns but 2 keys came"):
        AttentionExplorer(weights(2, 5), ["a", "b"], ["v", "w"])


def test_masks():
    causal = torch.tril(torch.ones(3, 3, dtype=torch.bool))
    masked = torch.randn(3, 3).masked_fill(~causal, -torch.inf).softmax(-1)
    explorer = AttentionExplorer(masked, TOKENS, mask=causal[None, None])
    start, length = explorer.meta["panels"][0]["mask"]
    sent = unpack(explorer.data[start : start + length], 9).reshape(3, 3)
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


def test_gold_as_pairs_or_as_matrix():
    for gold in ([(0, 1), (2, 0)], np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]])):
        explorer = AttentionExplorer(GOOD, TOKENS, gold=gold)
        assert explorer.meta["panels"][0]["gold"] == [[0, 1], [2, 0]]
    assert AttentionExplorer(GOOD, TOKENS, gold=[]).meta["panels"][0]["gold"] == []
    for wrong in ([(0, 3)], [(-1, 0)], [(0.5, 1)], np.full((3, 3), 0.5)):
        with pytest.raises(ValueError, match="gold must be"):
            AttentionExplorer(GOOD, TOKENS, gold=wrong)


def test_pictures():
    for image in (
        np.zeros((8, 8)),
        torch.rand(3, 8, 8),
        np.zeros((8, 8, 3), np.uint8),
        Image.new("RGB", (900, 450)),
    ):
        png = Image.open(io.BytesIO(inputs.to_picture(image)))
        assert png.mode == "RGB"
        assert max(png.size) <= 512
    with pytest.raises(ValueError, match="undo the normalisation"):
        inputs.to_picture(torch.randn(3, 8, 8))
    with pytest.raises(ValueError, match=r"got \(2, 8, 8\)"):
        inputs.to_picture(np.zeros((2, 8, 8)))
    with pytest.raises(ValueError, match="3 × 3 makes 9 patches, but there are 5 keys"):
        AttentionExplorer.vit(weights(5, 5), np.zeros((8, 8)), (3, 3))
    with pytest.raises(ValueError, match=r"pass patch_grid=\(rows, columns\)"):
        AttentionExplorer.vit(weights(8, 8), np.zeros((8, 8)))
    with pytest.raises(ValueError, match="pass image= too"):
        AttentionExplorer(GOOD, TOKENS, patch_grid=(1, 3))


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
