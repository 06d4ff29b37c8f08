"""`sidelight transfer`."""

import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from sidelight.cli.options import JobsOption, JsonOption
from sidelight.data.conllu import UNIVERSAL_TAGS
from sidelight.errors import DataError

NAME = "transfer"
EXAMPLES = (
    "sidelight transfer text.en text.fr -o fr.model --parser en.model --tagger en-tags.model "
    "--target-tagger fr-tags.model",
    "sidelight transfer text.en text.fr -o fr.model --parser en.model --tagger en-tags.model "
    "--target-tagger fr-tags.model --links links.txt --learner dmv",
)


class TransferLearner(StrEnum):
    """What is learned for the target language."""

    crf = "crf"
    dmv = "dmv"


def command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Sentences, one a line, words between spaces.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Their translations, line by line.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="File to write the parser to.")],
    parser: Annotated[str, typer.Option(metavar="MODEL", help="A parser of the source language.")],
    tagger: Annotated[str, typer.Option(metavar="MODEL", help="A tagger of the source language (universal tags).")],
    target_tagger: Annotated[
        str, typer.Option("--target-tagger", metavar="MODEL", help="A tagger of the target language (the same tags).")
    ],
    links: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Links of the words, pharaoh or naacl; by default the pairs are aligned first."
        ),
    ] = None,
    learner: Annotated[
        TransferLearner, typer.Option("--learner", "-l", help="Discriminative, or the generative model with valence.")
    ] = TransferLearner.crf,
    share: Annotated[
        float, typer.Option(metavar="P", min=0.0, max=1.0, help="Share of projected heads to keep in each sentence.")
    ] = 0.9,
    leaves: Annotated[
        bool | None,
        typer.Option(
            "--leaves/--no-leaves",
            help="Whether words that are linked with words without children have none either (dmv: yes, crf: no).",
            show_default=False,
        ),
    ] = None,
    longest: Annotated[int, typer.Option(metavar="N", min=1, help="Most words of a sentence to learn from.")] = 20,
    most: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most sentences to learn from.", show_default=False)
    ] = None,
    iterations: Annotated[int | None, typer.Option(metavar="N", min=1, help="Rounds (crf: 30, dmv: 3).")] = None,
    projected: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the sentences as CoNLL-U with their projected heads in MISC, such as Head=3."
        ),
    ] = None,
    jobs: JobsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    json: JsonOption = False,
) -> None:
    """Learn a parser for a language from translations of sentences in another language, which has a parser.

    Word pairs are aligned, the source is tagged and parsed, heads are projected along the links, and a parser of the
    target language learns to keep a share of them in each sentence (posterior regularization).
    """
    from sidelight.cli.loading import load_model
    from sidelight.cli.output import check_writable, note, print_json
    from sidelight.data.bitext import read_bitext, read_links
    from sidelight.data.conllu import write_conllu
    from sidelight.transfer import learn_from_projected, project_pairs

    for place in (output, *([projected] if projected else [])):
        check_writable(place, source, target, parser, tagger, target_tagger, links)
    models = [load_model(path, jobs) for path in (tagger, parser, target_tagger)]
    for path, model, kind in zip((tagger, parser, target_tagger), models, ("labels", "trees", "labels"), strict=True):
        if model.task_.kind != kind:
            raise DataError(f"{path}: this model predicts {model.task_.kind}, and {kind} are needed here")
        if kind == "labels":
            _require_tagger(path, model)
    pairs = read_bitext(source, target)
    n_jobs, begin = -1 if jobs is None else jobs, time.perf_counter()
    found = _aligned(pairs, n_jobs, quiet) if links is None else [sorted(one.sure) for one in read_links(links, pairs)]
    X = project_pairs(pairs, found, *models, longest=longest)[:most]
    if not X:
        raise DataError("nothing was projected on any sentence; give more sentence pairs, or raise --longest")
    if projected:
        write_conllu(projected, [[(w, t, h or "_") for w, t, h, _ in x] for x in X], [["_"] * len(x) for x in X],
                     columns=["form", "upos", "misc:Head"], label="deprel")  # fmt: skip
    model = learn_from_projected(
        X, generative=learner == TransferLearner.dmv, share=share, leaves=leaves, iterations=iterations, n_jobs=n_jobs,
        verbose=not quiet and not json,
    )  # fmt: skip
    model.save(output)
    words, kept = sum(map(len, X)), sum(bool(token[2]) for x in X for token in x)
    summary: dict[str, Any] = {
        "pairs": len(pairs), "sentences": len(X), "words": words, "projected": kept,
        "seconds": time.perf_counter() - begin, "model": output,
    }  # fmt: skip
    if json:
        print_json(summary)
    elif not quiet:
        counts = f"{len(X):,} of {len(pairs):,} sentences, {kept:,} of {words:,} words with projected heads"
        note(f"{counts}, {summary['seconds']:.0f} s; wrote {output}")


def _require_tagger(path: str, model: Any) -> None:
    """Refuse a model that does not tag plain words, or with tags that are not the universal ones."""
    from sidelight.report.models import inner_models

    width = max(getattr(one.encoder_, "width_", 1) for one in inner_models(model).values())
    if width > 1:
        raise DataError(f"{path}: this model reads tokens of {width} columns, and a tagger of text reads words alone")
    others = [label for label in model.classes_ if label not in UNIVERSAL_TAGS]
    if others:
        raise DataError(
            f"{path}: this model predicts {', '.join(others[:3])}{', ...' if others[3:] else ''}, and taggers predict "
            f"universal tags here ({', '.join(UNIVERSAL_TAGS)}); train one on the column upos of a treebank"
        )


def _aligned(pairs: Any, n_jobs: int, quiet: bool) -> Any:
    from sidelight.wordalign.aligner import WordAligner

    return WordAligner(n_jobs=n_jobs, verbose=not quiet).fit(pairs).predict(pairs)
