"""Estimators in scikit-learn's manner: a scorer, a structure, a solver, and what is asked of y."""
