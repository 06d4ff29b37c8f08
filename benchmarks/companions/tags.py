"""Parts of speech of UD English: Figures 6.2, 6.5b and 6.6a of Chang 2011, which are about the Wall Street Journal."""

from statistics import fmean

from sidelight import bias, word

from ..chosen import constant
from ..datasets import read_treebank
from ..drawing import Panel
from ..report import Report
from ..setting import Setting
from .sample import COMPANIONS, SVM, Comparison, Costs, add, draw, hold_out, search_costs

# Table 6.1, where every feature goes with every tag.
FEATURES = [
    bias,
    word,
    word[-1],
    *(word.suffix(length) for length in (1, 2, 3)),
    *(word.prefix(length) for length in (1, 2, 3)),
    word.matches("^[A-Z]"),
    word.matches("-"),
    word.hasdigit(),
]
# It has no features of the first and last tag, by which shuffled sentences are too easy to tell; the rounds stop early.
OPTIONS = {"all_weights": True, "boundaries": False}
ROUNDS = {"tolerance": 0.01, "change": 0.005}
GOOD_SENTENCES, SHORTEST = 1000, 10
# Labelled tokens -> costs; see `choose_costs`.
COSTS = {tokens: Costs(*costs) for tokens, costs in constant("companions.tags.COSTS").items()}
HELD_OUT = 1500
# Numbers given in the text; asked are GAIN points more than the SVM at the first size, and no more than LOSS elsewhere.
PUBLISHED = {200: {SVM: 66.17, COMPANIONS: 71.52}, 25600: {SVM: 93.51, COMPANIONS: 93.58}}
GAIN, LOSS = 3.0, -0.2
# Figure 6.5b: labelled tokens, GOOD sentences, and when rounds end.
ROUNDS_LABELLED, ROUNDS_GOOD, CHANGE = (200, 800, 3200), (125, 250, 500), 1e-3
SHUFFLES = (1, 2, 4, 8, 16)
FEW_LABELLED, FEW_GOOD = 10, 250


def by_labelled_tokens(setting: Setting, report: Report, panels: dict[str, Panel]) -> None:
    """Figure 6.2."""
    task = read_treebank(setting.data, setting.split)
    comparison = Comparison(task, FEATURES, OPTIONS)
    report.note(
        f"Figure 6.2: accuracy of universal tags on {len(task.eval_X):,} sentences of {setting.split}, mean over the "
        f"seeds; {GOOD_SENTENCES:,} GOOD sentences of at least {SHORTEST} tokens, each shuffled once. The thesis's "
        "numbers are about 45 tags of the Wall Street Journal."
    )
    panel = panels.setdefault("parts of speech", Panel("labelled tokens", logarithmic=True))
    with report.section("Figure 6.2: parts of speech by labelled tokens", f"UD English, {setting.split}"):
        for place, (tokens, costs) in enumerate(COSTS.items()):
            samples = [draw(task, s, tokens=tokens, good=GOOD_SENTENCES, shortest=SHORTEST) for s in setting.seeds]
            found = {
                SVM: [comparison.svm(sample, costs.svm) for sample in samples],
                COMPANIONS: [comparison.jlis(sample, costs, sample.bad(), **ROUNDS) for sample in samples],
            }
            for system, values in found.items():
                thesis = ("Chang 2011", PUBLISHED[tokens][system]) if tokens in PUBLISHED else None
                panel.add(system, tokens, add(report, f"{system}, {tokens:,} tokens", values, quote=thesis))
            more = [b - a for a, b in zip(*found.values(), strict=True)]
            add(report, f"{COMPANIONS} less {SVM}, {tokens:,} tokens", more, asked=LOSS if place else GAIN)


def by_shuffles(setting: Setting, report: Report, panels: dict[str, Panel]) -> None:
    """Figure 6.6a: more shuffles of the same GOOD sentences."""
    task = read_treebank(setting.data, setting.split)
    comparison, costs = Comparison(task, FEATURES, OPTIONS), COSTS[min(COSTS)]
    samples = [draw(task, s, sequences=FEW_LABELLED, good=FEW_GOOD, shortest=SHORTEST) for s in setting.seeds]
    panel = panels.setdefault("parts of speech, more shuffles", Panel("BAD for each GOOD sentence", logarithmic=True))
    title = f"Figure 6.6a: {FEW_LABELLED} labelled and {FEW_GOOD} GOOD sentences, by shuffles of each"
    with report.section(title, f"UD English, {setting.split}"):
        add(report, f"{SVM}, no companions", [comparison.svm(sample, costs.svm) for sample in samples])
        means = []
        for k in SHUFFLES:
            values = [comparison.jlis(sample, costs, sample.bad(k), **ROUNDS) for sample in samples]
            means.append(add(report, f"{COMPANIONS}, {k} for each", values))
            panel.add(COMPANIONS, k, means[-1])
        add(report, "most less fewest", [means[-1] - means[0]], asked=0.0)


def rounds_needed(setting: Setting, report: Report, panels: dict[str, Panel]) -> None:
    """Figure 6.5b: how many rounds J-LIS takes, by labelled tokens and by GOOD sentences."""
    task = read_treebank(setting.data, setting.split)
    comparison = Comparison(task, FEATURES, OPTIONS)
    panel = panels.setdefault("rounds of J-LIS", Panel("labelled tokens", logarithmic=True, y="rounds"))
    with report.section("Figure 6.5b: rounds of J-LIS", f"UD English, {setting.split}"):
        for good in ROUNDS_GOOD:
            for tokens in ROUNDS_LABELLED:
                samples = [draw(task, s, tokens=tokens, good=good, shortest=SHORTEST) for s in setting.seeds]
                models = [comparison.joint(one, COSTS[tokens], one.bad(), change=CHANGE) for one in samples]
                rounds = fmean(len(model.rounds_) for model in models)
                report.add(f"{tokens:,} labelled tokens", f"{good:,} GOOD and as many BAD", rounds, "rounds")
                panel.add(f"{good:,} GOOD sentences", tokens, rounds)


def choose_costs(setting: Setting, report: Report, panels: dict[str, Panel]) -> None:
    """The best of a grid for every size, on the end of the training data; it takes long."""
    task = hold_out(read_treebank(setting.data, setting.split), HELD_OUT)
    comparison = Comparison(task, FEATURES, OPTIONS)
    with report.section("Costs of parts of speech", f"UD English, the last {HELD_OUT:,} sentences of train"):
        for tokens in COSTS:
            samples = [draw(task, s, tokens=tokens, good=GOOD_SENTENCES, shortest=SHORTEST) for s in setting.seeds]
            search_costs(report, f"{tokens:,} tokens", comparison, samples, **ROUNDS)
