"""Notebook 05, positional encoding: its exercises, questions and predictions."""
