"""Every learner of the library, once: where it lives, what it learns from, and what the command line calls it.

The package's names, the advice in messages, the command line and the docs are derived from this table; it loads no
learner. A new learner is a module and a row here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..supervision import Signal

FULL, PARTIAL, NOTHING, COMPANION = Signal.FULL, Signal.PARTIAL, Signal.NOTHING, Signal.COMPANION

# Kinds of outputs: label chains, labelled segments, labels of documents, trees and links whose parts have
# probabilities, others whose parts have none (matchings, graphs, programs), and trees of the model with valence.
Outputs = Literal["chains", "segments", "documents", "parts", "programs", "valence"]


@dataclass(frozen=True)
class Entry:
    """One learner.

    module: its module in this folder; signals: the kinds of y that it can use; command: its name on the command line,
    None if it has none; inside: for a learner around others, the command-line name of what it goes around by default;
    around: the names of all that it can go around, empty where that is every base; base: whether others may go around
    it on the command line; expecting: whether it reads rules as statements about expectations; documents: "only" if it
    takes nothing else; weighted: whether inputs can count differently (`sample_weight`); outputs: what it can predict,
    by itself or around a base; rules: which it takes, "outputs" for rules about each output, "expected" for statements
    about expectations, "words" for few labels of each word; alone: the outputs that it can learn from unlabelled inputs
    only, without rules; choices: whether some labels must be unknown.
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
    outputs: frozenset[Outputs] = frozenset()
    rules: frozenset[str] = frozenset()
    alone: frozenset[Outputs] = frozenset()
    choices: bool = False


def _row(module: str, outputs: str, *signals: Signal, **more: object) -> Entry:
    sets = {name: frozenset(str(more.pop(name, "")).split()) for name in ("rules", "alone")}
    return Entry(module, frozenset(signals), outputs=frozenset(outputs.split()), **sets, **more)  # type: ignore[arg-type]


# Outputs whose parts have probabilities; all but trees of the model with valence; and those that a learner around
# others can predict if these can be fitted to expected parts, if these count, or if it goes down a gradient of rules.
_PROBABLE = "chains segments documents parts"
_ALL = f"{_PROBABLE} programs"
_MODELLED, _COUNTED, _DERIVED = f"{_PROBABLE} valence", "chains valence", "chains documents parts"
# All kinds of y but companions.
_ANY_LABELS = FULL, PARTIAL, NOTHING

# Bases that can be fitted to expected parts.
_EXPECTED = ("hmm", "crf", "semicrf")
# Learners that project onto rules, or whose gradients rules are part of, and the one that weighs all signals.
_PROJECTING = {"around": _EXPECTED, "expecting": True, "rules": "expected words"}
_DESCENDING = {"inside": "crf", "around": ("crf",), "expecting": True, "rules": "expected"}
_SIGNALS = {"inside": "crf", "around": _EXPECTED, "weighted": True, "rules": "outputs expected"}
# Learners that decode under rules, around any base.
_DECODING = {"inside": "hmm", "rules": "outputs"}

REGISTRY: dict[str, Entry] = {
    "Auto": _row("choosing.auto", "chains", FULL, PARTIAL, NOTHING, COMPANION, command="auto", rules="outputs"),
    "CRF": _row("labelled.crf", _PROBABLE, FULL, PARTIAL, command="crf", base=True, weighted=True),
    "HMM": _row("labelled.hmm", "chains", FULL, command="hmm", base=True, weighted=True),
    "DMV": _row("labelled.dmv", "valence", FULL, weighted=True),
    "SemiCRF": _row("labelled.semicrf", "chains segments", FULL, PARTIAL, command="semicrf", base=True, weighted=True),
    "StructuredPerceptron": _row("labelled.perceptron", _ALL, FULL, command="perceptron", base=True, weighted=True),
    "KernelPerceptron": _row("labelled.kernel_perceptron", "chains", FULL, command="kernel-perceptron"),
    "MIRA": _row("labelled.mira", _ALL, FULL, command="mira", base=True, weighted=True),
    "StructuralSVM": _row("margins.structural_svm", _ALL, FULL, command="svm", base=True, weighted=True),
    "LatentStructuralSVM": _row(
        "margins.latent_svm", _ALL, FULL, PARTIAL, command="latent-svm", base=True, weighted=True
    ),
    "JLIS": _row("margins.jlis", _ALL, FULL, COMPANION, command="jlis", weighted=True, rules="outputs"),
    "LCLR": _row("margins.lclr", _ALL, COMPANION, command="lclr", weighted=True, rules="outputs"),
    "TwoStage": _row("margins.lclr", _ALL, COMPANION, weighted=True, rules="outputs"),
    "CCM": _row("wrappers.ccm", _ALL, FULL, PARTIAL, command="ccm", weighted=True, **_DECODING),
    "CoDL": _row("wrappers.codl", _ALL, FULL, NOTHING, command="codl", alone="chains segments documents", **_DECODING),
    "EM": _row("wrappers.em", _COUNTED, *_ANY_LABELS, command="em", inside="hmm", around=("hmm",), alone=_COUNTED),
    "SelfTraining": _row("wrappers.self_training", _PROBABLE, FULL, NOTHING, command="self-training", inside="hmm"),
    "PosteriorRegularization": _row(
        "wrappers.posterior", _MODELLED, *_ANY_LABELS, command="pr", inside="hmm", alone=_MODELLED, **_PROJECTING
    ),
    "UnifiedEM": _row(
        "wrappers.unified", _MODELLED, *_ANY_LABELS, command="uem", inside="hmm", alone=_MODELLED, **_PROJECTING
    ),
    # All unlabelled sequences weigh as much as the labelled ones here, so an HMM would not make the most of few labels.
    "DeterministicAnnealing": _row(
        "wrappers.annealing", _PROBABLE, *_ANY_LABELS, command="daso", inside="crf", alone=_PROBABLE, **_PROJECTING
    ),
    "GeneralizedExpectation": _row("wrappers.generalized", _DERIVED, *_ANY_LABELS, command="ge", **_DESCENDING),
    "EntropyRegularization": _row("wrappers.entropy", _DERIVED, *_ANY_LABELS, command="er", **_DESCENDING),
    "Combined": _row(
        "wrappers.combined", _PROBABLE, *_ANY_LABELS, COMPANION, command="combined", alone=_PROBABLE, **_SIGNALS
    ),
    "Agreement": _row("wrappers.agreement", _PROBABLE, FULL, NOTHING),
    "TransductiveSVM": _row(
        "margins.transductive_svm", _ALL, FULL, NOTHING, command="transductive-svm", rules="outputs"
    ),
    "ContrastiveEstimation": _row(
        "labelled.contrastive", "chains", FULL, PARTIAL, NOTHING, command="contrastive", alone="chains", choices=True
    ),
    "MaxEnt": _row("labelled.maxent", "documents", FULL, PARTIAL, documents="only", weighted=True),
    "DocumentJLIS": _row("margins.document_jlis", "documents", FULL, COMPANION, documents="only", weighted=True),
}


def outputs_of(task: Any) -> Outputs:
    """Returns the kind of a task's outputs, in the words of `Entry.outputs`."""
    if task.noun == "document":
        return "documents"
    if task.of_labels:
        return "chains" if task.chained else "segments"
    if getattr(task, "generative", False):
        return "valence"
    return "parts" if task.has_rows else "programs"


def readings_of(rule: Any) -> set[str]:
    """Returns how a rule can be used, in the words of `Entry.rules`."""
    from ..rules.language import Rule

    if rule.per_word:
        return {"words"}
    if rule.about_corpus or (rule.reading is not None and rule.reading.kind == "expected"):
        return {"expected"}
    read = rule.reading is not None or type(rule).statement is Rule.statement
    return {"outputs"} if read else {"outputs", "expected"}


def able(kinds: Iterable[Signal], task: Any, rules: Iterable[Any] = ()) -> list[str]:
    """Returns the learners that can learn a task from all these kinds of y together, with these rules."""
    wanted, outputs, used = frozenset(kinds), outputs_of(task), [readings_of(rule) for rule in rules]
    return [
        name
        for name, one in REGISTRY.items()
        if wanted <= one.signals
        and outputs in one.outputs
        and all(one.rules & rule for rule in used)
        and not (wanted == {NOTHING} and outputs not in one.alone)
        and not (wanted == {FULL} and one.choices)
    ]
