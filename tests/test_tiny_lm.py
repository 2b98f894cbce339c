"""The tiny language model: causal when masked, and able to learn."""

import pytest
import torch
import torch.nn.functional as F

from tests.test_devices import Watch
from utils.layers.masks import causal_mask
from utils.models.language_model import TinyLM
from utils.runtime import set_seed


@pytest.fixture
def model():
    set_seed(0)
    return TinyLM(vocab_size=11, max_length=8, d_model=16, num_heads=2, num_layers=3).eval()


def test_one_masked_pass_equals_step_by_step(model):
    ids = torch.randint(11, (3, 8), generator=set_seed(1))
    whole = model(ids, causal_mask(8))
    steps = [model(ids[:, :t], causal_mask(t))[:, -1] for t in range(1, 9)]
    torch.testing.assert_close(whole, torch.stack(steps, dim=1), atol=1e-5, rtol=0)


def test_without_a_mask_the_future_is_seen(model):
    ids = torch.randint(11, (3, 8), generator=set_seed(1))
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % 11
    mask = causal_mask(8)
    assert torch.equal(model(ids, mask)[:, :-1], model(other, mask)[:, :-1])
    assert (model(ids) - model(other))[:, 0].abs().max() > 1e-3


def test_places_matter(model):
    twice = torch.full((1, 8), 3)
    logits = model(twice, causal_mask(8))[0]
    assert (logits[0] - logits[5]).abs().max() > 1e-3


def test_shapes_and_errors(model):
    assert model(torch.zeros(2, 5, dtype=torch.long)).shape == (2, 5, 11)
    for bad in (torch.zeros(8, dtype=torch.long), torch.zeros(2, 9, dtype=torch.long)):
        with pytest.raises(ValueError, match=r"ids must have shape \(B, N\) with N from 1 to 8"):
            model(bad)
    with pytest.raises(ValueError, match="N from 1 to 8"):
        model(torch.zeros(2, 0, dtype=torch.long))


def test_it_makes_nothing_on_the_wrong_device():
    model = TinyLM(vocab_size=5, max_length=4).to("meta")
    ids, mask = torch.zeros(2, 4, dtype=torch.long, device="meta"), causal_mask(4, device="meta")
    with Watch("meta") as watch:  # here the default device is the CPU, and nothing may land on it
        logits = model(ids, mask)
    assert logits.is_meta
    assert logits.shape == (2, 4, 5)
    assert watch.seen > 5


def test_every_parameter_learns(model):
    ids = torch.randint(11, (4, 8), generator=set_seed(2))
    logits = model.train()(ids, causal_mask(8))
    F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
    # a bias on the keys moves all scores of a query alike, and softmax does not see that
    silent = [
        name
        for name, p in model.named_parameters()
        if not name.endswith("w_k.bias") and not p.grad.abs().sum() > 0
    ]
    assert silent == []
