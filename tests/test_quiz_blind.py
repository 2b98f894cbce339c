"""README's figures of the blind sets are those that their readers' judgements give."""

import re
from pathlib import Path

import pytest

BLIND = Path(__file__).parent / "quiz_blind"
README = (BLIND.parents[1] / "README.md").read_text(encoding="utf-8")
ROW = r"^\| {}: .*?\| (\d+) / (\d+) \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_readme_tells_what_the_first_run_of_a_blind_set_gave(number):
    said = re.search(ROW.format(number), README, re.MULTILINE)
    assert said, f"README has no row for set {number}"
    labels = [
        label
        for file in (BLIND / f"set{number}").glob("*.txt")
        for label in re.findall(r"(?m)^#= (wrong|right)", file.read_text(encoding="utf-8"))
    ]
    judged = (BLIND / f"judged{number}.txt").read_text(encoding="utf-8")
    words = re.findall(r"(?m)^X\d\d-\d#\d+ (hit|false|vague)", judged)
    wrong = labels.count("wrong")
    counts = [words.count(word) for word in ("hit", "false", "vague")]
    counts.append(wrong - len(words))  # what passed was not shown to a reader
    assert said.groups()[:2] == (str(wrong), str(labels.count("right")))
    assert said.groups()[2:] == tuple(f"{100 * count / wrong:.1f}" for count in counts)
