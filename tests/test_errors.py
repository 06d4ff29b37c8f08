"""Messages: how long they may be, and the nearest one where a name is not known."""

import warnings

import pytest

import sidelight
from sidelight import CCM, CRF, CoDL, DataError, Infeasible, StructuralSVM, read_columns, read_links, read_trees
from sidelight.errors import ParameterError, SidelightError, close_names, shortened, warn


def test_a_message_that_quotes_a_long_input_keeps_its_beginning_and_its_end():
    with pytest.raises(DataError) as raised:
        read_columns(["a\tX", "x" * 200_000])
    message = str(raised.value)
    assert len(message) <= 1000
    assert message.startswith("<lines>:2: expected 2 columns, found 1: 'xxx")
    assert " characters left out] ..." in message
    assert message.endswith("xxx'; mend the line, or give the separator of the columns")
    assert len(str(Infeasible("y" * 5000, 3))) <= 1000
    assert shortened("z" * 1000) == "z" * 1000
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warn("w" * 5000)
    assert len(str(given[0].message)) <= 1000


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("c2", "l2"), ("L2", "l2"), ("cfr", "crf"), ("clases", "classes"), ("xyz", None)],
)
def test_close_names(name, nearest):
    assert close_names(name, ["l1", "l2", "crf", "classes", "order"]) == ([] if nearest is None else [nearest])


def test_a_parameter_that_is_not_known_suggests_the_nearest_one():
    with pytest.raises(ParameterError, match=r"^CRF has no parameter 'c2'; did you mean 'l2'\?$") as raised:
        CRF(c2=1)
    assert isinstance(raised.value, SidelightError)
    assert isinstance(raised.value, TypeError)
    with pytest.raises(ParameterError, match=r"^StructuralSVM has no parameter 'c'; did you mean 'C'\?$"):
        StructuralSVM(c=1)
    with pytest.raises(ParameterError, match=r"^CoDL has no parameter 'unlabelled'; it has balance, base, "):
        CoDL(CRF(), [], unlabelled=3)
    with pytest.raises(ValueError, match=r"Invalid parameter 'l3' for estimator CRF.*; did you mean 'l1'\?$"):
        CRF().set_params(l3=1)
    with pytest.raises(ValueError, match=r"Invalid parameter 'l2' for estimator CCM.*; did you mean 'base__l2'\?$"):
        CCM(CRF(), []).set_params(l2=1)
    with pytest.raises(AttributeError, match="'sidelight' has no attribute 'CFR'; did you mean 'CRF'"):
        sidelight.CFR  # noqa: B018


def test_an_estimator_with_parameters_of_any_name_may_stand_around_one():
    class Shifted(CRF):
        def __init__(self, shift=0, **more):
            super().__init__(**more)
            self.shift = shift

    assert Shifted(shift=2, l2=0.5).l2 == 0.5


def test_sequence_learners_point_from_predict_proba_to_predict_marginals():
    model = CRF()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="'CRF' has no attribute 'predict_proba'; predict_marginals has the prob"):
        model.predict_proba  # noqa: B018


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda many: read_trees([f"1\ta\ta\tX\t_\t_\t{many}\t_\t_\t_"]), "<lines>:1: word 1 has the head '9999"),
        (lambda many: read_links([f"0-{many}"], [("a", "b")], "pharaoh"), "<lines>:1: expected links such as 0-0"),
        (lambda many: read_links([f"1 1 {many}"], [("a", "b")], "naacl"), "<lines>:1: expected `pair source target`"),
        (
            lambda many: CRF().fit([["a"]], [["X"]]).predict_kbest([["a"]], int(many[:20])),
            "at most 1,000,000, got",
        ),
    ],
)
def test_numbers_of_many_digits(read, message):
    with pytest.raises(DataError, match=message):
        read("9" * 5000)
