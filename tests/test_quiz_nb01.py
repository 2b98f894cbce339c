"""Notebook 01's exercises: what its questions promise; solutions are in test_quiz_corpus."""

import re

from utils.quiz import registry

ITEMS = registry.load("01")


def test_it_is_complete():
    keys = [f"X01-{i}" for i in range(1, 5)] + [f"Q01-{i}" for i in range(1, 7)]
    assert set(keys) | {"G01-1", "G01-2", "P01-1", "P01-2"} == set(ITEMS)


def right_option(question):
    return next(option.text for option in question.options if option.right)


def test_generated_fields_agree_with_sets_of_positions():
    for seed in range(50):
        question = ITEMS["G01-1"].with_seed(seed)
        layers, kernel, stride = map(int, re.findall(r"\d+", question.text))
        seen = {0}
        for _ in range(layers):
            seen = {position * stride + i for position in seen for i in range(kernel)}
        assert int(right_option(question)) == max(seen) + 1


def test_generated_steps_agree_with_a_simulation():
    for seed in range(50):
        question = ITEMS["G01-2"].with_seed(seed)
        num_layers, length, layer, t = map(int, re.findall(r"\d+", question.text))
        done, step = set(), 0
        while (layer, t) not in done:
            step += 1
            states = [(i, j) for i in range(1, num_layers + 1) for j in range(1, length + 1)]
            ready = {
                (i, j)
                for i, j in states
                if (i == 1 or (i - 1, j) in done) and (j == 1 or (i, j - 1) in done)
            }
            done |= ready
        assert int(right_option(question)) == step
