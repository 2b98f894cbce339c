"""Notebook 04, multi-head attention: its exercises, questions and predictions."""
