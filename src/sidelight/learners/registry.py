"""Every learner of the library, once: where it lives, what it learns from, and what the command line calls it.

The package's names, the advice in messages, the command line and the docs are derived from this table; it loads no
learner. A new learner is a module and a row here.
"""

from dataclasses import dataclass

from ..supervision import Signal

FULL, PARTIAL, NOTHING, COMPANION = Signal.FULL, Signal.PARTIAL, Signal.NOTHING, Signal.COMPANION


@dataclass(frozen=True)
class Entry:
    """One learner.

    module: its module in this folder; signals: the kinds of y that it can use; command: its name on the command line,
    None if it has none; inside: for a learner around others, the command-line name of what it goes around by default;
    around: the names of all that it can go around, empty where that is every base; base: whether others may go around
    it on the command line; expecting: whether it reads rules as statements about expectations; documents: "also" if it
    takes documents as well as sequences, "only" if it takes nothing else; weighted: whether inputs can count
    differently (`sample_weight`); any_task: whether it needs nothing of a structure but its two calls.
    """

    module: str
    signals: frozenset[Signal]
    command: str | None = None
    inside: str | None = None
    around: tuple[str, ...] = ()
    base: bool = False
    expecting: bool = False
    documents: str = ""
    weighted: bool = False
    any_task: bool = False


def _row(module: str, *signals: Signal, **more: object) -> Entry:
    return Entry(module, frozenset(signals), **more)  # type: ignore[arg-type]


# Bases that can be fitted to expected parts.
_EXPECTED = ("hmm", "crf", "semicrf")
# Learners that read rules as statements about expectations.
_EXPECTING = {"expecting": True, "documents": "also"}
# Learners that need nothing but a structure's two calls.
_ANY_TASK = {"any_task": True, "documents": "also"}

REGISTRY: dict[str, Entry] = {
    "Auto": _row("choosing.auto", FULL, PARTIAL, NOTHING, COMPANION, command="auto"),
    "CRF": _row("labelled.crf", FULL, PARTIAL, command="crf", base=True, weighted=True, **_ANY_TASK),
    "HMM": _row("labelled.hmm", FULL, command="hmm", base=True, weighted=True),
    "DMV": _row("labelled.dmv", FULL, weighted=True),
    "SemiCRF": _row("labelled.semicrf", FULL, PARTIAL, command="semicrf", base=True, weighted=True),
    "StructuredPerceptron": _row(
        "labelled.perceptron", FULL, command="perceptron", base=True, weighted=True, **_ANY_TASK
    ),
    "KernelPerceptron": _row("labelled.kernel_perceptron", FULL, command="kernel-perceptron"),
    "MIRA": _row("labelled.mira", FULL, command="mira", base=True, weighted=True, **_ANY_TASK),
    "StructuralSVM": _row("margins.structural_svm", FULL, command="svm", base=True, weighted=True, **_ANY_TASK),
    "LatentStructuralSVM": _row(
        "margins.latent_svm", FULL, PARTIAL, command="latent-svm", base=True, weighted=True, **_ANY_TASK
    ),
    "JLIS": _row("margins.jlis", FULL, COMPANION, command="jlis", weighted=True, **_ANY_TASK),
    "LCLR": _row("margins.lclr", COMPANION, command="lclr", weighted=True, any_task=True),
    "TwoStage": _row("margins.lclr", COMPANION, weighted=True),
    "CCM": _row("wrappers.ccm", FULL, PARTIAL, command="ccm", inside="hmm", documents="also", weighted=True),
    "CoDL": _row("wrappers.codl", FULL, NOTHING, command="codl", inside="hmm", documents="also"),
    "EM": _row("wrappers.em", FULL, PARTIAL, NOTHING, command="em", inside="hmm", around=("hmm",)),
    "SelfTraining": _row(
        "wrappers.self_training", FULL, NOTHING, command="self-training", inside="hmm", documents="also"
    ),
    "PosteriorRegularization": _row(
        "wrappers.posterior", FULL, PARTIAL, NOTHING, command="pr", inside="hmm", around=_EXPECTED, expecting=True
    ),
    "UnifiedEM": _row(
        "wrappers.unified", FULL, PARTIAL, NOTHING, command="uem", inside="hmm", around=_EXPECTED, **_EXPECTING
    ),
    # All unlabelled sequences weigh as much as the labelled ones here, so an HMM would not make the most of few labels.
    "DeterministicAnnealing": _row(
        "wrappers.annealing", FULL, PARTIAL, NOTHING, command="daso", inside="crf", around=_EXPECTED, expecting=True
    ),
    "GeneralizedExpectation": _row(
        "wrappers.generalized", FULL, PARTIAL, NOTHING, command="ge", inside="crf", around=("crf",), expecting=True
    ),
    "EntropyRegularization": _row(
        "wrappers.entropy", FULL, PARTIAL, NOTHING, command="er", inside="crf", around=("crf",), expecting=True
    ),
    "Combined": _row(
        "wrappers.combined",
        FULL,
        PARTIAL,
        NOTHING,
        COMPANION,
        command="combined",
        inside="crf",
        around=_EXPECTED,
        weighted=True,
    ),
    "Agreement": _row("wrappers.agreement", FULL, NOTHING, documents="also"),
    "TransductiveSVM": _row("margins.transductive_svm", FULL, NOTHING, command="transductive-svm", **_ANY_TASK),
    "ContrastiveEstimation": _row("labelled.contrastive", FULL, PARTIAL, NOTHING, command="contrastive"),
    "MaxEnt": _row("labelled.maxent", FULL, PARTIAL, documents="only", weighted=True),
    "DocumentJLIS": _row("margins.document_jlis", FULL, COMPANION, documents="only", weighted=True),
}


def users(signal: Signal, noun: str = "sequence") -> list[str]:
    """Returns the learners that can use a signal of sequences, of documents, or of inputs with other names."""
    if noun not in ("sequence", "document"):
        return [name for name, one in REGISTRY.items() if one.any_task and signal in one.signals]
    fits = ("also", "only") if noun == "document" else ("", "also")
    return [name for name, one in REGISTRY.items() if signal in one.signals and one.documents in fits]
