"""Features of arcs: what is worked out on numbers is what feature dicts say."""

import zipfile
from dataclasses import dataclass

import numpy as np
import pytest

from sidelight import CRF, DataError, NotSupported, Parsing, StructuredPerceptron, load, register_task
from sidelight.features.arcs import ArcEncoder, arc_dicts, arc_ends
from sidelight.features.parts import PartsEncoder, token_columns
from sidelight.scorers.arcs import ArcScorer
from sidelight.structures.trees import Trees

WORDS, TAGS = ["a", "dog", "sees", "in", "", "ß"], ["DET", "NOUN", "VERB", "ADP", ""]


def sentences(seed, lengths, words=WORDS, tags=TAGS):
    """Random sentences of (word, tag)."""
    rng = np.random.default_rng(seed)
    return [[(str(rng.choice(words)), str(rng.choice(tags))) for _ in range(n)] for n in lengths]


def encoded(X, bits):
    """Sentences as they are encoded with tables of this size."""
    encoder = Parsing().choose_encoder(X, None, 1, 1)
    encoder.fit_transform(X)
    encoder.bits_ = bits
    return encoder.transform(X)


@pytest.mark.parametrize("labels", [1, 3])
def test_places_are_those_of_the_texts(labels):
    X = sentences(0, [1, 2, 5, 14, 3, 30])
    batch, scorer = encoded(X, 28), ArcScorer(28, Trees(1), labels)
    parts = labels * np.arange(batch.tokens) + labels - 1
    pointer, places = scorer.places(batch, parts)
    of_text, part = {}, 0
    for i, x in enumerate(X):
        for child, head in zip(*arc_ends(len(x)), strict=True):
            told = batch.features(i, int(head), int(child) + 1)
            if labels > 1:
                told += batch.label_features(i, int(head), int(child) + 1, joint=True)
            mine = places[pointer[part] : pointer[part + 1]]
            assert len(told) == len(mine)
            for text, place in zip(told, mine.tolist(), strict=True):
                assert of_text.setdefault(text, place) == place
            part += 1
    assert len(of_text) > 30_000
    assert len(set(of_text.values())) > 0.999 * len(of_text)  # hardly any features share a place of so many


def test_dicts_have_all_features():
    words, tags = ["the", "dog", "that", "barks", "bites"], ["DET", "NOUN", "PRON", "VERB", "VERB"]
    dicts, (child, head) = arc_dicts(words, tags), arc_ends(5)
    batch = encoded([list(zip(words, tags, strict=True))], 12)
    for one, c, h in zip(dicts, child, head, strict=True):
        assert [f"{k}={v}" for k, v in one.items()] == batch.features(0, int(h), int(c) + 1)
    one = dicts[1 * 5 + 4]  # bites -> dog
    assert (one["hw ct"], one["ht ct far"]) == ("bites NOUN <", "VERB NOUN <3")
    assert (one["ht ct between VERB 1"], one["hw ct between PRON"]) == ("VERB NOUN <", "bites NOUN <")


@pytest.mark.parametrize("labels", [1, 3])
def test_scores_rows_and_expectations_agree(labels):
    X = sentences(1, [1, 4, 9, 2])
    batch, rng = encoded(X, 10), np.random.default_rng(0)
    scorer = ArcScorer(10, Trees(1), labels)
    w = rng.normal(size=scorer.size)
    scores = scorer.scores(batch, w)
    pointer, places = scorer.places(batch, np.arange(len(scores.values)))
    expected = np.add.reduceat(w[places], pointer[:-1])
    np.testing.assert_allclose(scores.values, expected, atol=1e-12)
    np.testing.assert_array_equal(
        scorer.scores(batch.take(np.array([2, 0])), w).take(np.array([1])).values, scores.of(0)[0]
    )
    mass = rng.normal(size=len(scores.values))
    sums = scorer.expectation()
    for lo, hi in ((0, 2), (2, 4)):
        sums.add(batch.sequences(lo, hi), scores.changed(lambda _: mass).sequences(lo, hi))
    assert sums.total() @ w == pytest.approx(mass @ scores.values)
    best = scorer.structure.argmax(scores).outputs.values
    other = scorer.structure.argmax(scores.times(-1.0)).outputs.values
    rows = scorer.rows(batch, np.array([1, 2]), best, other)
    gap = scorer.structure.score(scores, best) - scorer.structure.score(scores, other)
    for number, i in enumerate((1, 2)):
        at, values = rows.row(number)
        assert values @ w[at] == pytest.approx(gap[i])


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("projective", [False, True])
def test_compiled_passes_are_the_usual_ones(labelled, projective, monkeypatch):
    X, rng = sentences(2, [1, 2, 5, 7, 4]), np.random.default_rng(3)
    y = [[0, *(int(rng.integers(1, t + 1)) if not projective else t for t in range(1, len(x)))] for x in X]
    if labelled:
        y = [[(head, str(rng.choice(["a", "b", "c"]))) for head in heads] for heads in y]
    task = Parsing(labelled=labelled, projective=projective)
    learner = StructuredPerceptron(task=task, margin=2.0, epochs=3, random_state=0)
    compiled = learner.fit(X, y).weights_
    monkeypatch.delattr(ArcScorer, "perceptron_pass")
    np.testing.assert_array_equal(learner.fit(X, y).weights_, compiled)
    assert np.abs(compiled).max() > 0
    X_new = sentences(5, [1, 30, 3])
    best = [ranked[0].labels for ranked in learner.predict_kbest(X_new, 1)]
    assert learner.predict(X_new) == best
    assert learner.predict([]) == []


def test_rare_words_are_known_by_their_endings():
    encoder = Parsing().choose_encoder([["a"]], None, 1, 1)
    encoder.fit_transform([["walking", "dogs"], ["dogs", "talking"]])
    one, other = encoder.transform([["walking"], ["barking"]]).columns[[1, 3]]
    assert one[0] == other[0]
    assert encoder.words_ == {"dogs"}


def test_the_state_says_everything():
    X, X_new = sentences(0, [3, 12, 7, 1]), sentences(1, [6, 2, 9], [*WORDS, "new"], [*TAGS, "X"])
    encoder = Parsing().choose_encoder(X, None, 2, 1)
    encoder.fit_transform(X)
    again = Parsing().restore_encoder(*encoder.state())
    assert isinstance(again, ArcEncoder)
    assert (again.min_count, again.names_) == (2, encoder.names_)
    np.testing.assert_array_equal(again.transform(X_new).indices, encoder.transform(X_new).indices)
    assert len(encoder.transform([])) == 0
    with pytest.raises(DataError, match="no attribute -1"):
        encoder.describe(-1)


@pytest.mark.parametrize("bad", ["dog", [], [3], [("a", 3)], [()]])
def test_bad_sentences_are_named(bad):
    encoder = Parsing().choose_encoder([["a"]], None, 1, 1)
    with pytest.raises(DataError, match="sentence 1"):
        encoder.fit_transform([["a"], bad])
    with pytest.raises(DataError, match="a list of sentences"):
        encoder.fit_transform("dog")


def test_labels_after_heads(tmp_path):
    X, rng = sentences(2, [1, 2, 5, 7, 4, 9]), np.random.default_rng(3)
    y = [[(t, "root" if not t else str(rng.choice(["a", "b"]))) for t in range(len(x))] for x in X]
    heads = [[head for head, _ in one] for one in y]
    learner = StructuredPerceptron(task=Parsing(labelled=True, joint=False), margin=3.0, random_state=0).fit(X, y)
    alone = StructuredPerceptron(task=Parsing(), margin=3.0, random_state=0).fit(X, heads)
    size = len(alone.weights_)
    if learner.mistakes_[len(alone.mistakes_) - 1 :][1:] == ():
        np.testing.assert_array_equal(learner.weights_[:size], alone.weights_)
    assert learner.predict(X) == y
    X_new = sentences(5, [1, 30, 3])
    assert [[head for head, _ in one] for one in learner.predict(X_new)] == [
        [head for head, _ in ranked[0].labels] for ranked in learner.predict_kbest(X_new, 1)
    ]
    learner.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X_new) == learner.predict(X_new)
    with pytest.raises(NotSupported, match="use Parsing\\(joint=True\\)"):
        CRF(task=Parsing(labelled=True, joint=False)).fit(X, y)


@pytest.mark.parametrize("length", [1, 500])
def test_short_and_long_sentences(length):
    X = [[("w", "X")] * length, [("a", "X"), ("b", "Y")]]
    y = [list(range(length)), [0, 1]]
    learner = StructuredPerceptron(task=Parsing(projective=True), margin=1.0, epochs=2, random_state=0).fit(X, y)
    assert [len(heads) for heads in learner.predict(X)] == [length, 2]


@register_task
@dataclass(frozen=True)
class Capitals(Parsing):
    """Features beside the usual ones."""

    def describe(self, x):
        shape, parts = super().describe(x)
        return shape, [{**one, "same": one["hw"][:1].isupper() == one["cw"][:1].isupper()} for one in parts]


@register_task
@dataclass(frozen=True)
class Renamed(Parsing):
    """The usual features under another name."""


def test_features_of_a_subclass_are_dicts(tmp_path):
    X, y = [["Dogs", "See", "cats"], ["cats", "Run"]], [[2, 0, 2], [2, 0]]
    learner = CRF(task=Capitals()).fit(X, y)
    assert isinstance(learner.encoder_, PartsEncoder)
    assert "same" in [learner.encoder_.describe(a) for a in range(len(learner.weights_))]
    learner.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == learner.predict(X)
    assert isinstance(CRF(task=Renamed()).fit(X, y).encoder_, ArcEncoder)


@pytest.mark.parametrize("labelled", [False, True])
def test_model_files_hold_plain_arrays(labelled, tmp_path):
    X, X_new = sentences(0, [3, 5, 2, 4]), sentences(1, [6, 2, 9])
    y = [[0, *([1] * (len(x) - 1))] for x in X]
    if labelled:
        y = [[(head, "root" if not head else "dep") for head in heads] for heads in y]
    learner = CRF(task=Parsing(labelled=labelled), min_count=2).fit(X, y)
    learner.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict(X_new) == learner.predict(X_new)
    for a, b in zip(again.predict_marginals(X_new), learner.predict_marginals(X_new), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.top_weights(5) == learner.top_weights(5)
    with zipfile.ZipFile(tmp_path / "model") as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    np.lib.format.read_array(member, allow_pickle=False)


def test_other_features_are_refused():
    with pytest.raises(DataError, match="cannot read the template 'word' of arcs"):
        Parsing().choose_encoder([["a"]], ["word"], 1, 1)


def test_a_stored_encoder_has_the_tag_of_the_root():
    encoder = ArcEncoder(token_columns)
    encoder.fit_transform([[("a", "D"), ("b", "N")]])
    values, arrays = encoder.state()
    for tags in ([], ["D", "N"]):
        with pytest.raises(DataError, match="the tags of the encoder lack that of the root"):
            ArcEncoder.from_state({**values, "tags": tags}, arrays, token_columns)
