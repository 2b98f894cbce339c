"""Scenes of coloured shapes with captions, drawn by the course itself.  Notebook 09.

A picture is a grid of 3 × 3 cells; some of them hold a thing, such as a red circle.  The caption
names the things in reading order, and says of each how it lies to the one before:

    a red circle beside a blue square above a green cross

"beside": both in one row, the first one to the left.  "above": the second is in a lower row.  A
scene has one caption only, and each of its words is about a thing whose box is known: so captions
can be compared word by word, and attention can be checked.  The same seed gives the same scenes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from utils.text.vocabulary import BOS, EOS, Batch, Vocabulary, pad

COLOURS = {
    "red": (0.84, 0.10, 0.12),
    "pink": (0.98, 0.56, 0.74),
    "yellow": (0.96, 0.86, 0.10),
    "green": (0.10, 0.60, 0.22),
    "blue": (0.12, 0.30, 0.85),
    "purple": (0.55, 0.16, 0.66),
}
SHAPES = ("circle", "square", "triangle", "cross")
GRID, CELL = 3, 16  # cells a side, pixels a cell
SIDE = GRID * CELL  # pixels of a picture's side
FEWEST, MOST = 1, 4  # things in a scene drawn by chance
RADIUS = (5.4, 7.2)  # pixels
PAPER = 0.95  # brightness of the background


@dataclass(frozen=True)
class Thing:
    """One coloured shape in the cell (row, column), ``dy`` and ``dx`` pixels off its middle."""

    colour: str
    shape: str
    row: int
    column: int
    radius: float = 6.4
    dy: float = 0.0
    dx: float = 0.0

    def __post_init__(self):
        if self.colour not in COLOURS or self.shape not in SHAPES:
            raise ValueError(
                f"a thing is a colour of {list(COLOURS)} and a shape of {list(SHAPES)}, "
                f"got {self.colour!r} and {self.shape!r}"
            )
        if not (0 <= self.row < GRID and 0 <= self.column < GRID):
            raise ValueError(
                f"row and column must be from 0 to {GRID - 1}, got {self.row} and {self.column}"
            )
        if self.radius <= 0 or self.radius + max(abs(self.dy), abs(self.dx)) > CELL / 2:
            raise ValueError(f"the thing must stay in its cell of {CELL} pixels, got {self}")

    @property
    def cell(self) -> int:
        """The number of its cell in reading order: 0 … 8."""
        return self.row * GRID + self.column

    @property
    def centre(self) -> tuple[float, float]:
        return (self.row + 0.5) * CELL + self.dy, (self.column + 0.5) * CELL + self.dx

    @property
    def box(self) -> tuple[float, float, float, float]:
        """(top, left, bottom, right) in pixels."""
        y, x = self.centre
        up, side, down = (reach * self.radius for reach in _REACH[self.shape])
        return y - up, x - side, y + down, x + side


@dataclass(frozen=True)
class Scene:
    """Things in reading order, at most one in a cell."""

    things: tuple[Thing, ...]

    def __post_init__(self):
        cells = [thing.cell for thing in self.things]
        if not cells or cells != sorted(set(cells)):
            raise ValueError(
                "a scene needs at least one thing, in reading order and at most one in a cell, "
                f"got cells {cells}: scene_of(...) sorts them"
            )

    @cached_property
    def _told(self) -> list[tuple[str, int | None]]:
        """Each word of the caption, and the number of the thing that it names (or None)."""
        told, before = [], None
        for number, thing in enumerate(self.things):
            if before is not None:
                told.append(("beside" if before.row == thing.row else "above", None))
            told += [("a", None), (thing.colour, number), (thing.shape, number)]
            before = thing
        return told

    @property
    def caption(self) -> list[str]:
        return [word for word, _ in self._told]

    @property
    def subjects(self) -> list[int | None]:
        """For each word: which thing does it name?  None for "a", "beside" and "above"."""
        return [number for _, number in self._told]

    def __repr__(self) -> str:
        return f"Scene: {' '.join(self.caption)}"


def scene_of(cells: dict[tuple[int, int], str]) -> Scene:
    """A scene by hand: ``scene_of({(0, 1): "red circle", (2, 2): "blue square"})``."""
    things = []
    for (row, column), words in sorted(cells.items()):
        parts = words.split()
        if len(parts) != 2:
            raise ValueError(f"a thing is a colour and a shape, as in 'red circle', got {words!r}")
        things.append(Thing(*parts, row, column))
    return Scene(tuple(things))


def random_scenes(
    count: int, seed: int | np.random.Generator = 0, things: tuple[int, int] = (FEWEST, MOST)
) -> list[Scene]:
    """``count`` scenes with ``things[0]`` to ``things[1]`` things each, the same for each seed."""
    if count < 1 or not 1 <= things[0] <= things[1] <= GRID**2:
        raise ValueError(
            f"count must be positive and things (fewest, most) from 1 to {GRID**2}, "
            f"got count = {count}, things = {things}"
        )
    rng, names = np.random.default_rng(seed), list(COLOURS)
    cells = rng.random((count, GRID**2)).argsort(axis=1)  # a shuffled deck of cells for each scene
    sizes = rng.integers(things[0], things[1] + 1, count)
    colours = rng.integers(len(names), size=cells.shape)
    shapes = rng.integers(len(SHAPES), size=cells.shape)
    radii = rng.uniform(*RADIUS, cells.shape)
    shifts = rng.uniform(-1, 1, (*cells.shape, 2)) * (CELL / 2 - 0.3 - radii)[..., None]
    scenes = []
    for i in range(count):
        chosen = []
        for j, cell in enumerate(sorted(cells[i, : sizes[i]].tolist())):
            size_and_place = (float(radii[i, j]), *map(float, shifts[i, j]))
            look = names[colours[i, j]], SHAPES[shapes[i, j]]
            chosen.append(Thing(*look, *divmod(cell, GRID), *size_and_place))
        scenes.append(Scene(tuple(chosen)))
    return scenes


def draw(scenes: Sequence[Scene], seed: int | np.random.Generator = 0) -> Tensor:
    """The pictures: (B, 3, 48, 48), numbers from 0 to 1.  ``seed`` shakes the shades of paint."""
    rng = np.random.default_rng(seed)
    pictures = np.full((len(scenes), 3, SIDE, SIDE), PAPER, dtype=np.float32)
    places = [(i, thing) for i, scene in enumerate(scenes) for thing in scene.things]
    image = np.array([i for i, _ in places])
    rows = np.array([thing.row for _, thing in places])
    columns = np.array([thing.column for _, thing in places])
    cover = _coverage([thing for _, thing in places])[:, None]  # (things, 1, 16, 16)
    paint = np.array([COLOURS[thing.colour] for _, thing in places], dtype=np.float32)
    paint = paint + rng.uniform(-0.06, 0.06, paint.shape).astype(np.float32)  # no two reds alike

    tiles = pictures.reshape(len(scenes), 3, GRID, CELL, GRID, CELL)
    tiles = tiles.transpose(0, 2, 4, 1, 3, 5)  # (B, row, column, 3, 16, 16), a view
    tiles[image, rows, columns] = PAPER * (1 - cover) + paint[:, :, None, None] * cover
    return torch.from_numpy(pictures.clip(0, 1))


def caption_vocabulary() -> Vocabulary:
    return Vocabulary(["a", "beside", "above", *COLOURS, *SHAPES])


def caption_batch(
    scenes: Sequence[Scene], vocabulary: Vocabulary, seed: int | np.random.Generator = 0
) -> Batch:
    """Pictures as source (B, 3, 48, 48); captions as decoder input and target (B, M)."""
    ids = [vocabulary.encode(scene.caption) for scene in scenes]
    return Batch(
        source=draw(scenes, seed),
        decoder_input=pad([[BOS, *row] for row in ids]),
        target=pad([[*row, EOS] for row in ids]),
    )


def caption_batches(
    vocabulary: Vocabulary,
    batch_size: int = 32,
    seed: int = 0,
    device: torch.device | str = "cpu",
    *,
    things: tuple[int, int] = (FEWEST, MOST),
    growing: int = 0,
) -> Iterator[Batch]:
    """New scenes without end: no picture comes twice, so there is nothing to learn by heart.

    ``growing`` begins with simple pictures: over that many batches the largest number of things
    rises evenly from the fewest to the most.
    """
    rng, done = np.random.default_rng(seed), 0
    fewest, most = things
    while True:
        reached = 1.0 if done >= growing else done / growing
        drawn = random_scenes(batch_size, rng, (fewest, fewest + int(reached * (most - fewest))))
        yield caption_batch(drawn, vocabulary, rng).to(device)
        done += 1


def cell_labels(scenes: Sequence[Scene]) -> tuple[Tensor, Tensor]:
    """What is in each cell: colour (B, 9) and shape (B, 9), 0 = nothing there."""
    colours, shapes = torch.zeros(2, len(scenes), GRID**2, dtype=torch.long)
    names = list(COLOURS)
    for i, scene in enumerate(scenes):
        for thing in scene.things:
            colours[i, thing.cell] = 1 + names.index(thing.colour)
            shapes[i, thing.cell] = 1 + SHAPES.index(thing.shape)
    return colours, shapes


def longest_caption(most: int = MOST) -> int:
    """Words of the longest caption with ``most`` things, <eos> counted."""
    return 4 * most  # "a red circle" each, a relation between two, <eos> at the end


# How far a shape of radius 1 reaches up, to the side and down from its centre.
_REACH = {
    "circle": (1.0, 1.0, 1.0),
    "square": (0.86, 0.86, 0.86),
    "triangle": (1.0, 0.98, 0.75),
    "cross": (1.0, 1.0, 1.0),
}


def _coverage(things: Sequence[Thing]) -> np.ndarray:
    """How much of each pixel of its cell a thing covers, 0 … 1: (things, 16, 16)."""
    middle = np.arange(CELL, dtype=np.float32) + 0.5 - CELL / 2
    column = np.array([(t.dy, t.dx, t.radius) for t in things], np.float32)[:, :, None, None]
    dy, dx, r = column[:, 0], column[:, 1], column[:, 2]  # (things, 1, 1) each
    y, x = middle[:, None] - dy, np.abs(middle[None, :] - dx)
    slope = 1.75 / 0.98  # of a triangle's sides, which meet in (0, −r)
    outside = {  # distance to the edge: negative inside
        "circle": np.sqrt(x**2 + y**2) - r,
        "square": np.maximum(x, np.abs(y)) - 0.86 * r,
        "triangle": np.maximum(y - 0.75 * r, (slope * x - y - r) / math.hypot(slope, 1)),
        "cross": np.minimum(
            np.maximum(x - 0.32 * r, np.abs(y) - r), np.maximum(x - r, np.abs(y) - 0.32 * r)
        ),
    }
    kinds = np.array([SHAPES.index(thing.shape) for thing in things])[:, None, None]
    distance = np.choose(
        kinds, [np.broadcast_to(outside[s], r.shape[:1] + (CELL, CELL)) for s in SHAPES]
    )
    return np.clip(0.5 - distance, 0, 1).astype(np.float32)
