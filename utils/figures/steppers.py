"""Figures that are drawn one step at a time, for a slider or a play button."""

import numpy as np

from utils.figures.canvas import COLOURS, INK, new_figure, show, to_array


def plot_scores_step(q, k, step: int) -> None:
    """The score table q kᵀ after ``step`` of its M·N entries; one step more is the whole product.

    q (M, d) on the left, kᵀ (d, N) above, the table between them: the row and the column that
    make the newest entry are framed.
    """
    q, k = to_array(q), to_array(k)
    (num_queries, width), num_keys = q.shape, len(k)
    last = num_queries * num_keys
    if not 0 <= step <= last + 1:
        raise ValueError(f"step must lie between 0 and {last + 1}, got {step}")
    scores = q @ k.T
    done = np.arange(last).reshape(num_queries, num_keys) < step
    newest = divmod(step - 1, num_keys) if 1 <= step <= last else None

    fig, (ax,) = new_figure(5.0, 4.2)
    gap = 0.7
    _draw_table(ax, k.T, left=width + gap, top=0, name="kᵀ", colour=COLOURS[1])
    _draw_table(ax, q, left=0, top=width + gap, name="q", colour=COLOURS[0])
    _draw_table(
        ax, scores, left=width + gap, top=width + gap, name="scores", colour=COLOURS[2], known=done
    )
    if newest is not None:
        i, j = newest
        _frame(ax, 0, width + gap + i, width, 1, COLOURS[0])
        _frame(ax, width + gap + j, 0, 1, width, COLOURS[1])
        _frame(ax, width + gap + j, width + gap + i, 1, 1, COLOURS[2])
        terms = " + ".join(f"{a:g}·{b:g}" for a, b in zip(q[i], k[j]))
        words = f"step {step}: q{i} · k{j} = {terms} = {scores[i, j]:g}"
    elif step == 0:
        words = f"{num_queries} queries and {num_keys} keys: {last} products to compute"
    else:
        _frame(ax, width + gap, width + gap, num_keys, num_queries, COLOURS[2])
        words = "all at once: scores = q kᵀ, one matrix product"
    ax.set_xlim(-0.9, width + gap + num_keys + 0.2)
    ax.set_ylim(width + gap + num_queries + 0.2, -0.6)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(words)
    show(fig, f"{words}. {int(done.sum())} of {last} scores are filled in.", crop=False)


def _draw_table(ax, table, left, top, name, colour, known=None):
    rows, columns = table.shape
    for i in range(rows):
        for j in range(columns):
            filled = known is None or known[i, j]
            face = colour if filled else "white"
            ax.fill(
                [left + j, left + j + 1, left + j + 1, left + j],
                [top + i, top + i, top + i + 1, top + i + 1],
                facecolor=face, alpha=0.22 if filled else 1, edgecolor="none",
            )  # fmt: skip
            ax.plot(
                [left + j, left + j + 1, left + j + 1, left + j, left + j],
                [top + i, top + i, top + i + 1, top + i + 1, top + i],
                color="#bbbbbb", linewidth=0.8,
            )  # fmt: skip
            if filled:
                text = f"{table[i, j]:g}"
                ax.text(left + j + 0.5, top + i + 0.5, text, ha="center", va="center", color=INK)
    ax.text(left + columns / 2, top - 0.25, name, ha="center", weight="bold", color=colour)


def _frame(ax, left, top, width, height, colour):
    xs = [left, left + width, left + width, left, left]
    ys = [top, top, top + height, top + height, top]
    ax.plot(xs, ys, color=colour, linewidth=3, zorder=3)
