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

Image.preinit()  # loads Pillow's file formats: not only when a student waits for a picture

# From nothing to everything: one hue that only gets darker, readable without colour vision too.
# js/colours.js has the same colours (its RAMP.light and HEAD_COLOURS).
STOPS = ("#ffffff", "#dcebf5", "#a9cfe5", "#62a3cf", "#2b6fae", "#134583", "#0a2350")
HEAD_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
    "#6a51a3", "#8c6d31", "#17a2a2", "#b2182b", "#7f7f7f", "#66a61e",
)  # fmt: skip
INK, QUIET, RULE, ACCENT, LINE, GOLD = (
    "#1f2328", "#5b6570", "#c8ced4", "#c2410c", "#2b6fae", "#d97706",
)  # fmt: skip
OWN = "…⏎⇥␣∅−"  # beyond Latin, DejaVu Sans has these: no need to look at other fonts
JOINERS = "\u200c\u200d"  # invisible, but letters take their shape from them, as in Persian
MOST_CODES = 4  # of a token that no font here has: more would be wider than any word
FINE = 2  # curves are drawn twice as large and then shrunk, which smooths their edges


def rgb(colour: str) -> tuple[int, int, int]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


@lru_cache(maxsize=32)
def blend(start: str, end: str, count: int) -> np.ndarray:
    """``count`` colours from one to the other, (count, 3)."""
    return np.linspace(rgb(start), rgb(end), count).round().astype(np.uint8)


@lru_cache(maxsize=1)
def ramp() -> np.ndarray:
    """256 colours from the first stop to the last, (256, 3)."""
    at = np.linspace(0, 1, len(STOPS))
    channels = np.array([rgb(stop) for stop in STOPS]).T
    levels = np.linspace(0, 1, 256)
    return np.stack([np.interp(levels, at, c) for c in channels], 1).round().astype(np.uint8)


def shade(weights: np.ndarray) -> np.ndarray:
    """Number of each weight's colour in the ramp: by √weight, so that small ones stay visible."""
    return np.rint(np.sqrt(np.clip(weights, 0, 1)) * 255).astype(np.uint8)


def luminance(colours: np.ndarray) -> np.ndarray:
    """How light colours (..., 3) are, 0 to 1, as the accessibility guidelines (WCAG) measure it."""
    c = np.asarray(colours) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


@lru_cache(maxsize=1)
def inks() -> list[str]:
    """For each colour of the ramp the ink that reads best on it: dark or white."""
    light = luminance(ramp()) + 0.05
    dark_is_better = light / (luminance(rgb(INK)) + 0.05) >= 1.05 / light
    return [INK if dark else "#ffffff" for dark in dark_is_better]


@lru_cache(maxsize=2)
def palette(kind: str) -> Image.Image:
    """The colours a sheet without a photograph needs: a byte a pixel makes a small file."""
    shades = {
        "weights": [ramp()[::2], blend("#ffffff", LINE, 32)],
        "heads": [blend("#ffffff", colour, 13)[1:] for colour in HEAD_COLOURS],
    }[kind]
    shades = [
        np.array([rgb("#ffffff")], np.uint8), *shades, blend("#ffffff", INK, 40),
        blend("#ffffff", QUIET, 20), blend("#ffffff", ACCENT, 20), blend(GOLD, "#ffffff", 8),
        np.array([rgb(RULE)] * 8, np.uint8),
    ]  # fmt: skip
    image = Image.new("P", (1, 1))
    image.putpalette(np.concatenate(shades)[:256].tobytes())
    return image


@lru_cache(maxsize=64)
def _font(path: str, index: int, size: int, latin: bool = False) -> ImageFont.FreeTypeFont:
    # Latin letters need no shaping, and without it a label takes half the time.
    engine = ImageFont.Layout.BASIC if latin else None
    return ImageFont.truetype(path, size, index=index, layout_engine=engine)


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


@lru_cache(maxsize=1)
def _shapes() -> bool:
    """Can this Pillow join letters, and write from right to left?"""
    return features.check("raqm")


@lru_cache(maxsize=4096)
def _font_for(text: str) -> tuple[str, int] | None:
    """A font that has every letter of ``text``; None if there is none here."""
    right_to_left = any("\u0590" <= letter <= "\u08ff" for letter in text)
    if right_to_left and not _shapes():
        return None  # without shaping the letters would stand apart and backwards
    needed = {ord(letter) for letter in text if letter not in JOINERS}
    for path, index, letters in _other_fonts():
        if needed <= letters:
            return path, index
    return None


def _plain(text: str) -> bool:
    return all(letter < "\u0250" or letter in OWN for letter in text)


@lru_cache(maxsize=4096)
def writable(text: str) -> bool:
    """Is there a font here that has every letter?"""
    return _plain(text) or _font_for(text) is not None


def code_points(text: str) -> str:
    """Which letters they are, where they cannot be drawn: better than boxes."""
    codes = [f"U+{ord(letter):04X}" for letter in text[:MOST_CODES]]
    return " ".join(codes + ["…"] * (len(text) > MOST_CODES))


@lru_cache(maxsize=4096)
def _dressed(text: str, size: int, bold: bool) -> tuple[str, ImageFont.FreeTypeFont]:
    """The text as it can be written here, and the font for it."""
    if not writable(text):
        text = code_points(text)
    if text.startswith("U+"):  # these are long
        size = max(6, size - 3)
    if _plain(text):
        return text, _font(_own_font(bold), 0, size, True)
    found = _font_for(text)
    if not _shapes():  # then joiners have no use, and would be boxes
        text = text.translate(dict.fromkeys(map(ord, JOINERS)))
    return text, _font(*found, size)


@lru_cache(maxsize=4096)
def _wide(text: str, size: int, bold: bool) -> float:
    text, font = _dressed(text, size, bold)
    return font.getlength(text)


class Sheet:
    """A white page of a given size; ``kind`` says which colours it needs, see `palette`."""

    def __init__(self, width: float, height: float, kind: str = "weights") -> None:
        self.width, self.height = int(np.ceil(width)), int(np.ceil(height))
        self.image = Image.new("RGB", (self.width, self.height), "white")
        self.pen = ImageDraw.Draw(self.image)
        self.kind, self.photographs = kind, False

    def wide(self, text: str, size: int = 12, bold: bool = False) -> float:
        """Pixels that a text takes."""
        return _wide(text, size, bold)

    def short(self, text: str, size: int, room: float) -> str:
        """The text, cut with … if it takes more than ``room`` pixels."""
        if self.wide(text, size) <= room:
            return text
        while text and self.wide(text + "…", size) > room:
            text = text[:-1]
        return text + "…"

    def text(
        self, x: float, y: float, text: str, size: int = 12, colour: str = INK,
        anchor: str = "lm", bold: bool = False,
    ) -> None:  # fmt: skip
        """One line; ``anchor`` as in Pillow: l, m or r across, then m for the middle."""
        text, font = _dressed(text, size, bold)
        self.pen.text((x, y), text, font=font, fill=colour, anchor=anchor)

    def upward(
        self, places: list[float], y: float, texts: list[str], size: int = 12, colour: str = INK
    ) -> None:
        """Lines that start at height y, each at its own place across, and run up the page."""
        dressed = [_dressed(text, size, False) for text in texts]
        tall = max(int(font.getlength(text)) for text, font in dressed) + 2
        stamp = Image.new("L", (tall, self.width), 0)  # all of them lying down, then turned
        pen = ImageDraw.Draw(stamp)
        for x, (text, font) in zip(places, dressed):
            pen.text((0, x), text, font=font, fill=255, anchor="lm")
        stamp = stamp.transpose(Image.Transpose.ROTATE_90)
        self.image.paste(rgb(colour), (0, round(y) - tall), stamp)

    def frame(
        self, x: float, y: float, wide: float, tall: float, colour: str = RULE, line: int = 1
    ) -> None:
        """A rectangle around (x, y, wide, tall), drawn just inside."""
        self.pen.rectangle(
            (round(x), round(y), round(x + wide) - 1, round(y + tall) - 1),
            outline=colour,
            width=line,
        )

    def map(self, x: float, y: float, wide: float, tall: float, weights: np.ndarray) -> None:
        """Weights (M, N) as coloured cells."""
        cells = Image.fromarray(ramp()[shade(weights)])
        size = (max(1, round(wide)), max(1, round(tall)))
        self.image.paste(cells.resize(size, Image.Resampling.NEAREST), (round(x), round(y)))

    def hatch(
        self, x: float, y: float, cell: float, mask: np.ndarray, colour: str = "#8b949d",
        veil: int = 40,
    ) -> None:  # fmt: skip
        """Stripes over the cells where ``mask`` is False, with a thin veil between them."""
        rows, columns = mask.shape
        size = (round(cell * columns), round(cell * rows))
        where = Image.fromarray((~mask).astype(np.uint8) * 255).resize(
            size, Image.Resampling.NEAREST
        )
        # Five lines of pixels, each a step further, repeat down the page.
        five = np.add.outer(np.arange(5), np.arange(size[0])) % 5 == 0
        five = np.where(five, np.uint8(150), np.uint8(veil))
        stripes = five[np.arange(size[1]) % 5] & np.asarray(where)
        self.image.paste(rgb(colour), (round(x), round(y)), Image.fromarray(stripes))

    def photograph(self, x: float, y: float, picture: np.ndarray, wide: float, tall: float) -> None:
        """A picture (H, W, 3), scaled to the place."""
        self.photographs = True
        size = (round(wide), round(tall))
        resized = Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS)
        self.image.paste(resized, (round(x), round(y)))

    def curves(
        self, x: float, y: float, wide: float, tall: float,
        links: list[tuple[float, float, float, str]], thick: float,
        gold: list[tuple[float, float]],
    ) -> None:  # fmt: skip
        """Gentle curves from left to right: (height at the left, at the right, weight, colour).

        A curve of weight 1 is ``thick`` pixels thick; over them all go dashed ones in gold.
        """
        big = Image.new("RGB", (round(wide) * FINE, round(tall) * FINE), "white")
        pen = ImageDraw.Draw(big)
        t = np.linspace(0, 1, 21)
        across, down = (1.5 * t - 1.5 * t**2 + t**3) * big.width, t * t * (3 - 2 * t)
        slope = np.gradient(down, across)
        for start, end, weight, line in sorted(links, key=lambda link: link[2]):
            fall = (end - start) * FINE
            middle = start * FINE + fall * down
            # A band whose thickness is measured across the curve, however steep it is.
            half = max(0.5, weight * thick / 2 * FINE) * np.hypot(1, fall * slope)
            above, below = (np.stack([across, middle + side], 1) for side in (-half, half))
            shades = blend("#ffffff", line, 101)
            colour = tuple(int(c) for c in shades[min(100, int(35 + 65 * weight**0.5))])
            pen.polygon(np.concatenate([above, below[::-1]]).ravel().tolist(), colour)
        for start, end in gold:
            middle = (start + (end - start) * down) * FINE
            way = np.append(0, np.hypot(np.diff(across), np.diff(middle)).cumsum())
            ends = np.linspace(0, way[-1], 2 * max(1, round(way[-1] / (8 * FINE))) + 1)
            points = np.stack([np.interp(ends, way, at) for at in (across, middle)], 1).tolist()
            for i in range(0, len(points) - 1, 2):
                pen.line((*points[i], *points[i + 1]), GOLD, round(1.5 * FINE))
        self.image.paste(big.reduce(FINE), (round(x), round(y)))

    def swatch(self, x: float, y: float, kind: str, colour: str) -> None:
        """A small sample for a legend, 12 pixels wide: "fill", "frame", "dash" or "hatch"."""
        if kind == "hatch":
            self.hatch(x, y - 6, 12, np.array([[False]]))
        elif kind == "frame":
            self.frame(x, y - 6, 12, 12, colour, 2)
        elif kind == "dash":
            for i in (0, 7):
                self.pen.line((x + i, y, x + i + 4, y), colour, 2)
        else:
            self.pen.rectangle((x, y - 4, x + 11, y + 4), colour)

    def scale(self, x: float, y: float, wide: int) -> None:
        """All colours from left to right; the ticks lie where `shade` puts their weights."""
        strip = ramp()[np.linspace(0, 255, wide).astype(int)][None].repeat(8, 0)
        self.image.paste(Image.fromarray(strip), (round(x), round(y) - 4))
        self.frame(x - 1, y - 5, wide + 2, 10)
        ticks = (0, 0.05, 0.25, 0.5, 1)
        for tick, level in zip(ticks, shade(np.array(ticks)).tolist()):
            self.text(x + level / 255 * wide, y + 12, f"{tick:g}", 10, QUIET, "mm")

    def plate(self, x: float, y: float, text: str, size: int, level: int) -> None:
        """A patch of one colour of the ramp, behind a text that has its middle there."""
        half, colour = self.wide(text, size) / 2 + 1, tuple(ramp()[level].tolist())
        self.pen.rectangle((x - half, y - size / 2 - 1, x + half, y + size / 2), colour)

    def png(self) -> bytes:
        buffer = io.BytesIO()
        image = self.image
        if not self.photographs:
            small = image.quantize(palette=palette(self.kind), dither=Image.Dither.NONE)
            # Pillow finds a colour that is near, not the nearest; paper must be white.
            red, green, blue = (np.asarray(band) for band in image.split())
            numbers = np.where(red & green & blue == 255, np.uint8(0), np.asarray(small))
            image = Image.fromarray(numbers)
            image.putpalette(small.getpalette())
        image.save(buffer, "PNG", compress_level=3)  # a tenth larger than 6, in half the time
        return buffer.getvalue()
