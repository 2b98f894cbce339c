"""The recall task: say which token came first, after a stretch of tokens that mean nothing.

    values 0-7      the first token, to be remembered
    noise 8-15      ``distance`` tokens that carry no information
    16              the question: which value was it?

Made for notebook 01, section 7.  The distance is the only thing that makes it hard.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention

NUM_VALUES = 8
QUESTION = 2 * NUM_VALUES
CHANCE = 1 / NUM_VALUES
RecallBatch = tuple[Tensor, Tensor]  # tokens (B, N), answers (B)
MIXERS = ("rnn", "gru", "lstm", "attention")


def recall_batch(batch_size: int, distance: int, rng: torch.Generator) -> RecallBatch:
    """Random sequences (B, distance + 2) and the values (B) that were their first tokens."""
    if batch_size < 1 or distance < 0:
        raise ValueError(
            "a batch needs at least one sequence and a distance of 0 or more, "
            f"got batch_size = {batch_size}, distance = {distance}"
        )
    answers = torch.randint(0, NUM_VALUES, (batch_size, 1), generator=rng)
    noise = torch.randint(NUM_VALUES, QUESTION, (batch_size, distance), generator=rng)
    question = torch.full((batch_size, 1), QUESTION)
    return torch.cat([answers, noise, question], dim=1), answers.squeeze(1)


class RecallModel(nn.Module):
    """Embedding, one layer that carries information between positions, a classifier at the end.

    Only the layer in the middle differs.  All four take (B, N, D) and give (B, N, D) back as the
    first of two results, so each can stand in another's place.
    """

    def __init__(self, mixer: str, *, d_model: int = 32):
        super().__init__()
        makers = {
            "rnn": lambda: nn.RNN(d_model, d_model, batch_first=True),
            "gru": lambda: nn.GRU(d_model, d_model, batch_first=True),
            "lstm": lambda: nn.LSTM(d_model, d_model, batch_first=True),
            "attention": lambda: MultiHeadAttention(d_model, num_heads=4),
        }
        if mixer not in makers:
            raise ValueError(f"mixer must be one of {', '.join(MIXERS)}, got {mixer!r}")
        self.embedding = nn.Embedding(QUESTION + 1, d_model)
        self.mixer = makers[mixer]()
        self.out_layer = nn.Linear(d_model, NUM_VALUES)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (B, N) -> logits (B, NUM_VALUES), read at the last position."""
        x = self.embedding(tokens)  # (B, N, D)
        mixed, _ = self.mixer(x)  # (B, N, D)
        return self.out_layer(mixed[:, -1])


def recall_batches(distance: int, batch_size: int = 32, seed: int = 0) -> Iterator[RecallBatch]:
    """Fresh random sequences without end."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        yield recall_batch(batch_size, distance, rng)


def recall_loss(model: RecallModel, batch: RecallBatch) -> Tensor:
    tokens, answers = batch
    return F.cross_entropy(model(tokens), answers)


@torch.no_grad()
def recall_accuracy(model: RecallModel, distance: int, *, trials: int = 1000) -> float:
    """The share of ``trials`` new sequences whose first token is recalled; chance is 1/8."""
    model.eval()
    rng = torch.Generator().manual_seed(2**31)  # far from the seeds used for training
    tokens, answers = recall_batch(trials, distance, rng)
    return (model(tokens).argmax(dim=-1) == answers).float().mean().item()
