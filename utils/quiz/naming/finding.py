"""What one part of the engine has found out about a wrong solution."""

from __future__ import annotations

from dataclasses import dataclass

NAMES = 7.0  # a finding of this score and above names the mistake; one below is told as a clue


@dataclass(frozen=True)
class Finding:
    """A sentence about a wrong solution, and how sure and how specific it is.

    Scores: 9 is a proven cause (an exception with one meaning), 8 a cause that explains every
    number, 7 a transform that explains every number, 5 to 7 what is wrong and where without why,
    below 5 a symptom.
    """

    kind: str  # short id, such as "wrong-axis": stands in the verdict as the mistake
    says: str  # whole sentences: what the student's code does, and why it matters
    score: float
    line: int = 0  # the student's line, counted from the cell's first; 0 if unknown
    brief: str = ""  # what a first attempt is told instead of ``says``: where to look, and the kind
    piece: str = ""  # the name of the operation ("softmax"), to find the author's step for it
    witness: str = ""  # which part of the engine says so: "prints", "repair", "numbers", ...
