"""`sidelight align`."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from sidelight.cli.options import JobsOption, JsonOption
from sidelight.errors import DataError

NAME = "align"
EXAMPLES = (
    "sidelight align train.en train.fr -o links.txt --save en-fr.model",
    "sidelight align new.en new.fr --force en-fr.model -o links.txt",
    "sidelight align dev.en dev.fr --also train.en train.fr --gold dev.wa",
    "sidelight align dev.en dev.fr --force en-fr.model --show 3 --figure posteriors.svg --gold dev.wa",
)
_LEARNING, _READING = "How it learns", "How links are read off"


class ConstraintName(StrEnum):
    """What posteriors are projected on."""

    none = "none"
    bijective = "bijective"
    symmetric = "symmetric"


class CombineName(StrEnum):
    """How links of both directions become one."""

    posterior = "posterior"
    intersection = "intersection"
    union = "union"
    gdfa = "grow-diag-final-and"
    forward = "forward"
    backward = "backward"


class LinkFormatName(StrEnum):
    """How links are written."""

    pharaoh = "pharaoh"
    naacl = "naacl"


def _learning(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=_LEARNING, show_default=False, **more)


def _reading(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=_READING, show_default=False, **more)


def command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Sentences, one a line, words between spaces.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Their translations, line by line.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File of links; - is standard output (default, unless --gold or --show).",
        ),
    ] = None,
    format: Annotated[
        LinkFormatName, typer.Option("--format", "-f", help="0-0 1-2 on a line for each pair, or a line for each link.")
    ] = LinkFormatName.pharaoh,
    also: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="SOURCE TARGET", help="Learn from these sentence pairs too; their links are not written."),
    ] = None,
    save: Annotated[str | None, typer.Option(metavar="MODEL", help="Write the trained model to this file.")] = None,
    force: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Align with this model, written by --save; nothing is learned.")
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare with these links, pharaoh or naacl, sure and possible ones."),
    ] = None,
    show: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Show the posteriors of pair N, from 1, before and after projection."),
    ] = None,
    figure: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw what --show shows to this file (.svg) instead.")
    ] = None,
    constraint: Annotated[
        ConstraintName | None, _learning(help="What posteriors are projected on in training (bijective).")
    ] = None,
    gamma: Annotated[
        float | None, _learning(help="1 is posterior regularization, less is firmer, 0 is best alignments (0.5).")
    ] = None,
    ibm1: Annotated[int | None, _learning(metavar="N", help="Rounds of IBM model 1 (5).")] = None,
    hmm: Annotated[int | None, _learning(metavar="N", help="Rounds of the HMM (3).")] = None,
    null: Annotated[float | None, _learning(help="Probability of the null word (0.2).")] = None,
    prior: Annotated[float | None, _learning(help="Sparse Dirichlet prior on the tables (0: none).")] = None,
    stems: Annotated[
        float | None, _learning(help="Weight of words that begin alike in the estimates of rare words (5).")
    ] = None,
    cognates: Annotated[float | None, _learning(help="Weight of words that look alike on both sides (1).")] = None,
    checkpoint: Annotated[
        str | None,
        _learning(
            metavar="DIR", help="Save where training stands to this folder; if killed, the same command goes on."
        ),
    ] = None,
    every: Annotated[
        float | None, _learning(metavar="SECONDS", help="With --checkpoint: how often that is (30).", min=0.0)
    ] = None,
    combine: Annotated[
        CombineName | None,
        _reading(help="By both posteriors together, or a combination of the links of each direction (posterior)."),
    ] = None,
    threshold: Annotated[float | None, _reading(help="The least posterior of a link (0.3).")] = None,
    viterbi: Annotated[
        bool, _reading("--viterbi", help="Combine the best alignments of each direction (by default intersected).")
    ] = False,
    project: Annotated[
        bool, _reading("--project", help="Project posteriors on the constraint before links are read off.")
    ] = False,
    jobs: JobsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    json: JsonOption = False,
) -> None:
    """Find which words of sentence pairs translate each other, from these pairs alone or with a trained model."""
    from sidelight.cli.interrupts import exit_if_apart, saved_apart, say_interrupted, stoppable_with_note, surviving
    from sidelight.cli.output import check_figure, check_writable, print_json
    from sidelight.data.bitext import read_bitext, read_links, write_links

    learning = {
        "constraint": constraint and str(constraint), "gamma": gamma, "ibm1_iterations": ibm1, "hmm_iterations": hmm,
        "null": null, "prior": prior, "stems": stems, "cognates": cognates,
    }  # fmt: skip
    _require_no_learning(force, {**learning, "save": save, "also": also, "checkpoint": checkpoint})
    if figure and show is None:
        raise typer.BadParameter("say which pair is drawn with --show", param_hint="--figure")
    places = [output or "-", *([save] if save else [])]
    for place in places:
        check_writable(place, source, target, force, gold, *(also or ()))
    if figure:
        check_figure(figure, source, target, svg=True)
    pairs = read_bitext(source, target)
    right = None if gold is None else read_links(gold, pairs)
    if show is not None and show > len(pairs):
        raise DataError(f"--show {show} is beyond the last line: {source} has {len(pairs)} lines")
    aligner = _aligner(force, {name: value for name, value in learning.items() if value is not None})
    reading = {"combine": combine and str(combine), "threshold": threshold, "viterbi": viterbi or None}
    aligner.set_params(**{name: value for name, value in reading.items() if value is not None})
    if viterbi and combine is None:
        aligner.set_params(combine="intersection")
    aligner.set_params(project=project, n_jobs=-1 if jobs is None else jobs, verbose=not quiet and not json)
    written = save
    with surviving(checkpoint, every):
        if force is None:
            with stoppable_with_note("links") as request:
                aligner.fit([*pairs, *(read_bitext(*also) if also else ())])
            written = save and saved_apart(save, request)
            if written:
                aligner.save(written)
            if request.heeded:
                say_interrupted(len(aligner.trace_), checkpoint, save, written)
    links = aligner.predict(pairs)
    scores = None
    if right is not None:
        from sidelight.parts_metrics import alignment_scores

        scores = alignment_scores(right, links)
    if output is not None or (right is None and show is None and not json):
        write_links(output or "-", links, "naacl" if format == LinkFormatName.naacl else "pharaoh")
    if show is not None:
        _show(aligner, pairs[show - 1], right and right[show - 1], figure)
    if json:
        found = {"pairs": len(pairs), "links": sum(map(len, links)), "entropy": aligner.entropy_, "scores": scores}
        print_json(found)
    elif scores is not None:
        from sidelight.report.console import results

        rates = {"AER": scores.aer, "precision": scores.precision, "recall": scores.recall}
        found_rates = "  ".join(f"{name} {100 * rate:.2f} %" for name, rate in rates.items())
        links_known = f"{scores.links} links, {scores.sure} sure, {scores.possible} possible"
        results().print(f"{found_rates}  ({scores.pairs} pairs, {links_known})")
    exit_if_apart(save, written)


def _require_no_learning(force: str | None, given: dict[str, Any]) -> None:
    """With --force nothing is learned, so what says how to learn would have no effect."""
    names = {"ibm1_iterations": "ibm1", "hmm_iterations": "hmm"}
    for name, value in given.items():
        if force is not None and value is not None:
            raise typer.BadParameter("with --force nothing is learned", param_hint=f"--{names.get(name, name)}")


def _aligner(force: str | None, learning: dict[str, Any]) -> Any:
    """The aligner to train, or the one that was trained."""
    from sidelight.wordalign.aligner import WordAligner

    if force is None:
        return WordAligner(**learning)
    from sidelight.model_file import load

    found = load(force)
    if type(found) is not WordAligner:
        raise DataError(f"{force}: this is a {type(found).__name__}; --force needs a model written by sidelight align")
    return found


def _show(aligner: Any, pair: Any, gold: Any, figure: str | None) -> None:
    """Posteriors of one pair, free and projected."""
    from sidelight.report.link_posteriors import draw_link_posteriors

    names = ("none", "bijective", "symmetric")
    found = {
        "free posteriors" if name == "none" else name: aligner.predict_posteriors([pair], constraint=name)[0]
        for name in names
    }
    text = draw_link_posteriors(pair, found, figure, gold=gold)
    if text is not None:
        print(text)
