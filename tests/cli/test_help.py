"""The help of `train` names the defaults that the learners have, and takes every value that they take."""

import re
from typing import get_args

import pytest

from sidelight import (
    CRF,
    EM,
    HMM,
    CoDL,
    ContrastiveEstimation,
    DeterministicAnnealing,
    PosteriorRegularization,
    SelfTraining,
    SemiCRF,
    UnifiedEM,
)
from sidelight.cli.train import DecodeName
from sidelight.learners.wrappers.expectations import Decode

from .conftest import Run

PR, UEM, DASO = PosteriorRegularization(HMM(), []), UnifiedEM(HMM(), [], gamma=1.0), DeterministicAnnealing(HMM(), [])


def test_every_way_of_decoding_can_be_asked_for() -> None:
    assert set(DecodeName) == set(get_args(Decode))


@pytest.mark.parametrize(
    "told",
    [
        "(codl; 0.5, em; 0.8)",
        f"(codl, em, self-training, daso; {CoDL(HMM()).iterations}, pr, uem; {PR.iterations})",
        f"(crf, contrastive; {CRF().l2:g}, semicrf; {SemiCRF().l2:g})",
        f"(pr, uem, daso; {PR.penalty} from the labels)",
        f"by the model (pr, uem, daso; {PR.decode})",
    ],
)
def test_defaults_are_those_of_the_learners(run: Run, told: str) -> None:
    text = re.sub(r"[\s│]+", " ", run("train", "--help").out)
    assert told in text


def test_learners_that_are_named_together_have_the_same_default() -> None:
    assert len({CoDL(HMM()).iterations, EM(HMM()).iterations, SelfTraining(HMM()).iterations, DASO.iterations}) == 1
    assert PR.iterations == UEM.iterations
    assert CRF().l2 == ContrastiveEstimation().l2
    for name in ("penalty", "decode"):
        assert len({getattr(one, name) for one in (PR, UEM, DASO)}) == 1
