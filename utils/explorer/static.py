"""The explorer as a still picture and as words, for places where no JavaScript runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import selection, still_grids, still_views
from .selection import label
from .still_views import signed

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
        whose = [selection.name(explorer, panel, 40, label), "" if at == said else at]
        whose = ", ".join(part for part in whose if part)
        sentences = _changes if selection.subtracted(explorer, panel) else _looks
        parts.append(f"{whose}{': ' if whose else ''}{sentences(explorer, panel)}.")
        if not selection.every_head(explorer):
            parts += [_broken(explorer, panel), _gold(explorer, panel)]
    return " ".join(part for part in parts if part)


def _looks(explorer: AttentionExplorer, panel: Panel) -> str:
    """For each query, or for the marked one, the key it looks at most."""
    layer, head = selection.layer_and_head(explorer, panel)
    all_heads, weights = selection.every_head(explorer), panel.weights[layer]  # (H, M, N)
    weights = weights if all_heads else weights[head, None]

    def steps(q: int | slice, k: int | slice) -> np.ndarray:
        # In whole steps, as the page has them: what reads alike is alike to both.
        return selection.steps(panel, np.atleast_1d(weights[:, q, k]))

    def largest(q: int | slice, k: int | slice) -> tuple[int, bool]:
        most = steps(q, k).max(0)
        return int(most.argmax()), not most.any()

    def number(q: int, k: int) -> str:
        loudest = int(steps(q, k).argmax())
        where = f" in head {loudest}" if all_heads else ""
        return f"{where} ({weights[loudest, q, k]:.3f})"

    def look(q: int) -> str:
        query, (k, nothing) = label(panel.queries[q], 40), largest(q, slice(None))
        if nothing:  # the mask forbids every key
            return f"{query} looks nowhere"
        return f"{query} looks most at {label(panel.keys[k], 40)}{number(q, k)}"

    token, k = selection.marked(explorer, panel)
    if k is None or (token is not None and largest(token, slice(None))[0] == k):
        return _listed(look, len(panel.queries), token)
    q, nothing = largest(slice(None), k) if token is None else (token, False)
    query, key = label(panel.queries[q], 40), label(panel.keys[k], 40)
    if token is not None:
        return f"{look(q)}; {query} looks at {key}{number(q, k)}"
    if nothing:
        least = selection.short(selection.half_step(panel))
        return f"nobody looks at {key} with {least} or more"
    return f"{key} is looked at most by {query}{number(q, k)}"


def _changes(explorer: AttentionExplorer, panel: Panel) -> str:
    """For each query, or for the marked one, the key whose weight differs most."""

    def largest(*where: int | slice) -> tuple[int, int]:
        gaps = selection.gaps(explorer, panel, *where)
        at = int(np.abs(gaps).argmax())
        return at, int(gaps[at])

    def change(q: int) -> str:
        (k, gap), query = largest(q), label(panel.queries[q], 40)
        if not gap:
            return f"{query} changes nowhere"
        return f"{query} changes most at {label(panel.keys[k], 40)} ({signed(gap)})"

    token, k = selection.marked(explorer, panel)
    if k is None:
        return _listed(change, len(panel.queries), token)
    key = label(panel.keys[k], 40)
    if token is None:
        q, gap = largest(slice(None), k)
        most = f"at {key}, {label(panel.queries[q], 40)} changes most ({signed(gap)})"
        return most if gap else f"no query changes at {key}"
    at, other = selection.layer_and_head(explorer, panel), selection.subtracted(explorer, panel)
    ours, theirs = (p.weights[at][token, k] for p in (panel, other))
    return (
        f"{label(panel.queries[token], 40)} looks at {key} ({ours:.3f}; {label(other.name, 40)}: "
        f"{theirs:.3f}, difference {signed(largest(token, k)[1])})"
    )


def _broken(explorer: AttentionExplorer, panel: Panel) -> str:
    """How many weights of the chosen head are not 0 although the mask forbids them."""
    count = int(selection.broken(explorer, panel).sum())
    if count == 1:
        return "1 weight that the mask forbids is not 0."
    return f"{count:,} weights that the mask forbids are not 0." if count else ""


def _gold(explorer: AttentionExplorer, panel: Panel) -> str:
    """How many queries look most at a gold key; of equal weights each is the largest."""
    if not panel.gold or explorer.view not in ("heatmap", "lines"):
        return ""
    queries = sorted({q for q, _ in panel.gold})
    weights = panel.weights[selection.layer_and_head(explorer, panel)]
    rows = dict(zip(queries, selection.steps(panel, weights[queries])))
    right = {q for q, k in panel.gold if rows[q][k] == rows[q].max() > 0}
    look = "query looks" if len(rows) == 1 else "queries look"
    return f"In this head {len(right)} of {len(rows)} {look} most at a gold key."


def _listed(say, rows: int, only: int | None) -> str:
    """What ``say`` says of the first rows, or of one."""
    if only is not None:
        return say(only)
    sentences, rest = [say(row) for row in range(min(rows, MOST_ROWS))], rows - MOST_ROWS
    if rest > 0:
        sentences.append(f"and {rest} more row{'s' if rest > 1 else ''}")
    return "; ".join(sentences)
