"""Methods of the papers that are settings of other learners, under their own names."""

from collections import Counter
from collections.abc import Sequence
from math import inf
from numbers import Real
from typing import Any, Literal

from ...containers import plain_outputs
from ...errors import DataError
from ...inference.readings import label_shares
from ...rules.language import Rule
from ...rules.shares import share
from ...supervision import Signal, by_kind
from .generalized import GeneralizedExpectation
from .posterior import PosteriorRegularization


def label_regularization(
    base: Any, y: Sequence[Any], *, target: Literal["shares", "bounds"] = "shares", **options: Any
) -> GeneralizedExpectation:
    """Return a learner whose label shares on unlabelled sequences or documents agree with those of labelled ones.

        maximise  log-likelihood - l2 ‖w‖² - strength * ω N KL(shares of the labels in y ‖ expected shares on U)

    This is label regularization (Mann and McCallum 2007): generalized expectation with the label shares as its only
    rules. N is the number of tokens of the unlabelled sequences U, or that of documents, and ω their
    `unlabeled_weight`.

    Parameters
    ----------
    base : CRF or MaxEnt
        The model.
    y : sequence
        What is known of the outputs, as `fit` takes it; the full labels in it give the shares.
    target : {'shares', 'bounds'}, default='shares'
        'shares' are those of the labels in `y`, by their divergence; 'bounds' are two standard errors around them
        (`label_shares`), beyond which half the square of the miss counts.
    **options : Any
        Other parameters of `GeneralizedExpectation`, such as `strength`.

    Returns
    -------
    GeneralizedExpectation
        The learner, to be fitted.
    """
    if target not in ("shares", "bounds"):
        raise DataError(f"target is 'shares' or 'bounds', got {target!r}")
    distance = "kl" if target == "shares" else "squared"
    given = {"penalty": 1.0, "label_shares": False, "distance": distance, "decode": "model"}
    learner = GeneralizedExpectation(base, **{**given, **options})
    read = plain_outputs(y)
    known = [[read[i]] if isinstance(read[i], str) else read[i] for i in by_kind(read)[Signal.FULL]]
    counts = Counter(label for labels in known for label in labels)
    if not counts:
        raise DataError("the shares of labels come from full labels, and y has none; give some labelled sequences")
    if target == "bounds":
        rules = label_shares(known)
    else:  # also of labels that nothing has, so that the shares sum to one
        rules = [share(label) == counts[label] / counts.total() for label in learner.all_labels(read)]
    learner.set_params(rules=rules)
    return learner


def measurements(
    base: Any,
    rules: Sequence[Rule],
    *,
    noise: Literal["box", "gaussian"] = "gaussian",
    width: float = 1.0,
    **options: Any,
) -> PosteriorRegularization:
    """Return a learner from measurements, which are rules about what is measured with noise (Liang et al. 2009).

        maximise  log prior(w) + log-likelihood of the labels + log E_{p_w}[ p_N(b | φ(X, Y)) ]

    (Eq. 38 of Ganchev et al. 2010). φ are the counts in the rules and b their bounds. The expectation is intractable;
    Liang et al. take a distribution q, and the noise of its expected counts in place of the expected noise. The last
    term becomes that of posterior regularization (section 4.3), -ω min_q [KL(q ‖ p_w) - log p_N(b | E_q[φ])], where ω
    is `unlabeled_weight`; theirs is 1, while the default for a CRF depends on the number of labels.

    Parameters
    ----------
    base : CRF, HMM or SemiCRF
        The model.
    rules : sequence of Rule
        The measurements, such as ``share("title") == 0.3`` or ``count("author") >= 1``.
    noise : {'box', 'gaussian'}, default='gaussian'
        'gaussian' has the standard deviation `width`: a miss costs half its square over `width` squared. 'box' is even
        within `width` of a bound and impossible beyond.
    width : float, default=1.0
        The width of the noise of a count in one sequence. A share is a mean over sequences of tokens in each: 'box'
        allows it to miss by `width` tokens per sequence, and the 'gaussian' noise of n sequences is independent, so
        that a miss in tokens per sequence costs n times half its square over `width` squared.
    **options : Any
        Other parameters of `PosteriorRegularization`, such as `iterations`.

    Returns
    -------
    PosteriorRegularization
        The learner, to be fitted.
    """
    if noise not in ("box", "gaussian"):
        raise DataError(f"noise is 'box' or 'gaussian', got {noise!r}")
    if not (isinstance(width, Real) and 0 < width < inf):
        raise DataError(f"the width of the noise is a finite number above 0, got {width!r}")
    if noise == "gaussian":
        given: dict[str, Any] = {"norm": "squared", "penalty": 1 / width**2}
    else:
        given = {"norm": "linf", "bound": width, "penalty": None}
    given |= {"label_shares": False, "decode": "model"}
    return PosteriorRegularization(base, list(rules), **{**given, **options})
