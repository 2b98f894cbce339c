"""The words say what the page says: who looks at whom, what breaks a mask, what is gold."""

import numpy as np
import pytest

from tests.explorerpage import softmax
from utils.explorer import AttentionExplorer, sheet, static
from utils.explorer.snapshot import label

CAUSAL = np.tril(np.ones((3, 3), bool))
BROKEN = [[0.5, 0.46, 0.04], [0.5, 0.4996, 0.0004], [0.2, 0.3, 0.5]]


def test_all_heads_in_words():
    weights = np.full((1, 2, 2, 2), 0.5)
    weights[0, 1, 0] = [0.37, 0.63]
    explorer = AttentionExplorer(weights, ["it", "animal"], view="lines", all_heads=True)
    assert "for layer 0, all heads." in explorer.describe()
    assert "it looks most at animal in head 1 (0.630); animal looks" in explorer.describe()
    explorer.view = "heatmap"  # shows one head
    assert "a heatmap of layer 0, head 0." in explorer.describe()
    assert "in head" not in explorer.describe()


@pytest.mark.parametrize(
    ("keys", "least"), [(3, "0.0005"), (64, "0.0005"), (65, "0.00017"), (513, "0.00004")]
)
@pytest.mark.parametrize("share", [0, 0.9, 1.1], ids=["zero", "under", "over"])
def test_a_key_that_nobody_looks_at(keys, least, share):
    """What rounds to 0 for the page is 0 in words too."""
    weights = np.zeros((1, keys))
    half = 0.5 / {"0.0005": 1000, "0.00017": 3000, "0.00004": 15000}[least]
    weights[0, :2] = 1 - share * half, share * half
    names = [f"k{i}" for i in range(keys)]
    words = AttentionExplorer(weights, ["q"], names, key=1).describe()
    if share > 1:
        assert f"k1 is looked at most by q ({weights[0, 1]:.3f})." in words
    else:
        assert words.endswith(f"nobody looks at k1 with {least} or more.")


@pytest.mark.parametrize("view", ["heatmap", "lines"])
def test_weights_that_break_the_mask_are_counted(view):
    def words(weights, **options):
        tokens = [f"w{i}" for i in range(len(weights[0]))]
        return AttentionExplorer(weights, tokens[: len(weights)], tokens, view=view, **options)

    two = words(BROKEN, mask=CAUSAL).describe()
    assert two.endswith("). 2 weights that the mask forbids are not 0.")
    one = words([[0.9, 0.1], [0.5, 0.5]], mask=CAUSAL[:2, :2]).describe()
    assert one.endswith("1 weight that the mask forbids is not 0.")
    assert "mask" not in words([[1, 0], [0.5, 0.5]], mask=CAUSAL[:2, :2]).describe()
    assert "mask" not in words(BROKEN).describe()
    many = words(np.full((50, 50), 0.02), mask=np.eye(50, dtype=bool)).describe()
    assert many.endswith("2,450 weights that the mask forbids are not 0.")
    # 0.0004 is a step of what travels to the page if there are more than 64 keys.
    row = np.zeros((1, 65))
    row[0, :2] = 0.9996, 0.0004
    mask = np.arange(65)[None] != 1
    assert words(row, mask=mask).describe().endswith("1 weight that the mask forbids is not 0.")


def test_weights_that_break_the_mask_are_those_of_the_head():
    weights = np.array([BROKEN, np.eye(3)])
    explorer = AttentionExplorer(
        weights, ["a", "b", "c"], mask=CAUSAL, compare=np.stack([BROKEN] * 2)
    )
    assert explorer.describe().count("2 weights that the mask forbids are not 0.") == 2
    explorer.head = 1
    assert explorer.describe().count("that the mask forbids") == 1
    explorer.view, explorer.all_heads = "lines", True
    assert "mask" not in explorer.describe()


def test_gold_in_words():
    """As on the page: of equal weights each is the largest, and who looks nowhere is wrong."""
    weights = [[0.5, 0.5, 0], [0.3, 0.3004, 0.3996], [0, 0, 0], [0.2, 0.2, 0.6], [0, 1, 0]]
    mask = np.ones((5, 3), bool)
    mask[2] = False
    gold = [(0, 1), (1, 0), (1, 1), (2, 0), (3, 0), (3, 2)]
    explorer = AttentionExplorer(weights, list("abcde"), list("xyz"), mask=mask, gold=gold)
    sentence = "In this head 2 of 4 queries look most at a gold key."
    for explorer.view in ("heatmap", "lines"):
        assert explorer.describe().endswith(sentence)
    explorer.all_heads = True
    assert "gold" not in explorer.describe()
    # Equal for the page, which has thousandths; more keys have finer steps.
    near = [[0.3301, 0.3303, 0.3396], [0.4997, 0.5003, 0], [1, 0, 0]]
    explorer = AttentionExplorer(near, list("abc"), gold=[(0, 0), (1, 0), (2, 0)])
    assert "In this head 2 of 3 queries" in explorer.describe()


def test_a_row_that_is_masked_everywhere_looks_nowhere():
    mask = np.array([[False, False], [True, True]])
    explorer = AttentionExplorer([[0.0, 0.0], [0.5, 0.5]], ["a", "b"], mask=mask)
    assert "a looks nowhere; b looks most at a (0.500)." in explorer.describe()


def test_joiners_stay_in_labels_and_find_a_font():
    word = "می\u200cرود"
    assert label(word) == word
    assert label("\u200c") == "␣"
    assert label("a\u200bb") == "a·b"
    text, _ = sheet._dressed(word, 12, False)
    assert not text.startswith("U+") or not sheet._shapes()
    # Joiners are asked of no font: here the letter is Chinese and its font has none.
    if sheet._font_for("注"):
        assert sheet._font_for("注\u200d意")


def test_a_block_may_be_called_rollout():
    explorer = AttentionExplorer({"rollout": softmax(1, 1, 2, 2)}, ["a", "b"])
    assert "rollout: a looks most at" in explorer.describe()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a heatmap of layer 1, head 2"),
        ({"view": "lines"}, "lines from queries to keys for layer 1, head 2"),
        ({"view": "lines", "token": 1, "key": 0}, "lines from queries to keys for layer 1, head 2"),
        ({"view": "heads"}, "a heatmap of layer 1, head 2"),
    ],
)
def test_summary_keeps_its_words(options, words):
    """Stored notebooks are compared with it."""
    explorer = AttentionExplorer(softmax(2, 3, 4, 4), list("abcd"), layer=1, head=2, **options)
    assert static.summary(explorer.snapshot()) == (
        "AttentionExplorer(layers=2, heads=3, queries=4, keys=4)\n"
        f"Shows {words}. Rows are queries (who looks), columns are keys."
    )
