"""Dependencies between rooms point one way, as docs/architecture.md says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import sidelight

HOME = Path(sidelight.__file__).parent
ROOMS = (
    ("cli", "report", "demo"), ("learners",), ("solvers", "inference"), ("rules", "scorers"),
    ("features", "structures"), ("running",), ("kernels",),
)  # fmt: skip
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
# Templates may be combined with conditions, and the names of hashed features are looked up as the scorer lays them out.
EXCEPTIONS = {("features/columns.py", "rules/conditions"), ("features/arcs.py", "scorers/arcs")}


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a module imports, by their paths from the top, in functions too."""
    package = ["sidelight", *path.relative_to(HOME).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            parts = [*base, *(node.module or "").split(".")] if node.module else base
            if parts[0] == "sidelight":
                names = [alias.name for alias in node.names] if len(parts) <= 2 and not node.module else [""]
                yield from ("/".join([*parts[1:], name]).rstrip("/") for name in names)


def test_dependencies_point_one_way() -> None:
    wrong = {
        (str(path.relative_to(HOME)), name)
        for path in HOME.rglob("*.py")
        for name in imported(path)
        if LEVEL.get(name.split("/")[0], 99) < LEVEL.get(path.relative_to(HOME).parts[0], -1)
    }
    assert wrong == EXCEPTIONS
