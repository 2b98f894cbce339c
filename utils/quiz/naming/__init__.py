"""Naming a mistake: wrong answers by fingerprint, repairs of the student's text, the numbers."""
