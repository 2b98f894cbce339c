"""The explorer as a still picture and as words, for places where no JavaScript runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import selection, still_grids, still_views
from .selection import label

if TYPE_CHECKING:
    from .explorer import AttentionExplorer
    from .inputs import Panel

MOST_ROWS = 12  # said one by one; a longer text nobody listens to


def draw(explorer: AttentionExplorer) -> bytes:
    """The current view as PNG bytes."""
    painters = {
        "heatmap": still_views.heatmaps,
        "lines": still_views.lines,
        "heads": still_grids.heads,
    }
    return painters.get(explorer.view, still_grids.pictures)(explorer).png()


def summary(explorer: AttentionExplorer) -> str:
    """The explorer in two lines, the same on every machine."""
    panel = selection.focus(explorer)
    at = selection.place(explorer, panel)
    difference = any(selection.subtracted(explorer, panel) for panel in selection.shown(explorer))
    order = f", lowest {explorer.sort} first" if explorer.sort != "layer" else ""
    view = {
        "heatmap": f"a heatmap of {'the difference in ' if difference else ''}{at}",
        "lines": f"lines from queries to keys for {at}",
        "heads": f"all heads as small maps{order}",
        "image": f"the picture under {'' if panel.flow else 'the attention of '}{at}",
        "words": f"one picture for each word under the attention of {at}",
    }[explorer.view]
    return f"{explorer!r}\nShows {view}. Rows are queries (who looks), columns are keys."


def describe(explorer: AttentionExplorer) -> str:
    """What there is to see, in words: for each query the key it looks at most."""
    parts = [f"{explorer._title}." if explorer._title else "", summary(explorer).split("\n")[1]]
    said = selection.place(explorer, selection.focus(explorer)) if explorer.view != "heads" else ""
    for panel in selection.shown(explorer):
        at = selection.place(explorer, panel)
        whose = [selection.name(explorer, panel, 40), "" if at == said else at]
        whose = ", ".join(part for part in whose if part)
        sentences = _changes if selection.subtracted(explorer, panel) else _looks
        parts.append(f"{whose}{': ' if whose else ''}{sentences(explorer, panel)}.")
    return " ".join(part for part in parts if part)


def _looks(explorer: AttentionExplorer, panel: Panel) -> str:
    """For each query, or for the marked one, the key it looks at most."""
    layer, head = selection.layer_and_head(explorer, panel)
    all_heads, heads = selection.every_head(explorer), panel.weights[layer]  # (H, M, N)
    weights = heads.max(0) if all_heads else heads[head]  # (M, N)

    def number(q: int, k: int) -> str:
        where = f" in head {heads[:, q, k].argmax()}" if all_heads else ""
        return f"{where} ({weights[q, k]:.3f})"

    def look(q: int) -> str:
        query, k = label(panel.queries[q], 40), int(weights[q].argmax())
        if weights[q, k] == 0:  # the mask forbids every key
            return f"{query} looks nowhere"
        return f"{query} looks most at {label(panel.keys[k], 40)}{number(q, k)}"

    token, k = selection.marked(explorer, panel)
    if k is None or (token is not None and weights[token].argmax() == k):
        return _listed(look, len(panel.queries), token)
    q = int(weights[:, k].argmax()) if token is None else token
    query, key = label(panel.queries[q], 40), label(panel.keys[k], 40)
    if token is not None:
        return f"{look(q)}; {query} looks at {key}{number(q, k)}"
    if weights[q, k] == 0:
        return f"no query looks at {key}"
    return f"{key} is looked at most by {query}{number(q, k)}"


def _changes(explorer: AttentionExplorer, panel: Panel) -> str:
    """For each query, or for the marked one, the key whose weight differs most."""
    gaps = selection.values(explorer, panel)

    def change(q: int) -> str:
        k = int(np.abs(gaps[q]).argmax())
        query, key = label(panel.queries[q], 40), label(panel.keys[k], 40)
        if abs(gaps[q, k]) < 0.0005:
            return f"{query} changes nowhere"
        return f"{query} changes most at {key} ({still_views.signed(gaps[q, k], 3)})"

    return _listed(change, len(panel.queries), selection.marked(explorer, panel)[0])


def _listed(say, rows: int, only: int | None) -> str:
    """What ``say`` says of the first rows, or of one."""
    if only is not None:
        return say(only)
    sentences, rest = [say(row) for row in range(min(rows, MOST_ROWS))], rows - MOST_ROWS
    if rest > 0:
        sentences.append(f"and {rest} more row{'s' if rest > 1 else ''}")
    return "; ".join(sentences)
