"""Notebook 09, describing pictures: its exercises, questions and predictions."""
