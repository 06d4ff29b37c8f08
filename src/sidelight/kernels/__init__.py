"""Compiled inner loops, and in `reference` their plain NumPy twins for tests.

Nothing compiles on import: each kernel compiles on its first call and is cached on disk for later processes.
"""
