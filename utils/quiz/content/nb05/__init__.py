"""Notebook 05, positional encoding: its exercises, questions and predictions."""

from utils.quiz.content.nb05.adding import ADDING
from utils.quiz.content.nb05.criteria import CRITERIA
from utils.quiz.content.nb05.generated import GENERATED
from utils.quiz.content.nb05.questions import PREDICTIONS, QUESTIONS
from utils.quiz.content.nb05.shift import SHIFT
from utils.quiz.content.nb05.sinusoid import SINUSOID

ITEMS = [SINUSOID, ADDING, SHIFT, CRITERIA, *QUESTIONS, *GENERATED, *PREDICTIONS]
