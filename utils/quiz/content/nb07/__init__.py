"""Notebook 07, the full Transformer: its exercises, questions and predictions."""
