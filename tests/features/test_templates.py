"""The encoder on integer columns against an oracle that builds the attribute strings token by token."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import bias, column, pos, word
from sidelight.errors import DataError
from sidelight.features.choose import default_templates
from sidelight.features.columns import as_template
from sidelight.features.templates import TemplateEncoder


def said(template, x, t):
    """A template's attribute at token t in words, or None: the definition."""
    texts = []
    for c in template.columns:
        at = t + c.offset
        if at < 0:
            value = f"<start-{-at}>"
        elif at >= len(x):
            value = f"<end+{at - len(x) + 1}>"
        else:
            value = c.value(x[at] if isinstance(x[at], str) else x[at][c.index])
        if value is None:
            return None
        texts.append(f"{c}={value}")
    return " & ".join(texts) or "bias"


def attributes_of(templates, X):
    """Per token the (template number, text) of everything said."""
    made = [as_template(t) for t in templates]
    return [
        [(k, text) for k, template in enumerate(made) if (text := said(template, x, t)) is not None]
        for x in X
        for t in range(len(x))
    ]


def rows(encoder, encoded):
    """Per token the attributes as (template number, text), read back from the arrays."""
    assert len(encoded.values) == 0
    assert encoded.indices.dtype == np.int32
    names = [encoder.describe(a) for a in range(encoded.attributes)]
    owner = {int(n): k for k, (_, numbers) in enumerate(encoder.numbering_.keys) for n in numbers}
    found = [(owner[a], names[a]) for a in encoded.indices.tolist()]
    return [found[a:b] for a, b in pairwise(encoded.indptr)]


def check_against_oracle(templates, X, X_new, min_count=1):
    encoder = TemplateEncoder(templates, min_count)
    encoded = encoder.fit_transform(X)
    truth = attributes_of(templates, X)
    counts = Counter(a for row in truth for a in row)
    kept = {a for a, n in counts.items() if n >= min_count}
    assert encoded.attributes == len(kept)
    np.testing.assert_array_equal(encoded.offsets, np.cumsum([0, *map(len, X)]))
    assert rows(encoder, encoded) == [[a for a in row if a in kept] for row in truth]
    new = encoder.transform(X_new)
    assert rows(encoder, new) == [[a for a in row if a in kept] for row in attributes_of(templates, X_new)]
    np.testing.assert_array_equal(encoder.transform(X).indices, encoded.indices)
    return encoder


TEMPLATES = [
    word, word[-1], word[2], pos[1], bias, word & pos, word[-1] & word & word[1], word[-3] & pos[2],
    word.lower().suffix(2), word.isdigit(), ~word.isdigit() & pos, word.shape()[1], word.isin("a", "zz"),
    word.prefix(3),
]  # fmt: skip
tokens = st.tuples(st.sampled_from(["a", "b", "Ab", "ab1", "1", "", "zz", "é"]), st.sampled_from("XYZ"))
sequences = st.lists(st.lists(tokens, min_size=1, max_size=5), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=6, unique=True), sequences, sequences, st.integers(1, 3)
)
def test_against_the_oracle(templates, X, X_new, min_count):
    check_against_oracle(templates, X, X_new, min_count)


def test_default_templates_against_the_oracle():
    rng = np.random.default_rng(0)

    def draw():
        return [
            [tuple("".join(rng.choice(list("abC1"), size=rng.integers(1, 5))) for _ in range(3)) for _ in range(n)]
            for n in rng.integers(1, 8, size=20)
        ]

    check_against_oracle(default_templates(3), draw(), draw(), min_count=2)


def test_an_unknown_word_keeps_what_is_known_of_it():
    encoder = check_against_oracle(["word", "word.suffix(2)"], [["walking", "fast"]], [["talking"], ["slow"]])
    new = encoder.transform([["talking"], ["slow"]])
    assert [[text for _, text in row] for row in rows(encoder, new)] == [["word.suffix(2)=ng"], []]


def test_boundaries_tell_the_distance_and_never_look_like_words():
    encoder = TemplateEncoder([word[-2], word[2]])
    encoder.fit_transform([["<start-1>", "b", "<end+1>"]])
    assert Counter(encoder.describe(a) for a in range(encoder.attributes_)) == {
        "word[-2]=<start-2>": 1,
        "word[-2]=<start-1>": 2,  # the boundary, and the word that is written like it
        "word[2]=<end+1>": 2,
        "word[2]=<end+2>": 1,
    }


def test_a_sequence_does_not_see_its_neighbours():
    apart = TemplateEncoder([word[-1] & word[1]])
    apart.fit_transform([["a"], ["b"], ["c"]])
    assert [apart.describe(a) for a in range(apart.attributes_)] == ["word[-1]=<start-1> & word[1]=<end+1>"]


def test_an_expression_without_values_says_nothing():
    encoder = check_against_oracle(["word", "word.ispunct()", "word & word.isdigit()"], [["a", "b"]], [["1", "."]])
    assert encoder.attributes_ == 2


def test_the_most_frequent_attributes_come_first():
    X = [["b", "a", "a"], ["a", "c", "b"]]
    encoder = TemplateEncoder([word])
    encoder.fit_transform(X)
    assert [encoder.describe(a) for a in range(3)] == ["word=a", "word=b", "word=c"]
    with pytest.raises(DataError, match="no attribute 3"):
        encoder.describe(3)


def test_state_gives_an_equal_encoder():
    X = [[("a", "X"), ("b", "Y")], [("Ab", "X")]]
    X_new = [[("b", "X"), ("zb", "Y"), ("a", "Q")]]
    encoder = TemplateEncoder(TEMPLATES, min_count=1)
    first = encoder.fit_transform(X)
    again = TemplateEncoder.from_state(*encoder.state())
    for data in (X, X_new):
        one, other = encoder.transform(data), again.transform(data)
        for name in ("offsets", "indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.attributes == other.attributes == first.attributes
    assert [again.describe(a) for a in range(first.attributes)] == [
        encoder.describe(a) for a in range(first.attributes)
    ]


def test_a_python_function_has_no_state():
    encoder = TemplateEncoder([word.map(str.upper)])
    encoder.fit_transform([["a"]])
    with pytest.raises(DataError, match=r"word.map\(.*holds a Python function and cannot be saved"):
        encoder.state()


def test_threads_do_not_change_the_code():
    rng = np.random.default_rng(1)
    X = [[str(w) for w in rng.integers(300, size=15)] for _ in range(300)]
    X_new = [[str(w) for w in rng.integers(400, size=15)] for _ in range(300)]
    one, many = (TemplateEncoder([word, word[-1] & word, word.suffix(1)[1]], n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.fit_transform(X).indices, many.fit_transform(X).indices)
    a, b = one.transform(X_new), many.transform(X_new)
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(a.indptr, b.indptr)


def test_conjunctions_that_do_not_fit_a_number_are_refused():
    X = [[str(k) for k in range(300)]]
    wide = word[-3] & word[-2] & word[-1] & word & word[1] & word[2]
    encoder = TemplateEncoder([wide & word[3]])  # 306^7 < 2^63
    assert encoder.fit_transform(X).attributes == 300
    with pytest.raises(DataError, match="more than 2\\^63 possible values"):
        TemplateEncoder([wide & word[3] & word[4]]).fit_transform(X)


def test_nearly_full_numbers_stay_apart():
    """Keys close to 2^63 differ in their last digit only."""
    X = [[str(k) for k in range(508)]]
    wide = word & word & word & word & word & word & word  # 508^7 = 0.95 * 2^63
    encoded = TemplateEncoder([wide]).fit_transform(X)
    assert len(set(encoded.indices.tolist())) == 508


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a"], []], "sequence 1 is empty"),
        ([["a"], ["b", 3]], "sequence 1, token 1: expected a string as in the first token, got 3"),
        ([["a"], ["b", None]], "sequence 1, token 1: expected a string"),
        ([["a", ("b", "c")]], "sequence 0, token 1: expected a string"),
        ([[("a", "X")], [("b", "Y"), ("c",)]], "sequence 1, token 1: expected 2 columns"),
        ([[("a", "X")], ["bb"]], "sequence 1, token 0: expected 2 columns as in the first token, got 'bb'"),
        ([[("a", "X"), ("b", 7)]], "sequence 0, token 1: expected a string in column 1"),
        ([[3]], "sequence 0, token 0: expected a string or a tuple of strings, got 3"),
        (["ab"], "sequence 0: expected a list of tokens, got 'ab'"),
        ([["a"], None], "sequence 1: expected a list of tokens, got None"),
    ],
)
def test_bad_input_is_named(X, message):
    with pytest.raises(DataError, match=message):
        TemplateEncoder([word]).fit_transform(X)
    fitted = TemplateEncoder([word])
    fitted.fit_transform([["a"]])
    with pytest.raises(DataError, match=message):
        fitted.transform(X)


def test_missing_columns_are_named():
    with pytest.raises(DataError, match=r"template column\(2\)\[-1\] needs column 2, but tokens have 2"):
        TemplateEncoder([word, column(2)[-1]]).fit_transform([[("a", "X")]])
    encoder = TemplateEncoder([word])
    encoder.fit_transform([[("a", "X")]])
    with pytest.raises(DataError, match="trained on tokens of 2 columns, these have 1"):
        encoder.transform([["a"]])


def test_templates_are_a_list():
    for alone in ("word", word, word & pos):
        with pytest.raises(DataError, match="put it into a list"):
            TemplateEncoder(alone)
    with pytest.raises(DataError, match="at least one template"):
        TemplateEncoder([])
    with pytest.raises(DataError, match="no sequences"):
        TemplateEncoder([word]).fit_transform([])


def test_no_sequences_are_encoded_as_none():
    encoder = TemplateEncoder([word, word[-1]])
    encoder.fit_transform([["a", "b"]])
    empty = encoder.transform([])
    assert (len(empty), empty.tokens, len(empty.indices)) == (0, 0, 0)
