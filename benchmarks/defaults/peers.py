"""What a user would pick instead: CRFsuite with the rules' word lists as features, and skweak before it.

skweak's recipe: each rule that gives a word one label is a labelling function, and so is CRFsuite trained on the
labelled sequences; its HMM aggregates them on the unlabelled sequences, and CRFsuite learns from the labelled ones and
those.
"""

import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.rules.comparisons import Comparison
from sidelight.rules.conditions import mask_of
from sidelight.rules.language import Rule

try:
    import pycrfsuite
except ImportError:
    pycrfsuite = None

MISSING = "python-crfsuite and skweak are not both installed, so peers are left out; pip install 'sidelight[bench]'"


def installed() -> bool:
    """Whether both peers are there."""
    return pycrfsuite is not None and find_spec("skweak") is not None


def conditions(rules: Sequence[Rule]) -> list[Any]:
    """Where the rules speak: each different condition of a count."""
    found: list[Any] = []
    for rule in rules:
        for term in rule.count.terms if isinstance(rule, Comparison) else ():
            if term.where is not None and term.where not in found:
                found.append(term.where)
    return found


def masks(where: Sequence[Any], X: Sequence[Any]) -> list[list[Any]]:
    """For each sequence which conditions hold at each of its tokens: (tokens, conditions)."""
    ends = np.cumsum([len(x) for x in X])[:-1]
    flat = np.stack([mask_of(one, X) for one in where], axis=1) if where else np.zeros((sum(map(len, X)), 0), bool)
    return np.split(flat, ends)


def attributes(x: Sequence[str], held: Any) -> list[list[str]]:
    """Words around, spelling, and the rules' conditions; the features that a user of CRFsuite would write."""
    out = []
    for t, token in enumerate(x):
        found = ["bias", f"word={token}", f"lower={token.lower()}", f"shape={_shape(token)}"]
        found += [f"{kind}{n}={token.lower()[cut]}" for n in (2, 3) for kind, cut in _cuts(n)]
        for k in (-2, -1, 1, 2):
            other = x[t + k].lower() if 0 <= t + k < len(x) else "<end>"
            found += [f"{k}={other}", f"{k}shape={_shape(other)}"]
        found += [f"rule{number}" for number in np.flatnonzero(held[t])]
        out.append(found)
    return out


def _cuts(n: int) -> tuple[tuple[str, slice], tuple[str, slice]]:
    return (("prefix", slice(None, n)), ("suffix", slice(-n, None)))


def _shape(token: str) -> str:
    kinds = ["d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in token]
    return "".join(c for c, before in zip(kinds, ["", *kinds[:-1]], strict=True) if c != before)


class CRFsuite:
    """CRFsuite with these features and its default penalties but c2 = 0.1, as its tutorial has it."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._where = conditions(rules)

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> "CRFsuite":
        """Train and open the model."""
        trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.0, "c2": 0.1, "max_iterations": 200}, verbose=False)
        for x, labels, held in zip(X, y, masks(self._where, X), strict=True):
            trainer.append(attributes(x, held), labels)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            trainer.train(path)
            self._model = Path(path).read_bytes()  # the tagger reads it and does not keep it
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open_inmemory(self._model)
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """The best labels of each sequence."""
        return [self._tagger.tag(attributes(x, held)) for x, held in zip(X, masks(self._where, X), strict=True)]


def with_skweak(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], pool: Sequence[Any]) -> CRFsuite:
    """CRFsuite trained on labelled sequences and on unlabelled ones as skweak labels them."""
    import skweak  # takes seconds, and most who import this module fit nothing
    import spacy

    first = CRFsuite(rules).fit(X, y)
    guessed, classes = first.predict(pool), sorted({label for labels in y for label in labels})
    blank, docs = spacy.blank("en"), []
    single = [(term.where, _only(rule)) for rule in rules if _only(rule) for term in rule.count.terms]
    held = masks([where for where, _ in single], pool)
    for x, labels, found in zip(pool, guessed, held, strict=True):
        doc = spacy.tokens.Doc(blank.vocab, words=list(x))
        doc.spans["crfsuite"] = [_span(doc, a, b, labels[a]) for a, b in _runs(labels)]
        for number, (_, label) in enumerate(single):
            if label in classes:
                doc.spans[f"rule{number}"] = [_span(doc, t, t + 1, label) for t in np.flatnonzero(found[:, number])]
        docs.append(doc)
    model = skweak.aggregation.HMM("hmm", classes, prefixes="BIO")  # with "IO" it gives one label everywhere
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        docs = list(model.fit_and_aggregate(docs))
    labelled = []
    for doc, labels in zip(docs, guessed, strict=True):
        out = list(labels)
        for span in doc.spans["hmm"]:
            out[span.start : span.end] = [span.label_] * (span.end - span.start)
        labelled.append(out)
    return CRFsuite(rules).fit([*X, *pool], [*y, *labelled])


def _only(rule: Rule) -> str:
    """The label of a rule that gives tokens one label; none otherwise."""
    if not isinstance(rule, Comparison) or len(rule.count.terms) != 1:
        return ""
    term = rule.count.terms[0]
    single = term.kind == "token" and term.where is not None and term.to.all_but and rule.bound == 0
    return str(term.to.names[0]) if single and len(term.to.names) == 1 else ""


def _runs(labels: Sequence[str]) -> list[tuple[int, int]]:
    starts = [t for t, label in enumerate(labels) if t == 0 or label != labels[t - 1]]
    return list(zip(starts, [*starts[1:], len(labels)], strict=True))


def _span(doc: Any, a: int, b: int, label: str) -> Any:
    from spacy.tokens import Span

    return Span(doc, int(a), int(b), label)
