"""Type what README and pages of docs/ show, and compare what is printed.

`python -m benchmarks.readme` takes `PAGES`, each in an empty folder of its own, and runs every `$` line and every
Python block with the Python that runs this; with `--fresh` in an environment made for it, with the package installed
from this checkout. It ends with 1 if anything differs.

Lines under a command are what it prints, and so is a `text` block under a Python block; a line `...` stands for any
lines, and seconds are left out of the comparison. A comment behind an expression that begins with a number or a list,
up to its end or a colon, is the value. A `toml` block whose first line is a comment is written to the file that the
comment names. Lines that install something or measure on data sets are not run.
"""

import argparse
import ast
import difflib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECONDS = re.compile(r"\d+(\.\d+)? s\b")
_ANY = "..."
_WIDTH = "100"
# The pages that are complete in themselves: each writes what its commands read.
PAGES = (
    "README.md", "docs/command_line.md", "docs/learners.md", "docs/good_and_bad.md", "docs/features.md",
    "docs/figures.md", "docs/trees_and_links.md",
)  # fmt: skip
_NOT_RUN = ("make ", "pip ", "git ", "python -m benchmarks", "sidelight compile")


class Block(NamedTuple):
    """A fenced block; line: where it begins in the file."""

    language: str
    text: str
    line: int


class Step(NamedTuple):
    """Something to type, and what is to be printed, None where nothing is promised."""

    kind: str
    text: str
    line: int
    printed: list[str] | None


class Promise(NamedTuple):
    """An expression of a Python block, and its value as the comment behind it has it."""

    expression: str
    value: str
    digits: int | None


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [Block(one[1], one[2], text.count("\n", 0, one.start()) + 1) for one in _FENCE.finditer(text)]


def steps(text: str) -> Iterator[Step]:
    """Return what a page says to type."""
    found = blocks(text)
    for block, following in zip(found, [*found[1:], Block("", "", 0)], strict=True):
        if block.language == "console":
            yield from _commands(block)
        elif block.language == "python":
            printed = following.text.splitlines() if following.language == "text" else None
            yield Step("python", block.text, block.line, printed)
        elif block.language == "toml" and block.text.startswith("# "):
            yield Step("file", block.text, block.line, None)


def typed(step: Step) -> bool:
    """Whether a step is run: lines that install something, or measure on data sets, are not."""
    return step.kind != "command" or not step.text.startswith(_NOT_RUN)


def _commands(block: Block) -> Iterator[Step]:
    typed: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), start=1):
        if line.startswith("$ "):
            typed.append((block.line + number, line.removeprefix("$ "), []))
        else:
            typed[-1][2].append(line)
    for number, line, printed in typed:
        yield Step("command", line, number, printed or None)


def promises(code: str) -> dict[int, Promise]:
    """Return the values that comments promise, by the last line of the expression."""
    comments = {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    out = {}
    for statement in ast.parse(code).body:
        line = statement.end_lineno or 0
        if not isinstance(statement, ast.Expr) or line not in comments:
            continue
        number = re.match(r"-?\d+\.(\d+)(?=:|$)", comments[line])
        listed = re.match(r"\[.*?\](?=:|$)", comments[line])
        if number or listed:
            found = number or listed
            assert found is not None
            out[line] = Promise(ast.unparse(statement), found[0], len(number[1]) if number else None)
    return out


def broken(code: str, names: dict[str, Any]) -> list[str]:
    """Run a block with these names, and return where values are not those that comments promise."""
    promised, wrong = promises(code), list[str]()
    for statement in ast.parse(code).body:
        promise = promised.get(statement.end_lineno or 0)
        if promise is None or not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), "the page", "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), "the page", "eval"), names)
        wanted = eval(promise.value, names)
        found = value if promise.digits is None else round(float(value), promise.digits)
        if found != wanted:
            wrong.append(f"{promise.expression}: expected {promise.value}, got {found}")
    return wrong


def difference(expected: list[str], found: list[str]) -> list[str]:
    """Return the lines of a diff, none where the lines are the same but for seconds."""
    wanted, printed = ([_SECONDS.sub("# s", line.rstrip()) for line in lines] for lines in (expected, found))
    wanted, printed = _stripped(wanted), _stripped(printed)
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == _ANY else re.escape(line) for line in wanted)
    if re.fullmatch(pattern, "\n".join(printed)):
        return []
    return list(difflib.unified_diff(wanted, printed, "the page", "printed", lineterm=""))


def _stripped(lines: list[str]) -> list[str]:
    """The lines without blank ones at the end."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def fresh_environment(folder: Path) -> Path:
    """Make an environment with the package and its figures, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{ROOT}[figures]"], check=True)
    return python


def take(step: Step, folder: Path, python: Path, environment: dict[str, str]) -> list[str]:
    """Type one thing, and return what is wrong with what happens."""
    if step.kind == "file":
        name = step.text.splitlines()[0].removeprefix("# ").strip()
        (folder / name).write_text(step.text)
        return []
    if step.kind == "python":
        (folder / ".block.py").write_text(step.text)
        arguments = [str(python), str(Path(__file__).resolve()), "--block", ".block.py"]
    else:
        arguments = ["bash", "-o", "pipefail", "-c", step.text]
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"it ends with {done.returncode}:", *(done.stdout + done.stderr).splitlines()[-20:]]
    return [] if step.printed is None else difference(step.printed, done.stdout.splitlines())


def run_page(page: Path, python: Path) -> int:
    """Run everything of a page, say how each thing went, and return how many went wrong."""
    environment = os.environ | {"COLUMNS": _WIDTH, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    if python != Path(sys.executable):
        environment.pop("PYTHONPATH", None)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for step in steps(page.read_text()):
            title = f"{page.name}:{step.line} {step.text.splitlines()[0] if step.kind != 'python' else 'Python block'}"
            if not typed(step):
                print(f"not run  {title}", flush=True)
                continue
            begin = time.perf_counter()
            wrong = take(step, Path(folder), python, environment)
            failures += bool(wrong)
            print(f"{'DIFFERS' if wrong else 'as shown':<8} {title}  ({time.perf_counter() - begin:.0f} s)", flush=True)
            for line in wrong:
                print("    " + line, flush=True)
    return failures


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.readme", description="Type what pages show, and compare.")
    parser.add_argument("--page", type=Path, help="this page alone")
    parser.add_argument("--fresh", action="store_true", help="in an environment made for it, the package installed")
    parser.add_argument("--block", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.block:
        sys.path[0] = ""  # as if it were typed
        wrong = broken(chosen.block.read_text(), {"__name__": "__main__"})
        sys.exit("\n".join(wrong) if wrong else 0)
    pages = [chosen.page] if chosen.page else [ROOT / name for name in PAGES]
    with tempfile.TemporaryDirectory() as folder:
        python = fresh_environment(Path(folder) / "venv") if chosen.fresh else Path(sys.executable)
        sys.exit(sum(run_page(page, python) for page in pages) > 0)


if __name__ == "__main__":
    main()
