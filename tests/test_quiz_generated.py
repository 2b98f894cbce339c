"""Generated questions: what is marked right is computed once more from the question's own text."""

import math
import re

import pytest
import torch
from torch import nn

from utils.layers.attention import scaled_dot_product_attention
from utils.layers.masks import causal_mask, padding_mask
from utils.models.vit import PatchEmbedding
from utils.quiz import registry
from utils.train.loop import count_parameters

ITEMS = registry.everything()


def whole(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def rows(text: str) -> list[list[float]]:
    return [[float(x) for x in row.split(",")] for row in re.findall(r"\[(.*?)\]", text)]


def shape_of_weights(batch: int, m: int, n: int, d: int, h: int) -> str:
    layer = nn.MultiheadAttention(d, h, batch_first=True)
    x, memory = torch.zeros(batch, m, d), torch.zeros(batch, n, d)
    return str(tuple(layer(x, memory, memory, average_attn_weights=False)[1].shape))


def field(text):
    layers, kernel, stride = whole(text)
    seen = {0}
    for _ in range(layers):
        seen = {position * stride + i for position in seen for i in range(kernel)}
    return max(seen) + 1


def steps(text):
    num_layers, length, layer, t = whole(text)
    states = [(i, j) for i in range(1, num_layers + 1) for j in range(1, length + 1)]
    done, step = set(), 0
    while (layer, t) not in done:
        step += 1
        done |= {
            (i, j)
            for i, j in states
            if (i == 1 or (i - 1, j) in done) and (j == 1 or (i, j - 1) in done)
        }
    return step


def weight(text):
    scores, mask = re.findall(r"\[(.*?)\]", text)
    e = torch.tensor([float(s) for s in scores.split(",")]).exp()
    e = e * torch.tensor([m.strip() == "True" for m in mask.split(",")])
    return float(e[int(re.search(r"key (\d)", text)[1])] / e.sum())


def output(text):
    table = torch.tensor(rows(text)[0]), rows(text)[1:]
    n = len(table[1]) // 2
    q, k, v = (torch.tensor(x) for x in ([table[0].tolist()], table[1][:n], table[1][n:]))
    return float(scaled_dot_product_attention(q, k, v)[0][0, 0])


def attention_parameters(text):
    d, h = whole(re.search(r"= \d+ and \d+ heads", text)[0])
    return count_parameters(nn.MultiheadAttention(d, h, bias="with biases" in text))


def head_shape(text):
    batch, n, d, h = whole(text)[:4]
    return shape_of_weights(batch, n, n, d, h)


def entry(text):
    d, base, pos, column = whole(text)[:4]
    angle = pos / base ** (2 * (column // 2) / d)
    return math.cos(angle) if column % 2 else math.sin(angle)


def wavelength(text):
    d, base, even, odd = whole(text)[:4]
    assert odd == even + 1
    return 2 * math.pi * base ** (even / d)


def looks(text):
    length, n = whole(text)[:2]
    return int((padding_mask([length], n) & causal_mask(n)).sum())


def leak(text):
    scores = torch.tensor(rows(text)[0])
    hidden = [k - 1 for k in whole(re.search(r"Keys \d, \d", text)[0])]
    scores[hidden] = 0.0
    return float(scores.softmax(-1)[hidden].sum())


def layer_parameters(text):
    d, wide = whole(re.search(r"= \d+, d_ff = \d+", text)[0])
    kind = nn.TransformerDecoderLayer if "a decoder" in text else nn.TransformerEncoderLayer
    return count_parameters(kind(d, 4, wide))


def cross_shape(text):
    batch, n, m, d, h = whole(text)[:5]
    return shape_of_weights(batch, m, n, d, h)


def tokens(text):
    height, width, patch, _ = whole(text)[:4]
    return len([(i, j) for i in range(0, height, patch) for j in range(0, width, patch)]) + 1


def patch_parameters(text):
    patch, _, channels, d_model = whole(text)[:4]
    return count_parameters(PatchEmbedding(patch, channels, d_model))


def cells(text):
    stride, side, _ = whole(text)[:3]
    return (side // stride) ** 2


def gates(text):
    m, n, d = (int(number) for number in re.findall(r"= (\d+)", text))
    return f"{4 * n} × {m + n + d}"


@pytest.mark.parametrize(
    ("key", "wanted", "close"),
    [
        ("G01-1", field, {}),
        ("G01-2", steps, {}),
        ("G03-1", weight, {"abs": 6e-4}),
        ("G03-2", output, {"abs": 6e-4}),
        ("G04-1", attention_parameters, {}),
        ("G04-2", head_shape, {}),
        ("G05-1", entry, {"abs": 6e-4}),
        ("G05-2", wavelength, {"rel": 0.01}),
        ("G06-1", looks, {}),
        ("G06-2", leak, {"abs": 6e-4}),
        ("G07-1", layer_parameters, {}),
        ("G07-2", cross_shape, {}),
        ("G08-1", tokens, {}),
        ("G08-2", patch_parameters, {}),
        ("G09-1", cells, {}),
        ("G09-2", gates, {}),
    ],
)
def test_the_option_marked_right_is_right(key, wanted, close):
    for seed in range(60):
        question = ITEMS[key].with_seed(seed)
        right = next(option.text for option in question.options if option.right)
        want = wanted(question.text)
        if isinstance(want, str):
            assert right == want
        elif close:
            assert float(right) == pytest.approx(want, **close)
        else:
            assert int(right.replace(",", "")) == want
