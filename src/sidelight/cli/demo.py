"""`sidelight demo`."""

from threading import Timer
from typing import Annotated

import typer

from sidelight.cli.options import JsonOption

NAME = "demo"
EXAMPLES = (
    "sidelight demo",
    "sidelight demo --labeled 10 --labeled 50 --test 500 --seed 7",
    "sidelight demo --write .",
)
# Loading the compiled loops from the cache takes less than this.
_PATIENCE = 3.0


def command(
    labeled: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="Labelled references to learn from; may be repeated (5, 20 and 100)."),
    ] = None,
    unlabeled: Annotated[int, typer.Option(metavar="N", min=1, help="References without labels to learn from.")] = 500,
    test: Annotated[int, typer.Option(metavar="N", min=1, help="References to test on.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated references.")] = 1,
    write: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Learn nothing, but write references and rules into this folder, to try the other commands on: "
            "few.tsv, train.tsv, dev.tsv, more.txt, new.txt, rules.toml.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Learn the fields of generated references from a few labelled ones, rules and unlabelled ones, and show the gains.

    Needs no files. In its tables CCM predicts under the rules, CoDL learns from these predictions too, and PR and DASO
    (PosteriorRegularization, DeterministicAnnealing) learn from rules as statements about averages.
    """
    from sidelight.cli.output import print_json

    if write is not None:
        from sidelight.demo.files import write_files

        names = write_files(write, seed=seed)
        if json:
            print_json({"folder": write, "files": names})
        else:
            typer.echo(f"wrote {', '.join(names)}")
        return
    from sidelight.demo.run import prepare, run_demo
    from sidelight.report.console import messages, results

    console = messages()
    notice = Timer(_PATIENCE, console.print, ["Compiling the inner loops; this happens once and takes some seconds."])
    notice.daemon = True
    with console.status("Learning ..."):
        notice.start()
        prepare()
        notice.cancel()
        demo = run_demo(sorted(set(labeled or (5, 20, 100))), test=test, unlabeled=unlabeled, seed=seed)
    if json:
        print_json(demo)
    else:
        from sidelight.demo.page import demo_page

        results().print(demo_page(demo))
