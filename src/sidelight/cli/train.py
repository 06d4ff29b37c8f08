"""`sidelight train`."""

import sys
import time
import warnings
from enum import StrEnum
from typing import Annotated, Any

import typer

from sidelight.cli.knowledge import KnowledgeOptions, file_of_conflicts, way_out
from sidelight.cli.options import ColumnsOption, CommentOption, FormatOption, JobsOption, JsonOption, LabelColumnOption
from sidelight.cli.parameters import BaseName, LearnerName, TaskName, make_task
from sidelight.cli.reading import Reader, Sequences, reader_for

NAME = "train"
EXAMPLES = (
    "sidelight train few.tsv -o fields.model --rules rules.toml --unlabeled more.txt --budget 60",
    "sidelight train train.tsv -o fields.model --learner crf --dev dev.tsv",
    "sidelight train train.txt -o chunks.model --learner perceptron --epochs 20",
    'sidelight train train.txt -o chunks.model --learner crf -t word -t "word[-1] & pos" --l2 0.1',
    "sidelight train train.txt -o chunks.model --learner perceptron --margin 1 --templates found.txt",
    "sidelight train few.tsv -o fields.model --learner hmm --rules rules.toml --unlabeled more.txt",
    "sidelight train few.tsv -o fields.model --learner pr --rules rules.toml --unlabeled more.txt --figure fit.png",
    "sidelight train few.tsv -o fields.model --learner jlis --good more.txt --bad shuffled",
    "sidelight train few.tsv -o fields.model --learner combined --rules rules.toml --unlabeled more.txt --bad bad.txt",
    "sidelight train words.tsv -o tags.model --learner contrastive --partial --set restarts=5",
    "sidelight train trees.conllu -o parser.model --task parsing --set task.labelled=true --rules arcs.toml",
    "sidelight train pairs.jsonl -o names.model --learner lclr --task aligning --set task.features=letters",
)
_LONG = 1000
_LEARNER = "What the learner does"
_KNOWLEDGE = "What is known beside labels"


class DecodeName(StrEnum):
    """What predicts."""

    rules = "rules"
    model = "model"
    projected = "projected"


class ReadingName(StrEnum):
    """How rules without a reading of their own are used."""

    soft = "soft"
    hard = "hard"


def _learner_option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_LEARNER, show_default=False)


def _knowledge_option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_KNOWLEDGE, show_default=False)


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences; - is standard input.")],
    model: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="File to write the model to.")],
    learner: Annotated[
        LearnerName | None,
        typer.Option(
            "--learner",
            "-l",
            help="What learns. auto tries those that can use what is given, and keeps the best. Those from ccm on go "
            "around another one (--base): ccm adds rules, the others learn from unlabelled sequences too. Of those "
            "before, but not of auto, --rules makes a ccm and --unlabeled a codl.",
            show_default="auto",
        ),
    ] = None,
    task: Annotated[
        TaskName | None,
        typer.Option(
            help="What is learned where it is no labels: parsing is heads of words (CoNLL-U), aligning links of two "
            "strings in order, matching links in any order (both JSON lines). Of auto there is crf, for matching svm.",
            show_default=False,
        ),
    ] = None,
    base: Annotated[
        BaseName | None,
        typer.Option(
            help="What the learner goes around (hmm, for daso, ge and er crf; with --task crf, for matching svm).",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time for trials (auto; 120).", show_default=False)
    ] = None,
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Evaluate on this file (read like DATA) after training.")
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the objective and the violations, round by round (.png, .pdf, .svg)."),
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(
            "--template", "-t", metavar="TEMPLATE", help='A feature, such as "word\\[-1] & pos"; may be repeated.'
        ),
    ] = None,
    templates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File of features, one a line, as `sidelight templates` writes; # starts a comment line.",
        ),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            metavar="FILE",
            help="File of features of one view; given twice or more, a model (--base; crf) of each is learned so that "
            "they agree on the unlabelled sequences.",
        ),
    ] = None,
    format: FormatOption = None,
    label_column: LabelColumnOption = None,
    columns: ColumnsOption = None,
    comment: CommentOption = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="The label ? is unknown, and A|B is one of these (columns, tsv; the others always can).",
            rich_help_panel="How the data is read",
        ),
    ] = False,
    rules: Annotated[
        str | None,
        _knowledge_option(
            metavar="FILE",
            help="TOML file of rules, or one rule, such as 'bio()': auto tries learners that can use them, ccm and "
            "codl predict under them, to jlis they are hard, and pr, uem, daso, ge and er read them as statements "
            "about expectations.",
        ),
    ] = None,
    reading: Annotated[
        ReadingName | None,
        _knowledge_option(help="Rules without a reading are soft, penalties learned from the labels, or hard (soft)."),
    ] = None,
    labels: Annotated[
        str | None,
        _knowledge_option(metavar="NAMES", help="Labels that rules may name though DATA has none; commas between."),
    ] = None,
    unlabeled: Annotated[
        str | None, _knowledge_option(metavar="FILE", help="Sequences without labels to learn from as well.")
    ] = None,
    good: Annotated[
        str | None,
        _knowledge_option(
            metavar="FILE", help="Sequences without labels that are as they should be (jlis, lclr, combined)."
        ),
    ] = None,
    bad: Annotated[
        str | None,
        _knowledge_option(
            metavar="FILE",
            help="Sequences that are not, or shuffled or transposed (pairs: mismatched): made from the good ones, else "
            "from DATA (jlis, lclr, combined).",
        ),
    ] = None,
    balance: Annotated[
        float | None, _knowledge_option(help="Weight of what was learned from labels, 0 to 1 (codl; 0.5, em; 0.8).")
    ] = None,
    iterations: Annotated[
        int | None,
        _knowledge_option(help="Rounds over the unlabelled sequences (codl, em, self-training, daso; 5, pr, uem; 10)."),
    ] = None,
    penalty: Annotated[
        float | None,
        _knowledge_option(help="What missing a rule's bound costs (pr, uem, daso; learned from the labels)."),
    ] = None,
    decode: Annotated[
        DecodeName | None,
        _knowledge_option(
            help="Predict the best output under the rules, by their projection, or by the model (pr, uem, daso; rules)."
        ),
    ] = None,
    l1: Annotated[float | None, _learner_option(help="Penalty on the sizes of weights (crf, semicrf; 0).")] = None,
    l2: Annotated[
        float | None, _learner_option(help="Penalty on their squares (crf, contrastive; 0.1, semicrf; 0.03).")
    ] = None,
    solver: Annotated[
        str | None, _learner_option(help="auto, eg or lbfgs (crf; auto), dcd, eg or sgd (svm; dcd).")
    ] = None,
    cost: Annotated[
        float | None, _learner_option("--C", help="What missed margins cost (svm, latent-svm; 0.1, mira, lclr; 1).")
    ] = None,
    tolerance: Annotated[
        float | None,
        _learner_option(help="Relative duality gap to stop at (crf, semicrf; 0.001, jlis; 0.002, svm; 0.01)."),
    ] = None,
    max_iterations: Annotated[int | None, _learner_option(help="Passes at most (crf, semicrf; 500).")] = None,
    epochs: Annotated[
        int | None, _learner_option(help="Passes at most (perceptron, kernel-perceptron, mira; 10).")
    ] = None,
    margin: Annotated[
        float | None, _learner_option(help="Margin per wrong token (perceptron, kernel-perceptron; 0).")
    ] = None,
    min_count: Annotated[int | None, _learner_option(help="Drop rarer features (all but hmm; 1).")] = None,
    order: Annotated[int | None, _learner_option(help="1: label pairs, 2: triples too (not hmm, semicrf; 1).")] = None,
    seed: Annotated[int | None, _learner_option(help="Seed of the order of visits (not hmm, semicrf; 0).")] = None,
    emission: Annotated[str | None, _learner_option(help="What of a token is emitted (hmm; word).")] = None,
    smoothing: Annotated[float | None, _learner_option(help="Added to every count (hmm; 0.1).")] = None,
    settings: Annotated[
        list[str] | None,
        _learner_option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other parameter of the learner or of its base, such as gamma=0.5 (uem), temperatures=5 "
            "(daso), C2=0.1 (jlis), or of the task: task.projective=true; may be repeated.",
        ),
    ] = None,
    jobs: JobsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    json: JsonOption = False,
) -> None:
    """Learn from labelled sequences, and from rules, unlabelled, good and bad ones, and write a model.

    lclr learns from pairs of which DATA says whether they are good, and predicts that of others.

    Learners of documents (MaxEnt, DocumentJLIS) are for Python.

    Wrong options and files that cannot be read or written are found first.
    """
    from sidelight.cli.output import check_figure, check_writable, print_json
    from sidelight.cli.templates import parse_arc_template, parse_template, read_templates
    from sidelight.report.outputs import evaluated_by
    from sidelight.report.summary import summarize_training

    if model == "-":
        raise typer.BadParameter("a model goes to a file; standard output has the summary", param_hint="--output")
    parse = parse_arc_template if task == "parsing" else parse_template
    options = {
        "template": read_templates(template or [], templates, parse), "emission": emission, "smoothing": smoothing,
        "l1": l1, "l2": l2, "solver": solver, "C": cost, "tolerance": tolerance, "max_iterations": max_iterations,
        "epochs": epochs, "margin": margin, "min_count": min_count, "order": order, "seed": seed, "budget": budget,
    }  # fmt: skip
    knowledge = KnowledgeOptions(rules, reading, unlabeled, balance, iterations, penalty, decode, labels, good, bad)
    what, others = make_task(task, settings or [])
    if view and task is not None:
        raise typer.BadParameter("views are for labels of tokens; leave this out", param_hint="--task")
    if view:
        estimator = knowledge.make_agreement(learner, base, view, options, others, quiet=quiet, jobs=jobs)
    else:
        estimator = knowledge.make_learner(learner, base, options, others, quiet=quiet, jobs=jobs, task=what)
    check_writable(model, data, dev, templates, rules, unlabeled, good, bad, *(view or ()))
    if figure:
        from sidelight.report.training_curves import require_course

        check_figure(figure, data, dev, templates, rules, unlabeled, good, bad)
        if learner in (None, "auto") and what is None and not view:
            message = "the learner auto may choose one without a course to draw; name one with --learner"
            raise typer.BadParameter(message, param_hint="--figure")
        require_course(estimator)
    reader = reader_for(what, Reader(format, label_column, columns, comment, partial), answers=estimator.judges)
    sequences = reader.read(data, labels=True)
    _suspect_one_sequence(sequences)
    knowledge.check_labels(estimator, sequences)
    everything = knowledge.add_sequences(learner, estimator, reader, sequences)
    held_out = None if dev is None else reader.read(dev, labels=True)
    with file_of_conflicts(unlabeled, way_out(learner, estimator), before=len(sequences.X) if unlabeled else 0):
        seconds = _fit(estimator, everything)
    with file_of_conflicts(data):
        _try_rules(estimator.chosen_, sequences)
    estimator.save(model)
    if figure:
        from sidelight.report.figures import draw_training

        draw_training(estimator, figure)
    with file_of_conflicts(dev):
        shown = evaluated_by(estimator)
        evaluation = None if held_out is None else shown.evaluate(estimator, held_out.X, held_out.y)
    summary = summarize_training(estimator, everything.X, everything.y, seconds, model, evaluation)
    if json:
        print_json(summary)
    else:
        from sidelight.report.console import results
        from sidelight.report.rule_tables import rules_table
        from sidelight.report.tables import choice_table, page, training_table

        parts = [page(choice_table(summary.model.choice))] if summary.model.choice else []
        parts += [page(rules_table(summary.model.rules, summary.model.task))] if summary.model.rules else []
        scores = [] if evaluation is None else shown.headline(evaluation)
        results().print(*parts, training_table(summary, scores))


def _suspect_one_sequence(sequences: Sequences) -> None:
    """A file without blank lines is rarely meant to be one long sequence."""
    if len(sequences.X) == 1 and len(sequences.X[0]) > _LONG:
        tokens = f"{len(sequences.X[0]):,}"
        print(f"note: all {tokens} tokens are one sequence; blank lines separate sequences", file=sys.stderr)


def _fit(estimator: Any, sequences: Sequences) -> float:
    """Train, and tell how many seconds it took."""
    from sklearn.exceptions import ConvergenceWarning

    begin = time.perf_counter()
    with warnings.catch_warnings():
        # The summary says it of a model; of a projection it does not.
        warnings.filterwarnings("ignore", "(?!the projection)", ConvergenceWarning)
        estimator.fit(sequences.X, sequences.y)
    return time.perf_counter() - begin


def _try_rules(estimator: Any, sequences: Sequences) -> None:
    """Find out now whether prediction under the rules is possible: hard ones may contradict each other."""
    readings = estimator.rule_readings()
    if readings and estimator.decoder_.reads_tokens:
        hard = any(one.kind == "hard" for one in readings)
        estimator.predict_structure(sequences.X if hard else sequences.X[:1])
