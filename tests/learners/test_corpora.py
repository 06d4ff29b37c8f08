"""Learning from corpora on disk is learning from the same lists, whatever is in memory at a time."""

import pickle
import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from sidelight import (
    CCM,
    CRF,
    EM,
    HMM,
    MIRA,
    CoDL,
    DataError,
    NotSupported,
    PosteriorRegularization,
    StructuralSVM,
    StructuredPerceptron,
    check,
    generate_references,
    load,
    read_corpus,
    starts_with,
    where,
    word,
    write_corpus,
)
from sidelight.features import on_disk
from sidelight.scorers.linear import LinearScorer
from sidelight.structures import known as structures_known

pytestmark = pytest.mark.filterwarnings("ignore:CRF stopped before its tolerance")
TEMPLATES = ["word", "word[-1]", "word.lower().suffix(2)", "word[-1].shape() & word.shape()"]
X, y = generate_references(45, seed=5)
FEW = X[:20], y[:20]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Little is in memory at a time, so that even small corpora are read by many blocks."""
    monkeypatch.setattr(on_disk, "_SMALL", 100)
    monkeypatch.setattr(on_disk, "CHUNK_TOKENS", 400)
    monkeypatch.setattr(structures_known, "_SMALL", 100)
    monkeypatch.setattr(LinearScorer, "block", 100, raising=False)
    monkeypatch.setattr("sidelight.data.corpus.Corpus.blocks.__defaults__", (150,))


def stored(folder, X, y, name="c.sl"):
    write_corpus(folder / name, zip(X, y, strict=True))
    return read_corpus(folder / name)


@pytest.fixture
def corpus(tmp_path):
    return stored(tmp_path, X, y)


@pytest.fixture
def never_whole(monkeypatch):
    """No learner may ask for the arrays of a whole corpus, only for those of its blocks."""

    def some(self):
        assert len(self) < 40, "all rows were asked for"
        return self.loaded()

    monkeypatch.setattr(on_disk.StoredEncoded, "_all", property(some))
    monkeypatch.setattr(structures_known.StoredLabels, "_all", property(some))


@pytest.mark.parametrize(
    "make",
    [
        partial(CRF, TEMPLATES, solver="lbfgs", max_iterations=40),
        partial(CRF, TEMPLATES, solver="lbfgs", min_count=2, order=2, max_iterations=20),
        partial(CRF, TEMPLATES, solver="lbfgs", hash_bits=12, max_iterations=20),
        partial(CRF, TEMPLATES, solver="lbfgs", all_weights=True, max_iterations=20),
        partial(CRF, TEMPLATES, solver="sgd", max_iterations=1),
    ],
)
def test_weights_of_l_bfgs_are_those_of_lists_to_the_last_bit(corpus, never_whole, make):
    mine, theirs = make().fit(corpus, corpus.y), make().fit(X, y)
    np.testing.assert_array_equal(mine.weights_, theirs.weights_)
    assert mine.encoder_.state()[0] == theirs.encoder_.state()[0]
    assert mine.classes_ == theirs.classes_
    assert mine.predict(corpus) == theirs.predict(X)


def test_order_of_views_is_that_of_lists(corpus, never_whole):
    which = np.random.default_rng(0).permutation(len(X))[:40]
    make = partial(CRF, TEMPLATES, solver="lbfgs", max_iterations=20)
    mine = make().fit(corpus.take(which), corpus.y.take(which))
    theirs = make().fit([X[i] for i in which], [y[i] for i in which])
    np.testing.assert_array_equal(mine.weights_, theirs.weights_)
    assert mine.encoder_.state()[0] == theirs.encoder_.state()[0]


def test_weights_of_inputs(corpus, never_whole):
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    for make in (partial(CRF, TEMPLATES, solver="lbfgs", max_iterations=20), HMM):
        mine = make().fit(corpus, corpus.y, sample_weight=weights)
        theirs = make().fit(X, y, sample_weight=weights)
        assert mine.predict(X) == theirs.predict(X)


def test_partial_labels(tmp_path, never_whole):
    some = [[None if t % 3 == 1 else frozenset({one, "note"}) if t % 5 == 4 else one for t, one in enumerate(known)]
            for known in y]  # fmt: skip
    corpus, make = stored(tmp_path, X, some), partial(CRF, TEMPLATES, max_iterations=15)
    mine, theirs = make().fit(corpus, corpus.y), make().fit(X, some)
    np.testing.assert_array_equal(mine.weights_, theirs.weights_)


def test_counts_of_an_hmm_are_those_of_lists(corpus, never_whole):
    mine, theirs = HMM().fit(corpus, corpus.y), HMM().fit(X, y)
    for name in ("start", "transition", "emission"):
        np.testing.assert_array_equal(getattr(mine.counts_, name), getattr(theirs.counts_, name))
        np.testing.assert_array_equal(getattr(mine.scorer_, name), getattr(theirs.scorer_, name))
    assert mine.encoder_.words == theirs.encoder_.words
    assert mine.encoder_.class_of_word == theirs.encoder_.class_of_word


@pytest.mark.parametrize("make", [StructuredPerceptron, MIRA])
def test_online_learners_visit_all_sequences_of_all_chunks(corpus, never_whole, make):
    model = make(TEMPLATES, epochs=6).fit(corpus, corpus.y)
    assert model._passes_.clock == 1 + len(model.mistakes_) * len(X)
    assert model.score(X, y) > 0.93
    again = make(TEMPLATES, epochs=6).fit(corpus, corpus.y)
    np.testing.assert_array_equal(model.weights_, again.weights_)


@pytest.mark.parametrize("make", [StructuredPerceptron, MIRA])
def test_online_learners_of_one_chunk_are_those_of_lists(corpus, monkeypatch, make):
    monkeypatch.setattr(on_disk, "CHUNK_TOKENS", 10**6)
    mine, theirs = make(TEMPLATES).fit(corpus, corpus.y), make(TEMPLATES).fit(X, y)
    np.testing.assert_array_equal(mine.weights_, theirs.weights_)


@pytest.mark.parametrize("make", [partial(CRF, solver="eg"), StructuralSVM, partial(CRF, edges=True, max_iterations=5)])
def test_learners_that_need_all_rows_have_them(corpus, make):
    mine, theirs = make(TEMPLATES).fit(corpus, corpus.y), make(TEMPLATES).fit(X, y)
    np.testing.assert_array_equal(mine.weights_, theirs.weights_)


def test_auto_takes_exponentiated_gradient_only_where_its_dual_fits(corpus, never_whole, monkeypatch):
    monkeypatch.setattr("sidelight.learners.labelled.crf._LARGEST_DUAL", 1000)
    assert CRF(TEMPLATES, max_iterations=1).fit(corpus, corpus.y).solver_ == "lbfgs"
    assert CRF(TEMPLATES, max_iterations=1).fit(X, y).solver_ == "lbfgs"


RULES = [starts_with("author", "title"), where(word.isin("pp.")).label("pages")]


@pytest.mark.parametrize(
    "learner",
    [
        EM(HMM(), iterations=2),
        CoDL(HMM(), RULES, iterations=2),
        PosteriorRegularization(HMM(), RULES, iterations=2),
        CoDL(CRF(TEMPLATES, solver="lbfgs", max_iterations=5), RULES, iterations=1),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_learners_around_others(tmp_path, learner):
    known = [one if i < 15 else None for i, one in enumerate(y)]
    corpus = stored(tmp_path, X, known)
    theirs = learner.fit(X, known).predict_marginals(X[:20])
    mine = learner.fit(corpus, corpus.y).predict_marginals(corpus[:20])
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_predictions_of_all_kinds_are_those_of_lists(corpus):
    model = CCM(CRF(TEMPLATES), RULES[:1], reading="hard").fit(X, y)
    assert model.predict(corpus) == model.predict(X)
    assert model.predict_kbest(corpus, 3) == model.predict_kbest(X, 3)
    for mine, theirs in zip(model.predict_marginals(corpus), model.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(model.log_partition(corpus), model.log_partition(X))
    assert model.score(corpus, corpus.y) == pytest.approx(model.score(X, y), abs=1e-12)
    weights = np.arange(len(X)) % 3 / 2
    weighed = model.score(corpus, corpus.y, sample_weight=weights)
    assert weighed == pytest.approx(model.score(X, y, sample_weight=weights), abs=1e-12)
    assert model.infer(corpus).scores.tolist() == model.infer(X).scores.tolist()
    free = [None] * len(X)
    assert model.complete(corpus, free) == model.complete(X, free)


def test_rules_are_checked_on_corpora(corpus):
    for mine, theirs in zip(check(RULES, corpus, corpus.y), check(RULES, X, y), strict=True):
        assert (mine.violations, mine.sequences, mine.of) == (theirs.violations, theirs.sequences, theirs.of)


def test_labels_that_are_not_there(corpus):
    with pytest.raises(DataError, match=r"label '\w+' was never seen in training; known are author"):
        CRF(TEMPLATES, classes=["author"]).fit(corpus, corpus.y)
    with pytest.raises(DataError, match="X has 45 sequences but y has 44"):
        CRF(TEMPLATES).fit(corpus, corpus.y[1:])
    with pytest.raises(DataError, match=r"sequence 0 has \d+ tokens but \d+ labels"):
        CRF(TEMPLATES).fit(corpus[:44], corpus.y[1:])
    with pytest.raises(NotSupported, match="cannot learn from unlabelled"):
        CRF(TEMPLATES).fit(*(lambda one: (one, one.y))(stored_without_labels(corpus)))


def stored_without_labels(corpus):
    folder = corpus.file.scratch
    write_corpus(f"{folder}/u.sl", ((x, None) for x in corpus))
    return read_corpus(f"{folder}/u.sl")


def test_what_is_encoded_travels_as_its_rows(corpus):
    model = CRF(TEMPLATES, solver="lbfgs", max_iterations=2)
    model.fit(corpus, corpus.y)
    encoded = type(model.encoder_)(TEMPLATES).fit_transform(corpus)
    copy = pickle.loads(pickle.dumps(encoded.sequences(3, 40)))
    whole = encoded.loaded().sequences(3, 40)
    np.testing.assert_array_equal(copy.indices, whole.indices[whole.indptr[0] : whole.indptr[-1]])
    some = encoded.take(np.array([5, 2]))
    np.testing.assert_array_equal(some.indices, encoded.loaded().take(np.array([5, 2])).indices)


def test_a_full_disk_is_told_and_leaves_nothing(corpus, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    with monkeypatch.context() as change:
        change.setattr(shutil, "disk_usage", lambda folder: usage)
        with pytest.raises(DataError, match="there is no room for the encoded corpus"):
            CRF(TEMPLATES).fit(corpus, corpus.y)

    def full(self, *_):
        raise OSError(28, "No space left on device")

    class Full:
        write = full

    monkeypatch.setattr(on_disk._Rows, "_file", lambda self: Full())
    with pytest.raises(DataError, match=r"no room for the encoded corpus \(No space left"):
        CRF(TEMPLATES).fit(corpus, corpus.y)
    assert [one.name for one in tmp_path.iterdir()] == ["c.sl"]


def test_hashed_attributes(tmp_path):
    X, y = FEW
    model = CRF(TEMPLATES, hash_bits=14).fit(X, y)
    assert model.model_.attributes == 2**14
    assert model.score(X, y) > 0.99
    assert all(feature.startswith("hash ") for feature, _, _ in model.top_weights(5))
    assert model.explain(X[0], 1).evidence
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X) == model.predict(X)
    assert again.hash_bits == 14
    few = CRF(TEMPLATES, hash_bits=4).fit(X, y)
    assert few.score(X, y) < model.score(X, y)
    online = StructuredPerceptron(TEMPLATES, hash_bits=14)
    for _ in range(3):
        online.partial_fit(X[:10], y[:10], classes=model.classes_)
        online.partial_fit(X[10:], y[10:])
    assert online.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hash_bits": 0}, "hash_bits must be a whole number from 1 to 30 or None, got 0"),
        ({"hash_bits": 31}, "hash_bits must be a whole number from 1 to 30"),
        ({"hash_bits": 8, "min_count": 2}, "leave out min_count or hash_bits"),
        ({"hash_bits": 8, "features": ["pos"]}, "template pos needs column 1, but tokens have 1"),
    ],
)
def test_hashing_that_cannot_be(parameters, message):
    with pytest.raises(DataError, match=message):
        CRF(**parameters).fit(X, y)


def test_hashing_needs_templates_and_the_columns_of_training():
    with pytest.raises(DataError, match="hash_bits is for templates"):
        CRF(hash_bits=8).fit([[{"a": 1.0}]], [["A"]])
    model = CRF(["word"], hash_bits=8, max_iterations=1).fit(X, y)
    with pytest.raises(DataError, match="trained on tokens of 1 column, these have 2"):
        model.predict([[("a", "b")]])


_MEMORY = """
import sys
from benchmarks.memory import own_peak
from sidelight import StructuredPerceptron, read_corpus
from sidelight.features import on_disk
on_disk.CHUNK_TOKENS = 20_000
corpus = read_corpus(sys.argv[1])[: int(sys.argv[2])]
StructuredPerceptron(["word", "word[-1]", "word[1]"] * 10, epochs=1, n_jobs=1).fit(corpus, corpus.y)
print(own_peak())
"""


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    words = [f"w{k}" for k in range(50)]
    some = [[words[(i * k) % 50] for k in range(20)] for i in range(200)]
    write_corpus(tmp_path / "c.sl", ((x, ["A"] * 20) for _ in range(150) for x in some))  # 600,000 tokens
    peaks = []
    for count in (3000, 30_000):  # the encoding of all of it would take 77 MB
        command = [sys.executable, "-c", _MEMORY, str(tmp_path / "c.sl"), str(count)]
        peaks.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert peaks[1] - peaks[0] < 45
