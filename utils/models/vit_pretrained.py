"""Published weights in our own Vision Transformer: DeiT-tiny, if you are online and ask for it.

Nothing here is fetched unless you call ``load_deit_tiny``.  Weights come as safetensors, a format
that holds numbers only and runs no code.  A file is read if its SHA-256 is the one you expect; if
you do not know it, the function shows it, and reads the file only with ``trust=True``.
"""

import hashlib
import http.client
import json
import re
import tempfile
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from utils.models.vit import VIT_BLOCK, VisionTransformer

NAME = "timm/deit_tiny_patch16_224.fb_in1k"
URL = f"https://huggingface.co/{NAME}/resolve/main/model.safetensors"
KEPT = Path("~/.attention_course/deit_tiny_patch16_224.safetensors")
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # red, green, blue of ImageNet

# timm's names on the left, ours on the right; {i} is the number of a block
NAMES = {
    "cls_token": "cls",
    "pos_embed": "positions",
    "patch_embed.proj.bias": "embed.project.bias",
    "norm.weight": "encoder.norm.weight",
    "norm.bias": "encoder.norm.bias",
    "head.weight": "head.weight",
    "head.bias": "head.bias",
}
BLOCK_NAMES = {
    "norm1": "norm1",
    "norm2": "norm2",
    "attn.proj": "attention.w_o",
    "mlp.fc1": "feed_forward.up",
    "mlp.fc2": "feed_forward.down",
}


def deit_tiny() -> VisionTransformer:
    """An untrained model of DeiT-tiny's sizes: 5,717,416 parameters."""
    return VisionTransformer(
        replace(VIT_BLOCK, d_model=192, num_heads=3, d_ff=768),
        **{"size": 224, "patch": 16, "channels": 3, "num_classes": 1000, "num_layers": 12},
    )


def rename(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict with timm's names -> the same numbers under ours.

    Two things change their shape: the patch projection is stored as a convolution (D, C, P, P), and
    queries, keys and values as one fused matrix (3D, D).
    """
    ours: dict[str, Tensor] = {}
    for name, tensor in state.items():
        block = re.fullmatch(r"blocks\.(\d+)\.(.+)\.(weight|bias)", name)
        if name in NAMES:
            ours[NAMES[name]] = tensor
        elif name == "patch_embed.proj.weight":
            ours["embed.project.weight"] = tensor.flatten(1)  # (D, C·P·P)
        elif block and block[2] == "attn.qkv":
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                ours[f"encoder.blocks.{block[1]}.attention.w_{letter}.{block[3]}"] = part
        elif block and block[2] in BLOCK_NAMES:
            ours[f"encoder.blocks.{block[1]}.{BLOCK_NAMES[block[2]]}.{block[3]}"] = tensor
        else:
            raise ValueError(f"{name!r} is no weight of a plain ViT in timm's naming")
    return ours


def load_timm(
    model: VisionTransformer, path: str | Path, *, sha256: str | None = None, trust: bool = False
) -> VisionTransformer | None:
    """Read a safetensors file with timm's names into ``model``, after a look at its SHA-256.

    Without ``sha256`` the hash is shown and nothing is read, unless you say ``trust=True``.
    Returns the model in evaluation mode, or None if nothing was read.
    """
    from safetensors.torch import load

    content = Path(path).expanduser().read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if sha256 is None and not trust:
        print(f"SHA-256 of the file: {found}")
        print("Nothing was read. Compare it with the publisher's, then pass it as sha256=...")
        return None
    if sha256 is not None and found != sha256.lower():
        raise ValueError(f"this is another file: expected SHA-256 {sha256.lower()}, got {found}")
    model.load_state_dict(rename(load(content)))  # the bytes that were hashed, not the file again
    return model.eval()


def load_deit_tiny(
    *, sha256: str | None = None, trust: bool = False, path: str | Path | None = None
) -> VisionTransformer | None:
    """DeiT-tiny (Touvron et al. 2021, Apache-2.0) with its published weights: 22.9 MB.

    ``path`` is a file that you have already; without it the file is fetched once and kept in your
    home folder.  If something else comes, or nothing, then nothing is kept: one sentence is printed
    and None comes back.
    """
    if path is None:
        path = KEPT.expanduser()
        kept = path.is_file() and not _fault(path.read_bytes(), sha256)
        if not kept and not _fetch(URL, path, sha256):
            return None
    return load_timm(deit_tiny(), path, sha256=sha256, trust=trust)


def ready(image: Tensor) -> Tensor:
    """A photograph from 0 to 1, (B, 3, 224, 224), as DeiT was trained to see it."""
    mean, spread = (torch.tensor(v).view(3, 1, 1).to(image) for v in (MEAN, SPREAD))
    return (image - mean) / spread


def _fetch(url: str, path: Path, sha256: str | None) -> bool:
    """Bring the file to ``path``, whole and right or not at all."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            content = answer.read()
        if not (fault := _fault(content, sha256)):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="part-", dir=path.parent) as part:
                (Path(part) / path.name).write_bytes(content)
                (Path(part) / path.name).replace(path)
    except (OSError, http.client.HTTPException) as error:
        fault = str(error) or type(error).__name__
    if fault:
        print(f"DeiT-tiny could not be fetched ({fault}). The notebook is complete without it.")
    return not fault


def _fault(content: bytes, sha256: str | None) -> str:
    """Why this is not the file that we want; empty if it may be."""
    size = int.from_bytes(content[:8], "little")  # of the header, which says where each tensor ends
    try:
        header = json.loads(content[8 : 8 + size])
        ends = [row["data_offsets"][1] for name, row in header.items() if name != "__metadata__"]
        whole = len(content) == 8 + size + max(ends)
    except (ValueError, TypeError, LookupError, AttributeError):
        whole = False
    if not whole:
        return "what came is no whole safetensors file: a network may send its log-in page instead"
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256.lower():
        return f"another file came: expected SHA-256 {sha256.lower()}, got {found}"
    return ""
