"""A small painter for notebook 09: put coloured shapes on a grid and read what a model says."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from html import escape

import ipywidgets as widgets

from utils.notebook.cells import draw_once
from utils.tasks.scenes import COLOURS, GRID, SHAPES, Scene, scene_of

SIGNS = {"circle": "●", "square": "■", "triangle": "▲", "cross": "✚"}
NO_SIGN = "\N{NO-BREAK SPACE}"  # given "", the page would leave the last sign standing


class SceneEditor(widgets.VBox):
    """Choose a colour and a shape, click a cell to put it there, click again to take it away.

    ``describers`` are functions by name; ``draw(scene, describer)`` draws one figure and returns
    the caption.  Without a kernel (GitHub, a saved notebook) the first figure is shown.
    """

    def __init__(
        self,
        describers: Mapping[str, Callable],
        draw: Callable[[Scene, Callable], str],
        cells: Mapping[tuple[int, int], str],
    ):
        self._describers, self._draw, self._cells = dict(describers), draw, dict(cells)
        self._alt = self._said = ""
        wide = {"layout": {"width": "18em"}, "style": {"description_width": "5em"}}
        self._colour = widgets.Dropdown(options=list(COLOURS), description="colour", **wide)
        self._shape = widgets.Dropdown(options=list(SHAPES), description="shape", **wide)
        self._model = widgets.Dropdown(options=list(describers), description="system", **wide)
        self._buttons = {}
        for place in ((row, column) for row in range(GRID) for column in range(GRID)):
            button = widgets.Button(layout={"width": "40px", "height": "40px", "padding": "0"})
            button.style.font_size = "22px"
            button.on_click(lambda _, place=place: self._clicked(place))
            self._buttons[place] = button
        grid = widgets.GridBox(
            list(self._buttons.values()), layout={"grid_template_columns": f"repeat({GRID}, 44px)"}
        )
        self._image = widgets.Image(
            format="png", layout={"max_width": "100%", "align_self": "flex-start"}
        )
        self._caption = widgets.HTML()
        self._model.observe(self._update, names="value")
        self._update()
        brush = widgets.VBox([self._colour, self._shape, self._model])
        super().__init__([widgets.HBox([grid, brush]), self._image, self._caption])

    @property
    def scene(self) -> Scene | None:
        """What is on the grid now, None if nothing is."""
        return scene_of(self._cells) if self._cells else None

    def put(self, row: int, column: int, words: str | None) -> None:
        """Put a thing down from code, ``editor.put(0, 2, "red circle")``; None takes it away."""
        if (row, column) not in self._buttons:
            raise ValueError(f"row and column must be from 0 to {GRID - 1}, got {row}, {column}")
        cells = {place: what for place, what in self._cells.items() if place != (row, column)}
        if words is not None:
            cells[row, column] = words
            scene_of(cells)  # raises if it is no thing
        self._cells = cells
        self._update()

    def _clicked(self, place):
        taken = place in self._cells
        self.put(*place, None if taken else f"{self._colour.value} {self._shape.value}")

    def _update(self, change=None):
        for (row, column), button in self._buttons.items():
            what = self._cells.get((row, column))
            colour, shape = what.split() if what else ("", "")
            button.description = SIGNS.get(shape, NO_SIGN)
            button.tooltip = f"row {row}, column {column}: {what or 'nothing'}"
            button.style.text_color = _css(colour) if what else None
        self._image.layout.display = None if self._cells else "none"
        if not self._cells:
            self._said = "Nothing is there yet: choose a colour and a shape, then click a cell."
        else:
            describer, said = self._describers[self._model.value], []
            png, self._alt = draw_once(lambda: said.append(self._draw(self.scene, describer)), {})
            self._image.value, self._said = png, said[0]
        self._caption.value = f"<b>{escape(self._said)}</b>"

    def __repr__(self):
        return f"SceneEditor: {' '.join(self.scene.caption) if self._cells else 'empty'}"

    def _repr_mimebundle_(self, include=None, exclude=None, **kwargs):
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        data = {
            "text/plain": repr(self),
            "image/png": b64encode(self._image.value).decode(),
            "application/vnd.jupyter.widget-view+json": view,
        }
        return data, {"image/png": {"alt": self._alt}}


def _css(colour: str) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in COLOURS[colour])
