"""Drawings for notebook 01: pieces of text, waiting in a recurrent network, and who sees whom.

Each helper draws one figure with a text alternative and returns None, like those of plots.py.
"""

from collections.abc import Mapping, Sequence

from matplotlib.patches import FancyBboxPatch, Rectangle

from utils.figures.canvas import COLOURS, GRID, INK, new_figure, show, to_array
from utils.fonts import readable

MOST_DOTS = 140  # more inputs than this are drawn as a band


def plot_pieces(rows: Mapping[str, Sequence[str]], *, title: str) -> None:
    """The same text cut in several ways: one row of boxes for each, a box for each piece.

    A space at the border of a piece is shown as ␣, so that one sees to whom it belongs.
    """
    fig, (ax,) = new_figure(8.4, 0.5 * len(rows) + 0.7)
    letter, gap = 1.0, 0.5  # a box is as wide as its text
    right = 0.0
    for row, (name, pieces) in enumerate(rows.items()):
        x = 0.0
        for i, piece in enumerate(pieces):
            width = letter * max(len(piece), 1) + 0.4
            colour = COLOURS[i % 2]
            ax.add_patch(
                Rectangle(
                    (x, row - 0.32), width, 0.64, facecolor=colour, alpha=0.22, edgecolor=colour
                )
            )
            text = readable([piece.replace(" ", "␣").replace("\n", "⏎")])[0]
            ax.text(x + width / 2, row, text, ha="center", va="center", fontsize=9)
            x += width + gap
        right = max(right, x)
        ax.text(-0.8, row, f"{name}: {len(pieces)}", ha="right", va="center", fontsize=9)
    longest = max(len(name) for name in rows) + 4
    ax.set_xlim(-0.75 * longest - 1, right)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.axis("off")
    ax.set_title(title)
    said = (f"{name}, {len(p)} pieces: " + " | ".join(p) for name, p in rows.items())
    show(fig, f"{title}. " + "; ".join(said) + ".")


def plot_min_steps(steps, *, now: int | None = None) -> None:
    """The states of a recurrent network, each with the step (L, N) in which it can be computed.

    With ``now`` the states that are done by then are filled, and those made in that very step are
    framed.
    """
    steps = to_array(steps)
    num_layers, length = steps.shape
    now = int(steps.max()) if now is None else now
    fig, (ax,) = new_figure(0.85 * length + 1.2, 0.95 * num_layers + 1.1)
    for layer in range(num_layers):
        for t in range(length):
            done, new = steps[layer, t] <= now, steps[layer, t] == now
            ax.add_patch(
                FancyBboxPatch(
                    (t - 0.28, layer - 0.22), 0.56, 0.44, boxstyle="round,pad=0.02",
                    facecolor=COLOURS[4] if done else "white",
                    edgecolor=COLOURS[1] if new else "#888888", linewidth=3 if new else 1,
                )
            )  # fmt: skip
            ax.text(t, layer, str(steps[layer, t]), ha="center", va="center", fontsize=12)
            if t:
                _arrow(ax, (t - 0.68, layer), (t - 0.33, layer))
            _arrow(ax, (t, layer - 0.72), (t, layer - 0.28))
        ax.text(-0.5, layer, f"layer {layer + 1}", ha="right", va="center")
    for t in range(length):
        ax.text(t, -0.85, f"x{t + 1}", ha="center", va="center")
    new, done = int((steps == now).sum()), int((steps <= now).sum())
    title = f"Step {now}: {new} computed now, {done} of {steps.size} states are there"
    ax.set_title(title)
    ax.set_xlim(-1.35, length - 0.5)
    ax.set_ylim(-1.05, num_layers - 0.5)
    ax.axis("off")
    rows = (f"layer {i + 1}: {', '.join(map(str, row))}" for i, row in enumerate(steps.tolist()))
    show(fig, f"{title}. The first possible step of each state, {'; '.join(rows)}.")


def plot_receptive_field(layers: int, kernel: int, stride: int) -> None:
    """What one output of stacked convolutions sees: the cone from it down to the inputs."""
    if layers < 1 or kernel < 1 or stride < 1:
        raise ValueError(
            "layers, kernel and stride must be at least 1, "
            f"got layers = {layers}, kernel = {kernel}, stride = {stride}"
        )
    sizes, jumps = [1], [stride**layers]  # from the output down: positions seen, their spacing
    for depth in range(layers - 1, -1, -1):
        sizes.append((sizes[-1] - 1) * stride + kernel)
        jumps.append(stride**depth)
    sees = sizes[-1]

    fig, (ax,) = new_figure(8.0, 0.62 * layers + 1.5)
    margin = max(2, sees // 8)  # inputs left and right that it does not see
    left, right = -sees / 2 - margin, sees / 2 + margin
    for row, (size, jump) in enumerate(zip(sizes, jumps)):
        y, half = layers - row, (size - 1) * jump / 2
        spread = [-half + i * jump for i in range(size)]
        outside = int((right - half) // jump)
        unseen = [side * (half + i * jump) for side in (-1, 1) for i in range(1, outside + 1)]
        if size + len(unseen) <= MOST_DOTS:
            look = {"s": 26 if size < 40 else 10, "zorder": 3}
            ax.scatter(unseen, [y] * len(unseen), color=GRID, **look)
            ax.scatter(spread, [y] * size, color=COLOURS[1 if row == 0 else 0], **look)
        else:
            ax.plot([left, right], [y, y], color=GRID, linewidth=5, solid_capstyle="butt")
            ax.plot([-half, half], [y, y], color=COLOURS[0], linewidth=5, solid_capstyle="butt")
        if row:
            above = (sizes[row - 1] - 1) * jumps[row - 1] / 2
            ax.fill(
                [-above, above, half, -half], [y + 1, y + 1, y, y],
                color=COLOURS[4], alpha=0.25, linewidth=0,
            )  # fmt: skip
        name = "input" if row == layers else f"layer {layers - row}"
        ax.text(left, y + 0.12, f"{name}: {size}", ha="left", va="bottom", fontsize=9, color=INK)
    plural = "s" if layers > 1 else ""
    title = (
        f"{layers} layer{plural}, kernel {kernel}, stride {stride}: one output sees {sees} inputs"
    )
    ax.set_title(title)
    ax.set_xlim(left - 0.5, right + 0.5)
    ax.set_ylim(-0.4, layers + 0.6)
    ax.axis("off")
    show(fig, f"{title}. Seen from the output down to the input: {', '.join(map(str, sizes))}.")


def plot_dependencies(tables: Mapping[str, object], inputs: Sequence[str]) -> None:
    """Which output depends on which input: one boolean table (outputs, inputs) for each name."""
    tables = {name: to_array(table).astype(bool) for name, table in tables.items()}
    for name, table in tables.items():
        if table.ndim != 2 or table.shape[1] != len(inputs):
            raise ValueError(
                f"the table {name!r} must have one column for each of {len(inputs)} inputs, "
                f"got shape {table.shape}"
            )
    fig, axes = new_figure(2.5 * len(tables) + 0.3, 2.9, columns=len(tables))
    for ax, (name, table) in zip(axes, tables.items()):
        for i, row in enumerate(table):
            for j, depends in enumerate(row):
                face = COLOURS[0] if depends else "white"
                ax.add_patch(Rectangle((j, i), 0.94, 0.94, facecolor=face, edgecolor="#bbbbbb"))
        ax.set_xlim(-0.1, len(inputs) + 0.05)
        ax.set_ylim(len(table) + 0.05, -0.1)
        ax.set_aspect("equal")
        ax.set_xticks([j + 0.47 for j in range(len(inputs))], readable(inputs))
        ax.set_yticks(
            [i + 0.47 for i in range(len(table))], [f"b{i + 1}" for i in range(len(table))]
        )
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("input: seen")
        ax.set_title(name, fontsize=10)
    axes[0].set_ylabel("output: sees")
    show(fig, " ".join(_seen(name, table, inputs) for name, table in tables.items()))


def _seen(name, table, inputs):
    rows = (
        f"b{i + 1} sees {', '.join(w for w, d in zip(inputs, row) if d) or 'nothing'}"
        for i, row in enumerate(table)
    )
    return f"{name}: {'; '.join(rows)}."


def _arrow(ax, start, end):
    ax.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": "#888888"})
