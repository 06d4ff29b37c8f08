"""Learners from labels: models of counts, of probabilities, and online ones."""
