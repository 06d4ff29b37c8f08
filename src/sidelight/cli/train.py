"""`sidelight train`."""

import re
import time
import warnings
from collections import Counter
from functools import partial as partial_function
from typing import Annotated, Any

import typer

from sidelight.cli.knowledge import KnowledgeOptions, file_of_conflicts, way_out
from sidelight.cli.options import (
    ColumnsOption,
    FormatOption,
    HiddenCommentOption,
    HiddenJobsOption,
    HiddenLabelColumnOption,
    HiddenWorkersOption,
    JsonOption,
)
from sidelight.cli.parameters import BASES, BaseName, LearnerName, TaskName, make_task
from sidelight.cli.reading import CORPUS, DataReader, Reader, Sequences, reader_for
from sidelight.cli.settings import read_settings
from sidelight.cli.spelling import show_all
from sidelight.data.formats import FORMATS
from sidelight.errors import DataError, listed

NAME = "train"
EXAMPLES = (
    "sidelight train few.tsv -o fields.model --rules rules.toml --unlabeled more.txt --budget 60",
    "sidelight train train.tsv -o fields.model --learner crf --dev dev.tsv",
    "sidelight train train.txt -o chunks.model --learner perceptron --epochs 20",
    'sidelight train train.txt -o chunks.model --learner crf -t word -t "word[-1] & pos" --l2 0.1',
    "sidelight train train.txt -o words.model --learner crf --columns word,_,label",
    "sidelight train train.txt -o chunks.model --learner perceptron --margin 1 --templates found.txt",
    "sidelight train few.tsv -o fields.model --learner hmm --rules rules.toml --unlabeled more.txt",
    "sidelight train few.tsv -o fields.model --learner pr --rules rules.toml --unlabeled more.txt --figure fit.png",
    "sidelight train few.tsv -o fields.model --learner jlis --good more.txt --bad shuffled",
    "sidelight train few.tsv -o both.model --learner combined --rules rules.toml --unlabeled more.txt --bad bad.txt",
    "sidelight train words.tsv -o tags.model --learner contrastive --partial --set restarts=5",
    "sidelight train trees.conllu -o parser.model --task parsing --set task.labelled=true --rules arcs.toml",
    "sidelight train pairs.jsonl -o names.model --learner lclr --task aligning --set task.features=letters",
)
_LONG = 1000
# What the column of labels is often called, in files whose first line names the columns.
_HEADERS = {"label", "labels", "tag", "tags", "ner", "ner_tag", "ner_tags", "entity", "y"}
_KNOWLEDGE = "What is known beside labels"
_DATA = "How the data is read"


def _knowledge_option(*names: str, help: str, metavar: str | None = None, hidden: bool = False) -> Any:
    return typer.Option(
        *names, help=help, metavar=metavar, rich_help_panel=_KNOWLEDGE, show_default=False, hidden=hidden
    )


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences; - is standard input.")],
    model: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="File to write the model to.")],
    learner: Annotated[
        LearnerName | None,
        typer.Option(
            "--learner",
            "-l",
            metavar="NAME",
            help="What learns; `sidelight learners` lists them. auto tries those that can use what is given, and keeps "
            "the best.",
            show_default="auto",
        ),
    ] = None,
    base: Annotated[
        BaseName | None,
        typer.Option(
            metavar="NAME",
            help=f"The learner inside, for one that goes around another: {', '.join(BASES)}.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the learner, of its base (l2=1, or base.l2=1), or of the task (task.projective=true); "
            "may be repeated. --NAME VALUE is the same, and `sidelight learners NAME` lists them.",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            "-t",
            metavar="TEMPLATE",
            help='A feature, such as "word\\[-1] & pos", in place of the default ones, which -t default adds; may be '
            "repeated.",
        ),
    ] = None,
    task: Annotated[
        TaskName | None,
        typer.Option(
            help="What is learned instead of labels: parsing is heads of words (CoNLL-U), aligning links of two "
            "strings in order, matching links in any order (both JSON lines).",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Evaluate on this file (read like DATA) after training.")
    ] = None,
    rules: Annotated[
        str | None,
        _knowledge_option(metavar="FILE", help="TOML file of rules about outputs, or one rule, such as 'bio()'."),
    ] = None,
    unlabeled: Annotated[
        str | None, _knowledge_option(metavar="FILE", help="Sequences without labels to learn from as well.")
    ] = None,
    good: Annotated[
        str | None,
        _knowledge_option(
            metavar="FILE", help="Sequences without labels that are as they should be (auto, jlis, lclr, combined)."
        ),
    ] = None,
    bad: Annotated[
        str | None,
        _knowledge_option(
            metavar="FILE",
            help="Sequences that are not, or shuffled or transposed (pairs: mismatched): made from the good ones, else "
            "from DATA.",
        ),
    ] = None,
    format: FormatOption = None,
    columns: ColumnsOption = None,
    json: JsonOption = False,
    classes: Annotated[
        str | None,
        _knowledge_option(
            metavar="NAMES",
            help="Labels of rules that DATA lacks and that are spelled right; commas between.",
            hidden=True,
        ),
    ] = None,
    templates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File of features, one a line, as `sidelight templates` writes; # starts a comment line.",
            hidden=True,
        ),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            metavar="FILE",
            help="File of features of one view; given twice or more, a crf of each is learned so that they agree on "
            "the unlabelled sequences.",
            hidden=True,
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the objective and the violations, round by round (.png, .pdf, .svg).",
            hidden=True,
        ),
    ] = None,
    label_column: HiddenLabelColumnOption = None,
    comment: HiddenCommentOption = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="The label ? is unknown, and A|B is one of these; JSON lines also have null and lists, CoNLL-U has _.",
            rich_help_panel=_DATA,
            hidden=True,
        ),
    ] = False,
    scratch: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the encoding of a corpus on disk is kept while it is learned from; by default beside it.",
            rich_help_panel=_DATA,
            hidden=True,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Save where training stands to this folder; if it is killed, the same command goes on from there.",
            show_default=False,
            hidden=True,
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="With --checkpoint: how often that is (30).", hidden=True, min=0.0),
    ] = None,
    jobs: HiddenJobsOption = None,
    workers: HiddenWorkersOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.", hidden=True)] = False,
    help_all: Annotated[
        bool,
        typer.Option("--help-all", callback=show_all, is_eager=True, help="Show this with the rarer options too."),
    ] = False,
) -> None:
    """Learn from labelled sequences, rules and other sequences (unlabelled, good or bad ones), and write a model.

    With --learner crf, --rules makes it a ccm (rules in predictions) and --unlabeled a codl (in learning too).
    """
    from sidelight.cli.interrupts import exit_if_apart, saved_apart, say_interrupted, stoppable_with_note, surviving
    from sidelight.cli.offsets import naming_columns
    from sidelight.cli.output import check_figure, check_writable, print_json
    from sidelight.cli.templates import parse_arc_template, parse_features, read_templates
    from sidelight.report.outputs import evaluated_by
    from sidelight.report.summary import summarize_training

    if model == "-":
        raise typer.BadParameter("a model goes to a file; standard output has the summary", param_hint="--output")
    options = Reader(format, label_column, columns, comment, partial, scratch)
    named = partial_function(parse_features, names=() if task else options.column_names(data))
    parse = parse_arc_template if task == "parsing" else named
    chosen = read_templates(features or [], templates, parse)
    knowledge = KnowledgeOptions(rules, unlabeled, classes, good, bad)
    what, others = make_task(task, read_settings(settings))
    if view and task is not None:
        raise typer.BadParameter("views are for labels of tokens; leave this out", param_hint="--task")
    if view:
        estimator = knowledge.make_agreement(learner, base, view, chosen, others, parse, quiet=quiet, jobs=jobs)
    else:
        estimator = knowledge.make_learner(learner, base, chosen, others, quiet=quiet, jobs=jobs, task=what)
    check_writable(model, data, dev, templates, rules, unlabeled, good, bad, *(view or ()))
    if figure:
        from sidelight.report.training_curves import require_course

        check_figure(figure, data, dev, templates, rules, unlabeled, good, bad)
        if learner in (None, "auto") and what is None and not view:
            message = "the learner auto may choose one without a course to draw; name one with --learner"
            raise typer.BadParameter(message, param_hint="--figure")
        require_course(estimator)
    reader = reader_for(what, options, answers=estimator.judges)
    sequences = reader.read(data, labels=True)
    _suspect_one_sequence(sequences)
    if what is None and sequences.format != CORPUS:
        _suspect_columns(data, sequences)
    if not partial and what is None:
        _suspect_partial_labels(sequences)
    knowledge.check_labels(estimator, sequences)
    everything, files = knowledge.add_sequences(learner, estimator, reader, data, sequences)
    held_out = None if dev is None else _read_held_out(reader, dev, data, sequences)
    with surviving(checkpoint, every):
        way = file_of_conflicts(files, way_out(learner, estimator))
        with way, stoppable_with_note("model") as request, naming_columns(options, data, sequences):
            seconds = _fit(estimator, everything)
        with file_of_conflicts(files[:1]):
            _try_rules(estimator.chosen_, sequences)
        estimator.layout_ = options.layout(sequences.format, sequences.X)
        written = saved_apart(model, request)
        estimator.save(written)
    if request.heeded:
        say_interrupted(len(estimator.trace_), checkpoint, model, written)
    if figure:
        from sidelight.report.figures import draw_training

        draw_training(estimator, figure)
    with file_of_conflicts([] if held_out is None else [(str(dev), len(held_out.X))]):
        shown = evaluated_by(estimator)
        evaluation = None if held_out is None else shown.evaluate(estimator, held_out.X, held_out.y)
    summary = summarize_training(estimator, everything.X, everything.y, seconds, written, evaluation)
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
    exit_if_apart(model, written)


def _read_held_out(reader: DataReader, dev: str, data: str, sequences: Sequences) -> Sequences:
    """Read the sequences to score; before the fit, so that an error about their columns does not come after it."""
    held_out = reader.read(dev, labels=True)
    expected, found = reader.width(sequences.X), reader.width(held_out.X)
    if expected != found:
        raise DataError(f"{dev}: tokens have {found}, those of {data} {expected}; both files have the same columns")
    return held_out


def _suspect_one_sequence(sequences: Sequences) -> None:
    """A file without blank lines is rarely meant to be one long sequence."""
    from sidelight.cli.output import note

    if len(sequences.X) == 1 and len(sequences.X[0]) > _LONG:
        tokens = f"{len(sequences.X[0]):,}"
        note(f"all {tokens} tokens are one sequence; blank lines separate sequences")


def _suspect_columns(data: str, sequences: Sequences) -> None:
    """The names of columns in the first line are no token, and attributes are rarely labels."""
    from sidelight.cli.output import note

    if not FORMATS[sequences.format].columnar:
        return
    first, counts = sequences.y[0][0], Counter(label for y in sequences.y for label in y if isinstance(label, str))
    if isinstance(first, str) and counts[first] == 1 and first.lower() in _HEADERS:
        what = "looks like names of columns, and is read as a token with the label"
        note(f"{data}: the first line {what} {first!r}; delete it")
    attributes = [label for label in sorted(counts) if re.match(r"[^=]+=.", label)]
    firsts = {token if isinstance(token, str) else token[0] for x in sequences.X for token in x}
    if 2 * len(attributes) > len(counts) > len(firsts):  # labels of morphology have such names too, but more words
        advice = "where the label is the first column, say --label-column 0"
        note(f"labels such as {attributes[0]!r} look like attributes of tokens; {advice}")


def _suspect_partial_labels(sequences: Sequences) -> None:
    """Labels that are written as --partial reads them are rarely meant so, nor is data without any."""
    from sidelight.cli.output import note
    from sidelight.labels import label_set

    found = [] if sequences.format == CORPUS else sorted(label_set(sequences.y))
    if sequences.format == "jsonl" and not found:
        note('no line of the data has a label; they are expected under "labels"')
    if sequences.format == CORPUS or "partial" not in FORMATS[sequences.format].options:
        return
    several = [label for label in found if "|" in label and all(one in found for one in label.split("|"))]
    odd = [*(label for label in found if label == "?"), *several]
    if odd:
        what = "are labels" if odd[1:] else "is a label"
        with_it = "with --partial ? is an unknown label, and A|B one of the two"
        note(f"{listed(odd)} {what} like any other here; {with_it}")


def _fit(estimator: Any, sequences: Sequences) -> float:
    """Train, and tell how many seconds it took."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_others(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            """The summary says it of a model; of a projection it does not. The class is scikit-learn's."""
            if category.__name__ != "ConvergenceWarning" or str(message).startswith("the projection"):
                show(message, category, *where, **more)

        warnings.showwarning = show_others
        estimator.fit(sequences.X, sequences.y)
    return time.perf_counter() - begin


def _try_rules(estimator: Any, sequences: Sequences) -> None:
    """Find out now whether prediction under the rules is possible: hard ones may contradict each other."""
    readings = estimator.rule_readings()
    if readings and estimator.decoder_.reads_tokens:
        hard = any(one.kind == "hard" for one in readings)
        estimator.predict_structure(sequences.X if hard else sequences.X[:1])
