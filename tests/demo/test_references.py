import subprocess
import sys
import time
from collections import Counter
from itertools import groupby, pairwise

import pytest

from sidelight.demo.references import FIELDS, generate_references
from sidelight.errors import DataError


def field_runs(labels):
    return [field for field, _ in groupby(labels)]


def share_of_changes_after_punctuation(X, y):
    changes = [
        not any(character.isalnum() for character in tokens[i])
        for tokens, labels in zip(X, y, strict=True)
        for i, (here, after) in enumerate(pairwise(labels))
        if here != after
    ]
    return sum(changes) / len(changes)


def share_with_each_field_once(y):
    return sum(max(Counter(field_runs(labels)).values()) == 1 for labels in y) / len(y)


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_a_smaller_draw_is_a_prefix_of_a_larger_one(noise):
    X, y = generate_references(40, seed=3, noise=noise)
    for n in (0, 1, 17, 40):
        assert generate_references(n, seed=3, noise=noise) == (X[:n], y[:n])


def test_other_seeds_give_other_references():
    first, second = (generate_references(50, seed=seed)[0] for seed in (0, 1))
    assert not {tuple(x) for x in first} & {tuple(x) for x in second}


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_token_has_a_field_and_punctuation_stands_alone(seed, noise):
    X, y = generate_references(500, seed=seed, noise=noise)
    assert len(X) == len(y) == 500
    for tokens, labels in zip(X, y, strict=True):
        assert len(tokens) == len(labels) >= 3
        assert set(labels) <= set(FIELDS)
        for token in tokens:
            assert token.split() == [token]
            assert len(token) == 1 or not set(token) & set('.,:;()"?{}')


@pytest.mark.parametrize("seed", range(5))
def test_every_field_occurs_in_300_references(seed):
    _, y = generate_references(300, seed=seed)
    assert {field for labels in y for field in labels} == set(FIELDS)


def test_lengths_and_fields_are_in_the_proportions_of_real_bibliographies():
    X, y = generate_references(1000)
    share = Counter(field for labels in y for field in labels)
    total = share.total()
    assert 32 < total / len(X) < 40
    assert 0.27 < share["author"] / total < 0.36
    assert 0.19 < share["title"] / total < 0.28
    assert min(share.values()) / total > 0.004


@pytest.mark.parametrize("seed", range(3))
def test_the_domain_rules_hold_mostly(seed):
    X, y = generate_references(1000, seed=seed)
    assert 0.93 < share_of_changes_after_punctuation(X, y) < 0.98
    assert 0.94 < share_with_each_field_once(y) < 0.99
    starts = Counter(labels[0] for labels in y)
    assert starts["author"] > 0.95 * len(y)
    assert starts["author"] + starts["editor"] + starts["title"] > 0.99 * len(y)


def test_without_noise_the_domain_rules_hold_always():
    X, y = generate_references(1000, noise=0.0)
    assert share_of_changes_after_punctuation(X, y) == 1
    assert share_with_each_field_once(y) == 1
    assert {labels[0] for labels in y} == {"author", "editor"}
    assert all({"title", "date"} <= set(labels) for labels in y)


def test_noise_breaks_rules_drops_fields_and_lowers_case():
    clean_X, clean_y = generate_references(500, noise=0.0)
    noisy_X, noisy_y = generate_references(500, noise=1.0)
    assert share_of_changes_after_punctuation(noisy_X, noisy_y) < 0.75
    assert share_with_each_field_once(noisy_y) < 0.9

    def starting_in_lower_case(X):
        return sum(tokens[0].islower() for tokens in X)

    def without(field, y):
        return sum(field not in labels for labels in y)

    def orders(y):
        return len({tuple(field_runs(labels)) for labels in y})

    assert starting_in_lower_case(clean_X) == 0
    assert starting_in_lower_case(noisy_X) > 150
    assert without("title", clean_y) == 0
    assert without("title", noisy_y) > 15
    assert orders(noisy_y) > 2 * orders(clean_y)


def test_few_references_leave_many_words_unknown_and_many_leave_few():
    X, _ = generate_references(600)
    words = [[token.lower() for token in tokens if token.isalpha() and len(token) > 1] for tokens in X]
    held_out = [word for tokens in words[300:] for word in tokens]

    def unknown(n):
        known = {word for tokens in words[:n] for word in tokens}
        return sum(word not in known for word in held_out) / len(held_out)

    assert unknown(5) > 0.55
    assert 0.05 < unknown(300) < 0.25


def test_a_thousand_references_take_less_than_a_second():
    start = time.perf_counter()
    generate_references(1000)
    assert time.perf_counter() - start < 1


def test_the_import_is_light():
    script = (
        "import sys, sidelight.demo.references; "
        "print({'numba', 'scipy', 'sklearn'} & {name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n >= 0, got -1"),
        ({"n": 5, "noise": -0.1}, r"noise in \[0, 1\], got -0.1"),
        ({"n": 5, "noise": 1.5}, r"noise in \[0, 1\], got 1.5"),
        ({"n": 5, "noise": float("nan")}, r"noise in \[0, 1\], got nan"),
        ({"n": 5, "seed": -2}, "seed must be a whole number of at least 0, got -2"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(DataError, match=message):
        generate_references(**arguments)
