"""Fonts for words of any script: Chinese must not turn into boxes.

matplotlib's own font has no Chinese, Japanese or Korean.  We put the fonts that this machine has
behind it, glyph by glyph; a word that none of them can draw is shown by its code points
(``U+6CE8 U+610F``), which is ugly but says what happened.
"""

from collections.abc import Sequence
from functools import lru_cache

BASE = "DejaVu Sans"  # comes with matplotlib
# One per platform is enough; the order is the order of preference.
FALLBACKS = (
    "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans TC",
    "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "PingFang SC", "PingFang HK",
    "Hiragino Sans", "Heiti TC", "Arial Unicode MS", "Microsoft YaHei", "Microsoft JhengHei",
    "SimHei", "MS Gothic", "Malgun Gothic", "Noto Sans Arabic", "Noto Naskh Arabic",
)  # fmt: skip


@lru_cache(maxsize=1)
def font_families() -> list[str]:
    """matplotlib's font and, behind it, every fallback that is installed here."""
    from matplotlib import font_manager

    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    return [BASE, *(name for name in FALLBACKS if name in installed)]


def readable(words: Sequence[str], longest: int = 24) -> list[str]:
    """The words as this machine's fonts can draw them, long ones cut with an ellipsis."""
    shown = []
    for word in words:
        text = " ".join(str(word).split()) or "␣"  # an empty token is still a token
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        if all(_has_glyph(letter) for letter in text):
            shown.append(text.replace("$", r"\$"))  # a dollar sign would start a formula
        else:
            points = " ".join(f"U+{ord(letter):04X}" for letter in text[:3])
            shown.append(points if len(text) <= 3 else points + "…")
    return shown


def widest(words: Sequence[str], size: float) -> float:
    """Inches that the widest of these words takes, measured with the fonts in use."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure()
    renderer = FigureCanvasAgg(fig).get_renderer()
    texts = (fig.text(0, 0, word, size=size, family=font_families()) for word in words)
    return max(text.get_window_extent(renderer).width for text in texts) / fig.dpi


@lru_cache(maxsize=4096)
def _has_glyph(letter: str) -> bool:
    return any(ord(letter) in charmap for charmap in _charmaps())


@lru_cache(maxsize=1)
def _charmaps() -> list[dict]:
    from matplotlib import font_manager

    paths = [font_manager.findfont(name) for name in font_families()]
    return [font_manager.get_font(path).get_charmap() for path in paths]
