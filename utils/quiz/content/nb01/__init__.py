"""Notebook 01, what recurrent networks find hard: its exercises, questions and predictions."""

from utils.quiz.content.nb01.distance import DISTANCE
from utils.quiz.content.nb01.field import FIELD
from utils.quiz.content.nb01.generated import GENERATED
from utils.quiz.content.nb01.questions import PREDICTIONS, QUESTIONS
from utils.quiz.content.nb01.unroll import UNROLL
from utils.quiz.content.nb01.waiting import WAITING

ITEMS = [UNROLL, DISTANCE, FIELD, WAITING, *QUESTIONS, *GENERATED, *PREDICTIONS]
