"""J-LIS on documents: classes, and documents that belong to one of them or to none."""

from typing import Annotated, ClassVar

from ...declared import Bounds, declared
from ...supervision import BAD, GOOD, Companion
from ..parameters import LayoutParameters, Size
from ..tasks.classifying import Classifying
from .jlis import JointLearner


@declared
class DocumentJLIS(LayoutParameters, JointLearner):
    """`JLIS` with one label per document (section 6.4.4 of Chang 2011): `JLIS(task=Classifying(), size=None)`.

    An element of y is the document's label, GOOD (it belongs to one of the classes) or BAD (to none of them). With very
    few labelled documents per class, the others can do harm: the problem is not convex, and the start matters.

    Attributes
    ----------
    classes_, weights_, objective_, rounds_, run_objectives_, converged_, trace_
    constant_weight_ : float
        The weight of the constant feature.
    """

    C1: Annotated[float, "What missed margins of labelled documents cost.", Bounds(0, above=True)] = 1.0
    C2: Annotated[float, "What missed margins of GOOD and BAD documents cost.", Bounds(0, above=True)] = 1.0
    size: Annotated[Size, "κ, by which the features of GOOD and BAD documents are divided; None is 1."] = None
    min_count: Annotated[int, "Attributes of fewer documents are dropped.", Bounds(0)] = 1
    all_weights: Annotated[bool, "Whether all pairs of attribute and label have weights, not only those observed."] = (
        True
    )
    random_state: Annotated[int | None, "Seed of everything that is random; None gives another one each time."] = 0

    _lacking: ClassVar[dict[Companion, str]] = {
        GOOD: "documents of one of the classes, whichever it is",
        BAD: "documents of none of the classes",
    }

    @property
    def task_(self) -> Classifying:
        """One label for every document."""
        return Classifying()
