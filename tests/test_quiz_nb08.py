"""Notebook 08's exercises: what its questions promise; solutions are in test_quiz_corpus."""

import re

from tests.test_quiz_corpus import read, verdict_on
from utils.quiz import registry

ITEMS = registry.load("08")
RIGHT = read("nb08_right.txt")


def test_everything_that_was_asked_for_is_there():
    kinds = {kind: sorted(k for k in ITEMS if k.startswith(kind)) for kind in "XQGP"}
    assert kinds["X"] == [f"X08-{i}" for i in range(1, 4)]
    assert kinds["Q"] == [f"Q08-{i}" for i in range(1, 6)]
    assert len(kinds["G"]) == 2
    assert len(kinds["P"]) == 3


def right(question) -> int:
    return int(next(o for o in question.options if o.right).text.replace(",", ""))


def test_the_number_of_tokens_marked_right_is_counted():
    for seed in range(60):
        question = ITEMS["G08-1"].with_seed(seed)
        height, width, patch, _ = (int(n) for n in re.findall(r"\d+", question.text)[:4])
        corners = [(i, j) for i in range(0, height, patch) for j in range(0, width, patch)]
        assert right(question) == len(corners) + 1


def test_the_number_of_parameters_marked_right_is_counted():
    from utils.models.vit import PatchEmbedding
    from utils.train.loop import count_parameters

    for seed in range(60):
        question = ITEMS["G08-2"].with_seed(seed)
        patch, _, channels, d_model = (int(n) for n in re.findall(r"\d+", question.text)[:4])
        assert right(question) == count_parameters(PatchEmbedding(patch, channels, d_model))


def test_a_linear_layer_for_the_convolution_passes_with_a_remark():
    linear = [source for key, source in RIGHT if key == "X08-2" and "nn.Linear" in source]
    for source in linear:
        assert any("nn.Conv2d" in remark for remark in verdict_on("X08-2", source).remarks)
    assert linear
