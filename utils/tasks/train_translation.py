"""Train the course's translator from the command line, on one process or on several.

python -m utils.tasks.train_translation --steps 2000 --save translator.safetensors
torchrun --nproc_per_node 2 -m utils.tasks.train_translation --steps 200
"""

import argparse
import json
from functools import partial

from utils.models.seq2seq import AttentionSeq2Seq, FixedSeq2Seq
from utils.models.transformer import BlockSizes, Transformer
from utils.runtime import get_device, set_seed, set_threads
from utils.tasks.translation import encode_pairs, fingerprint, vocabularies
from utils.text.grammar import Grammar
from utils.text.vocabulary import batches, make_batch
from utils.train.checkpoint import save_weights
from utils.train.distributed import processes, share, world
from utils.train.loop import train
from utils.train.sequences import exact_matches, sequence_loss

MODELS = {
    "transformer": partial(Transformer, block=BlockSizes(d_ff=256, rotary=True)),
    "gru": AttentionSeq2Seq,
    "fixed": partial(FixedSeq2Seq, d_model=160),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m utils.tasks.train_translation")
    parser.add_argument("--model", choices=[*MODELS], default="transformer")
    parser.add_argument("--pairs", type=int, default=40_000, help="sentence pairs to train on")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32, help="sentences, over all processes")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--test", type=int, default=300, help="unseen sentences to score; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="write the weights to this file")
    options = parser.parse_args(arguments)

    set_threads()
    with processes() as gpu:
        device = get_device() if gpu is None else gpu
        grammar = Grammar()
        pairs = grammar.pairs(options.pairs, seed=1)
        english, french = vocabularies(pairs)
        data = encode_pairs(pairs, english, french)
        set_seed(options.seed)  # the same first weights in every process
        model = MODELS[options.model](len(english), len(french)).to(device)
        stream = share(batches(data, options.batch, seed=options.seed, device=device))
        first = world()[0] == 0
        history = train(
            model,
            stream,
            sequence_loss,
            steps=options.steps,
            lr=options.lr,
            warmup=options.warmup,
            progress=first,
        )
        if first:  # the copies are equal: one of them reports
            result = {"steps": history.steps, "first_losses": history.losses[:10]}
            result["last_loss"] = history.losses[-1]
            if options.test:
                unseen = grammar.pairs(options.test, seed=2, split="test")
                right = exact_matches(model, make_batch(encode_pairs(unseen, english, french)))
                result["exact"] = right.float().mean().item()
            if options.save:
                save_weights(model, options.save, words=fingerprint(english, french))
            print(json.dumps(result))


if __name__ == "__main__":
    main()
