"""Optimisers: each one function with a certificate of convergence."""
