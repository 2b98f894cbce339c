"""The recall task of notebook 01: who still knows the first token, and at which distance?

All four models see the same number of examples.  Each gets, at each distance, the best of three
learning rates: the one with the lowest final loss under a seed that is not reported.
"""

from utils.runtime import set_seed
from utils.tasks.recall import MIXERS, RecallModel, recall_accuracy, recall_batches, recall_loss
from utils.train.loop import train

DISTANCES = (5, 10, 20, 40)
RATES = (3e-3, 1e-2, 3e-2)
SEEDS, VALIDATION_SEED = (0, 1, 2), 100
STEPS = 500  # of 32 sequences: 16,000 examples for everyone


def measure(model: str, distance: int, lr: float, seed: int, steps: int = STEPS) -> dict:
    set_seed(seed)
    learner = RecallModel(model)
    batches = recall_batches(distance, seed=seed)
    losses = train(learner, batches, recall_loss, steps=steps, lr=lr, progress=False).losses[-50:]
    return {
        "accuracy": round(recall_accuracy(learner, distance), 4),
        "loss": round(sum(losses) / len(losses), 4),  # of sequences that were new in their step
    }


def experiment(run) -> None:
    for model in MIXERS:
        for distance in DISTANCES:
            task = {"model": model, "distance": distance}
            tried = [(lr, {**task, "lr": lr, "seed": VALIDATION_SEED}) for lr in RATES]
            losses = {lr: run(role="validation", **one)["loss"] for lr, one in tried}
            best = min(losses, key=losses.get)
            for seed in SEEDS:
                run(role="test", **task, lr=best, seed=seed)
