"""README and the pages around it: what they show is printed, links have targets, and figures agree.

`python -m benchmarks.readme` types the same pages, each line in a process of its own.
"""

import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import sidelight
from benchmarks import readme
from benchmarks.__main__ import BENCHMARKS
from benchmarks.setting import Setting
from sidelight.demo.files import RULES
from sidelight.learners.registry import REGISTRY
from sidelight.supervision import Signal
from tests.cli.conftest import Run, quick, run  # noqa: F401
from tests.typed import ROOT, wrong_steps

README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(without_code(page.read_text())):
        name, _, anchor = link.partition("#")
        if name.startswith(("http:", "https:", "mailto:")):
            continue
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_readme_is_short_and_names_every_page() -> None:
    assert len(README.splitlines()) <= 200
    table = README.split("## Which page for what")[1]
    assert [page.name for page in DOCS.glob("*.md") if f"(docs/{page.name})" not in table] == []


def test_readme_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    install = README.split("## Install")[1].split("\n## ")[0]
    assert [name for name in extras if f"`{name}`" not in install and f"[{name}]" not in install] == []


def test_pages_that_measure_on_data_sets_say_which() -> None:
    pages = [page for page in PAGES if "--data DIR" in page.read_text() and page.name != "benchmarks.md"]
    assert len(pages) > 10
    assert [page.name for page in pages if "benchmarks.md)" not in page.read_text()] == []


def test_every_file_that_a_benchmark_reads_is_described() -> None:
    rows = [row for row in (DOCS / "benchmarks.md").read_text().splitlines() if row.startswith("| `")]
    setting, missing = Setting(Path("DIR"), "dev", (0,)), []
    for path in {path for name in BENCHMARKS for path in import_module(f"benchmarks.{name}").files(setting)}:
        folder = str(path.parent.relative_to("DIR"))
        missing += [] if any(f"`{folder}" in row and f"{path.name}`" in row for row in rows) else [path]
    assert missing == []


def test_no_text_stands_twice() -> None:
    """Lines of prose that are long enough to say something are in one page only."""
    found: dict[str, str] = {}
    for page in PAGES:
        for line in without_code(page.read_text()).splitlines():
            if len(line) > 90 and not line.startswith("|"):
                assert found.setdefault(line, page.name) == page.name, line


def test_readme_quotes_figures_of_the_page_about_performance() -> None:
    rows = re.findall(r"^\| (.*) \|$", README.split("## Beside what you may use now")[1].split("```")[0], re.MULTILINE)
    there = (DOCS / "performance.md").read_text().split("## Peers")[1].split("\n## ")[0]
    figures = {one for row in rows[2:] for cell in row.split(" | ")[1:] for one in re.findall(r"\d+(?:\.\d+)?", cell)}
    assert len(figures) > 15
    assert [one for one in sorted(figures) if not re.search(rf"(?<![\d.]){one}(?![\d.]*\d)", there)] == []


def test_rules_of_the_example_are_those_that_demo_writes() -> None:
    (code,) = [one.text for one in readme.blocks(README) if one.language == "python"]
    names: dict = {}
    exec(code.split("crf = ")[0], names)
    (shown,) = [one.text for one in readme.blocks((DOCS / "command_line.md").read_text()) if one.language == "toml"]
    assert shown == "# rules.toml\n" + RULES
    Path("rules.toml").write_text(RULES)
    assert [rule.body() for rule in sidelight.read_rules("rules.toml")] == [rule.body() for rule in names["rules"]]
    found = sidelight.check(names["rules"], names["X"][505:], names["y"][505:], examples=300)
    breaking = len({index for one in found for index, _ in one.examples})
    assert f"{breaking} of the 300 references break at least one" in README


def test_learners_of_the_table_take_what_it_says() -> None:
    table = (DOCS / "learners.md").read_text().split("## All learners")[1].split("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines() if row.startswith("| `")]
    said = {re.match(r"`(\w+)", row[0])[1]: (row[1].strip("`"), row[3]) for row in rows}
    assert (len(rows), set(said)) == (len(REGISTRY), set(REGISTRY))
    words = {Signal.FULL: "full", Signal.PARTIAL: "partial", Signal.NOTHING: "None", Signal.COMPANION: "GOOD, BAD"}
    for name, (command, takes) in said.items():
        assert command == (REGISTRY[name].command or "(Python)"), name
        assert {signal for signal, word in words.items() if word in takes} == REGISTRY[name].signals, name
        assert ("rules" in takes) == ("rules" in inspect.signature(getattr(sidelight, name)).parameters), name


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_readme_prints_what_it_shows(run: Run) -> None:  # noqa: F811
    assert wrong_steps(README, run) == []


@pytest.mark.parametrize("name", ["command_line", "features", "figures", "good_and_bad"])
@pytest.mark.usefixtures("quick")
def test_pages_print_what_they_show(run: Run, name: str) -> None:  # noqa: F811
    if name == "figures":
        pytest.importorskip("matplotlib")
    text = re.sub(r"\$ sidelight train.*--learner jlis[^$`]*", "", (DOCS / f"{name}.md").read_text())  # many seconds
    assert wrong_steps(text, run) == []


@pytest.mark.usefixtures("quick")
def test_the_page_about_learners(run: Run) -> None:  # noqa: F811
    text = (DOCS / "learners.md").read_text()
    one_draw = re.sub(r"```text.*?```", "", text.replace("range(1, 9)", "range(1, 2)"), flags=re.DOTALL)
    assert one_draw.count("range(1, 2)") == 1
    assert wrong_steps(one_draw, run) == []
