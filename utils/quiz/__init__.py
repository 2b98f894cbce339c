"""Quiz cells that tell a student which mistake it is. See README.md beside this file.

check("X03-1", attention)         run a solution and name its mistake
hint("X03-1"), solution("X03-1")  help, step by step
carry_on("X03-1", attention)      the student's version if right, else the library's
question("Q03-1", answer="b")     multiple choice with a reason for every option
predict("P03-1"), said("P03-1")   a guess first; with the result, what was guessed
progress(), report("me.html")     what is done
"""

from utils.quiz.cells import (
    carry_on,
    check,
    hint,
    predict,
    progress,
    question,
    report,
    said,
    solution,
)
from utils.quiz.verdict import Status, Verdict

__all__ = [
    "Status",
    "Verdict",
    "carry_on",
    "check",
    "hint",
    "predict",
    "progress",
    "question",
    "report",
    "said",
    "solution",
]
