"""The live figure behind ``utils.notebook.cells.play``: sliders above a picture and a sentence."""

from base64 import b64encode
from html import escape

import ipywidgets as widgets

from utils.notebook.cells import draw_once


class LiveFigure(widgets.VBox):
    """Sliders, the figure, and the figure in words (which is also what a screen reader reads)."""

    def __init__(self, draw, sliders: dict, *, animate: bool = False):
        self._draw = draw
        self._controls = {name: _control(name, spec) for name, spec in sliders.items()}
        self._image = widgets.Image(
            format="png", layout={"max_width": "100%", "align_self": "flex-start"}
        )
        self._caption = widgets.HTML()  # a Label would cut the sentence at the first line's end
        self._update()
        for control in self._controls.values():
            control.observe(self._update, names="value")
        rows = list(self._controls.values())
        if animate and not rows:
            raise ValueError("there must be a slider to animate, got none")
        if animate:
            rows[0] = widgets.HBox([_play_button(rows[0]), rows[0]])
        super().__init__([*rows, self._image, self._caption])

    @property
    def values(self) -> dict:
        """The sliders' values by name."""
        return {name: control.value for name, control in self._controls.items()}

    def set(self, **values) -> None:
        """Move sliders from code: ``figure.set(temperature=0.5)``."""
        for name, value in values.items():
            if name not in self._controls:
                raise ValueError(f"there is no slider {name!r}; there are {list(self._controls)}")
            self._controls[name].value = value

    def _update(self, change=None):
        png, self._alt = draw_once(self._draw, self.values)
        self._image.value = png
        self._caption.value = escape(self._alt)

    def __repr__(self):
        values = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"LiveFigure({values}): {self._alt}"

    def _repr_mimebundle_(self, include=None, exclude=None, **kwargs):
        # What ipywidgets 8 returns, and the picture for viewers without a kernel.  (7.7, Colab's,
        # has no such method: there IPython finds `_ipython_display_` first and shows the view.)
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        data = {
            "text/plain": repr(self),
            "image/png": b64encode(self._image.value).decode(),  # a string: JSON has no bytes
            "application/vnd.jupyter.widget-view+json": view,
        }
        return data, {"image/png": {"alt": self._alt}}


def _control(name, spec):
    label = name.replace("_", " ")
    wide = {"style": {"description_width": "8em"}, "layout": {"width": "min(28em, 95%)"}}
    if isinstance(spec, list):
        return widgets.SelectionSlider(options=spec, description=label, **wide)
    if not isinstance(spec, tuple) or len(spec) != 4:
        raise ValueError(f"slider {name!r} must be (first, last, step, start), got {spec!r}")
    first, last, step, start = spec
    if not first <= start <= last:
        raise ValueError(f"slider {name!r} must start from {first} to {last}, got {start}")
    whole = all(isinstance(number, int) for number in spec)
    kind = widgets.IntSlider if whole else widgets.FloatSlider
    return kind(value=start, min=first, max=last, step=step, description=label, **wide)


def _play_button(slider):
    if not isinstance(slider, widgets.IntSlider):
        raise ValueError("only a slider over whole numbers can be animated")
    button = widgets.Play(
        value=slider.value, min=slider.min, max=slider.max, step=slider.step, interval=700
    )
    widgets.link((button, "value"), (slider, "value"))
    return button
