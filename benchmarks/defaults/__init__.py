"""Defaults on many tasks."""
