"""The base of estimators: scikit-learn's conventions, without importing scikit-learn before it is asked for.

Importing scikit-learn takes a second and 100 MB, and a fit or a prediction needs none of it. `Estimator` has
parameters by name. What is about scikit-learn itself (tags, requests for metadata, how estimators are printed, pages of
notebooks) comes from its own base class at the moment it is asked for, so that no answer depends on whether it was
imported before. Exceptions and warnings that users know from scikit-learn are its own classes.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import cache, update_wrapper, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .errors import ParameterError, did_you_mean, warn

T = TypeVar("T")


class _Answered:
    """An attribute of scikit-learn's base class that is looked up there when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type) -> Any:
        from sklearn.base import BaseEstimator

        return inspect.getattr_static(BaseEstimator, self._name).__get__(estimator, owner)


class _AvailableIf:
    """A method that an object has if a check of it holds."""

    def __init__(self, method: Any, check: Callable[[Any], bool], instead: str) -> None:
        self._method, self._check, self._instead = method, check, instead
        itself: Any = self
        update_wrapper(itself, method)

    def _require(self, estimator: Any) -> None:
        try:
            there, cause = self._check(estimator), None
        except Exception as error:
            there, cause = False, error
        if not there:
            raise AttributeError(
                f"This {type(estimator).__name__!r} has no attribute {self._method.__name__!r}{self._instead}"
            ) from cause

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is not None:
            self._require(estimator)
            return MethodType(self._method, estimator)

        @wraps(self._method)
        def unbound(*args: Any, **named: Any) -> Any:
            self._require(args[0])
            return self._method(*args, **named)

        return unbound


def available_if(check: Callable[[Any], bool], instead: str = "") -> Callable[[Any], Any]:
    """Hide a method of objects for which a check does not hold, or fails: `hasattr` is then False.

    instead: the end of the message, which says what these objects have in its place.
    """
    return lambda method: _AvailableIf(method, check, instead)


class Estimator:
    """Parameters are what `__init__` takes; each is kept under its name."""

    # What scikit-learn's tools want to know of an estimator, and which metadata its methods ask for.
    __sklearn_tags__, get_metadata_routing = _Answered(), _Answered()
    # What it asks estimators for without documenting it: requests for metadata, pages of notebooks.
    _get_metadata_request, _get_class_level_metadata_request_values = _Answered(), _Answered()
    _get_default_requests, _build_request_for_signature, _validate_params = _Answered(), _Answered(), _Answered()
    _repr_html_, _repr_html_inner, _repr_mimebundle_, _html_repr = _Answered(), _Answered(), _Answered(), _Answered()
    _get_params_html, _get_fitted_attr_html = _Answered(), _Answered()

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Make an estimator; a parameter that it does not have is an error that names the nearest one."""
        this: Any = cls
        known = _parameter_names(this)
        unknown = sorted(named.keys() - set(known))
        if unknown and not _takes_any(this):
            hint = did_you_mean(unknown[0], known) or f"; it has {', '.join(known)}"
            raise ParameterError(f"{cls.__name__} has no parameter {unknown[0]!r}{hint}")
        return super().__new__(cls)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        this: Any = cls
        return list(_parameter_names(this))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the parameters by name; if deep, also those of estimators inside, as name__parameter."""
        out: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                out.update((f"{name}__{inside}", one) for inside, one in value.get_params().items())
            out[name] = value
        return out

    def set_params(self, **params: Any) -> Self:
        """Set parameters; name__parameter is one of the estimator inside that `name` holds."""
        inside: dict[str, dict[str, Any]] = defaultdict(dict)
        names = self._get_param_names()
        for key, value in params.items():
            name, mark, rest = key.partition("__")
            if name not in names:
                inner = [one for one in self.get_params() if one.endswith(f"__{name}")]
                hint = f"; did you mean {inner[0]!r}?" if inner else did_you_mean(name, names)
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names!r}{hint or '.'}"
                )
            if mark:
                inside[name][rest] = value
            else:
                setattr(self, name, value)
        for name, some in inside.items():
            getattr(self, name).set_params(**some)
        return self

    def __repr__(self) -> str:
        return repr(_based_twin(self))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Methods such as `set_fit_request`, which scikit-learn makes for every class by what its methods take."""
            if name.startswith("set_") and name.endswith("_request"):
                made = vars(_based(type(self))).get(name)
                if made is not None:
                    return made.__get__(self, type(self))
            return super().__getattribute__(name)  # raises what it raised before

    def __dir__(self) -> list[str]:
        """Leaves out what `available_if` hides."""
        return [name for name in super().__dir__() if name.startswith("_") or hasattr(self, name)]


def _based_twin(estimator: Estimator) -> Any:
    """The estimator with scikit-learn's base class; it shares all attributes."""
    cls: Any = type(estimator)
    based = _based(cls)
    if based is cls:
        return estimator
    twin = object.__new__(based)
    twin.__dict__ = estimator.__dict__
    return twin


@cache
def _based(cls: Any) -> Any:
    """The class with scikit-learn's base class as its last base, under the same name."""
    from sklearn.base import BaseEstimator

    if issubclass(cls, BaseEstimator):
        return cls

    def get_params(self: Any, deep: bool = True) -> dict[str, Any]:
        return {name: _all_based(value) for name, value in cls.get_params(self, deep).items()}

    inside = {"__repr__": BaseEstimator.__repr__, "get_params": get_params, "__module__": cls.__module__}
    return type(
        cls.__name__, (cls, BaseEstimator), {**inside, "__doc__": cls.__doc__, "__qualname__": cls.__qualname__}
    )


def _all_based(value: Any) -> Any:
    """A parameter with twins in the place of estimators, which scikit-learn then prints as its own."""
    if isinstance(value, Estimator):
        return _based_twin(value)
    if type(value) in (list, tuple) and any(isinstance(one, Estimator | list | tuple) for one in value):
        return type(value)(map(_all_based, value))
    if type(value) is dict:
        return {name: _all_based(one) for name, one in value.items()}
    return value


@cache
def _parameter_names(cls: Any) -> tuple[str, ...]:
    """What `__init__` takes, in alphabetical order."""
    taken = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return tuple(sorted(one.name for one in taken if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)))


def _takes_any(cls: Any) -> bool:
    """Whether `__init__` takes named arguments of any name."""
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(cls.__init__).parameters.values())


def clone(estimator: T) -> T:
    """Returns an unfitted copy with copies of the parameters, as scikit-learn's function of this name does."""
    twin: T = _copied(estimator)
    return twin


def _copied(value: Any) -> Any:
    if isinstance(value, type):
        return deepcopy(value)
    if hasattr(value, "__sklearn_clone__"):
        return value.__sklearn_clone__()
    if type(value) in (list, tuple, set, frozenset):
        return type(value)([_copied(one) for one in value])
    if type(value) is dict:
        return {name: _copied(one) for name, one in value.items()}
    if not hasattr(value, "get_params"):
        return deepcopy(value)
    twin = type(value)(**{name: _copied(one) for name, one in value.get_params(deep=False).items()})
    with suppress(AttributeError):
        twin._metadata_request = deepcopy(value._metadata_request)
    return twin


def is_fitted(estimator: Any, attribute: str = "classes_") -> bool:
    """Whether an estimator has learned something: an attribute that `fit` leaves is there."""
    return hasattr(estimator, attribute)


def require_fitted(estimator: Any, attribute: str = "classes_") -> None:
    """Raise scikit-learn's `NotFittedError` unless an estimator was fitted."""
    if not is_fitted(estimator, attribute):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )


def warn_convergence(message: str) -> None:
    """Warn the caller of the package by scikit-learn's `ConvergenceWarning`."""
    from sklearn.exceptions import ConvergenceWarning

    warn(message, ConvergenceWarning)
