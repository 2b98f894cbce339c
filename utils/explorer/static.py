"""The explorer as a still picture and as words, for places where no JavaScript runs."""

from __future__ import annotations

import numpy as np

from . import still_pictures, still_views
from .panels import Panel
from .snapshot import Snapshot, label, short

MOST_ROWS = 12  # said one by one; a longer text nobody listens to


def draw(shot: Snapshot) -> bytes:
    """What is shown as PNG bytes."""
    painters = {"heatmap": still_views.heatmaps, "lines": still_views.lines}
    return painters.get(shot.view, still_pictures.pictures)(shot).png()


def summary(shot: Snapshot) -> str:
    """The explorer in two lines, the same on every machine."""
    at = shot.place(shot.focus)
    view = {
        "heatmap": f"a heatmap of {at}",
        "lines": f"lines from queries to keys for {at}",
        "image": f"the picture under {'' if shot.focus.flow else 'the attention of '}{at}",
        "words": f"one picture for each word under the attention of {at}",
    }[shot.view]
    return f"{shot.name}\nShows {view}. Rows are queries (who looks), columns are keys."


def describe(shot: Snapshot) -> str:
    """What there is to see, in words: for each query the key it looks at most."""
    parts = [f"{shot.title}." if shot.title else "", summary(shot).split("\n")[1]]
    said = shot.place(shot.focus)
    for panel in shot.shown:
        at = shot.place(panel)
        whose = [label(panel.name, 40) if panel.name else "", "" if at == said else at]
        whose = ", ".join(part for part in whose if part)
        parts.append(f"{whose}{': ' if whose else ''}{_looks(shot, panel)}.")
        if not shot.every_head:
            parts += [_broken(shot, panel), _gold(shot, panel)]
    return " ".join(part for part in parts if part)


def _looks(shot: Snapshot, panel: Panel) -> str:
    """For each query, or for the marked one, the key it looks at most."""
    layer, head = shot.at(panel)
    weights = panel.weights[layer]  # (H, M, N)
    weights = weights if shot.every_head else weights[head, None]

    def steps(q: int | slice, k: int | slice) -> np.ndarray:
        # In whole steps, as the page has them: what reads alike is alike to both.
        return panel.steps(np.atleast_1d(weights[:, q, k]))

    def largest(q: int | slice, k: int | slice) -> tuple[int, bool]:
        most = steps(q, k).max(0)
        return int(most.argmax()), not most.any()

    def number(q: int, k: int) -> str:
        loudest = int(steps(q, k).argmax())
        where = f" in head {loudest}" if shot.every_head else ""
        return f"{where} ({weights[loudest, q, k]:.3f})"

    def look(q: int) -> str:
        query, (k, nothing) = label(panel.queries[q], 40), largest(q, slice(None))
        if nothing:  # the mask forbids every key
            return f"{query} looks nowhere"
        return f"{query} looks most at {label(panel.keys[k], 40)}{number(q, k)}"

    token, k = shot.marked(panel)
    if k is None or (token is not None and largest(token, slice(None))[0] == k):
        return _listed(look, len(panel.queries), token)
    q, nothing = largest(slice(None), k) if token is None else (token, False)
    query, key = label(panel.queries[q], 40), label(panel.keys[k], 40)
    if token is not None:
        return f"{look(q)}; {query} looks at {key}{number(q, k)}"
    if nothing:
        return f"nobody looks at {key} with {short(0.5 / panel.top)} or more"
    return f"{key} is looked at most by {query}{number(q, k)}"


def _broken(shot: Snapshot, panel: Panel) -> str:
    """How many weights of the chosen head are not 0 although the mask forbids them."""
    count = int(shot.broken(panel).sum())
    if count == 1:
        return "1 weight that the mask forbids is not 0."
    return f"{count:,} weights that the mask forbids are not 0." if count else ""


def _gold(shot: Snapshot, panel: Panel) -> str:
    """How many queries look most at a gold key; of equal weights each is the largest."""
    if not panel.gold or shot.view not in ("heatmap", "lines"):
        return ""
    queries = sorted({q for q, _ in panel.gold})
    weights = panel.weights[shot.at(panel)]
    rows = dict(zip(queries, panel.steps(weights[queries])))
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
