"""One loss and one score for every model that writes words: translators and captioners.

A batch (``utils.text.Batch``) holds what is read (words or pictures) and what is to be written.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.text.vocabulary import PAD, Batch
from utils.train.distributed import mean_over_all
from utils.train.generation import decode


def sequence_loss(model: nn.Module, batch: Batch, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of the right next word, given the right words before it (teacher forcing).

    ``smoothing`` wants that much probability spread over all words (notebook 07, section 9).
    """
    logits, _ = model(batch.source, batch.decoder_input)  # (B, M, vocabulary)
    total = F.cross_entropy(
        logits.flatten(0, 1),
        batch.target.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return mean_over_all(total, (batch.target != PAD).sum())


def exact_matches(model: nn.Module, batch: Batch, *, batch_size: int = 128) -> Tensor:
    """For each example: is what the model writes by itself right in every word?  (B), boolean."""
    device = next(model.parameters(), batch.source).device
    lengths = (batch.target != PAD).sum(dim=1)
    right = torch.zeros(len(lengths), dtype=torch.bool)
    for chosen in lengths.argsort(stable=True).split(batch_size):  # the short ones first
        source, target = batch.source[chosen].to(device), batch.target[chosen].to(device)
        if not source.is_floating_point():  # words: without the columns that only pad
            source = source[:, : int((source != PAD).sum(dim=1).max())]
        target = target[:, : int(lengths[chosen].max())]
        ids, _ = decode(model, source, target.shape[1] + 2)
        longest = max(ids.shape[1], target.shape[1])
        said, wanted = (F.pad(t, (0, longest - t.shape[1]), value=PAD) for t in (ids, target))
        right[chosen] = (said == wanted).all(dim=1).cpu()
    return right
