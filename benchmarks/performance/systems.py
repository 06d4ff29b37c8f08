"""What is measured: every learner with its defaults, learners with the settings of a peer, and the peers."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any

from .. import crfsuite
from .cells import Cell
from .materials import Material

L2, EPOCHS = 0.5, 10
# Rounds and iterations of what is compared over threads and workers, so that all do the same work.
ITERATIONS = 20
# What JLIS takes at most as good inputs, and reordered as bad ones.
_COMPANIONS = 60
_AUTO_SECONDS = 20.0


class NotInstalled(Exception):
    """A peer is not there."""


class System:
    """Something that is fitted and predicts.

    package: where it comes from; outside: whether it works in a process of its own, whose memory is not measured.
    """

    package = "sidelight"
    outside = False

    def versions(self) -> dict[str, Any]:
        """Which versions are measured."""
        return {"package": self.package, "version": version(self.package), "sidelight": version("sidelight")}

    def warm_up(self, material: Material) -> None:
        """Let all be compiled and loaded that is compiled and loaded once."""
        few = material.few()
        self.fit(few)
        self.predict(few.test_X)

    def fit(self, material: Material) -> None:
        """Learn."""
        raise NotImplementedError

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """Outputs of inputs."""
        raise NotImplementedError

    def objective(self) -> float | None:
        """What was minimised, where systems are compared by it."""
        return None


class Learner(System):
    """A learner of sidelight; given: what it learns from, by default the labelled inputs."""

    def __init__(self, learner: Any, threads: int, given: Callable[[Material], tuple[Any, Any]] | None = None) -> None:
        names = [name for name in learner.get_params() if name == "n_jobs" or name.endswith("__n_jobs")]
        self._learner = learner.set_params(**dict.fromkeys(names, threads))
        self.given = given or (lambda material: (material.X, material.y))

    def fit(self, material: Material) -> None:
        """Learn from what is given."""
        from sklearn.base import clone

        self._model = clone(self._learner).fit(*self.given(material))

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """Outputs of inputs."""
        found: Sequence[Any] = self._model.predict(X)
        return found

    def objective(self) -> float | None:
        """The last of the trace."""
        trace = getattr(self._model, "trace_", None)
        last = getattr(trace[-1], "objective", None) if trace else None
        return float(last) if last is not None and isfinite(last) else None


class Aligner(Learner):
    """The word aligner, which learns from pairs of sentences alone."""

    def fit(self, material: Material) -> None:
        """Learn."""
        from sklearn.base import clone

        self._model = clone(self._learner).fit(material.X)


class CRFsuite(System):
    """CRFsuite, with the attributes of the material."""

    package = "python-crfsuite"

    def __init__(self, algorithm: str, parameters: dict[str, Any]) -> None:
        if not crfsuite.INSTALLED:
            raise NotInstalled(crfsuite.MISSING)
        self._algorithm, self._parameters = algorithm, parameters | crfsuite.OBSERVED_ONLY

    def fit(self, material: Material) -> None:
        """Train, and open the model."""
        assert material.attributes is not None
        self._attributes = material.attributes
        with tempfile.TemporaryDirectory() as folder:
            self._trained = crfsuite.train(
                material.X, material.y, self._algorithm, self._parameters, Path(folder), self._attributes
            )
            self._tagger = crfsuite.open_tagger(self._trained)

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """Tag from raw tokens."""
        return [self._tagger.tag(self._attributes(x)) for x in X]

    def objective(self) -> float | None:
        """The loss that it reports at the end."""
        return self._trained.loss if self._algorithm == "lbfgs" else None


class Wapiti(System):
    """Wapiti by libwapiti, with the templates of chunking in its own language, and weights for all labels of each."""

    package = "libwapiti"

    def __init__(self, threads: int) -> None:
        try:
            self._wapiti = import_module("wapiti")
        except ImportError:
            raise NotInstalled("Wapiti is not installed; pip install libwapiti") from None
        self._threads = threads

    def fit(self, material: Material) -> None:
        """Train by L-BFGS; its penalty is rho2 / 2 times the squared weights."""
        options = {"algo": "l-bfgs", "rho1": 0.0, "rho2": 2 * L2, "nthread": self._threads, "sparse": True}
        self._model = self._wapiti.Model(patterns="\n".join(_PATTERNS), **options)
        self._model.train([_lines(x, labels) for x, labels in zip(material.X, material.y, strict=True)])

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """Label columns."""
        return [self._model.label_sequence(_lines(x)).decode().split() for x in X]


# The templates of `chunk_features`; %x[row, column].
_PATTERNS = [
    "u:w-2=%x[-2,0]", "u:w-1=%x[-1,0]", "u:w=%x[0,0]", "u:w+1=%x[1,0]", "u:w+2=%x[2,0]",
    "u:w-1,w=%x[-1,0]/%x[0,0]", "u:w,w+1=%x[0,0]/%x[1,0]",
    "u:p-2=%x[-2,1]", "u:p-1=%x[-1,1]", "u:p=%x[0,1]", "u:p+1=%x[1,1]", "u:p+2=%x[2,1]",
    "u:p-2,p-1=%x[-2,1]/%x[-1,1]", "u:p-1,p=%x[-1,1]/%x[0,1]", "u:p,p+1=%x[0,1]/%x[1,1]",
    "u:p+1,p+2=%x[1,1]/%x[2,1]", "u:p-2,p-1,p=%x[-2,1]/%x[-1,1]/%x[0,1]",
    "u:p-1,p,p+1=%x[-1,1]/%x[0,1]/%x[1,1]", "u:p,p+1,p+2=%x[0,1]/%x[1,1]/%x[2,1]", "b",
]  # fmt: skip


def _lines(x: Sequence[Any], labels: Sequence[str] | None = None) -> str:
    rows = [[*token, *([labels[t]] if labels else [])] for t, token in enumerate(x)]
    return "\n".join(" ".join(row) for row in rows)


class WithRules(System):
    """CRFsuite with the words of the rules as features, and skweak before it, as in `benchmarks.defaults.peers`."""

    def __init__(self, skweak: bool) -> None:
        from ..defaults import peers

        if not peers.installed():
            raise NotInstalled(peers.MISSING)
        self._skweak, self._peers = skweak, peers
        self.package = "skweak" if skweak else "python-crfsuite"

    def fit(self, material: Material) -> None:
        """Train."""
        if self._skweak:
            self._model = self._peers.with_skweak(material.rules, material.X, material.y, material.pool)
        else:
            self._model = self._peers.CRFsuite(material.rules).fit(material.X, material.y)

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """Tag."""
        return self._model.predict(X)


class LogisticRegression(System):
    """scikit-learn's, on feature dicts; of two classes it has one weight vector, so that C = 1 is `MaxEnt`'s l2 = 1."""

    package = "scikit-learn"

    def fit(self, material: Material) -> None:
        """Features and training."""
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        self._model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=1000))
        self._model.fit(material.X, material.y)

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """Classes."""
        return self._model.predict(X).tolist()  # type: ignore[no-any-return]


class Eflomal(System):
    """eflomal, both directions intersected; it aligns while it learns, so that predictions are what it wrote."""

    package = "eflomal"
    outside = True

    def __init__(self) -> None:
        if shutil.which("eflomal-align") is None:
            raise NotInstalled("eflomal-align is not on the PATH; pip install eflomal")

    def fit(self, material: Material) -> None:
        """Align all pairs."""
        from ..wordalign import Text, run_eflomal

        text = Text(material.X, material.test_X, material.test_y, [], [])
        self._links, _ = run_eflomal(material.X, text)

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """The links of the scored pairs."""
        return self._links


class HMMLearn(System):
    """hmmlearn's EM from random parameters."""

    package = "hmmlearn"

    def __init__(self) -> None:
        try:
            self._hmmlearn = import_module("hmmlearn.hmm")
        except ImportError:
            raise NotInstalled("hmmlearn is not installed; pip install hmmlearn") from None

    def fit(self, material: Material) -> None:
        """Number the words, and estimate."""
        words = {word for x in material.pool for word in x}
        self._numbers = {word: number for number, word in enumerate(sorted(words))}
        self._model = self._hmmlearn.CategoricalHMM(
            len(material.classes), n_iter=ITERATIONS, tol=-1.0, random_state=0, n_features=len(words)
        )
        self._model.fit(*self._encoded(material.pool))

    def predict(self, X: Sequence[Any]) -> Sequence[Any]:
        """The best states of each sequence."""
        states = iter(self._model.predict(*self._encoded(X)).tolist())
        return [[f"state {next(states)}" for _ in x] for x in X]

    def _encoded(self, X: Sequence[Any]) -> tuple[Any, list[int]]:
        """One word below the other, and how many each sequence has."""
        import numpy as np

        return np.array([[self._numbers[word]] for x in X for word in x]), [len(x) for x in X]


def make(cell: Cell, material: Material) -> System:
    """The system of a cell."""
    if cell.system in _PEERS:
        return _PEERS[cell.system](cell)
    if cell.system in _SET:
        return Learner(_SET[cell.system](material), cell.threads, _known(cell.system.partition("(")[0]))
    if cell.system == "WordAligner":
        from sidelight import WordAligner

        return Aligner(WordAligner(), cell.threads)
    return Learner(with_defaults(cell.system, material), cell.threads, _known(cell.system))


_PEERS: dict[str, Callable[[Cell], System]] = {
    "CRFsuite: CRF": lambda cell: CRFsuite("lbfgs", {"c1": 0.0, "c2": L2}),
    "CRFsuite: perceptron": lambda cell: CRFsuite("ap", {"max_iterations": EPOCHS}),
    "Wapiti: CRF": lambda cell: Wapiti(cell.threads),
    "CRFsuite and word lists": lambda cell: WithRules(skweak=False),
    "skweak, then CRFsuite": lambda cell: WithRules(skweak=True),
    "LogisticRegression": lambda cell: LogisticRegression(),
    "eflomal": lambda cell: Eflomal(),
    "hmmlearn": lambda cell: HMMLearn(),
}


def _set(name: str, **options: Any) -> Callable[[Material], Any]:
    """A learner with these options, and with the templates of the material if there are some."""

    def build(material: Material) -> Any:
        import sidelight

        templates = list(material.templates) or None
        return getattr(sidelight, name)(templates, **options)

    return build


def _around(name: str, base: str) -> Callable[[Material], Any]:
    """A learner around another one, with the rules of the material that it can read."""

    def build(material: Material) -> Any:
        import sidelight

        inner = getattr(sidelight, base)(classes=list(material.classes))
        return getattr(sidelight, name)(inner, _rules(name, material), guard=False)

    return build


# Learners that are not as they come: the objective and the features of CRFsuite, and a fixed amount of work.
_SET: dict[str, Callable[[Material], Any]] = {
    "CRF, as CRFsuite": _set("CRF", l2=L2, boundaries=False),
    "perceptron, as CRFsuite": _set("StructuredPerceptron", epochs=EPOCHS),
    "CRF, L-BFGS, 20 iterations": _set("CRF", solver="lbfgs", max_iterations=ITERATIONS),
    "StructuralSVM, 20 iterations": _set("StructuralSVM", max_iterations=ITERATIONS),
    "StructuralSVM, same features": _set("StructuralSVM"),
    "CCM(HMM)": _around("CCM", "HMM"),
    "CoDL(HMM)": _around("CoDL", "HMM"),
    "PosteriorRegularization(HMM)": _around("PosteriorRegularization", "HMM"),
    "EM(HMM), 20 iterations": lambda material: _em(list(material.classes)),
}


def _em(classes: list[str]) -> Any:
    from sidelight import EM

    from ..induction import hmm

    return EM(hmm(), classes=classes, iterations=ITERATIONS, spread=1.0, random_state=0, guard=False)


def with_defaults(name: str, material: Material) -> Any:
    """Any learner of the library as it comes, but without guard; around its default base, if it goes around one."""
    import sidelight
    from sidelight.learners.registry import REGISTRY

    learner, entry, classes = getattr(sidelight, name), REGISTRY[name], list(material.classes)
    if name == "Agreement":
        views = {"all": sidelight.CRF(classes=classes), "frequent": sidelight.CRF(classes=classes, min_count=2)}
        return learner(views, guard=False)
    if entry.inside is not None:
        inside = next(other for other, one in REGISTRY.items() if one.command == entry.inside)
        base = getattr(sidelight, inside)(classes=classes)
        takes = "rules" in learner(base).get_params(deep=False)
        return learner(base, _rules(name, material), guard=False) if takes else learner(base, guard=False)
    if name in ("LCLR", "TwoStage"):
        from .. import transliteration as names

        return learner(task=names.TASK, C=names.C, initial=names.start(names.WITH_VOWELS))
    parameters = learner().get_params(deep=False)
    given = {"classes": classes, "guard": False, "budget": _AUTO_SECONDS}
    if name == "Auto":
        given["rules"] = material.rules
    return learner(**{key: value for key, value in given.items() if key in parameters and value != []})


def _rules(name: str, material: Material) -> list[Any]:
    """The rules that a learner can read."""
    from sidelight.learners.registry import REGISTRY

    from ..defaults.learners import statements

    expecting = REGISTRY[name].expecting or name == "Combined"
    return statements(material.rules) if expecting else material.rules


def _known(name: str) -> Callable[[Material], tuple[Any, Any]]:
    """What a learner is given: labelled inputs, and whatever else it can use of the others."""

    def given(material: Material) -> tuple[Any, Any]:
        from sidelight import BAD, GOOD, shuffled
        from sidelight.learners.registry import REGISTRY
        from sidelight.supervision import Signal

        signals = REGISTRY[name].signals if name in REGISTRY else frozenset({Signal.FULL})
        X, y, pool = list(material.X), list(material.y), material.pool
        if name == "ContrastiveEstimation":  # every label is one of two
            first = y[0][0]
            return X, [[{label, first} for label in labels] for labels in y]
        if Signal.NOTHING in signals:
            X, y = [*X, *pool], [*y, *[None] * len(pool)]
        if Signal.COMPANION in signals and name in ("JLIS", "Combined"):
            good = pool[:_COMPANIONS]
            X, y = [*X, *good, *shuffled(good)], [*y, *[GOOD] * len(good), *[BAD] * len(good)]
        return X, y

    return given
