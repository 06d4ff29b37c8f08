"""Views that agree."""

from itertools import pairwise

import numpy as np
import pytest

from sidelight import (
    CRF,
    HMM,
    Agreement,
    Labelling,
    MaxEnt,
    Parsing,
    SemiCRF,
    View,
    load,
    pos,
    prefix_views,
    random_views,
    template_views,
    word,
)
from sidelight.errors import DataError, NotSupported


def documents(count=120, seed=0):
    """Documents with two views, each of which alone tells the label."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        label = int(rng.integers(2))
        X.append({f"{view} {rng.integers(8) * 2 + label}": True for view in ("left", "right") for _ in range(2)})
        y.append(str(label))
    return X, y


def tagged():
    X = [[("the", "D"), ("old", "A"), ("dog", "N"), ("sees", "V")], [("a", "D"), ("cat", "N"), ("sleeps", "V")]] * 3
    y = [["B", "I", "I", "O"], ["B", "I", "O"]] * 3
    return X, y


def monotone(model):
    values = [step.objective for step in model.trace_ if step.comparable]
    return all(b <= a + 1e-6 * abs(a) for a, b in pairwise(values))


def test_unlabelled_documents_teach_each_view_what_the_other_knows(tmp_path):
    X, y = documents()
    few = [label if i < 8 else None for i, label in enumerate(y)]
    views = prefix_views(MaxEnt(l2=0.1), ["left", "right"])
    model = Agreement(views, iterations=20, unlabeled_weight=8 / 112).fit(X, few)
    alone = Agreement(prefix_views(MaxEnt(l2=0.1), ["left", "right"]), iterations=0).fit(X, few)
    assert monotone(model)
    assert model.trace_[-1].divergence < 0.5 * model.trace_[0].divergence
    assert model.score(X, y) > alone.score(X, y) + 0.05
    assert model.views_["left"].score([{k: v for k, v in x.items() if k.startswith("left")} for x in X], y) > 0.9
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X) == model.predict(X)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    assert again.trace_ == model.trace_


def test_one_view_may_predict_alone():
    X, y = documents(40)
    views = prefix_views(MaxEnt(), ["left", "right"])
    model = Agreement(views, predict_by="right").fit(X, [*y[:20], *[None] * 20])
    right = [{k: v for k, v in x.items() if k.startswith("right")} for x in X]
    assert model.predict(X) == model.views_["right"].predict(right)
    with pytest.raises(DataError, match="no view 'top'"):
        Agreement(views, predict_by="top").fit(X, y)


def test_views_of_tokens():
    X, y = tagged()
    views = template_views(CRF(), {"content": [word, pos], "context": [word[-1], pos[1]]})
    model = Agreement(views, guard=False).fit(X, [*y[:2], *[None] * 4])
    assert monotone(model)
    assert model.predict(X) == y
    assert "pos" in str(model.explain(X[0], 1))
    mixed = {"content": CRF([word]), "context": CRF([word[-1]], task=Labelling(edges=True)), "tags": CRF([pos])}
    assert monotone(Agreement(mixed, guard=False).fit(X, [*y[:2], *[None] * 4]))
    counted = Agreement([HMM(), CRF([pos])], guard=False).fit(X, [*y[:2], *[None] * 4])
    assert monotone(counted)
    assert counted.predict(X) == y


@pytest.mark.parametrize(("labelled", "weight"), [(5, 0.2 * 5 / 3), (30, 2 / 3)])
def test_three_unlabelled_sequences_together_count_a_fifth_of_the_labelled_ones_and_two_at_most(labelled, weight):
    X, y = tagged()
    X, y = [*X * 5, *X[:3]], [*(y * 5)[:labelled], *[None] * 3]
    X = [*X[:labelled], *X[-3:]]
    views = template_views(CRF(), {"content": [word], "context": [word[-1]]})
    default, given = (
        Agreement(views, unlabeled_weight=own, iterations=2, guard=False).fit(X, y) for own in (None, weight)
    )
    assert default.trace_ == given.trace_


def test_documents_that_are_unlabelled_count_a_fifth_of_the_labelled_ones_however_many():
    X, y = documents(53)
    y = [*y[:50], *[None] * 3]
    views = prefix_views(MaxEnt(), ["left", "right"])
    default, given = (
        Agreement(views, unlabeled_weight=own, iterations=2, guard=False).fit(X, y) for own in (None, 10 / 3)
    )
    assert default.trace_ == given.trace_


def test_three_views_predict_by_the_mean_of_their_scores():
    X, y = tagged()
    views = template_views(CRF(), {"word": [word], "before": [word[-1]], "tag": [pos]})
    model = Agreement(views, iterations=0, guard=False).fit(X, [*y[:5], None])
    scores = [one.scores(X) for one in model.views_.values()]
    for name in ("unary", "pair"):
        mean = np.mean([getattr(one, name) for one in scores], axis=0)
        np.testing.assert_allclose(getattr(model.scores(X), name), mean)


def test_views_of_trees():
    X = [[("the", "D"), ("dog", "N"), ("sees", "V")], [("dogs", "N"), ("see", "V")]] * 3
    y = [[2, 3, 0], [2, 0]] * 3
    words = View(CRF(task=Parsing()), key=0)
    tags = View(CRF(task=Parsing()), key=1)
    both = [([w for w, _ in x], [t for _, t in x]) for x in X]
    model = Agreement([words, tags]).fit(both, [*y[:2], *[None] * 4])
    assert monotone(model)
    assert model.predict(both) == y


def test_parts_of_features_by_chance():
    X, _ = documents(10)
    one, other = random_views(MaxEnt(), seed=3).values()
    for x, a, b in zip(X, one.of(X), other.of(X), strict=True):
        assert {**a, **b} == x
        assert not set(a) & set(b)
    words = [["good", "bad", "good"]]
    assert sorted([*one.of(words)[0], *other.of(words)[0]]) == ["bad", "good", "good"]
    views = random_views(CRF([word, pos, word[1]]), 3)
    assert sorted(str(view.learner.features[0]) for view in views.values()) == ["pos", "word", "word[1]"]
    with pytest.raises(DataError, match="templates of their own"):
        Agreement(random_views(CRF())).fit(*tagged())


def test_different_labels_agree_through_maps():
    X, y = documents(60)
    coarse = {"0": "no", "1": "yes"}
    fine = {"0a": "no", "0b": "no", "1": "yes"}
    rng = np.random.default_rng(0)
    first = [label if i < 10 else None for i, label in enumerate(y)]
    second = [(label if label == "1" else "0" + "ab"[rng.integers(2)]) if 10 <= i < 22 else None
              for i, label in enumerate(y)]  # fmt: skip
    views = prefix_views(MaxEnt(l2=0.1), ["left", "right"])
    maps = {"left": coarse, "right": fine}
    model = Agreement(views, label_maps=maps, iterations=5).fit(X, {"left": first, "right": second})
    assert monotone(model)
    assert set(model.predict(X)) == {"0", "1"}
    other = Agreement(views, label_maps=maps, predict_by="right").fit(X, {"left": first, "right": second})
    assert set(other.classes_) == {"0a", "0b", "1"}
    with pytest.raises(DataError, match="'right' misses '0b'"):
        Agreement(views, label_maps={"left": coarse, "right": {"0a": "no", "1": "yes"}}).fit(
            X, {"left": first, "right": second}
        )


@pytest.mark.parametrize(
    ("views", "X", "y", "message"),
    [
        ([CRF()], *tagged(), "at least two learners"),
        ([CRF, CRF], *tagged(), "needs a learner such as"),
        ([View(CRF(), key=0), View(CRF(), key=1)], [(["a", "b"], ["a"])], [["B", "O"]], "same length"),
        ([View(CRF(), key=0), View(CRF(), key=5)], [(["a", "b"], ["a"])], [["B", "O"]], "no entry 5"),
        ([CRF(), MaxEnt()], [["a"], ["b"]], [["B"], None], "different structures"),
    ],
)
def test_errors(views, X, y, message):
    with pytest.raises((DataError, NotSupported), match=message):
        Agreement(views).fit(X, y)


def test_without_unlabelled_inputs_it_says_so():
    X, y = tagged()
    with pytest.warns(UserWarning, match="nothing to agree on"):
        Agreement([CRF([word]), CRF([pos])], guard=False).fit(X, y)
    with pytest.raises(DataError, match="one list for each"):
        Agreement([CRF([word]), CRF([pos])]).fit(X, {"view 1": y})


def test_views_that_allow_different_outputs_are_refused():
    X = [["a", "b", "a", "b", "a", "b"]] * 6
    y = [["P", "P", "Q", "Q", "P", "P"]] * 3 + [None] * 3
    with pytest.raises(NotSupported, match="one view allows outputs that another forbids"):
        Agreement([SemiCRF(["word"], max_length=2), SemiCRF(["word[-1]"], max_length=5)], guard=False).fit(X, y)
    with pytest.raises(NotSupported, match="different structures"):
        Agreement([HMM(order=2), CRF()], guard=False).fit(X, y)
    with pytest.raises(DataError, match="learns nothing in 0 rounds"):
        Agreement([HMM(), HMM()], classes=["P", "Q"], iterations=0, guard=False).fit(X, [None] * 6)
    model = Agreement([HMM(), CRF(["word"], edges=True)], guard=False).fit(X, y)
    assert monotone(model)


def test_every_seed_divides_features_in_its_own_way():
    names = [{f"name {k:04}": True for k in range(400)}]
    parts = [set(random_views(MaxEnt(), seed=seed)["part 1"].of(names)[0]) for seed in range(4)]
    for k, one in enumerate(parts):
        for other in parts[:k]:
            assert 60 < len(one & other) < 140
