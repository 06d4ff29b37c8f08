"""Inference under rules: folding, search, integer programs."""
