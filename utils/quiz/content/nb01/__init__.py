"""Notebook 01, what recurrent networks find hard: its exercises, questions and predictions."""
