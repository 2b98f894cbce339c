"""What lives in a notebook's cell: a figure with sliders, and the source of a function."""

import inspect
from collections.abc import Callable

from utils.figures.canvas import collect


def play(draw: Callable[..., None], *, animate: bool = False, **sliders) -> "object":
    """A live figure: ``draw(**values)`` is drawn again whenever a slider moves.

    Each slider is ``name=(first, last, step, start)``, whole numbers or not, or a list of choices.
    ``draw`` calls any helper of ``utils.figures``.  With ``animate`` the first slider gets a play
    button.  Without a kernel (GitHub, a saved notebook) the figure at the start values is shown.
    """
    from utils.notebook.live import LiveFigure  # ipywidgets is only imported when it is used

    return LiveFigure(draw, sliders, animate=animate)


def show_source(*things) -> None:
    """Show the source of functions or classes, as they stand in the library."""
    from IPython.display import display

    for thing in things:
        # cells are cut at the left margin, so a method is shown as it would be written there
        source = inspect.cleandoc("\n" + inspect.getsource(thing))
        bundle = {"text/markdown": f"```python\n{source}\n```", "text/plain": source}
        display(bundle, raw=True)


def draw_once(draw: Callable[..., None], values: dict) -> tuple[bytes, str]:
    """Call ``draw(**values)`` and return the one figure it makes as ``(png, alt)``."""
    with collect() as figures:
        draw(**values)
    if len(figures) != 1:
        raise ValueError(f"draw must show exactly one figure, it showed {len(figures)}")
    return figures[0]
