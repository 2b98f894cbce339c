"""Notebook 09, describing pictures: its exercises, questions and predictions."""

from utils.quiz.content.nb09.decoder import CAPTION_DECODER
from utils.quiz.content.nb09.gates import LSTM_STEP
from utils.quiz.content.nb09.generated import GENERATED
from utils.quiz.content.nb09.questions import PREDICTIONS, QUESTIONS
from utils.quiz.content.nb09.spatial import SPATIAL

ITEMS = [SPATIAL, LSTM_STEP, CAPTION_DECODER, *QUESTIONS, *GENERATED, *PREDICTIONS]
