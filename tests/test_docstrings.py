"""Docstrings of all public functions and classes are in numpydoc form and name every parameter."""

import inspect

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import sidelight

# Extended summaries (ES01), examples (EX01) and cross references (SA01) are for the docs pages. Formulas and quoted
# option names may begin a summary (SS02) or the text of a parameter (PR08).
ALLOWED = {"ES01", "EX01", "SA01", "SS02", "PR08"}


def is_documented(name):
    return inspect.isfunction(getattr(sidelight, name)) or inspect.isclass(getattr(sidelight, name))


@pytest.mark.parametrize("name", [name for name in sidelight.__all__ if is_documented(name)])
def test_docstrings_are_in_numpydoc_form(name):
    public = getattr(sidelight, name)
    errors = validate(f"{public.__module__}.{public.__qualname__}")["errors"]
    assert [error for error in errors if error[0] not in ALLOWED] == []


@pytest.mark.parametrize("name", sidelight.LEARNERS)
def test_docstrings_of_learners_have_their_parameters(name):
    learner = getattr(sidelight, name)
    documented = NumpyDocString(inspect.getdoc(learner))["Parameters"]
    assert [one.name for one in documented] == list(inspect.signature(learner).parameters)
