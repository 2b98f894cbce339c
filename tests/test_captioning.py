"""The four captioners: shapes, agreement of both ways to run them, what each part depends on."""

import pytest
import torch
from torch import nn

from utils.figures.captions import plot_footprints, plot_looks, plot_scenes, plot_shares
from utils.layers.masks import causal_mask
from utils.models.captioning import AttendingCaptioner, FixedCaptioner, TransformerCaptioner
from utils.models.eyes import GridEyes, PatchEyes, SceneCNN, grid_to_rows
from utils.models.to_torch import to_torch
from utils.notebook.scene_editor import SceneEditor
from utils.tasks.captions import (
    CellNamer,
    Describer,
    greedy,
    looks,
    naming_batches,
    naming_loss,
    pointing,
    share_by_things,
)
from utils.tasks.scenes import (
    GRID,
    SIDE,
    caption_batch,
    caption_batches,
    caption_vocabulary,
    draw,
    random_scenes,
    scene_of,
)
from utils.text.vocabulary import Batch
from utils.train.generation import beam_search, decode
from utils.train.loop import train
from utils.train.sequences import exact_matches, sequence_loss

VOCABULARY = caption_vocabulary()
SCENES = random_scenes(6, 2, things=(1, 3))
BATCH = caption_batch(SCENES, VOCABULARY)
MAKE = {
    "fixed": lambda: FixedCaptioner(
        GridEyes(24).requires_grad_(False), len(VOCABULARY), d_model=20
    ),
    "attending": lambda: AttendingCaptioner(
        GridEyes(24).requires_grad_(False), len(VOCABULARY), d_model=20
    ),
    "transformer": lambda: TransformerCaptioner(
        GridEyes(24).requires_grad_(False), len(VOCABULARY), d_ff=32
    ),
    "patches": lambda: TransformerCaptioner(PatchEyes(24), len(VOCABULARY), d_ff=32),
}


@pytest.fixture(params=MAKE)
def model(request):
    torch.manual_seed(0)
    return MAKE[request.param]().eval()


def test_word_by_word_is_the_same_as_all_at_once(model):
    with torch.no_grad():
        logits, _ = model(BATCH.source, BATCH.decoder_input)
        state = model.start(BATCH.source)
        for t in range(BATCH.decoder_input.shape[1]):
            one, state, _ = model.step(BATCH.decoder_input[:, t], state)
            assert torch.allclose(one, logits[:, t], atol=1e-5)


def test_later_words_do_not_change_earlier_ones(model):
    changed = BATCH.decoder_input.clone()
    changed[:, 3:] = 5
    with torch.no_grad():
        before, after = (model(BATCH.source, d)[0] for d in (BATCH.decoder_input, changed))
    assert torch.allclose(before[:, :3], after[:, :3], atol=1e-5)


def test_the_picture_matters(model):
    with torch.no_grad():
        one, other = (
            model(x, BATCH.decoder_input)[0] for x in (BATCH.source, BATCH.source.flip(0))
        )
    assert not torch.allclose(one, other, atol=1e-4)


def test_they_decode_and_search(model):
    ids, weights = decode(model, BATCH.source, 5, need_weights=True)
    assert ids.shape[0] == 6 and ids.shape[1] <= 5
    if isinstance(model, AttendingCaptioner):
        assert weights.only().shape == (6, 1, 1, ids.shape[1], GRID**2)
    assert beam_search(model, BATCH.source[:2], 4, beams=2)[0].shape[0] == 2


def test_the_loss_goes_down(model):
    stream = caption_batches(VOCABULARY, 16, things=(1, 1))
    history = train(model, stream, sequence_loss, steps=25, lr=5e-3, progress=False)
    assert history.losses[-1] < 0.9 * history.losses[0]


def test_the_pretrained_eyes_do_not_learn_and_patches_do():
    for name, learns in (("attending", False), ("patches", True)):
        model = MAKE[name]()
        sequence_loss(model, BATCH).backward()
        grads = [p.grad is not None for p in model.eyes.parameters()]
        assert all(grads) if learns else not any(grads)


def test_a_feature_sees_its_cell_and_little_more():
    torch.manual_seed(0)
    cnn, images = SceneCNN(8), torch.rand(1, 3, SIDE, SIDE, requires_grad=True)
    cnn(images)[0, :, 2, 1].sum().backward()
    rows, columns = images.grad[0].abs().sum(dim=0).nonzero().T
    assert rows.min() >= 29 and rows.max() <= 47 and columns.min() >= 13 and columns.max() <= 31


def test_rows_are_cells_in_reading_order():
    z = torch.arange(18.0).reshape(1, 2, 3, 3)
    rows = grid_to_rows(z)
    assert rows.shape == (1, 9, 2)
    assert torch.equal(rows[0, 5], z[0, :, 1, 2])


def test_pretraining_names_cells():
    torch.manual_seed(0)
    namer = CellNamer(GridEyes(24))
    colour, shape = namer(BATCH.source)
    assert colour.shape == (6, 9, 7) and shape.shape == (6, 9, 5)
    history = train(namer, naming_batches(8), naming_loss, steps=20, lr=5e-3, progress=False)
    assert history.losses[-1] < history.losses[0]


def test_looks_have_one_shape_for_all_and_sum_to_one():
    for name, shape in (("attending", (6, 1, 1)), ("transformer", (6, 2, 4))):
        weights = looks(MAKE[name](), BATCH.source, BATCH.decoder_input)
        assert weights.shape == (*shape, BATCH.decoder_input.shape[1], 9)
        assert torch.allclose(weights.sum(dim=-1), torch.ones(()), atol=1e-5)
    with pytest.raises(ValueError, match="no attention"):
        looks(MAKE["fixed"](), BATCH.source, BATCH.decoder_input)


def test_pointing_counts_hits_on_the_named_thing():
    perfect = torch.zeros(6, BATCH.target.shape[1], 9)
    for i, scene in enumerate(SCENES):
        for t, subject in enumerate(scene.subjects):
            if subject is not None:
                perfect[i, t, scene.things[subject].cell] = 1.0
    assert pointing(perfect, SCENES) == 1.0
    assert pointing(perfect.roll(1, dims=-1), SCENES) < 0.2
    with pytest.raises(ValueError, match="6 scenes"):
        pointing(perfect[:2], SCENES)


class Parrot(nn.Module):
    """Says the captions that it was given, whatever it sees."""

    def __init__(self, target):
        super().__init__()
        self.target = target

    def start(self, images):
        same = (images[:, None] == BATCH.source).flatten(2).all(dim=-1)
        return 0, same.int().argmax(dim=1)  # which of the pictures are these?

    def step(self, tokens, state):
        step, rows = state
        words = self.target[rows, min(step, self.target.shape[1] - 1)]
        return nn.functional.one_hot(words, len(VOCABULARY)).float(), (step + 1, rows), None


def test_exact_captions_and_their_share():
    assert exact_matches(Parrot(BATCH.target), BATCH).all()
    wrong = BATCH.target.clone()
    wrong[2, 1] = 5 if wrong[2, 1] != 5 else 6
    right = exact_matches(Parrot(wrong), BATCH)
    assert right.tolist() == [True, True, False, True, True, True]
    late = Batch(BATCH.source, BATCH.decoder_input, BATCH.target[:, :-1])  # never ends in time
    assert not exact_matches(Parrot(BATCH.decoder_input), late).any()
    shares = share_by_things(right, SCENES)
    assert set(shares) == {len(scene.things) for scene in SCENES}


def test_the_twin_of_pytorch_says_the_same():
    torch.manual_seed(1)
    model = MAKE["transformer"]().eval()
    x, memory = torch.randn(2, 5, 24), torch.randn(2, 9, 24)
    with torch.no_grad():
        ours, _ = model.decoder(x, memory, causal_mask(5))
        theirs = to_torch(model.decoder)(x, memory, tgt_mask=~causal_mask(5))
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_greedy_without_a_cache_says_what_decode_says():
    torch.manual_seed(1)
    model = MAKE["transformer"]().eval()
    with torch.no_grad():
        said = greedy(lambda images, tokens: model(images, tokens)[0], BATCH.source, 4)
    ids, _ = decode(model, BATCH.source, 4)
    for mine, other in zip(said.tolist(), ids.tolist()):
        assert VOCABULARY.decode(mine) == VOCABULARY.decode(other)


def test_a_describer_says_words_and_where_it_looked():
    scene = scene_of({(1, 1): "red circle"})
    told = Describer(MAKE["transformer"]().eval(), VOCABULARY)(scene)
    assert told.weights.cross.shape == (2, 4, len(told.words), 9)
    assert not Describer(MAKE["fixed"]().eval(), VOCABULARY)(scene).weights
    crowd = scene_of({divmod(i, 3): "red circle" for i in range(7)})
    assert "7 things" in Describer(MAKE["fixed"]().eval(), VOCABULARY)(crowd).message


def test_an_image_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="got"):
        MAKE["patches"]()(torch.rand(2, 48, 48), BATCH.decoder_input[:2])


def figure(draw_it):
    from utils.figures.canvas import collect

    with collect() as figures:
        draw_it()
    return figures


def test_figures_say_what_they_show():
    images = draw(SCENES[:2], 0)
    captions = [" ".join(scene.caption) for scene in SCENES[:2]]
    [(png, alt)] = figure(lambda: plot_scenes(images, captions, boxes=SCENES[:2]))
    assert png.startswith(b"\x89PNG") and captions[1] in alt
    weights = torch.eye(9)[[0, 1, 2, 3, 4, 5, 6, 7, 8] * 2][: len(SCENES[0].caption)]
    words = SCENES[0].caption
    [(_, alt)] = figure(lambda: plot_looks(images[0], words, weights, scene=SCENES[0]))
    assert f"{words[2]}: row 0, column 2 (1.00)" in alt
    [(_, alt)] = figure(lambda: plot_footprints({"conv": torch.eye(48), "fc": torch.ones(48, 48)}))
    assert "conv depends on 48 of 2304 pixels" in alt
    [(_, alt)] = figure(lambda: plot_shares({"one": {1: 1.0, 2: 0.5}, "other": {1: 1.0, 2: 0.0}}))
    assert "one: 100 % of 1, 50 % of 2; other: 100 % of 1, 0 % of 2" in alt
    with pytest.raises(ValueError, match="one caption a picture"):
        plot_scenes(images, captions[:1])
    with pytest.raises(ValueError, match="square number"):
        plot_looks(images[0], words, weights[:1])


def test_the_editor_puts_things_down_and_describes_them():
    def draw_it(scene, describer):
        plot_scenes(draw([scene], 0), ["x"])
        return describer(scene)

    editor = SceneEditor({"echo": lambda s: " ".join(s.caption)}, draw_it, {(0, 0): "red circle"})
    assert repr(editor) == "SceneEditor: a red circle"
    editor.put(2, 1, "blue cross")
    assert editor._said == "a red circle above a blue cross"
    editor._clicked((0, 0))  # a click takes away what is there
    assert repr(editor) == "SceneEditor: a blue cross"
    editor._clicked((2, 1))
    assert editor.scene is None and "Nothing is there" in editor._said
    editor._clicked((2, 2))  # and puts down what is chosen
    assert repr(editor) == "SceneEditor: a red circle"
    with pytest.raises(ValueError, match="from 0 to 2"):
        editor.put(3, 0, "red circle")
    with pytest.raises(ValueError, match="a colour and a shape"):
        editor.put(0, 0, "circle")
    data, _ = editor._repr_mimebundle_()
    assert data["text/plain"] == "SceneEditor: a red circle"
