"""Learners with margins: structural support vector machines, and those with unknown outputs."""
