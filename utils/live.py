"""The live figure behind ``utils.notebook.play``: sliders above a picture and a sentence."""

from base64 import b64encode

import ipywidgets as widgets

from utils.notebook import draw_once


class LiveFigure(widgets.VBox):
    """Sliders, the figure, and the figure in words (which is also what a screen reader reads)."""

    def __init__(self, draw, sliders: dict, *, animate: bool = False):
        self._draw = draw
        self._controls = {name: _control(name, spec) for name, spec in sliders.items()}
        self._image = widgets.Image(
            format="png", layout={"max_width": "100%", "align_self": "flex-start"}
        )
        self._caption = widgets.Label()
        self._update()
        for control in self._controls.values():
            control.observe(self._update, names="value")
        rows = list(self._controls.values())
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
        self._caption.value = self._alt

    def __repr__(self):
        values = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"LiveFigure({values}): {self._alt}"

    def _repr_mimebundle_(self, include=None, exclude=None, **kwargs):
        # ipywidgets 8 returns the bundle, 7.7 (Colab) displays by itself and has no such method
        view = super()._repr_mimebundle_(include=include, exclude=exclude, **kwargs)
        data, metadata = view if isinstance(view, tuple) else (view, {})
        png = b64encode(self._image.value).decode()
        data = {**data, "image/png": png, "text/plain": repr(self)}
        return data, {**metadata, "image/png": {"alt": self._alt}}


def _control(name, spec):
    label = name.replace("_", " ")
    wide = {"style": {"description_width": "8em"}, "layout": {"width": "min(28em, 95%)"}}
    if isinstance(spec, list):
        return widgets.SelectionSlider(options=spec, description=label, **wide)
    first, last, step, start = spec
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    return kind(value=start, min=first, max=last, step=step, description=label, **wide)


def _play_button(slider):
    if not isinstance(slider, widgets.IntSlider):
        raise ValueError("only a slider over whole numbers can be animated")
    button = widgets.Play(
        value=slider.value, min=slider.min, max=slider.max, step=slider.step, interval=700
    )
    widgets.link((button, "value"), (slider, "value"))
    return button
