"""The rule language: what is known about outputs, written once, read by every learner that can take rules."""
