"""Notebook 08, the Vision Transformer: its exercises, questions and predictions."""

from utils.quiz.content.nb08.embed import EMBED
from utils.quiz.content.nb08.generated import GENERATED
from utils.quiz.content.nb08.patches import PATCHES
from utils.quiz.content.nb08.questions import PREDICTIONS, QUESTIONS
from utils.quiz.content.nb08.tiny_vit import TINY_VIT

ITEMS = [PATCHES, EMBED, TINY_VIT, *QUESTIONS, *GENERATED, *PREDICTIONS]
