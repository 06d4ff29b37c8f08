"""The labels that a rule speaks of: names, all but some names, or each label in turn."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import DataError
from .conditions import Where


@dataclass(frozen=True)
class Each:
    """Stands for one label at a time: the rule holds for each of them (or for each of `labels`)."""

    labels: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"each({', '.join(map(repr, self.labels))})" if self.labels else "each"

    def __call__(self, *labels: str) -> "Each":
        """For each of these labels only."""
        return Each(label_names(labels))


each = Each()


@dataclass(frozen=True)
class Labels:
    """A set of labels, or all but those; `Each` for one at a time."""

    names: tuple[str, ...] | Each = ()
    all_but: bool = False

    def __repr__(self) -> str:
        inner = repr(self.names) if isinstance(self.names, Each) else ", ".join(map(repr, self.names))
        return f"others({inner})" if self.all_but else inner

    def as_one(self) -> str:
        """Its text as a single argument: several names are a list."""
        several = not self.all_but and not isinstance(self.names, Each) and len(self.names) != 1
        return f"[{self!r}]" if several else repr(self)

    @property
    def named(self) -> tuple[str, ...]:
        """The labels that are mentioned."""
        return self.names.labels if isinstance(self.names, Each) else self.names

    def among(self, labels: Sequence[str]) -> tuple[list[bool], list[str]]:
        """Whether a name means each of the labels, and the names that mean none of them (`labels_meant`)."""
        assert not isinstance(self.names, Each)
        meant = {name: labels_meant(name, labels) for name in self.names}
        inside = {label for found in meant.values() for label in found}
        return [label in inside for label in labels], [name for name, found in meant.items() if not found]

    def about(self, name: str) -> "Labels":
        """The same with this label in the place of `each`."""
        return replace(self, names=(name,)) if isinstance(self.names, Each) else self


Any_ = Labels((), all_but=True)


def label_names(labels: Iterable[Any]) -> tuple[str, ...]:
    """Names, alone or in lists, each once."""
    flat: list[Any] = []
    for item in labels:
        flat += item if isinstance(item, list | tuple | set | frozenset) else [item]
    wrong = [name for name in flat if not isinstance(name, str)]
    if wrong:
        hint = "; each and others(...) stand alone" if isinstance(wrong[0], Each | Labels) else ""
        hint = "; where y has numbers as labels, write them as strings there too" if isinstance(wrong[0], int) else hint
        raise DataError(f"labels are strings, got {wrong[0]!r}{hint}")
    return tuple(dict.fromkeys(flat))


def span_type(label: str) -> str:
    """The type of spans that a label marks: the label without its prefix of BIO, BIOES or BILOU; itself without one."""
    return re.sub(r"^[BIESLU]-", "", label)


def labels_meant(name: str, labels: Sequence[str]) -> list[str]:
    """The labels that a name in a rule means: that label, or if there is none, all that mark spans of this type.

    Where labels are B-PER and I-PER, "PER" means both.
    """
    return [name] if name in labels else [one for one in labels if isinstance(one, str) and span_type(one) == name]


def labels_added(name: str, known: Sequence[str]) -> list[str]:
    """The labels to add to the known ones for a name in a rule that means none of these: the name itself.

    Where all known labels but O mark spans, it is the name of a type, and its labels have the same prefixes.
    """
    marked = [label for label in known if label != "O"]
    of_spans = len(marked) > 0 and all(span_type(label) != label for label in marked)
    if not of_spans or name == "O" or span_type(name) != name:
        return [name]
    return [f"{prefix}-{name}" for prefix in sorted({label[0] for label in marked})]


def as_labels(labels: Any) -> Labels:
    """Labels from a name, several names, `each`, `others(...)` or None for any."""
    if labels is None:
        return Any_
    if isinstance(labels, Labels):
        return labels
    if isinstance(labels, Each):
        return Labels(labels)
    return Labels(label_names([labels]))


def some_labels(labels: tuple[Any, ...]) -> Labels:
    """Labels from the arguments of a call: any label if there are none; `each` and `others(...)` stand alone."""
    if len(labels) == 1:
        return as_labels(labels[0])
    return as_labels(label_names(labels)) if labels else Any_


def others(*labels: Any) -> Labels:
    """Return all labels but these.

    Parameters
    ----------
    *labels : str, list of str or each
        The labels that are left out, at least one.

    Returns
    -------
    Labels
        The other labels, to be used where rules take labels.
    """
    inner = labels[0] if len(labels) == 1 and isinstance(labels[0], Each) else label_names(labels)
    if not inner:
        raise DataError("at least one label is needed here")
    return Labels(inner, all_but=True)


def call_text(name: str, *labels: Any, where: Where | None = None, **named: Any) -> str:
    """A call of the language as it is written, for example "runs('author', where=first)"."""
    shown = [repr(as_labels(label)) for label in labels if label is not None]
    shown += [f"{k}={as_labels(v).as_one()}" for k, v in named.items() if v is not None]
    shown += [f"where={where!r}"] if where is not None else []
    return f"{name}({', '.join(shown)})"
