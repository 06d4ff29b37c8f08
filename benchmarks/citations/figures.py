"""Figure 3.5, accuracy by iteration, and Figure 3.6, accuracy by the weight of the supervised model."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path

from sidelight import CCM, EM

from ..datasets import MissingData
from ..report import Report
from .experiment import BALANCE, Experiment, codl, hmm
from .known import soft
from .published import SIZES

ROUNDS = (0, 1, 2, 3, 5, 10)
BALANCES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def by_iteration(experiment: Experiment, report: Report) -> None:
    """Figure 3.5: EM, hard EM and CoDL from 5 labelled references."""
    count, panel = SIZES[0], f"{SIZES[0]} labelled references"
    makers = {
        "EM": lambda rounds: EM(hmm(), balance=BALANCE, iterations=rounds),
        "hard EM": lambda rounds: codl(iterations=rounds),
        "CoDL": lambda rounds: codl(soft(), iterations=rounds),
    }
    curves = experiment.curves.setdefault(panel, {})
    with report.section(f"Figure 3.5: accuracy by iteration, {count} labelled"):
        for rounds in ROUNDS:
            for name, make in makers.items():
                found = experiment.semi_supervised(f"{name}, {rounds} iterations", partial(make, rounds), count)
                report.add(f"iteration {rounds}", name, found.value, "%", deviation=found.deviation)
                curves.setdefault(name, []).append((rounds, found.value))


def by_balance(experiment: Experiment, report: Report) -> None:
    """Figure 3.6: CoDL with β from 0, unlabelled references alone after the first round, to 1, labelled ones alone."""
    curves = experiment.curves.setdefault("weight β of the supervised model", {})
    report.note(
        f"Figure 3.6: all other tables use β = {BALANCE}, which weighs both models alike, whatever is best here: "
        "choosing it by these numbers would be choosing it on the data that is scored."
    )
    with report.section("Figure 3.6: accuracy of CoDL by β, the weight of the supervised model"):
        for balance in BALANCES:
            for count in SIZES:
                if balance == 1:
                    found = experiment.supervised("CCM", lambda: CCM(hmm(soft()), soft()), count)
                else:
                    name = "CoDL" if balance == BALANCE else f"CoDL, β {balance}"
                    found = experiment.semi_supervised(name, partial(codl, soft(), balance=balance), count)
                system = f"{count} labelled"
                report.add(f"β = {balance}", system, found.value, "%", deviation=found.deviation)
                curves.setdefault(system, []).append((balance, found.value))


def require_drawing(file: Path | None) -> None:
    """A figure needs matplotlib: say so before anything is measured."""
    if file and find_spec("matplotlib") is None:
        raise MissingData("--figure needs matplotlib; pip install 'sidelight[bench]', or leave --figure out")


def draw(panels: dict[str, dict[str, list[tuple[float, float]]]], file: Path) -> None:
    """Curves as an image, a panel beside the other; panels: what is on the x axis -> system -> points."""
    from matplotlib.figure import Figure

    shown = Figure(figsize=(6 * max(len(panels), 1), 4), layout="constrained")
    for number, (title, curves) in enumerate(panels.items(), start=1):
        axes = shown.add_subplot(1, len(panels), number)
        for system, points in curves.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=system)
        axes.set(title=title, xlabel="β" if "β" in title else "iterations", ylabel="token accuracy, %")
        axes.grid(alpha=0.3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=len(curves), frameon=False)
    shown.savefig(file, dpi=150)
