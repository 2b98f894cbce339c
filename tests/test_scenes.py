"""Generated scenes: captions, boxes and pictures agree, and a seed gives the same ones again."""

import itertools

import numpy as np
import pytest
import torch

from utils.tasks.scenes import (
    CELL,
    COLOURS,
    GRID,
    MOST,
    SHAPES,
    SIDE,
    Scene,
    Thing,
    caption_batch,
    caption_batches,
    caption_vocabulary,
    cell_labels,
    draw,
    longest_caption,
    random_scenes,
    scene_of,
)
from utils.text.vocabulary import BOS, EOS, PAD

SCENES = random_scenes(200, 3)


def read_caption(words: list[str]) -> list[tuple[str, str, str]]:
    """(relation to the one before, colour, shape) of each thing, read off the words alone."""
    things, relation = [], ""
    words = list(words)
    while words:
        article, colour, shape = words[:3]
        assert article == "a" and colour in COLOURS and shape in SHAPES
        things.append((relation, colour, shape))
        relation, words = (words[3], words[4:]) if len(words) > 3 else ("", [])
    return things


def test_the_caption_tells_what_is_there_in_reading_order():
    for scene in SCENES:
        told = read_caption(scene.caption)
        assert [(c, s) for _, c, s in told] == [(t.colour, t.shape) for t in scene.things]
        assert [t.cell for t in scene.things] == sorted(t.cell for t in scene.things)
        for (relation, _, _), one, other in zip(told[1:], scene.things, scene.things[1:]):
            if relation == "beside":
                assert one.row == other.row and one.column < other.column
            else:
                assert relation == "above" and one.row < other.row


def test_the_example_of_a_scene_by_hand_runs():
    example = scene_of.__doc__.split("``")[1]
    assert example.startswith("scene_of(")
    assert repr(eval(example)) == "Scene: a red circle above a blue square"


def test_every_naming_word_knows_its_thing():
    for scene in SCENES:
        for word, subject in zip(scene.caption, scene.subjects, strict=True):
            if subject is None:
                assert word in ("a", "beside", "above")
            else:
                assert word in (scene.things[subject].colour, scene.things[subject].shape)


def test_a_scene_made_by_hand():
    scene = scene_of({(2, 2): "blue square", (0, 1): "red circle", (0, 2): "pink cross"})
    assert " ".join(scene.caption) == "a red circle beside a pink cross above a blue square"
    assert repr(scene) == "Scene: a red circle beside a pink cross above a blue square"
    assert scene.things[0].cell == 1 and scene.things[2].cell == 8


def test_the_same_seed_gives_the_same_scenes_and_pictures():
    again = random_scenes(200, 3)
    assert again == SCENES
    assert torch.equal(draw(SCENES[:5], 7), draw(again[:5], 7))
    assert random_scenes(200, 4) != SCENES
    assert not torch.equal(draw(SCENES[:5], 7), draw(SCENES[:5], 8))


def test_what_is_painted_lies_in_the_boxes_and_fills_them():
    images = draw(SCENES, 0)
    for scene, image in zip(SCENES, images):
        painted = (image - 0.95).abs().amax(dim=0) > 0.15
        outside = painted.clone()
        for thing in scene.things:
            top, left, bottom, right = thing.box
            assert thing.row * CELL <= top < bottom <= (thing.row + 1) * CELL
            assert thing.column * CELL <= left < right <= (thing.column + 1) * CELL
            rows, columns = (  # as far as a half-covered pixel, and never out of the cell
                slice(
                    max(cell * CELL, int(np.floor(low - 0.5))),
                    min((cell + 1) * CELL, int(np.ceil(high + 0.5))),
                )
                for cell, low, high in ((thing.row, top, bottom), (thing.column, left, right))
            )
            inside = painted[rows, columns].nonzero()
            span = inside.amax(dim=0) - inside.amin(dim=0) + 1
            assert abs(int(span[0]) - (bottom - top)) < 2.1
            assert abs(int(span[1]) - (right - left)) < 2.1
            outside[rows, columns] = False
        assert not outside.any()


def test_colours_can_be_told_from_the_pixels():
    things = [Thing(c, "square", i // GRID, i % GRID) for i, c in enumerate(COLOURS)]
    image = draw([Scene(tuple(things))], 0)[0]
    table = torch.tensor(list(COLOURS.values()))
    for i, thing in enumerate(things):
        y, x = (int(at) for at in thing.centre)
        nearest = (table - image[:, y, x]).abs().sum(dim=1).argmin()
        assert int(nearest) == i


def test_all_shapes_look_different():
    scenes = [Scene((Thing("red", shape, 1, 1),)) for shape in SHAPES]
    images = draw(scenes, 0)
    for one, other in itertools.combinations(images, 2):
        assert ((one - other).abs().amax(dim=0) > 0.3).sum() > 8


def test_pictures_are_numbers_from_0_to_1():
    images = draw(SCENES[:8], 0)
    assert images.shape == (8, 3, SIDE, SIDE) and images.dtype == torch.float32
    assert images.min() >= 0 and images.max() <= 1


def test_the_batch_is_shifted_by_one_and_padded():
    vocabulary = caption_vocabulary()
    batch = caption_batch(SCENES[:20], vocabulary)
    assert (batch.decoder_input[:, 0] == BOS).all()
    for scene, inputs, target in zip(SCENES, batch.decoder_input, batch.target):
        n = len(scene.caption)
        assert vocabulary.decode(target) == scene.caption
        assert target[n] == EOS and (target[n + 1 :] == PAD).all()
        assert torch.equal(inputs[1 : n + 1], target[:n])
    assert batch.target.shape[1] <= longest_caption()


def test_the_longest_caption_is_as_long_as_promised():
    full = scene_of({(i // GRID, i % GRID): "red circle" for i in range(MOST)})
    assert len(full.caption) + 1 == longest_caption()


def test_batches_are_new_each_time_and_the_same_for_a_seed():
    vocabulary = caption_vocabulary()
    stream, twin = (caption_batches(vocabulary, 4, seed=5) for _ in range(2))
    first, second = next(stream), next(stream)
    assert torch.equal(first.source, next(twin).source)
    assert not torch.equal(first.source, second.source)


def test_batches_can_begin_with_simple_pictures():
    vocabulary = caption_vocabulary()
    stream = caption_batches(vocabulary, 16, seed=0, growing=4)
    lengths = [next(stream).target.shape[1] for _ in range(6)]
    assert lengths[0] == longest_caption(1) < lengths[2] <= longest_caption(3)
    assert max(lengths[4:]) == longest_caption(MOST)


def test_labels_name_the_cells():
    colours, shapes = cell_labels(SCENES)
    for i, scene in enumerate(SCENES):
        assert int((colours[i] > 0).sum()) == len(scene.things)
        for thing in scene.things:
            assert list(COLOURS)[colours[i, thing.cell] - 1] == thing.colour
            assert SHAPES[shapes[i, thing.cell] - 1] == thing.shape


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Thing("mauve", "circle", 0, 0), "mauve"),
        (lambda: Thing("red", "circle", 3, 0), "from 0 to 2"),
        (lambda: Thing("red", "circle", 0, 0, radius=7, dy=2), "stay in its cell"),
        (lambda: Scene(()), "at least one thing"),
        (lambda: Scene((Thing("red", "circle", 1, 0), Thing("red", "cross", 0, 0))), "order"),
        (lambda: scene_of({(0, 0): "circle"}), "a colour and a shape"),
        (lambda: random_scenes(0), "count must be positive"),
        (lambda: random_scenes(2, things=(3, 10)), "got count"),
    ],
)
def test_errors_say_what_was_expected(make, says):
    with pytest.raises(ValueError, match=says):
        make()
