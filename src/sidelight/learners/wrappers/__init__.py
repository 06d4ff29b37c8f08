"""Learners around others: with rules, with unlabelled inputs, and with both."""
