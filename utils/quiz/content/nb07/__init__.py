"""Notebook 07, the full Transformer: its exercises, questions and predictions."""

from utils.quiz.content.nb07.decoder import DECODER
from utils.quiz.content.nb07.encoder import ENCODER
from utils.quiz.content.nb07.ffn import FFN_EXERCISE
from utils.quiz.content.nb07.generated import GENERATED
from utils.quiz.content.nb07.norm import LAYER_NORM
from utils.quiz.content.nb07.questions import PREDICTIONS, QUESTIONS

ITEMS = [LAYER_NORM, FFN_EXERCISE, ENCODER, DECODER, *QUESTIONS, *GENERATED, *PREDICTIONS]
