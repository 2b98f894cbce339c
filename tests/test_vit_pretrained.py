"""Published weights: a file in timm's layout is made here, by a model written in that layout."""

import hashlib
import http.client
import io
import urllib.error
import urllib.request
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import nn

from utils.models import vit_pretrained
from utils.models.vit import VIT_BLOCK, VisionTransformer
from utils.models.vit_pretrained import deit_tiny, load_deit_tiny, load_timm, ready, rename
from utils.train.loop import count_parameters


class Attention(nn.Module):
    """Fused queries, keys and values: (3D, D), heads inside."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mixed = ((q * (d // self.heads) ** -0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, d, heads, d_ff):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d, 1e-6), nn.LayerNorm(d, 1e-6)
        self.attn = Attention(d, heads)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(d, d_ff), "fc2": nn.Linear(d_ff, d)})

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class TimmLayout(nn.Module):
    """A plain ViT whose parts have the names and shapes of timm's."""

    def __init__(self, *, size, patch, channels, classes, d, heads, layers, d_ff):
        super().__init__()
        proj = nn.Conv2d(channels, d, patch, patch)
        self.patch_embed = nn.ModuleDict({"proj": proj})
        self.cls_token = nn.Parameter(torch.randn(1, 1, d))
        self.pos_embed = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, d))
        self.blocks = nn.Sequential(*(Block(d, heads, d_ff) for _ in range(layers)))
        self.norm = nn.LayerNorm(d, 1e-6)
        self.head = nn.Linear(d, classes)

    def forward(self, images):
        x = self.patch_embed["proj"](images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


@pytest.fixture
def made(tmp_path):
    """A small model of the other layout, its file, and an empty model of ours."""
    torch.manual_seed(0)
    sizes = {"size": 12, "patch": 4, "channels": 3}
    theirs = TimmLayout(**sizes, classes=7, d=12, heads=3, layers=11, d_ff=20).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)  # not the zeros and ones of the start
    file = tmp_path / "model.safetensors"
    file.write_bytes(save({name: t.contiguous() for name, t in theirs.state_dict().items()}))
    ours = VisionTransformer(
        replace(VIT_BLOCK, d_model=12, num_heads=3, d_ff=20),
        **sizes,
        num_classes=7,
        num_layers=11,
    )
    return theirs, file, ours


def test_a_file_in_timms_layout_gives_the_same_model(made):
    theirs, file, ours = made
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    images = torch.randn(2, 3, 12, 12)
    assert not torch.allclose(ours(images)[0], theirs(images), atol=0.1)
    assert load_timm(ours, file, sha256=digest.upper()) is ours
    assert not ours.training
    assert torch.allclose(ours(images)[0], theirs(images), atol=1e-4)


def test_another_file_is_refused_before_it_is_read(made, monkeypatch):
    _, file, ours = made
    before = {name: t.clone() for name, t in ours.state_dict().items()}
    monkeypatch.setattr("safetensors.torch.load", lambda content: pytest.fail("it was read"))
    with pytest.raises(ValueError, match="expected SHA-256 00, got [0-9a-f]{64}"):
        load_timm(ours, file, sha256="00", trust=True)
    assert all(torch.equal(before[name], t) for name, t in ours.state_dict().items())


def test_without_a_hash_nothing_is_read_and_the_hash_is_shown(made, capsys):
    _, file, ours = made
    assert load_timm(ours, file) is None
    said = capsys.readouterr().out
    assert hashlib.sha256(file.read_bytes()).hexdigest() in said
    assert "Nothing was read" in said
    assert load_timm(ours, file, trust=True) is ours


def test_an_unknown_name_is_said():
    with pytest.raises(ValueError, match="'dist_token' is no weight of a plain ViT"):
        rename({"dist_token": torch.zeros(1)})


def test_deit_tiny_has_its_published_size_and_every_name():
    sizes = {"size": 224, "patch": 16, "channels": 3, "classes": 1000}
    theirs = TimmLayout(**sizes, d=192, heads=3, layers=12, d_ff=768)
    ours = deit_tiny()
    assert count_parameters(ours) == count_parameters(theirs) == 5_717_416
    shapes = {name: t.shape for name, t in rename(theirs.state_dict()).items()}
    assert shapes == {name: t.shape for name, t in ours.state_dict().items()}


def test_without_a_network_there_is_one_sentence(monkeypatch, tmp_path, capsys):
    def offline(*args, **options):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    monkeypatch.setattr(vit_pretrained, "KEPT", tmp_path / "kept" / "model.safetensors")
    assert load_deit_tiny(trust=True) is None
    assert capsys.readouterr().out.count("\n") == 1
    assert not list(tmp_path.iterdir())


class Web:
    """What the publisher's address sends, and how often it was asked."""

    def __init__(self, folder, monkeypatch):
        self.sent, self.asked = b"", []
        self.kept = folder / "kept" / "model.safetensors"
        monkeypatch.setattr(urllib.request, "urlopen", self.open)
        monkeypatch.setattr(vit_pretrained, "KEPT", self.kept)

    def open(self, url, timeout):
        self.asked.append(url)
        if isinstance(self.sent, bytes):
            return io.BytesIO(self.sent)
        (answer := io.BytesIO()).read = self.fail
        return answer

    def fail(self):
        raise self.sent


@pytest.fixture
def web(tmp_path, monkeypatch):
    return Web(tmp_path, monkeypatch)


FILE = save({"cls_token": torch.zeros(9)})
RIGHT = hashlib.sha256(FILE).hexdigest()


def test_a_fetched_file_is_kept(web, capsys):
    web.sent = FILE
    for _ in range(2):
        assert load_deit_tiny() is None  # no hash: shown, not read
    assert web.asked == [vit_pretrained.URL]
    assert RIGHT in capsys.readouterr().out
    assert [file.name for file in web.kept.parent.iterdir()] == ["model.safetensors"]


BAD = {
    "a log-in page": b"<!DOCTYPE html><title>Log in to the wifi</title>",
    "nothing": b"",
    "half of it": FILE[:-4],
    "cut short": http.client.IncompleteRead(b"123", 456),
    "no answer": TimeoutError("timed out"),
    "no HTTP": http.client.BadStatusLine("x"),
}


@pytest.mark.parametrize(
    "options", [{}, {"trust": True}, {"sha256": RIGHT}], ids=["ask", "trust", "hash"]
)
@pytest.mark.parametrize("bad", BAD)
def test_what_is_not_the_file_is_one_sentence_and_is_not_kept(web, capsys, bad, options):
    web.sent = BAD[bad]
    assert load_deit_tiny(**options) is None
    said = capsys.readouterr().out
    assert said.startswith("DeiT-tiny could not be fetched") and said.count("\n") == 1
    assert not web.kept.exists()


def test_a_file_with_another_hash_is_not_kept_and_the_next_try_fetches_again(web, capsys):
    web.sent = save({"cls_token": torch.ones(9)})
    assert load_deit_tiny(sha256=RIGHT) is None
    assert f"SHA-256 {RIGHT}, got {hashlib.sha256(web.sent).hexdigest()}" in capsys.readouterr().out
    assert not web.kept.exists()
    web.kept.parent.mkdir(exist_ok=True)
    web.kept.write_bytes(b"<!DOCTYPE html>")  # an older version of the course kept such pages
    web.sent = FILE
    with pytest.raises(RuntimeError, match="Missing key"):  # it is read now, and has one weight
        load_deit_tiny(sha256=RIGHT)
    assert web.kept.read_bytes() == FILE


def test_a_folder_that_cannot_be_made_is_one_sentence(web, capsys):
    web.sent = FILE
    web.kept.parent.touch()
    assert load_deit_tiny() is None
    assert capsys.readouterr().out.count("\n") == 1


def test_a_photograph_is_brought_to_imagenets_scale():
    grey = torch.full((1, 3, 4, 4), 0.5)
    assert ready(grey)[0, :, 0, 0].tolist() == pytest.approx([0.0655, 0.1964, 0.4178], abs=1e-3)
