"""Integer programs as a task: named 0/1 variables with features, and linear rows over them."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Annotated, Any, Literal, get_args

import numpy as np

from ...declared import Bounds
from ...errors import DataError
from ...kernels.compiling import Flags, Floats, Ints
from ...quoting import quoted
from ...rules.part_view import PartView
from ...structures.flat import Shape
from ...structures.polytope import LinearRows
from ...structures.program_rows import ProgramRows
from ...structures.programs import Programs, one_rows
from ...structures.protocol import TIME_LIMIT
from ...supervision import Given, Partial, Signal
from .parts import PartsTask

Sense = Literal["<=", ">=", "=="]


class Variables:
    """The variables of one input and the rows over them, declared one after the other.

    A name is a string, a number, or a tuple of these. A variable is declared before the first row that has it. Each row
    may have a title, which messages call it by.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._features: list[dict[str, Any]] = []
        self._rows: list[tuple[dict[int, float], float, float]] = []
        self._titles: list[str | None] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: Any) -> bool:
        return read_name(name) in self._numbers

    def add(self, name: Any, features: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Declare a variable.

        Parameters
        ----------
        name : str, number, or tuple of these
            Its name.
        features : mapping of str, default=None
            Its features, as everywhere: strings, True, False, None or numbers by name.
        **more
            Features whose names are Python names.
        """
        name = read_name(name)
        if name in self._numbers:
            raise DataError(f"the variable {quoted(name)} is declared twice; give each variable a name of its own")
        if features is not None and not isinstance(features, Mapping):
            raise DataError(f"the features of the variable {quoted(name)} are a dict, got {quoted(features)}")
        self._numbers[name] = len(self._numbers)
        self._features.append({**(features or {}), **more})

    def row(self, coefficients: Mapping[Any, float], sense: Sense, bound: float, *, title: str | None = None) -> None:
        """Ask that a sum of variables, each times its coefficient, is at most, at least or exactly a number.

        Parameters
        ----------
        coefficients : mapping
            The coefficient of each variable that the row has, by name.
        sense : {"<=", ">=", "=="}
            How the sum is compared.
        bound : float
            What it is compared with.
        title : str or None, default=None
            What messages call the row.
        """
        what = f"the row {quoted(title)}" if title is not None else "a row"
        if not isinstance(coefficients, Mapping):
            raise DataError(
                f"{what} has coefficients by name, a dict such as {{'a': 1, 'b': -1}}, got {quoted(coefficients)}"
            )
        if sense not in get_args(Sense):
            raise DataError(f"{what} is compared by one of {', '.join(get_args(Sense))}, got {quoted(sense)}")
        if not _is_finite(bound):
            raise DataError(f"{what} is compared with {quoted(bound)}; give a finite number, or leave the row out")
        terms = {self._number(name, what): c for name, c in coefficients.items()}
        for name, c in coefficients.items():
            if not _is_finite(c):
                raise DataError(
                    f"{what} has the coefficient {quoted(c)} for {quoted(name)}; coefficients are finite numbers"
                )
        self._add_row(terms, -np.inf if sense == "<=" else bound, np.inf if sense == ">=" else bound, title)

    def exactly_one(self, names: Iterable[Any], *, title: str | None = None) -> None:
        """Ask that exactly one of some variables is 1.

        Parameters
        ----------
        names : iterable
            Their names.
        title : str or None, default=None
            What messages call the row.
        """
        self._add_row(self._each(names, "exactly_one"), 1.0, 1.0, title)

    def at_most_one(self, names: Iterable[Any], *, title: str | None = None) -> None:
        """Ask that one of some variables is 1, or none.

        Parameters
        ----------
        names : iterable
            Their names.
        title : str or None, default=None
            What messages call the row.
        """
        self._add_row(self._each(names, "at_most_one"), -np.inf, 1.0, title)

    def at_least_one(self, names: Iterable[Any], *, title: str | None = None) -> None:
        """Ask that one or more of some variables are 1.

        Parameters
        ----------
        names : iterable
            Their names.
        title : str or None, default=None
            What messages call the row.
        """
        self._add_row(self._each(names, "at_least_one"), 1.0, np.inf, title)

    def implies(self, first: Any, second: Any, *, title: str | None = None) -> None:
        """Ask that the second of two variables is 1 where the first one is.

        Parameters
        ----------
        first, second : str, number, or tuple of these
            Their names.
        title : str or None, default=None
            What messages call the row.
        """
        self.row({read_name(first): 1.0, read_name(second): -1.0}, "<=", 0.0, title=title)

    def declared(self) -> tuple[ProgramRows, list[dict[str, Any]]]:
        """Return the rows with the names of the variables, and the features of each."""
        if not self._numbers:
            raise DataError("no variable is declared; add at least one, or leave the input out")
        entries = [(r, v, c) for r, (terms, _, _) in enumerate(self._rows) for v, c in terms.items()]
        row, variable, value = (np.array(column) for column in zip(*entries, strict=True)) if entries else [_NONE] * 3
        low, high = (np.array([one[k] for one in self._rows], float) for k in (1, 2))
        rows = LinearRows.of(low, high, row, variable, value.astype(float))
        return ProgramRows(len(self), rows, tuple(self._titles), tuple(self._numbers)), self._features

    def _add_row(self, terms: dict[int, float], low: float, high: float, title: str | None) -> None:
        if not any(terms.values()) and not low <= 0 <= high:
            raise DataError(
                f"the row {quoted(title)} has no variable and cannot hold; leave it out where there is nothing to "
                "choose from"
            )
        self._rows.append((terms, low, high))
        self._titles.append(title)

    def _each(self, names: Iterable[Any], what: str) -> dict[int, float]:
        """Ones for some variables."""
        if isinstance(names, str):
            raise DataError(f"{what} takes a list of names, got the string {quoted(names)}")
        listed = list(names)
        terms = {self._number(name, what): 1.0 for name in listed}
        if len(terms) < len(listed):
            twice = next(name for k, name in enumerate(listed) if name in listed[:k])
            raise DataError(f"{what} has the variable {quoted(twice)} twice; name each once")
        return terms

    def _number(self, name: Any, what: str) -> int:
        number = self._numbers.get(read_name(name))
        if number is None:
            raise DataError(f"{what} has the variable {quoted(name)}, which is not declared; add it before the row")
        return number


_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Program(PartsTask):
    """Base of tasks that are integer programs: which of an input's variables are 1.

    A new one is a dataclass with a method `declare`, registered by `register_task`. What is known of an input is a set
    or list of the names that are 1; a prediction is such a list, in the order of declaration. `Partial({...})` says of
    some names whether they are 1, and `Partial([...])` that they are; the others are not known. `StructuredPerceptron`,
    `MIRA` and `StructuralSVM` learn it, `LatentStructuralSVM` from partial outputs too; probabilities are intractable.

    Parameters
    ----------
    time_limit : float or None, default=60.0
        Seconds for each input. Out of time, the best output found is taken, and `infer` has a bound for it. None
        searches until the best output is proved to be it.
    """

    time_limit: Annotated[float | None, "Seconds for each input.", Bounds(0, above=True, infinite=True)] = field(
        default=TIME_LIMIT, kw_only=True
    )

    @abstractmethod
    def declare(self, x: Any) -> Variables:
        """Return the variables of an input with their features, and the rows over them.

        Parameters
        ----------
        x : object
            The input.

        Returns
        -------
        Variables
            What was declared.
        """

    def structure(self, n_jobs: int = -1) -> Programs:
        """Returns integer programs."""
        return Programs(n_jobs, self.time_limit)

    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns the rows of an input as its shape, and the features of its variables."""
        variables = self.declare(x)
        if not isinstance(variables, Variables):
            raise DataError(f"`declare` of {type(self).__name__} returns Variables, got {type(variables).__name__}")
        rows, features = variables.declared()
        return rows.shape, features

    def view(self, X: Sequence[Any], classes: Sequence[str]) -> PartView:
        """Returns the variables of a batch with labels: their names, or the last element of names that are tuples.

        So rules can count them: `count("Kill") <= 1` is about the variables ("Kill",), (3, 5, "Kill") and "Kill".
        """
        labels = [[_label(name) for name in shape[1].names] for shape in self.sizes(X)]
        known = sorted({label for some in labels for label in some})
        number = {label: k for k, label in enumerate(known)}
        codes = np.array([number[label] for some in labels for label in some], np.int32)
        offsets = np.concatenate(([0], np.cumsum([len(some) for some in labels]))).astype(np.int64)
        return PartView(offsets, codes, known, {}, "", others=True)

    def read_one(self, shape: Shape, y: Any) -> Any:
        """Returns what is known of the variables, checked; None where nothing is."""
        if not isinstance(y, Partial):
            return super().read_one(shape, y)
        known = np.array(self.partial_output(shape, y, ()), np.int32)
        if (known < 0).all():
            return None
        scores = np.where(known == 0, -np.inf, 0.0)
        rows: ProgramRows = shape[1]
        with_known = ProgramRows(rows.variables, rows.rows + one_rows(np.flatnonzero(known > 0)), names=rows.names)
        if not len(self.structure(1).solve(scores, with_known.shape).values):
            raise DataError("no output has these values and satisfies the rows; correct it, or leave a row out")
        return Given(Signal.PARTIAL, y)

    def partial_output(self, shape: Shape, y: Partial, classes: Sequence[str]) -> Sequence[int]:
        """Returns 0 or 1 for every variable that is known, and -1 for the others."""
        given = y.known.items() if isinstance(y.known, Mapping) else [(name, True) for name in self._names(y.known)]
        output = np.full(shape[0], -1, np.int32)
        numbers = self._numbers(shape[1], [name for name, _ in given])
        for (name, value), number in zip(given, numbers, strict=True):
            if value not in (0, 1):
                raise DataError(f"the variable {quoted(name)} is {quoted(value)}; write True or False, or leave it out")
            output[number] = int(value)
        listed: list[int] = output.tolist()
        return listed

    def allowed(self, shape: Shape, y: Any, classes: Sequence[str]) -> Flags:
        """Returns the variables that are not known to be 0."""
        return np.asarray(np.array(self.partial_output(shape, y, classes)) != 0)

    def _names(self, y: Any) -> Iterable[Any]:
        """Several names; an error for what is none."""
        if isinstance(y, str | Mapping) or not isinstance(y, Iterable):
            raise DataError("write a set or list of the names that are 1")
        return y

    def _numbers(self, rows: ProgramRows, names: Iterable[Any]) -> list[int]:
        """The numbers of variables, each named once."""
        numbers, found = {name: k for k, name in enumerate(rows.names)}, dict[int, None]()
        for name in map(read_name, names):
            if name not in numbers:
                raise DataError(f"there is no variable {quoted(name)}; declare it, or leave it out")
            if numbers[name] in found:
                raise DataError(f"the variable {quoted(name)} is there twice; name each once")
            found[numbers[name]] = None
        return list(found)

    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns 0 or 1 for every variable."""
        rows: ProgramRows = x_shape[1]
        output = np.zeros(rows.variables, np.int32)
        output[self._numbers(rows, self._names(y))] = 1
        broken = rows.broken(output)
        if broken:
            raise DataError(f"it breaks the row {rows.title(broken[0])}; correct the output, or leave the row out")
        listed: list[int] = output.tolist()
        return listed

    def to_y(self, x_shape: Shape, output: Ints) -> list[Any]:
        """Returns the names that are 1, in the order of declaration."""
        return [x_shape[1].names[k] for k in np.flatnonzero(np.asarray(output) > 0)]

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the share of outputs that are right as a whole, whatever the order of names.

        Outputs that are known in part are left out.
        """
        counts = np.ones(len(y)) if weights is None else weights
        whole = [i for i, known in enumerate(y) if not isinstance(known, Partial) and counts[i]]
        if not whole:
            raise DataError(f"of no {self.noun} that counts the whole output is known, so there is nothing to score")
        right = [set(map(read_name, y[i])) == set(map(read_name, predicted[i])) for i in whole]
        return float(np.average(right, weights=counts[whole]))


def _label(name: Any) -> str:
    """What rules call a variable."""
    return _label(name[-1]) if isinstance(name, tuple) and name else str(name)


def read_name(name: Any) -> Any:
    """Returns the name of a variable, lists as tuples, the way JSON writes them; raises `DataError` for others."""
    if isinstance(name, list | tuple):
        return tuple(map(read_name, name))
    if isinstance(name, np.generic):
        name = name.item()
    if name is None or isinstance(name, str | int) or _is_finite(name):
        return name
    raise DataError(f"{quoted(name)} cannot name a variable; a name is a string, a number, or a tuple of these")


def _is_finite(value: Any) -> bool:
    """Whether it is a number, and finite."""
    return isinstance(value, Real) and math.isfinite(value)
