"""Messages of the command line name options and learners as they are typed."""

import pytest

from sidelight.cli.wording import as_typed


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("solver 'eg' needs loss='hinge'; use solver='dcd'", "solver 'eg' needs --loss hinge; use --solver dcd"),
        ("use Auto, CRF or StructuralSVM", "use auto, crf or svm"),
        ("they cross; Parsing(projective=False) allows it", "they cross; --set task.projective=false allows it"),
        ("name them in classes=[...]", "name them in --classes A,B"),
        ("or name the labels in `classes` or in rules", "or name the labels in --classes A,B or in rules"),
        ("give the separator of the columns", "say --format tsv (tabs between columns) or --format columns (spaces)"),
        ("guard=False skips this", "--guard false skips this"),
        ("name each with columns=...", "name each with --columns ..."),
        ("CRF.model:3: found 'x=1' and \"HMM\" in a/CRF/b", "CRF.model:3: found 'x=1' and \"HMM\" in a/CRF/b"),
        ("such as CRF() or MaxEnt", "such as CRF() or MaxEnt"),
        ("(--set norm=l1)", "(--set norm=l1)"),
    ],
)  # fmt: skip
def test_as_typed(message: str, typed: str) -> None:
    assert as_typed(message) == typed
