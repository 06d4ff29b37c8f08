"""The page about word alignment says nothing that does not run."""

import re
from pathlib import Path

from sidelight import WordAligner
from tests.cli.conftest import Run, run  # noqa: F401
from tests.wordalign.test_aligner import bitext

PAGE = (Path(__file__).parents[1] / "docs" / "word_alignment.md").read_text()


def test_commands_and_code(run: Run, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    for name, pairs in (("train", bitext(30)), ("new", bitext(3, seed=1))):
        for side, language in enumerate(("en", "fr")):
            Path(f"{name}.{language}").write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs))
    Path("new.wa").write_text("1 1 1 S\n2 1 1 S\n3 2 3 P\n")
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            said = run(*line.removeprefix("$ sidelight ").split())
            assert said.code == 0, (line, said.err)
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, {})
    assert {"links.txt", "new.naacl", "posteriors.svg"} <= {path.name for path in tmp_path.iterdir()}


def test_the_defaults_are_those_of_the_aligner() -> None:
    rows = dict(re.findall(r"^\| `(--[a-z0-9]+)`[^|]*\|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE))
    aligner = WordAligner()
    assert rows["--constraint"] == f"`{aligner.constraint}`"
    assert rows["--gamma"] == f"{aligner.gamma:g}"
    assert rows["--ibm1"] == f"{aligner.ibm1_iterations}, {aligner.hmm_iterations}"
    assert rows["--null"] == f"{aligner.null:g}, {aligner.prior:g}"
    assert rows["--threshold"] == f"{aligner.threshold:g}"
    assert (rows["--stems"], rows["--cognates"]) == (f"{aligner.stems:g} uses", f"{aligner.cognates:g} use")
