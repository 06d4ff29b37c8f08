"""Maximum entropy classification: the conditional random field of one decision."""

from typing import Annotated

from ...declared import Bounds, declared
from ..tasks.classifying import Classifying
from .crf import LogLinear


@declared
class MaxEnt(LogLinear):
    """Multinomial logistic regression over documents: `CRF(task=Classifying())` with scikit-learn's penalty.

        minimise  Σ_i [log Σ_y exp s(x_i, y) - log Σ_{y allowed} exp s(x_i, y)] + l1 ‖w‖₁ + l2 ‖w‖²

    X is a list of documents, each a list of words (their counts are the features) or a feature dict, or a matrix with
    a row for every document. y holds a label for each, or a set of labels of which one is right. Its solver is L-BFGS.

    Attributes
    ----------
    classes_, weights_, converged_, trace_
    """

    l2: Annotated[
        float,
        "Penalty of the squared weights, those of biases too; 1 / (2 C) of scikit-learn's LogisticRegression.",
        Bounds(0),
    ] = 1.0
    min_count: Annotated[int, "Attributes of fewer documents are dropped.", Bounds(0)] = 1
    bias: Annotated[bool, "Whether labels have a weight of their own."] = True
    all_weights: Annotated[bool, "Whether all pairs of attribute and label have weights, not only those observed."] = (
        True
    )

    @property
    def task_(self) -> Classifying:
        """One label for every document."""
        return Classifying(bool(self.bias))
