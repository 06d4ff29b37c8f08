"""Figure 3.5, accuracy by iteration, and Figure 3.6, accuracy by the weight of the supervised model."""

from functools import partial

from sidelight import EM

from ..drawing import Panel
from ..report import Report
from .experiment import BALANCE, Experiment, codl, hmm
from .known import soft
from .published import SIZES
from .tables import driven, ruled

ROUNDS = (0, 1, 2, 3, 5, 10)
BALANCES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


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
