"""Notebook 04, multi-head attention: its exercises, questions and predictions."""

from utils.quiz.content.nb04.generated import GENERATED
from utils.quiz.content.nb04.heads import MERGE, SPLIT
from utils.quiz.content.nb04.multihead import MULTIHEAD
from utils.quiz.content.nb04.parameters import PARAMETERS
from utils.quiz.content.nb04.questions import PREDICTIONS, QUESTIONS

ITEMS = [SPLIT, MERGE, MULTIHEAD, PARAMETERS, *QUESTIONS, *GENERATED, *PREDICTIONS]
