"""Notebook 08, the Vision Transformer: its exercises, questions and predictions."""
