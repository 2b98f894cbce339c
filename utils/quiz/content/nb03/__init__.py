"""Notebook 03, queries, keys and values: its exercises, questions and predictions."""
