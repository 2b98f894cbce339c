"""A sheet of pixels to draw the still picture on: text in any script, maps, frames, curves.

Pillow draws a label in a tenth of a millisecond, matplotlib in two; every showing of the widget
waits for its picture, so this matters.  Positions and sizes are pixels from the top left.
"""

from __future__ import annotations

import io
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont, features

# From nothing to everything: one hue that only gets darker, readable without colour vision too.
# explorer.js draws with the same stops (its RAMP.light).
STOPS = ("#ffffff", "#dcebf5", "#a9cfe5", "#62a3cf", "#2b6fae", "#134583", "#0a2350")
INK, QUIET, RULE, ACCENT, LINE, GOLD = (
    "#1f2328", "#5b6570", "#c8ced4", "#c2410c", "#2b6fae", "#d97706",
)  # fmt: skip
OWN = "…⏎⇥␣∅"  # beyond Latin, DejaVu Sans has these: no need to look at other fonts
FINE = 3  # curves are drawn three times as large and then shrunk, which smooths their edges


def rgb(colour: str) -> tuple[int, int, int]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def blend(start: str, end: str, count: int) -> np.ndarray:
    """``count`` colours from one to the other, (count, 3)."""
    return np.linspace(rgb(start), rgb(end), count).round().astype(np.uint8)


@lru_cache(maxsize=1)
def ramp() -> np.ndarray:
    """256 colours for weights from 0 to 1, (256, 3)."""
    at = np.linspace(0, 1, len(STOPS))
    stops = np.array([rgb(stop) for stop in STOPS])
    levels = np.linspace(0, 1, 256)
    return (
        np.stack([np.interp(levels, at, stops[:, c]) for c in range(3)], 1).round().astype(np.uint8)
    )


@lru_cache(maxsize=1)
def palette() -> Image.Image:
    """The colours a sheet without a photograph needs: a byte a pixel makes a small file."""
    shades = [
        ramp()[::2], blend("#ffffff", INK, 40), blend("#ffffff", QUIET, 20),
        blend("#ffffff", ACCENT, 20), blend("#ffffff", LINE, 32), blend(GOLD, "#ffffff", 8),
        np.array([rgb(RULE)] * 8, np.uint8),
    ]  # fmt: skip
    image = Image.new("P", (1, 1))
    image.putpalette(np.concatenate(shades)[:256].tobytes())
    return image


@lru_cache(maxsize=64)
def _font(path: str, index: int, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size, index=index)


@lru_cache(maxsize=2)
def _own_font(bold: bool) -> str:
    """DejaVu Sans, which matplotlib carries, so that there is always a font."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    # Found without importing matplotlib, which takes a fifth of a second.
    package = Path(find_spec("matplotlib").origin).parent
    path = package / "mpl-data" / "fonts" / "ttf" / name
    if not path.exists():
        import matplotlib

        path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name
    return str(path)


@lru_cache(maxsize=1)
def _other_fonts() -> list[tuple[str, int, frozenset[int]]]:
    """Fonts for other scripts on this machine: path, number inside the file, letters it has."""
    from matplotlib import font_manager

    from utils.fonts import font_families

    fonts = []
    for family in font_families():
        path = font_manager.findfont(family)
        letters = frozenset(font_manager.get_font(path).get_charmap())
        fonts.append((str(getattr(path, "path", path)), getattr(path, "face_index", 0), letters))
    return fonts


@lru_cache(maxsize=4096)
def _font_for(text: str) -> tuple[str, int] | None:
    """A font that has every letter of ``text``; None if there is none here."""
    right_to_left = any("\u0590" <= letter <= "\u08ff" for letter in text)
    if right_to_left and not features.check("raqm"):
        return None  # without shaping the letters would stand apart and backwards
    needed = {ord(letter) for letter in text}
    for path, index, letters in _other_fonts():
        if needed <= letters:
            return path, index
    return None


class Sheet:
    """A white page of a given size."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = int(np.ceil(width)), int(np.ceil(height))
        self.image = Image.new("RGB", (self.width, self.height), "white")
        self.pen = ImageDraw.Draw(self.image)
        self.photographs = False

    def _dress(self, text: str, size: int, bold: bool) -> tuple[str, ImageFont.FreeTypeFont]:
        if all(letter < "\u0250" or letter in OWN for letter in text):
            return text, _font(_own_font(bold), 0, size)
        found = _font_for(text)
        if found is None:  # say which letters they are, rather than draw boxes
            text = " ".join(f"U+{ord(letter):04X}" for letter in text[:4])
            return text, _font(_own_font(bold), 0, max(6, size - 3))
        return text, _font(*found, size)

    def wide(self, text: str, size: int = 12, bold: bool = False) -> float:
        """Pixels that a text takes."""
        text, font = self._dress(text, size, bold)
        return font.getlength(text)

    def text(
        self, x: float, y: float, text: str, size: int = 12, colour: str = INK,
        anchor: str = "lm", bold: bool = False,
    ) -> None:  # fmt: skip
        """One line; ``anchor`` as in Pillow: l, m or r across, then m for the middle."""
        text, font = self._dress(text, size, bold)
        self.pen.text((x, y), text, font=font, fill=colour, anchor=anchor)

    def upward(self, x: float, y: float, text: str, size: int = 12, colour: str = INK) -> None:
        """One line that starts at (x, y) and runs up the page."""
        text, font = self._dress(text, size, False)
        stamp = Image.new("L", (int(font.getlength(text)) + 2, size + 6), 0)
        ImageDraw.Draw(stamp).text((0, stamp.height / 2), text, font=font, fill=255, anchor="lm")
        stamp = stamp.transpose(Image.Transpose.ROTATE_90)
        place = (round(x - stamp.width / 2), round(y - stamp.height))
        self.image.paste(Image.new("RGB", stamp.size, colour), place, stamp)

    def frame(
        self, x: float, y: float, wide: float, tall: float, colour: str = RULE, line: int = 1
    ) -> None:
        """A rectangle around (x, y, wide, tall), drawn just inside."""
        self.pen.rectangle(
            (round(x), round(y), round(x + wide) - 1, round(y + tall) - 1),
            outline=colour,
            width=line,
        )

    def map(
        self, x: float, y: float, wide: float, tall: float, weights: np.ndarray, shades: int = 256
    ) -> None:
        """Weights (M, N) as coloured cells.  Colour follows √weight: small weights stay visible."""
        level = np.rint(np.sqrt(np.clip(weights, 0, 1)) * (shades - 1))
        shade = np.rint(level * (255 / (shades - 1))).astype(np.uint8)
        cells = Image.fromarray(ramp()[shade])
        size = (max(1, round(wide)), max(1, round(tall)))
        self.image.paste(cells.resize(size, Image.Resampling.NEAREST), (round(x), round(y)))

    def hatch(self, x: float, y: float, cell: float, mask: np.ndarray) -> None:
        """Grey stripes over the cells where ``mask`` is False."""
        rows, columns = mask.shape
        size = (round(cell * columns), round(cell * rows))
        where = Image.fromarray((~mask).astype(np.uint8) * 255).resize(
            size, Image.Resampling.NEAREST
        )
        across = np.add.outer(np.arange(size[1]), np.arange(size[0])) % 5 == 0
        stripes = np.where(across, np.uint8(150), np.uint8(40)) * (np.asarray(where) > 0)
        grey = Image.new("RGB", size, "#8b949d")
        self.image.paste(grey, (round(x), round(y)), Image.fromarray(stripes.astype(np.uint8)))

    def photograph(self, x: float, y: float, picture: np.ndarray, wide: float, tall: float) -> None:
        """A picture (H, W, 3), scaled to the place."""
        self.photographs = True
        size = (round(wide), round(tall))
        resized = Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS)
        self.image.paste(resized, (round(x), round(y)))

    def curves(
        self, x: float, y: float, wide: float, tall: float,
        links: list[tuple[float, float, float]],
    ) -> None:  # fmt: skip
        """Gentle curves from left to right: (height at the left, height at the right, weight)."""
        big = Image.new("RGB", (round(wide) * FINE, round(tall) * FINE), "white")
        pen = ImageDraw.Draw(big)
        t = np.linspace(0, 1, 33)
        along, down = 1.5 * t - 1.5 * t**2 + t**3, t * t * (3 - 2 * t)
        shades = blend("#ffffff", LINE, 101)
        for start, end, weight in sorted(links, key=lambda link: link[2]):
            points = np.stack([along * big.width, (start + (end - start) * down) * FINE], 1)
            colour = tuple(int(c) for c in shades[min(100, int(35 + 65 * weight**0.5))])
            pen.line(
                [tuple(point) for point in points.tolist()], colour,
                max(1, round(weight * 8 * FINE)), joint="curve",
            )  # fmt: skip
        self.image.paste(big.reduce(FINE), (round(x), round(y)))

    def png(self) -> bytes:
        buffer = io.BytesIO()
        image = self.image
        if not self.photographs:
            small = image.quantize(palette=palette(), dither=Image.Dither.NONE)
            # Pillow finds a colour that is near, not the nearest; paper must be white.
            red, green, blue = (np.asarray(band) for band in image.split())
            numbers = np.where(red & green & blue == 255, np.uint8(0), np.asarray(small))
            image = Image.fromarray(numbers)
            image.putpalette(small.getpalette())
        image.save(buffer, "PNG")
        return buffer.getvalue()
