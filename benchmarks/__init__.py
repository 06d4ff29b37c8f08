"""Measurements of sidelight and its peers: same data, same features, same run. `python -m benchmarks --help`."""
