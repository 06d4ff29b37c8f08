import numpy as np
import pytest
from scipy import sparse

from sidelight import CRF, DEFAULT_TEMPLATES, load, pos, word
from sidelight.errors import DataError
from sidelight.features.arrays import ArrayEncoder
from sidelight.features.choose import CountingColumns, choose_encoder, default_templates
from sidelight.features.columns import as_template
from sidelight.features.dicts import DictEncoder
from sidelight.features.templates import TemplateEncoder


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        ([["a"]], TemplateEncoder),
        ([[("a", "X")]], TemplateEncoder),
        ((("a", "b"),), TemplateEncoder),
        ([[{"f": 1}]], DictEncoder),
        ([np.ones((2, 3))], ArrayEncoder),
        (np.ones((2, 2, 3)), ArrayEncoder),
        ([sparse.csr_array(np.ones((2, 3)))], ArrayEncoder),
    ],
)
def test_the_first_token_decides(X, kind):
    encoder = choose_encoder(X, None, 2, 1)
    assert type(encoder) is kind
    assert encoder.min_count == 2


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "no sequences were given"),
        ("abc", "X must be a list of sequences, got str"),
        (None, "X must be a list of sequences, got NoneType"),
        (iter([["a"]]), "X must be a list of sequences"),
        ({"a": 1}, "X must be a list of sequences, got dict"),
        (sparse.eye(3).tocsr(), "X must be a list of sequences, got csr"),
        (np.array(3), "X must be a list of sequences, got ndarray"),
        (["a b c"], "its first element is a string; split it first"),
        ([{"a": 1}], "a sequence must be a list of tokens or an array, got dict"),
        ([3], "a sequence must be a list of tokens or an array, got int"),
        ([[], []], "sequence 0 is empty"),
        ([[3]], "a token must be a string, a tuple of strings or a feature dict, got 3"),
        ([[()]], "a token must be a string"),
    ],
)
def test_other_inputs_are_refused(X, message):
    with pytest.raises(DataError, match=message):
        choose_encoder(X, None, 1, 1)


@pytest.mark.parametrize(("X", "kind"), [([[{"f": 1}]], "feature dicts"), ([np.ones((2, 3))], "arrays")])
def test_templates_need_columns(X, kind):
    with pytest.raises(DataError, match=f"but X holds {kind}; leave `features` out"):
        choose_encoder(X, ["word"], 1, 1)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_default_templates_are_those_without_features(width):
    """And others go beside these, whatever columns tokens have; own ones alone take their place."""
    X = [["ab", "ba", "a"]] if width == 1 else [[("ab", *"XYZ"[1:width]), ("ba", *"ZZX"[1:width])]]
    without = choose_encoder(X, None, 1, 1).templates_
    assert without == default_templates(width)
    assert choose_encoder(X, DEFAULT_TEMPLATES, 1, 1).templates_ == without
    assert choose_encoder(X, [*DEFAULT_TEMPLATES, "word[3]"], 1, 1).templates_ == [*without, as_template(word[3])]
    assert choose_encoder(X, ["word[3]"], 1, 1).templates_ == [as_template(word[3])]


WORDS = [f"w{k % 7}" for k in range(60)]


def cut(*columns, length=6):
    """Sequences of tokens with these columns."""
    tokens = list(zip(*columns, strict=True))
    return [tokens[k : k + length] for k in range(0, len(tokens), length)]


@pytest.mark.parametrize(
    ("X", "columns"),
    [
        (cut(WORDS, [str(k * 3) for k in range(60)]), (1,)),  # offsets of the file
        (cut(WORDS, [str(k % 6 * 3) for k in range(60)]), (1,)),  # of the sequence
        (cut(WORDS, [f"{k / 7:.3f}" for k in range(60, 0, -1)]), (1,)),
        (cut(WORDS, ["N"] * 60, [str(-k) for k in range(60)]), (2,)),
        (cut([str(k) for k in range(60)], WORDS, [str(k + 1) for k in range(60)]), (0, 2)),
    ],
)
def test_offsets_and_ids_are_no_default_features(X, columns):
    for features in (None, DEFAULT_TEMPLATES, [*DEFAULT_TEMPLATES, "word[3]"]):
        with pytest.raises(CountingColumns, match="like offsets and ids; leave them out, or give `features`") as found:
            choose_encoder(X, features, 1, 1)
        assert found.value.columns == columns
    named = [f"column({k})" for k in range(len(X[0][0]))]
    assert choose_encoder(X, named, 1, 1).fit_transform(X).attributes > 0


@pytest.mark.parametrize(
    "X",
    [
        [[str(k) for k in range(60)]],  # there is nothing else
        cut(WORDS, [str(k % 9 * 3) for k in range(60)]),  # neither different nor rising
        cut(WORDS, [f"id{k}" for k in range(60)]),  # no numbers
        cut(WORDS[:20], [str(k) for k in range(20)]),  # too few to tell
        cut(WORDS, [str(hash((k % 40, 3)) % 10_000) for k in range(60)]),  # clusters of words
        cut([f"w{k % 57}" for k in range(60)], [str(k % 57 * 31 % 57) for k in range(60)]),  # and few words repeat
    ],
)
def test_other_columns_are(X):
    width = 1 if isinstance(X[0][0], str) else len(X[0][0])
    assert choose_encoder(X, None, 1, 1).templates_ == default_templates(width)


def test_models_with_default_and_other_templates_are_saved(tmp_path):
    X, y = [[("a", "X"), ("b", "Y")], [("b", "Y")]], [["p", "q"], ["q"]]
    model = CRF(features=[*DEFAULT_TEMPLATES, "word[3]", word[1] & pos]).fit(X, y)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.encoder_.templates_ == model.encoder_.templates_
    assert loaded.predict(X) == model.predict(X)
    assert loaded.fit(X, y).encoder_.templates_ == model.encoder_.templates_


def test_default_templates_use_every_column():
    for width in (1, 2, 4):
        used = {c.index for t in default_templates(width) for c in t.columns}
        assert used == set(range(width))
        assert len(set(default_templates(width))) == len(default_templates(width))


@pytest.mark.parametrize("encoder", [TemplateEncoder(["word"], 1, 1), DictEncoder(1), ArrayEncoder(1)])
@pytest.mark.parametrize("X", [None, iter([["a"]]), sparse.eye(3).tocsr(), 3])
def test_encoders_refuse_what_is_no_list(encoder, X):
    fitted = {DictEncoder: [[{"a": 1}]], ArrayEncoder: [np.ones((1, 2))]}.get(type(encoder), [["a"]])
    encoder.fit_transform(fitted)
    with pytest.raises(DataError, match="X must be a list of sequences, got"):
        encoder.transform(X)
