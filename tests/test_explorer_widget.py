"""The widget on the Python side: selection, text, still pictures, pages, measures."""

import io
import json
import re

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from tests.explorerpage import softmax
from utils.explorer import AttentionExplorer, head_distance, head_entropy, page, rollout
from utils.explorer.sheet import Sheet, luminance, ramp, rgb
from utils.explorer.snapshot import label
from utils.layers import Weights

TOKENS = ["the", "animal", "was", "tired"]


@pytest.fixture
def explorer():
    return AttentionExplorer(softmax(2, 3, 4, 4), TOKENS)


def test_repr_is_short_and_the_same_every_time(explorer):
    assert repr(explorer) == "AttentionExplorer(layers=2, heads=3, queries=4, keys=4)"


def test_selection_is_checked(explorer):
    explorer.layer, explorer.head, explorer.token, explorer.view = 1, 2, 3, "lines"
    explorer.token = None
    for name, value, sentence in [
        ("layer", 2, "layer must be 0 to 1, got 2"),
        ("head", -1, "head must be 0 to 2, got -1"),
        ("token", 4, "token must be 0 to 3, got 4"),
        ("view", "pie", "view must be one of 'heatmap', 'lines', 'heads'"),
        ("view", "image", "need image="),
        ("sort", "size", "sort must be one of"),
        ("threshold", 2.0, "between 0 and 1"),
        ("block", "encoder", "block must be one of"),
        ("difference", True, "pass compare= with weights of the same shape"),
        ("all_heads", 1, "all_heads must be True or False, got 1"),
    ]:
        with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
            setattr(explorer, name, value)
        with pytest.raises(ValueError, match=re.escape(sentence)):
            AttentionExplorer(softmax(2, 3, 4, 4), TOKENS, **{name: value})
    assert (explorer.layer, explorer.head) == (1, 2)


def test_numbers_of_numpy_and_torch_choose_too(explorer):
    explorer.head = torch.tensor([0.1, 0.9]).argmax()
    explorer.layer, explorer.threshold = np.int64(1), np.float32(0.5)
    explorer.token = np.array(1)
    explorer.all_heads = np.True_
    assert explorer.all_heads is True
    chosen = [explorer.layer, explorer.head, explorer.token, explorer.threshold]
    assert chosen == [1, 1, 1, 0.5]
    assert {type(number) for number in chosen} == {int, float}
    for wrong in ("1", 1.0, np.array([1]), torch.tensor(0.5)):
        with pytest.raises(traitlets.TraitError, match="head must be a whole number"):
            explorer.head = wrong


def test_a_threshold_is_a_whole_step(explorer):
    """Then what is hidden is what is under it: weights are whole steps too."""
    explorer.threshold = 0.0504
    assert explorer.threshold == 0.05
    long = AttentionExplorer(softmax(2, 100), ["a", "b"], list(range(100)), threshold=0.0504)
    assert long.threshold == 151 / 3000
    both = {"short": softmax(2, 10), "long": softmax(2, 600)}
    keys = {name: list(range(weights.shape[1])) for name, weights in both.items()}
    mixed = AttentionExplorer(both, ["a", "b"], keys, threshold=0.0504)
    assert mixed.threshold == 0.05  # a step of both


def test_every_blocks_weights_can_be_read():
    blocks = {"deep": softmax(4, 2, 3, 3), "flat": softmax(1, 1, 3, 3)}
    explorer = AttentionExplorer(blocks, {name: list("abc") for name in blocks})
    assert list(explorer.blocks) == ["deep", "flat"]
    for name, weights in blocks.items():
        assert (explorer.blocks[name] == weights).all()
        assert not explorer.blocks[name].flags.writeable


def test_a_choice_in_the_page_arrives(explorer):
    seen = []
    explorer.observe(lambda change: seen.append((change["name"], change["new"])), ["layer", "head"])
    explorer.set_state({"layer": 1, "head": 2, "token": 3, "key": 0})
    assert (explorer.layer, explorer.head, explorer.token, explorer.key) == (1, 2, 3, 0)
    assert sorted(seen) == [("head", 2), ("layer", 1)]


def test_blocks_stand_side_by_side():
    blocks = Weights(softmax(2, 2, 3, 3), softmax(2, 2, 4, 4), softmax(2, 2, 4, 3))
    explorer = AttentionExplorer(blocks, source=["a", "b", "c"], target=TOKENS)
    assert [entry["name"] for entry in explorer.meta["panels"]] == ["encoder", "decoder", "cross"]
    assert explorer.meta["panels"][2]["queries"] == TOKENS
    assert explorer.meta["panels"][2]["keys"] == ["a", "b", "c"]
    assert repr(explorer).startswith("AttentionExplorer(blocks=encoder+decoder+cross, layers=2")
    explorer.set_state({"block": "cross", "token": 3, "key": 2})
    assert (explorer.block, explorer.token, explorer.key) == ("cross", 3, 2)
    explorer.block = "encoder"
    assert (explorer.token, explorer.key) == (None, 2)


def test_compare_with_another_model_or_input(explorer):
    both = AttentionExplorer(explorer.weights, TOKENS, compare={"trained": softmax(2, 3, 4, 4)})
    assert [e["name"] for e in both.meta["panels"]] == ["this", "trained"]
    assert [e["compared"] for e in both.meta["panels"]] == [False, True]
    other = AttentionExplorer(softmax(2, 3, 2, 2), ["hello", "you"])
    two = AttentionExplorer(explorer.weights, TOKENS, compare=other)
    assert two.meta["panels"][1]["queries"] == ["hello", "you"]


def test_only_what_stands_for_the_same_links_is_paired():
    words, other = list("abcd"), list("wxyz")
    tokens = {"source": words, "target": other}
    second = AttentionExplorer(Weights(*softmax(3, 2, 2, 4, 4, seed=1)), **tokens)
    both = AttentionExplorer(Weights(*softmax(3, 2, 2, 4, 4)), **tokens, compare=second)
    assert [entry["partner"] for entry in both.meta["panels"]] == [3, 4, 5, 0, 1, 2]
    for compare in (AttentionExplorer(softmax(4, 4), other), softmax(2, 3, 4, 4)):
        lone = AttentionExplorer(softmax(2, 2, 4, 4), words, compare=compare)
        assert [entry["partner"] for entry in lone.meta["panels"]] == [None, None]


def test_rollout_is_for_patches_that_look_at_patches():
    image = np.zeros((9, 9))
    names = [entry["name"] for entry in AttentionExplorer.vit(softmax(9, 9), image).meta["panels"]]
    assert names == ["", "rollout"]
    words = AttentionExplorer.caption(softmax(9, 9), [f"w{i}" for i in range(9)], image)
    assert [entry["name"] for entry in words.meta["panels"]] == [""]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"threshold": "a"}, "threshold must lie between 0 and 1, got 'a'"),
        ({"threshold": True}, "threshold must lie between 0 and 1, got True"),
        ({"all_heads": "yes"}, "all_heads must be True or False, got 'yes'"),
        ({"view": 0}, "view must be one of .*, got 0"),
        ({"block": ["a"]}, r"block must be one of 'a', got \['a'\]"),
        ({"mask": {"b": np.ones((4, 4), bool)}}, "there is no block 'b'; there are .'a'."),
    ],
)
def test_odd_options_are_told(option, words):
    with pytest.raises(ValueError, match=words):
        AttentionExplorer({"a": softmax(4, 4)}, TOKENS, **option)


def test_rollout_is_a_name_that_pictures_take():
    blocks, words = {"rollout": softmax(5, 5)}, list("abcde")
    with pytest.raises(ValueError, match="adds a block of the name 'rollout'"):
        AttentionExplorer(blocks, words, image=np.zeros((4, 4)), patch_grid=(2, 2))


def test_a_thin_picture_has_a_still_picture_too():
    for shape in ((2, 512), (512, 2)):
        explorer = AttentionExplorer.vit(softmax(1, 2, 5, 5), np.zeros(shape))
        assert "image/png" in explorer._repr_mimebundle_()[0]


def test_a_tall_picture_has_a_small_still_picture():
    explorer = AttentionExplorer.vit(softmax(1, 12, 5, 5), np.ones((400, 40)), (4, 1))
    assert Image.open(io.BytesIO(explorer.to_png())).height < 1200


def test_names_can_be_sent_whatever_they_hold():
    odd, weights = "\ud800", softmax(2, 2)
    explorer = AttentionExplorer({odd: weights}, ["a", "b"])
    other = AttentionExplorer(weights, ["a", "b"], compare={odd: weights})
    for one in (explorer, other):
        assert json.dumps(one.meta, ensure_ascii=False).encode()


def test_weights_are_for_reading(explorer, tmp_path):
    with pytest.raises(ValueError, match="read-only"):
        explorer.weights[:] = 0
    small = AttentionExplorer(softmax(4, 4), TOKENS, threshold=np.float32(0.5), title="\ud800")
    assert small.threshold == 0.5
    assert small.save_html(tmp_path / "page.html").exists()


# --- what is seen where no JavaScript runs


def all_kinds():
    image = np.random.default_rng(0).random((12, 12, 3))
    causal = np.tril(np.ones((4, 4), bool))
    lower = np.where(causal, softmax(1, 1, 4, 4), 0)
    lower /= lower.sum(-1, keepdims=True)
    yield (
        "heatmap",
        AttentionExplorer(lower, TOKENS, mask=causal, gold=[(1, 0)], token=1, title="T"),
    )
    yield "lines", AttentionExplorer(softmax(4, 4), TOKENS, view="lines", token=2)
    yield "long", AttentionExplorer(softmax(1, 1, 300, 300), ["word"] * 300)
    yield "chinese", AttentionExplorer(softmax(4, 4), list("動物累了"))
    yield "persian", AttentionExplorer(softmax(3, 3), ["حیوان", "خسته", "بود"], view="lines")
    yield "vit", AttentionExplorer.vit(softmax(2, 2, 10, 10), image)
    yield "caption", AttentionExplorer.caption(softmax(1, 2, 4, 9), TOKENS, image)


KINDS = list(all_kinds())


@pytest.mark.parametrize(("kind", "explorer"), KINDS, ids=[kind for kind, _ in KINDS])
def test_bundle_has_a_picture_its_words_and_the_widget(kind, explorer):
    data, metadata = explorer._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.model_id
    assert "text/html" not in data  # an untrusted notebook would show that, emptied, not the PNG
    assert data["text/plain"] == data["text/plain"].strip()
    assert repr(explorer) in data["text/plain"]
    assert not re.search(r"0\.\d", data["text/plain"])  # no trained number in compared text
    assert "looks most at" in metadata["image/png"]["alt"]
    picture = np.asarray(Image.open(io.BytesIO(explorer.to_png())).convert("RGB"))
    assert (picture.reshape(-1, 3).std(0) > 5).any()  # not blank
    assert (picture[:, -1] > 250).all()  # nothing runs over the right edge
    json.dumps(data)


def test_still_heatmap_shows_the_weights(monkeypatch):
    weights, places = softmax(40, 40, seed=3), []
    paint = Sheet.map

    def spy(sheet, x, y, wide, tall, values):
        places.append((round(x), round(y), round(wide / 40)))
        paint(sheet, x, y, wide, tall, values)

    monkeypatch.setattr(Sheet, "map", spy)
    explorer = AttentionExplorer(weights, [f"t{i}" for i in range(40)])
    picture = np.asarray(Image.open(io.BytesIO(explorer.to_png())).convert("RGB")).astype(int)
    ((x, y, cell),) = places
    centres = picture[y + cell // 2 :: cell, x + cell // 2 :: cell][:40, :40]
    nearest = ((centres[:, :, None] - ramp()[None, None].astype(int)) ** 2).sum(-1).argmin(-1)
    drawn = (nearest / 255) ** 2
    assert np.abs(drawn - weights).max() < 0.02  # the still picture has 128 shades, the page 256


def test_alt_text_says_who_looks_at_whom():
    explorer = AttentionExplorer([[0.1, 0.9], [1.0, 0.0]], ["it", "animal"])
    assert (
        "it looks most at animal (0.900); animal looks most at it (1.000)." in explorer.describe()
    )


def test_luminance_by_hand():
    assert luminance((255, 255, 255)) == pytest.approx(1) and luminance((0, 0, 0)) == 0
    assert luminance((119, 119, 119)) == pytest.approx(0.1845, abs=1e-4)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ramps_change_lightness_one_way_only(theme):
    found = re.search(theme + r": \[([^\]]+)\]", page.joined("colours")).group(1)
    light = luminance(np.array([rgb(stop) for stop in re.findall(r"#\w{6}", found)]))
    steps = np.diff(light)
    assert (steps < 0).all() or (steps > 0).all()
    high, low = light.max(), light.min()
    assert (high + 0.05) / (low + 0.05) > 10


def test_page_names_no_other_host_and_keeps_tokens_as_text(tmp_path):
    bad = "</script><script>alert(1)</script>"
    explorer = AttentionExplorer(softmax(2, 2), [bad, "<!--"], title="a & b </title>")
    text = explorer.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|//cdn|\bimport\s*\(", text)
    assert bad not in text
    assert text.count("</script>") == 1
    assert "<!--" not in text
    assert "a &amp; b &lt;/title&gt;" in text


def test_labels_make_the_invisible_visible():
    assert label("a\nb\tc") == "a⏎b⇥c"
    assert label("") == "∅"
    assert label("  ") == "␣␣"
    assert label("x" * 100, 10) == "x" * 9 + "…"


# --- measures


def test_entropy_and_distance_of_known_heads():
    one = np.eye(8)
    assert head_entropy(one) == 0
    assert head_distance(one) == 0
    assert head_entropy(np.full((8, 8), 1 / 8)) == pytest.approx(3)
    previous = np.eye(8, k=-1)
    previous[0, 0] = 1
    assert head_distance(previous) == pytest.approx(7 / 8)


def test_measures_take_what_the_explorer_takes():
    weights = softmax(2, 3, 6, 6)
    tensor = torch.tensor(weights, requires_grad=True)
    for measure in (head_entropy, head_distance, rollout):
        exact = measure(weights.astype(float))
        for same in (weights, tensor, weights.tolist()):
            assert np.allclose(measure(same), exact, atol=1e-5)
        assert np.allclose(measure(tensor.bfloat16()), exact, atol=0.05)


def test_rollout_by_hand():
    first = np.array([[[0.5, 0.5], [0.0, 1.0]]])
    second = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    flow = rollout(np.stack([first, second]))
    one = np.array([[0.75, 0.25], [0.0, 1.0]])
    assert np.allclose(flow[0], one)
    assert np.allclose(flow[1], np.array([[0.5, 0.5], [0.5, 0.5]]) @ one)
    assert np.allclose(rollout(softmax(4, 3, 6, 6)).sum(-1), 1)
    with pytest.raises(ValueError, match=r"shape \(layers, heads, N, N\), got \(2, 3, 4\)"):
        rollout(np.zeros((2, 3, 4)))


def test_vit_carries_its_rollout_and_names_patches():
    weights = softmax(2, 2, 5, 5)
    explorer = AttentionExplorer.vit(weights, np.zeros((4, 4)))
    assert explorer.meta["panels"][0]["queries"][:2] == ["[CLS]", "patch 0,0"]
    assert explorer.meta["panels"][1]["name"] == "rollout"
    assert np.allclose(explorer._panels[1].weights[:, 0], rollout(weights), atol=1e-6)
    assert explorer.view == "image"
