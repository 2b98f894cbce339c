"""Notebook 03, queries, keys and values: its exercises, questions and predictions."""

from utils.quiz.content.nb03.attention import ATTENTION
from utils.quiz.content.nb03.columns import COLUMNS
from utils.quiz.content.nb03.generated import GENERATED
from utils.quiz.content.nb03.questions import PREDICTIONS, QUESTIONS
from utils.quiz.content.nb03.self_attention import SELF_ATTENTION
from utils.quiz.content.nb03.temperature import TEMPERATURE

ITEMS = [ATTENTION, SELF_ATTENTION, TEMPERATURE, COLUMNS, *QUESTIONS, *GENERATED, *PREDICTIONS]
