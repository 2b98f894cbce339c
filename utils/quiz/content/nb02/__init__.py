"""Notebook 02, sequence to sequence and the first attention: exercises, questions, predictions."""

from utils.quiz.content.nb02.attend import ATTEND
from utils.quiz.content.nb02.decoding import DECODING
from utils.quiz.content.nb02.generated import GENERATED
from utils.quiz.content.nb02.questions import PREDICTIONS, QUESTIONS
from utils.quiz.content.nb02.scores import SCORES
from utils.quiz.content.nb02.shift import SHIFT

ITEMS = [SCORES, ATTEND, DECODING, SHIFT, *QUESTIONS, *GENERATED, *PREDICTIONS]
