"""Stored results: read a table of ``data/results/``, and draw it with its spread over seeds.

The tables are what `make results` has measured; their head names seeds, versions and command.
"""

from pathlib import Path

import numpy as np

from utils.figures.canvas import COLOURS, GRID, INK, MARKERS, blank_figure, course_style, show
from utils.fonts import readable

FOLDER = Path(__file__).resolve().parents[2] / "data" / "results"
HEAD = ("about", "command", "code", "seeds", "versions", "seconds", "rows")


def header_of(table: Path) -> dict[str, str]:
    """What the lines ``# key: value`` at the beginning of a table say."""
    lines = table.read_text(encoding="utf-8").splitlines()
    head = dict(line[2:].split(": ", 1) for line in lines if line[:2] == "# " and ": " in line)
    if lacking := [key for key in HEAD if key not in head]:
        raise ValueError(
            f"{table.name} lacks {', '.join(lacking)} in its head: "
            f"run `make results ONLY={table.stem}`"
        )
    return head


def read_results(name: str, *, role: str = "test", folder: Path = FOLDER):
    """The table ``name`` as a pandas DataFrame; ``attrs`` holds its head: seeds, versions, ...

    ``role="validation"`` gives the rows by which settings were chosen.
    """
    import pandas as pd

    table = folder / f"{name}.csv"
    if not table.is_file():
        there = ", ".join(sorted(file.stem for file in folder.glob("*.csv"))) or "none"
        raise ValueError(f"there are no stored results {name!r}; there are: {there}")
    head = header_of(table)
    try:
        frame = pd.read_csv(table, comment="#")
        broken = len(frame) != int(head["rows"]) or frame.isna().any(axis=None)
        frame = frame[frame["role"] == role].drop(columns="role").reset_index(drop=True)
    except (ValueError, KeyError):  # pandas' own errors for a broken table are ValueErrors
        broken = True
    if broken:
        raise ValueError(f"{table.name} is broken: it must hold {head['rows']} whole rows")
    frame.attrs = head
    return frame


def plot_results(
    results,
    *,
    x: str,
    y: str,
    by: str,
    title: str | None = None,
    target: tuple[float, str] | None = None,
    log: bool = False,
    ylim: tuple[float, float] | None = None,
) -> None:
    """Column ``y`` over column ``x``, one colour for each value of ``by``, with every seed.

    The line joins the means; the band, or the whisker where ``x`` holds words, goes from the worst
    seed to the best.  ``log`` spaces ``x`` by its logarithm.  ``target`` draws a dashed line.
    """
    if lacking := [name for name in (x, y, by, "seed") if name not in results.columns]:
        there = ", ".join(map(str, results.columns))
        raise ValueError(f"the table has no column {', '.join(lacking)}; it has {there}")
    if results.empty or not np.isfinite(results[y].to_numpy(float)).all():
        raise ValueError(f"every row must have a number as {y}, got {results[y].tolist()}")
    words = results[x].dtype.kind not in "iuf"
    places = list(results[x].unique()) if words else sorted(results[x].unique())
    fig, alt = blank_figure(6.4, 3.4), []
    with course_style():
        ax = fig.add_subplot()
        for i, (name, part) in enumerate(results.groupby(by, sort=False)):
            look = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
            of = part.groupby(x, sort=False)[y].agg(["mean", "min", "max"])
            of = of.reindex([place for place in places if place in of.index])
            groups = results[by].nunique()
            shift = 0.6 * ((i + 0.5) / groups - 0.5) if words else 0
            at = [places.index(p) + shift for p in of.index] if words else list(of.index)
            each = [places.index(p) + shift for p in part[x]] if words else part[x]
            line = "" if words else "-"
            ax.plot(at, of["mean"], linestyle=line, markersize=6, label=str(name), **look)
            ax.scatter(each, part[y], s=9, alpha=0.55, linewidths=0, zorder=3, **look)
            if words:
                ax.vlines(at, of["min"], of["max"], color=look["color"])
            else:
                ax.fill_between(at, of["min"], of["max"], color=look["color"], alpha=0.18, lw=0)
            said = (f"{p} {m:.2f} ({a:.2f} to {b:.2f})" for p, m, a, b in of.itertuples())
            alt.append(f"{name}: " + ", ".join(said))
        if words:
            ax.set_xticks(range(len(places)), readable([str(place) for place in places]))
        else:
            if log:
                ax.set_xscale("log")
            ax.set_xticks(places, [f"{place:g}" for place in places])
            ax.minorticks_off()
        if target is not None:
            ax.axhline(target[0], color=INK, linestyle="--", linewidth=1, label=target[1])
        if ylim is not None:
            ax.set_ylim(ylim)
        ax.set(xlabel=x, ylabel=y)
        ax.set_title(title or f"{y} by {x}")
        ax.grid(color=GRID, linewidth=0.6)
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    seeds = results["seed"].nunique()
    spread = f"mean of {seeds} seeds (lowest to highest)" if seeds > 1 else "one seed"
    show(fig, f"{title or f'{y} by {x}'}. {y} by {x}, {spread}. {'; '.join(alt)}.", crop=False)
