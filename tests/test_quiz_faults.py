"""Faults of checks that were reported once: wrong solutions that passed, right ones refused."""

import time

import pytest

from tests.test_quiz_corpus import verdict_on

ATTEND = """
def attend(e, h, mask=None):
    if mask is not None:
        e = e.masked_fill({hidden}, -torch.inf)
    weights = e.softmax(dim=-1)
    return {context}, weights
"""
MIXED = "torch.bmm(weights[:, None], h)"
MASKS = """
def decoder_masks(lengths, n):
    n = {width}
    padding = (torch.arange(n) < lengths[:, None])[:, None, None]
    both = padding & torch.ones(n, n, dtype=torch.bool).tril()
    return {returned}
"""
WRONG = {
    "X02-2 squeezed": ATTEND.format(hidden="~mask", context=f"{MIXED}.squeeze()"),
    "X02-2 pads at the end": ATTEND.format(
        hidden="torch.arange(e.shape[1]) >= mask.sum(dim=1, keepdim=True)",
        context=f"{MIXED}.squeeze(1)",
    ),
    "X02-2 pads on one side": ATTEND.format(
        hidden="~(mask.cumsum(dim=1) > 0)", context=f"{MIXED}.squeeze(1)"
    ),
    "X02-2 as wide as the longest": """
def attend(e, h, mask=None):
    if mask is not None:
        n = int(mask.sum(dim=1).max())
        e, h = e[:, :n].masked_fill(~mask[:, :n], -torch.inf), h[:, :n]
    weights = e.softmax(dim=-1)
    return torch.bmm(weights[:, None], h).squeeze(1), weights
""",
    "X03-3 squeezed": "def softmax_temperature(z, temperature):\n"
    "    return (z / temperature).softmax(dim=-1).squeeze()",
    "X03-3 squeezed before": "def softmax_temperature(z, temperature):\n"
    "    return (z.squeeze(0) / temperature).softmax(dim=-1)",
    "X06-3 padding squeezed": MASKS.format(width="n", returned="padding.squeeze(), both"),
    "X06-3 both squeezed": MASKS.format(width="n", returned="padding, both.squeeze()"),
    "X06-3 one batch axis squeezed": MASKS.format(width="n", returned="padding, both.squeeze(0)"),
    "X06-3 as wide as the longest": MASKS.format(
        width="int(lengths.max())", returned="padding, both"
    ),
}
VIT = """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, num_patches, d_model):
        super().__init__()
        self.embed, self.encoder = embed, encoder
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1, num_patches + 1, d_model))
        {head}
    def forward(self, img):
        x = self.embed(img)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.positions
        x, _ = self.encoder(x)
        return {logits}
"""
NORM = "def layer_norm(x, g, b, eps=1e-5):\n    "
FLAT = "x.reshape(-1, x.shape[-1])"
RIGHT = {
    "X08-3 norm and linear": VIT.format(
        head="self.head = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, 10))",
        logits="self.head(x[:, 0])",
    ),
    "X08-3 norm of all tokens": VIT.format(
        head="self.norm, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, 10)",
        logits="self.head(self.norm(x)[:, 0])",
    ),
    "X07-1 group norm": f"{NORM}return F.group_norm({FLAT}, 1, g, b, eps).view(x.shape)",
    "X07-1 batch norm": f"{NORM}y = F.batch_norm({FLAT}.T, None, None, training=True, eps=eps)\n"
    "    return y.T.reshape(x.shape) * g + b",
    "X07-1 instance norm": f"{NORM}return F.instance_norm(x, eps=eps) * g + b",
    "X07-1 group norm of (B, N, D)": f"{NORM}B, N, D = x.shape\n"
    "    return F.group_norm(x.reshape(B * N, D), 1, g, b, eps).view(B, N, D)",
    "X07-1 batch norm of (B, N, D)": f"{NORM}B, N, D = x.shape\n"
    "    y = F.batch_norm(x.reshape(1, B * N, D), None, None, training=True, eps=eps)\n"
    "    return y.view(B, N, D) * g + b",
}


@pytest.mark.parametrize(("name", "source"), WRONG.items(), ids=WRONG)
def test_a_wrong_solution_does_not_pass(name, source):
    verdict = verdict_on(name[:5], source)
    assert not verdict.passed, verdict


@pytest.mark.parametrize(("name", "source"), RIGHT.items(), ids=RIGHT)
def test_a_right_solution_passes(name, source):
    verdict = verdict_on(name[:5], source)
    assert verdict.passed, verdict
    assert bool(verdict.remarks) == ("(B, N, D)" in name or "instance" in name), verdict


PLAIN = "torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)"
ATTENTION = "def attention(q, k, v{more}):\n    w = {weights}\n{line}    return {returned}\n"
SAID = {
    "keeps-state": {"more": ", memo=[]", "weights": f"(memo.append({PLAIN}), memo[0])[1]"},
    "typed-in": {"weights": "torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(64), dim=-1)"},
    "scale-double": {"weights": "torch.softmax(q @ k.mT / q.shape[-1] ** 1 / 2, dim=-1)"},
    "own-check": {"line": "    assert w.sum() == 1\n"},
    "no-gradient": {"returned": "(w @ v).detach(), w.float()"},
    None: {"returned": "..., w"},  # a part of the blank is left: no mistake yet
}


@pytest.mark.parametrize("mistake", SAID)
def test_a_mistake_that_was_told_as_another_one(mistake):
    parts = {"more": "", "weights": PLAIN, "line": "", "returned": "w @ v, w"} | SAID[mistake]
    verdict = verdict_on("X03-1", ATTENTION.format(**parts))
    assert verdict.mistake == mistake and not verdict.passed


LATE = """
class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, pre_norm):
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FFN(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
def forward(self, x, mask=None):
    if self.pre_norm:
        x = x + self.attention(self.norm1(x), mask=mask)[0]
        return x + self.ffn(self.norm1(x))
    x = self.norm1(x + self.attention(x, mask=mask)[0])
    return self.norm2(x + self.ffn(x))
EncoderBlock.forward = forward
"""


def test_a_method_that_is_put_into_its_class_later_gets_a_verdict():
    assert not verdict_on("X07-3", LATE).passed


PARENT = """
class Two(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.up, self.down = nn.Linear(a, b), nn.Linear(b, a)
    def forward(self, x):
        return self.down(self.up(x).relu())
class FFN(Two):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
"""


def test_a_class_that_leaves_the_work_to_its_parent_is_not_blank():
    assert verdict_on("X07-2", PARENT).passed


HOOKED = """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, num_patches, d_model):
        super().__init__()
        embed.register_forward_hook(lambda module, given, out: 2 * out)
        self.embed, self.encoder = embed, encoder
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(torch.randn(1, num_patches + 1, d_model))
        self.head = nn.Linear(d_model, 10)

    def forward(self, img):
        patches = self.embed(img)
        x = torch.cat([self.cls.expand(len(patches), -1, -1), patches], dim=1) + self.positions
        return self.head(self.encoder(x)[0][:, 0])
"""


def test_what_one_solution_does_to_its_parts_does_not_reach_the_next():
    assert not verdict_on("X08-3", HOOKED).passed
    hook = "        embed.register_forward_hook(lambda module, given, out: 2 * out)\n"
    assert verdict_on("X08-3", HOOKED.replace(hook, "")).passed


def test_an_edit_that_makes_a_loop_endless_does_not_cost_the_check_its_time():
    source = "def receptive_field(layers, kernel, stride):\n    rf, n = 0, layers\n    while n:\n"
    source += "        rf = (rf - 1) * stride + kernel\n        n -= 1\n    return rf\n"
    verdict_on("X01-3", source)  # the first of an exercise takes longer
    started = time.monotonic()
    assert not verdict_on("X01-3", source).passed
    assert time.monotonic() - started < 1.5
