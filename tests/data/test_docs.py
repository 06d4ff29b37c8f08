"""Documents of spaCy."""

import pytest

from sidelight import HMM, DataError, char_spans, read_docs, write_docs

spacy = pytest.importorskip("spacy")


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


def marked(doc, *spans):
    doc.ents = [spacy.tokens.Span(doc, *span) for span in spans]
    return doc


def test_entities_become_labels_and_come_back(nlp):
    docs = [marked(nlp("Ann Lee went to Rome."), (0, 2, "PER"), (4, 5, "LOC")), nlp("Rome"), nlp("")]
    X, y = read_docs(docs)
    assert X == [["Ann", "Lee", "went", "to", "Rome", "."], ["Rome"], []]
    assert y == [["B-PER", "I-PER", "O", "O", "B-LOC", "O"], None, []]
    fresh = [nlp(doc.text) for doc in docs]
    assert write_docs(fresh, [y[0], ["B-LOC"], []]) == fresh
    found = [[(e.start_char, e.end_char, e.label_) for e in doc.ents] for doc in fresh]
    assert found == [[(0, 7, "PER"), (16, 20, "LOC")], [(0, 4, "LOC")], []]
    assert [[tuple(span)[:3] for span in spans] for spans in char_spans(fresh, [y[0], ["B-LOC"], []])] == found


def test_columns_and_groups_of_spans(nlp):
    (doc,) = write_docs([nlp("a b c")], [["x", "x", "O"]], "fields")
    assert not doc.ents
    assert read_docs([doc], "fields", columns=("text", "is_alpha"), scheme="bioes") == (
        [[("a", "True"), ("b", "True"), ("c", "True")]],
        [["B-x", "E-x", "O"]],
    )
    assert read_docs([doc], "others")[1] == read_docs([doc], None)[1] == [None]


def test_learners_take_documents(nlp):
    docs = [marked(nlp("Ann came"), (0, 1, "PER")), nlp("")]
    model = HMM().fit(docs, read_docs(docs)[1])
    assert model.predict([nlp("Ann"), nlp("")]) == [["B-PER"], []]
    with pytest.raises(DataError, match="got one Doc; put it into a list"):
        model.predict(docs[0])


def test_bad_documents(nlp):
    for call in (lambda: read_docs(["a"]), lambda: write_docs(["a"], [["O"]])):
        with pytest.raises(DataError, match="document 0: expected a Doc of spaCy, got str"):
            call()
    with pytest.raises(DataError, match="document 0 has 1 tokens but 2 labels"):
        write_docs([nlp("a")], [["O", "O"]])
    with pytest.raises(DataError, match="there are 1 documents but labels of 0"):
        write_docs([nlp("a")], [])
    with pytest.raises(DataError, match=r"document 0: .*'wrod'.*; columns are attributes of spaCy's tokens"):
        read_docs([nlp("a")], columns="wrod")
    doc = nlp("a b")
    doc.spans["both"] = [spacy.tokens.Span(doc, 0, 2, "x"), spacy.tokens.Span(doc, 1, 2, "y")]
    with pytest.raises(DataError, match="document 0: two spans have token 1, one of them y"):
        read_docs([doc], "both")
