import io
import json
import os
import zipfile

import numpy as np
import pytest

from sidelight import CRF, HMM, MIRA, StructuredPerceptron, load, word
from sidelight.data import source
from sidelight.errors import DataError, ModelFileError
from sidelight.model_file import VERSION, Archive, write_archive
from tests.learners.samples import FORMS, labelled

WORDS, Y = labelled()
CASES = {
    "hmm": (HMM(), "words"),
    "hmm without classes": (HMM("word.lower()", unknown=None), "words"),
    "hmm on columns": (HMM(word.suffix(2), unknown="pos"), "columns"),
    "crf": (CRF(), "words"),
    "crf on columns": (CRF([word, "word[-1] & pos", ~word.isin("a", "é")], order=2, tolerance=0.1), "columns"),
    "crf on dicts": (CRF(min_count=2), "dicts"),
    "crf on arrays": (CRF(min_count=3, l1=0.1), "arrays"),
    "perceptron": (StructuredPerceptron(["word", "bias"], order=2), "words"),
    "mira": (MIRA(k=2, C=float("inf")), "words"),
    "perceptron on dicts": (StructuredPerceptron(), "dicts"),
    "perceptron on sparse arrays": (StructuredPerceptron(boundaries=False), "sparse"),
}
_fitted = {}


def fitted(name):
    """A fitted learner and its data, made once."""
    if name not in _fitted:
        learner, form = CASES[name]
        X = FORMS[form](WORDS)
        _fitted[name] = learner.fit(X, Y), X
    return _fitted[name]


@pytest.fixture
def saved(tmp_path):
    learner, _ = fitted("hmm")
    learner.save(tmp_path / "m.model")
    return tmp_path / "m.model"


def same(one, other, X):
    a, b = one.scores(X), other.scores(X)
    for name in ("unary", "pair", "start", "end", "triple"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert one.predict(X) == other.predict(X)
    assert one.classes_ == other.classes_


@pytest.mark.parametrize("name", CASES)
def test_round_trip(name, tmp_path):
    learner, X = fitted(name)
    learner.save(tmp_path / "one")
    again = load(str(tmp_path / "one"))
    assert type(again) is type(learner)
    same(learner, again, X)
    for attribute in range(min(20, learner.encode(X).attributes)):
        assert learner.encoder_.describe(attribute) == again.encoder_.describe(attribute)
    assert {k: repr(v) for k, v in again.get_params().items()} == {k: repr(v) for k, v in learner.get_params().items()}
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_there_is_no_pickle_inside(name, tmp_path):
    fitted(name)[0].save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        assert archive.testzip() is None
        for member in archive.namelist():
            content = archive.read(member)
            if member == "header.json":
                assert json.loads(content)["format"] == "sidelight model"
            else:
                assert member.endswith(".npy")
                assert np.load(io.BytesIO(content), allow_pickle=False).dtype != object


def test_equal_models_give_equal_files(tmp_path):
    for k in (1, 2):
        CRF(["word"]).fit(WORDS, Y).save(tmp_path / str(k))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_any_text_survives(tmp_path):
    X = [["é", "日本", "\U0001f600", "\ud800", '"', "\\", "\n", "\0", ""]]
    learner = CRF(["word", "word.isin('日本', '\\n')"]).fit(X, [["ü", "A", "A", "A", "A", "A", "A", "A", "A"]])
    learner.save(tmp_path / "m")
    same(learner, load(tmp_path / "m"), X)


def test_numbers_of_numpy_are_parameters(tmp_path):
    CRF(["word"], l2=np.float64(0.5), order=np.int64(1), min_count=np.int64(1)).fit(WORDS, Y).save(tmp_path / "m")
    assert load(tmp_path / "m").get_params()["l2"] == 0.5


@pytest.mark.parametrize(
    "learner",
    [
        CRF([word.map(str.upper)]),
        HMM(word.map(str.upper)),
        HMM(unknown=word.map(len)),
        StructuredPerceptron([word.map(len)]),
    ],
    ids=str,
)
def test_functions_are_refused(learner, tmp_path):
    learner.fit(WORDS, Y)
    (tmp_path / "m").write_text("old")
    with pytest.raises(
        DataError, match=r"word.map\(.*holds a Python function and cannot be saved; use isin or matches"
    ):
        learner.save(tmp_path / "m")
    assert (tmp_path / "m").read_text() == "old"


def test_odd_parameters_are_refused(tmp_path):
    learner = HMM().fit(WORDS, Y).set_params(n_jobs=object())
    with pytest.raises(DataError, match="a parameter of type object cannot be saved"):
        learner.save(tmp_path / "m")


def test_truncated_files(saved):
    raw = saved.read_bytes()
    for size in {0, 1, 2, 3, 10, *np.linspace(20, len(raw) - 1, 60).astype(int).tolist(), len(raw) - 1}:
        saved.write_bytes(raw[:size])
        with pytest.raises(ModelFileError, match=r"m.model is (damaged or cut off|not a sidelight model)"):
            load(saved)


def test_flipped_bits(saved):
    """A damaged file is refused, or the damage is where nothing is read from."""
    learner, X = fitted("hmm")
    raw = saved.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    places = rng.choice(8 * len(raw), size=300, replace=False)
    directory = 8 * raw.index(b"PK\x01\x02")
    for place in (*places.tolist(), *rng.integers(directory, 8 * len(raw), size=300).tolist()):
        damaged = bytearray(raw)
        damaged[place // 8] ^= 1 << place % 8
        saved.write_bytes(damaged)
        try:
            again = load(saved)
        except ModelFileError as error:
            assert "m.model" in str(error)  # noqa: PT017
            refused += 1
        else:
            same(learner, again, X)
    assert refused > 360


def test_overwritten_blocks(saved):
    raw = saved.read_bytes()
    rng = np.random.default_rng(1)
    for start in range(0, len(raw) - 32, 97):
        damaged = bytearray(raw)
        damaged[start : start + 32] = rng.bytes(32)
        saved.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load(saved)


def test_foreign_files(tmp_path):
    path = tmp_path / "m"
    for content in (b"", b"the cat sat\n", b"\x80\x04\x95", b"\x93NUMPY"):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="m is not a sidelight model; models are written by"):
            load(path)
    for members in ({"word/document.xml": "<x/>"}, {"header.json": '{"format": "other"}'}, {"header.json": "[1]"}):
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        with pytest.raises(ModelFileError, match="is a zip archive but not a sidelight model"):
            load(path)
    path.write_bytes(b"PK and then some text")
    with pytest.raises(ModelFileError, match="damaged or cut off"):
        load(path)


def rewrite(path, change, drop=()):
    """Write the archive again with another header and without some members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name not in drop:
                archive.writestr(name, content)


def test_future_versions(saved):
    def later(header):
        header.update(version=VERSION + 1, sidelight="9.9")

    rewrite(saved, later)
    message = f"has version {VERSION + 1} of the model format, this sidelight reads {VERSION}; .* by sidelight 9.9"
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_future_learners(saved):
    rewrite(saved, lambda header: header.update(learner="Oracle"))
    with pytest.raises(ModelFileError, match="holds a Oracle, which this version of sidelight does not have"):
        load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("learner"),
        lambda header: header.pop("parameters"),
        lambda header: header.pop("classes"),
        lambda header: header.pop("encoder"),
        lambda header: header.pop("kept"),
        lambda header: header["encoder"].update({"class": "Other"}),
        lambda header: header["encoder"]["values"].pop("words"),
        lambda header: header["parameters"].update(no_such=1),
    ],
)
def test_incomplete_headers(saved, change):
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=r"m\.model"):
        load(saved)


def test_missing_arrays(saved):
    rewrite(saved, lambda header: None, drop=["learner/emission.npy"])
    with pytest.raises(ModelFileError, match=r"is not a complete sidelight model.*emission"):
        load(saved)


def test_a_pickled_array_is_not_opened(saved):
    opened = []

    class Trap:
        def __reduce__(self):
            return opened.append, (1,)

    content = io.BytesIO()
    np.save(content, np.array([Trap()], object), allow_pickle=True)
    rewrite(saved, lambda header: None, drop=["learner/emission.npy"])
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("learner/emission.npy", content.getvalue())
    with pytest.raises(ModelFileError):
        load(saved)
    assert not opened


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelFileError, match=r"cannot read the model file .*nothing: No such file"):
        load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match=r"cannot read the model file .*: Is a directory"):
        load(tmp_path)


def test_paths_that_cannot_be_written(tmp_path):
    learner, _ = fitted("hmm")
    (tmp_path / "file").write_text("x")
    for path, message in (
        (tmp_path / "no" / "folder" / "m", "cannot write: its folder does not exist"),
        (tmp_path / "file" / "m", "cannot write: Not a directory"),
        (tmp_path, "it is a folder"),
    ):
        with pytest.raises(ModelFileError, match=message):
            learner.save(path)
    assert sorted(os.listdir(tmp_path)) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_while_writing_keeps_the_old_file(saved, monkeypatch, call):
    before = saved.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    learner, _ = fitted("crf")
    with monkeypatch.context() as patch:
        patch.setattr(source.os, call, fail)
        with pytest.raises(ModelFileError, match="No space left on device"):
            learner.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
    learner.save(saved)
    assert isinstance(load(saved), CRF)


def test_an_interrupt_while_writing_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(source.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted("crf")[0].save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_model_of_another_class(saved):
    assert isinstance(HMM.load(saved), HMM)
    with pytest.raises(DataError, match="holds a HMM, not a CRF"):
        CRF.load(saved)


def change_array(path, name, change):
    """Write the archive again with another array."""
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    content = io.BytesIO()
    np.save(content, change(np.load(io.BytesIO(members[f"{name}.npy"]))))
    members[f"{name}.npy"] = content.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for member, raw in members.items():
            archive.writestr(member, raw)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("label", lambda a: np.full_like(a, 3000), "the array label holds 3000, and its numbers are below 3"),
        ("label", lambda a: np.full_like(a, -5), "the array label holds -5, and its numbers are at least 0"),
        ("label", lambda a: a.astype(float), "the array label must hold int32 numbers, it holds float64"),
        ("pointer", lambda a: a[:-1], "has the shape"),
        ("pointer", lambda a: a[::-1].copy(), "the array pointer must begin with 0"),
        ("pairs", lambda a: a + 9, "the array pairs holds"),
        ("weights", lambda a: a * np.nan, "the array weights holds something that is no finite number"),
        ("weights", lambda a: a[1:], "the array weights has the shape"),
        ("weights", lambda a: a[:, None], "the array weights must have 1 dimensions"),
    ],
)
def test_arrays_that_kernels_must_not_see(tmp_path, name, change, message):
    fitted("crf")[0].save(tmp_path / "m.model")
    change_array(tmp_path / "m.model", f"learner/{name}", change)
    with pytest.raises(ModelFileError, match=rf"m\.model is not a complete sidelight model: .*{message}"):
        load(tmp_path / "m.model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["classes"].append("A"), "the labels must be different texts"),
        (lambda header: header["classes"].append(7), "the labels must be a list of texts"),
        (lambda header: header["parameters"].update(order="two"), "order must be 1 or 2, got 'two'"),
        (
            lambda header: header["parameters"].update(l2=float("nan")),
            "l2 must be a finite number of at least 0, got nan",
        ),
        (lambda header: header["parameters"].update(order=7), "order"),
        (lambda header: header["kept"].update(converged_="yes"), "converged_ of CRF has a value of another type"),
        (
            lambda header: header["encoder"]["values"]["words"][0].append("Ann"),
            "must be different texts",
        ),
        (lambda header: header["encoder"]["values"]["templates"].pop(), "not numbered|the weights do not belong"),
        (
            lambda header: header.update(layout={"format": "pdf", "columns": None, "label_column": None}),
            "format 'pdf'",
        ),
        (
            lambda header: header.update(layout={"format": "tsv", "columns": [1], "label_column": None}),
            "columns must be a text",
        ),
        (lambda header: header.update(layout={"format": "tsv", "rows": "word,label"}), "'rows'"),
        (lambda header: header.update(layout=3), "is missing or wrong"),
        (lambda header: header["parameters"].update(features=nested(100)), "values are nested more than 40 deep"),
    ],
)
def test_headers_that_do_not_fit(tmp_path, change, message):
    fitted("crf")[0].save(tmp_path / "m.model")
    rewrite(tmp_path / "m.model", change)
    with pytest.raises(ModelFileError, match=rf"m\.model.*({message})"):
        load(tmp_path / "m.model")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_unknown_fitted_attributes_are_not_set(saved):
    rewrite(saved, lambda header: header["kept"].update(predict=5))
    assert callable(load(saved).predict)


def test_members_that_nothing_asks_for_are_not_unpacked(saved):
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("learner/other.npy", b"no array at all")
    assert isinstance(load(saved), HMM)


def test_a_zip_bomb_is_not_unpacked(saved):
    """A file of some hundred kilobytes that would take a quarter of a gigabyte."""
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("learner/other.npy", bytes(1 << 28))
    with pytest.raises(ModelFileError, match=r"m\.model has \d+ bytes and would take \d+ unpacked"):
        load(saved)


def test_a_header_that_is_a_bomb_is_not_unpacked(saved):
    rewrite(saved, lambda header: None, drop=["header.json"])
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("header.json", "[" + "[]," * (1 << 23) + "[]]")
    with pytest.raises(ModelFileError, match=r"m\.model has \d+ bytes and would take \d+ unpacked"):
        load(saved)


def test_a_declared_size_is_not_trusted(saved):
    """A member that declares fewer bytes than it unpacks to is read no further, and its checksum does not fit."""
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("padding", bytes(1 << 20))
    raw = bytearray(saved.read_bytes())
    at = raw.rindex(b"learner/emission.npy") - 46  # its entry in the directory of the archive
    assert raw[at : at + 4] == b"PK\x01\x02"
    raw[at + 24 : at + 28] = (200).to_bytes(4, "little")
    saved.write_bytes(raw)
    with pytest.raises(ModelFileError, match=r"m\.model is damaged or cut off"):
        load(saved)


def test_nested_headers(saved):
    rewrite(saved, lambda header: None, drop=["header.json"])
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("header.json", '{"format": ' + "[" * 100_000)
    with pytest.raises(ModelFileError, match=r"m\.model is not a sidelight model: its header is nested too deeply"):
        load(saved)


def test_members_that_are_there_twice(saved):
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("learner/emission.npy", b"")
    with pytest.raises(ModelFileError, match=r"m\.model is damaged: some of its members are there twice"):
        load(saved)


def test_models_of_zeros_can_be_read(tmp_path):
    """What would be packed too tightly to be read is not compressed."""
    write_archive(tmp_path / "m", {"learner": "CRF"}, {"weights": np.zeros(3_000_000)})
    assert not Archive((tmp_path / "m").read_bytes())["weights"].any()
