"""The attention explorer: every layer, head and token of a model, live in a notebook.

from utils.explorer import AttentionExplorer
explorer = AttentionExplorer(weights, tokens)
explorer                      # shows it
explorer.layer, explorer.head # what the student chose; set them to choose for the student
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from . import inputs, page, panels, static
from .snapshot import Snapshot

HERE = Path(__file__).parent
VIEWS = ("heatmap", "lines", "heads", "image", "words")
SORTS = ("layer", "entropy", "distance")
SELECTION = (
    "view", "block", "layer", "head", "token", "key", "threshold", "sort", "all_heads",
    "difference",
)  # fmt: skip


class AttentionExplorer(anywidget.AnyWidget):
    """Look at attention weights: rows are queries (who looks), columns are keys (what is seen).

    weights     the ``Weights`` of a model, with all the blocks it has, side by side; or a bare
                (M, N), (H, M, N) or (L, H, M, N): a tensor, an array, nested lists, a list over
                layers; or a dict of several such blocks
    source, target
                the tokens of ``Weights``: encoder source × source, decoder target × target, cross
                target × source.  A block alone can do with queries (and keys).
    queries     the M tokens that look; for several blocks a dict of lists
    keys        the N tokens that are looked at; left out for self-attention
    mask        boolean (M, N), True = may look: what is forbidden is hatched
    gold        the right links, as (query, key) pairs or as a 0/1 matrix (M, N): outlined
    compare     a second set of weights for the same tokens, or another explorer (other model,
                other input): drawn beside, or subtracted; ``{"name": ...}`` gives it a name
    image       a picture whose patches are the keys, with ``patch_grid=(rows, columns)``
    view        "heatmap", "lines", "heads" (all small), "image", "words" (one picture a word)
    layer, head, token, key, block, threshold, sort, all_heads, difference
                the selection; each is a trait that a cell can read, set and observe
    """

    _esm = page.joined(*page.MODULES, "widget")
    _css = HERE / "explorer.css"
    _ipython_display_ = None  # ipywidgets 7 would show the bare widget: use our bundle everywhere

    meta = traitlets.Dict().tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)
    picture = traitlets.Bytes().tag(sync=True)

    view = traitlets.Unicode("heatmap").tag(sync=True)
    block = traitlets.Unicode("").tag(sync=True)
    # Numbers and yes or no are checked in `_allowed`, which takes those of numpy and torch too.
    layer = traitlets.Any(0).tag(sync=True)
    head = traitlets.Any(0).tag(sync=True)
    token = traitlets.Any(None, allow_none=True).tag(sync=True)
    key = traitlets.Any(None, allow_none=True).tag(sync=True)
    threshold = traitlets.Any(0.05).tag(sync=True)
    sort = traitlets.Unicode("layer").tag(sync=True)
    all_heads = traitlets.Any(False).tag(sync=True)
    difference = traitlets.Any(False).tag(sync=True)

    def __init__(
        self,
        weights: Any,
        queries: Any = None,
        keys: Any = None,
        *,
        source: Any = None,
        target: Any = None,
        mask: Any = None,
        gold: Any = None,
        compare: Any = None,
        image: Any = None,
        patch_grid: tuple[int, int] | None = None,
        title: str | None = None,
        view: str | None = None,
        block: str | None = None,
        layer: int = 0,
        head: int = 0,
        token: int | None = None,
        key: int | None = None,
        threshold: float | None = None,
        sort: str = "layer",
        all_heads: bool = False,
        difference: bool = False,
    ) -> None:
        blocks = panels.of_blocks(weights, queries, keys, source, target, mask, gold)
        self._own = len(blocks)
        if compare is not None:
            blocks = panels.with_compared(blocks, *_second(compare))
        grid = None
        if image is not None:
            grid = inputs.to_patch_grid(patch_grid, len(blocks[0].keys))
            if blocks[0].keys == blocks[0].queries:
                blocks.append(panels.rollout_of(blocks))
        elif patch_grid is not None:
            raise ValueError("patch_grid says how patches lie on a picture: pass image= too")
        panels.check_together(blocks)
        self._panels, self._grid = blocks, grid
        self._title = "" if title is None else inputs.to_text(title)
        picture = b"" if image is None else inputs.to_picture(image)
        if threshold is None:  # weak lines hide strong ones, the more so the more keys there are
            threshold = min(0.05, max(0.005, round(1.5 / len(blocks[0].keys), 3)))
        chosen = {
            "view": ("heatmap" if image is None else "image") if view is None else view,
            "block": blocks[0].name if block is None else block,
            "layer": layer, "head": head, "token": token, "key": key, "threshold": threshold,
            "sort": sort, "all_heads": all_heads, "difference": difference,
        }  # fmt: skip
        chosen = self._checked(chosen)
        data, escaped = panels.encode(blocks)
        meta = panels.describe(blocks, self._own, grid, self._title, escaped)
        super().__init__(meta=meta, data=data, picture=picture, **chosen)

    # --- the selection: checked here, so that a wrong number is an error and no blank picture ---

    def _checked(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        try:
            block = self._allowed("block", chosen["block"], "")
            return {name: self._allowed(name, value, block) for name, value in chosen.items()}
        except traitlets.TraitError as error:
            raise ValueError(str(error)) from None

    def _allowed(self, name: str, value: Any, block: str | None = None) -> Any:
        if getattr(value, "ndim", None) == 0:  # a number of numpy or torch: tensor.argmax(), say
            value = value.item()
        blocks = {panel.name: panel for panel in self._panels}
        choices: Any = {
            "view": VIEWS if self._grid else VIEWS[:3],
            "sort": SORTS,
            "block": tuple(blocks),
        }.get(name)
        if choices is not None and not (isinstance(value, str) and value in choices):
            extra = " (image and words need image=)" if name == "view" and not self._grid else ""
            raise traitlets.TraitError(
                f"{name} must be one of {', '.join(map(repr, choices))}{extra}, got {value!r}"
            )
        panel = blocks.get(self.block if block is None else block, self._panels[0])
        most = {
            "layer": max(p.weights.shape[0] for p in self._panels),
            "head": max(p.weights.shape[1] for p in self._panels),
            "token": len(panel.queries),
            "key": len(panel.keys),
        }.get(name)
        if name in ("all_heads", "difference") and not isinstance(value, bool):
            raise traitlets.TraitError(f"{name} must be True or False, got {value!r}")
        if name == "difference" and value and not any(p.partner is not None for p in self._panels):
            raise traitlets.TraitError(
                "difference=True subtracts a second model's weights: pass compare= with weights of "
                "the same shape for the same tokens"
            )
        if name == "threshold":
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1:
                raise traitlets.TraitError(f"threshold must lie between 0 and 1, got {value!r}")
            # A whole step, as the weights are, in every block (a fine step is a part of a coarse
            # one): what is under it is then what is hidden.
            steps = min(p.top for p in self._panels)
            return round(float(value) * steps) / steps
        if most is None or (value is None and name in ("token", "key")):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise traitlets.TraitError(f"{name} must be a whole number, got {value!r}")
        if not 0 <= value < most:
            raise traitlets.TraitError(f"{name} must be 0 to {most - 1}, got {value}")
        return int(value)

    @traitlets.validate(*SELECTION)
    def _validate_selection(self, proposal):
        return self._allowed(proposal["trait"].name, proposal["value"])

    @traitlets.observe("block")
    def _leave_tokens_of_other_block(self, change):
        """A token number that the new block does not have means nothing there."""
        panel = next(panel for panel in self._panels if panel.name == change["new"])
        if self.token is not None and self.token >= len(panel.queries):
            self.token = None
        if self.key is not None and self.key >= len(panel.keys):
            self.key = None

    # --- ready-made explorers ---

    @classmethod
    def vit(
        cls, weights: Any, image: Any, patch_grid: tuple[int, int] | None = None, **options: Any
    ) -> AttentionExplorer:
        """A Vision Transformer: the patches and class token name themselves."""
        if image is None:
            raise ValueError(f"{inputs.IMAGE}, got None")
        array = inputs.to_weights(inputs.one_block(weights, "encoder"))
        high, wide = inputs.to_patch_grid(patch_grid, array.shape[-1])
        extra = array.shape[-1] - high * wide
        names = ["[CLS]", *(f"[REG{i}]" for i in range(1, extra))][:extra]
        names += [f"patch {row},{column}" for row in range(high) for column in range(wide)]
        options = {"token": 0, **options}
        return cls(array, names, image=image, patch_grid=(high, wide), **options)

    @classmethod
    def caption(
        cls, weights: Any, words: Any, image: Any, patch_grid: tuple[int, int] | None = None,
        **options: Any,
    ) -> AttentionExplorer:  # fmt: skip
        """Words that look at a picture, one after the other: a grid over time."""
        if image is None:
            raise ValueError(f"{inputs.IMAGE}, got None")
        array = inputs.to_weights(inputs.one_block(weights, "cross"))
        high, wide = inputs.to_patch_grid(patch_grid, array.shape[-1])
        names = [f"[extra {i}]" for i in range(array.shape[-1] - high * wide)]
        names += [f"patch {row},{column}" for row in range(high) for column in range(wide)]
        options = {"view": "words", **options}
        return cls(array, words, names, image=image, patch_grid=(high, wide), **options)

    # --- what others see: text, PNG, a page ---

    @property
    def weights(self) -> np.ndarray:
        """The weights of the first block as an array (L, H, M, N), to read."""
        return _to_read(self._panels[0].weights)

    @property
    def blocks(self) -> dict[str, np.ndarray]:
        """The weights of every block by its name, (L, H, M, N) each, to read."""
        return {panel.name: _to_read(panel.weights) for panel in self._panels}

    def __repr__(self) -> str:
        layers, heads, rows, columns = self._panels[0].weights.shape
        names = [panel.name for panel in self._panels[: self._own] if panel.name]
        blocks = f"blocks={'+'.join(names)}, " if names else ""
        return (
            f"AttentionExplorer({blocks}layers={layers}, heads={heads}, queries={rows}, "
            f"keys={columns})"
        )

    def snapshot(self) -> Snapshot:
        """What is shown at this moment, for those who draw it or say it."""
        names = ("picture", "block", "layer", "head", "token", "key", "threshold", "all_heads")
        return Snapshot(
            name=repr(self), title=self._title, panels=tuple(self._panels), grid=self._grid,
            view="heatmap" if self.view == "heads" else self.view,
            **{name: getattr(self, name) for name in names},
        )  # fmt: skip

    def describe(self) -> str:
        """What the still picture shows, in words: the text alternative of the PNG."""
        return static.describe(self.snapshot())

    def to_png(self) -> bytes:
        """The current view as a PNG; of all heads the chosen one."""
        return static.draw(self.snapshot())

    def _repr_mimebundle_(self, include=None, exclude=None, **kwargs):
        data, metadata = super()._repr_mimebundle_() or ({}, {})
        # Numbers stay out of the plain text: trained weights differ from machine to machine.
        data["text/plain"] = static.summary(self.snapshot())
        data["image/png"] = base64.b64encode(self.to_png()).decode()
        return data, {**metadata, "image/png": {"alt": self.describe()}}

    def save_html(self, path: str | Path) -> Path:
        """Write one self-contained page, fully interactive with no network; returns its path."""
        path = Path(path)
        path.write_text(page.whole_page(self._page_state(), self._title), encoding="utf-8")
        return path

    def _page_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("meta", "data", "picture", *SELECTION)}


def _to_read(weights: np.ndarray) -> np.ndarray:
    weights = weights.view()
    weights.flags.writeable = False  # the page has been told already
    return weights


def _second(compare: Any) -> tuple[str, Any]:
    """What to compare with, and its name: the panels of another explorer, or weights."""
    name = "other"
    if isinstance(compare, Mapping):
        if len(compare) != 1:
            raise ValueError(f"compare takes one named entry, got {len(compare)}")
        ((name, compare),) = compare.items()
    if isinstance(compare, AttentionExplorer):
        compare = compare._panels[: compare._own]
    return inputs.to_text(name), compare
