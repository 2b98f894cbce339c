"""Notebook 02, sequence to sequence and the first attention: exercises, questions, predictions."""
