"""Write the fingerprints of all wrong answers: `make prints`, one only with ``ONLY=X03-1``."""

from __future__ import annotations

import sys

from tqdm import tqdm

from utils.quiz import registry
from utils.quiz.naming import answers


def main(chosen: list[str]) -> None:
    exercises = {key: item for key, item in registry.everything().items() if key[0] == "X"}
    stale = [key for key in exercises if not answers.answers_of(exercises[key]).is_fresh()]
    for key in tqdm(chosen or stale, disable=not (chosen or stale)):
        answers.answers_of(exercises[key]).save()
    for file in answers.FOLDER.glob("*.npz"):
        if file.stem not in exercises:
            file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
