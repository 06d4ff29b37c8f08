"""The demonstration: generated references with gold fields, rules about them, and what a few labels teach."""
