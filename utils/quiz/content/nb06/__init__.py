"""Notebook 06, masks: its exercises, questions and predictions."""

from utils.quiz.content.nb06.causal import CAUSAL
from utils.quiz.content.nb06.generated import GENERATED
from utils.quiz.content.nb06.local import LOCAL
from utils.quiz.content.nb06.masked import MASKED
from utils.quiz.content.nb06.padding import PADDING
from utils.quiz.content.nb06.questions import PREDICTIONS, QUESTIONS

ITEMS = [CAUSAL, MASKED, PADDING, LOCAL, *QUESTIONS, *GENERATED, *PREDICTIONS]
