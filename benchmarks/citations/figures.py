"""Figures 3.3 and 3.4, accuracy by labelled references; 3.5, by iteration; 3.6, by the supervised model's weight."""

from collections.abc import Callable
from functools import partial

from sidelight import EM

from ..drawing import Panel
from ..report import Report
from .experiment import BALANCE, Experiment, Mean, codl, hmm
from .known import soft
from .published import SIZES
from .tables import baseline, driven, hard_em, ruled

ROUNDS = (0, 1, 2, 3, 5, 10)
# Labelled references of Figures 3.3 and 3.4.
MORE_SIZES = (5, 10, 15, 20, 25, 300)
BALANCES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def by_labelled(experiment: Experiment, report: Report) -> None:
    """Figure 3.3: what rules add to unlabelled references, by the number of labelled ones."""
    systems = {"hard EM": hard_em, "CoDL": driven}
    _along_sizes(experiment, report, "Figure 3.3: rules and unlabelled references", systems)


def rules_for_labels(experiment: Experiment, report: Report) -> None:
    """Figure 3.4: the HMM with many labels beside rules with few, which predict too or only guided the learning."""

    def guided(experiment: Experiment, count: int) -> Mean:
        make = lambda: codl(soft()).set_params(rules_at_prediction=False)  # noqa: E731
        return experiment.semi_supervised("CoDL, predicting without rules", make, count)

    systems = {"HMM, labels alone": baseline, "HMM learned by CoDL, no rules at prediction": guided, "CoDL": driven}
    _along_sizes(experiment, report, "Figure 3.4: rules in place of labels", systems)


def _along_sizes(
    experiment: Experiment, report: Report, title: str, systems: dict[str, Callable[[Experiment, int], Mean]]
) -> None:
    """A section and a panel of some systems."""
    panel = experiment.panels.setdefault(title, Panel("labelled references", logarithmic=True))
    with report.section(title):
        for count in MORE_SIZES:
            for name, measure in systems.items():
                found = measure(experiment, count)
                report.add(f"{count} labelled", name, found.value, "%", deviation=found.deviation)
                panel.add(name, count, found.value)


def by_iteration(experiment: Experiment, report: Report) -> None:
    """Figure 3.5: EM, hard EM and CoDL from 5 labelled references."""
    count, title = SIZES[0], f"{SIZES[0]} labelled references"
    makers = {
        "EM": lambda rounds: EM(hmm(), balance=BALANCE, iterations=rounds, guard=False),
        "hard EM": lambda rounds: codl(iterations=rounds),
        "CoDL": lambda rounds: codl(soft(), iterations=rounds),
    }
    panel = experiment.panels.setdefault(title, Panel("iterations"))
    with report.section(f"Figure 3.5: accuracy by iteration, {count} labelled"):
        for rounds in ROUNDS:
            for name, make in makers.items():
                found = experiment.semi_supervised(f"{name}, {rounds} iterations", partial(make, rounds), count)
                report.add(f"iteration {rounds}", name, found.value, "%", deviation=found.deviation)
                panel.add(name, rounds, found.value)


def by_balance(experiment: Experiment, report: Report) -> None:
    """Figure 3.6: CoDL with β from 0, unlabelled references alone after the first round, to 1, labelled ones alone."""
    panel = experiment.panels.setdefault("weight β of the supervised model", Panel("β"))
    report.note(
        f"Figure 3.6: all other tables use β = {BALANCE}, which weighs both models alike, whatever is best here: "
        "choosing it by these numbers would be choosing it on the data that is scored."
    )
    with report.section("Figure 3.6: accuracy of CoDL by β, the weight of the supervised model"):
        for balance in BALANCES:
            for count in SIZES:
                found = ruled(experiment, count) if balance == 1 else driven(experiment, count, balance)
                system = f"{count} labelled"
                report.add(f"β = {balance}", system, found.value, "%", deviation=found.deviation)
                panel.add(system, balance, found.value)
