"""Notebook 06, masks: its exercises, questions and predictions."""
