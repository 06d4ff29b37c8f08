"""How the library is built: depth of inheritance, lines, and the files that a fit passes through.

`python -m benchmarks.house` prints it for the version that is imported.
"""

import sys
import warnings
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import sidelight
from sidelight import CRF, HMM, JLIS, CoDL, PosteriorRegularization, generate_references, runs
from sidelight.learners.learner import Learner
from sidelight.learners.registry import REGISTRY

HOME = Path(sidelight.__file__).parent
# Modules of learners/ for what the version that others are compared with (commit c54d7ae) did not do, and what that is.
# What was there and moved, was renamed or was divided is not among them, nor what grew inside older modules.
NEW = {
    "inputs": "containers of other libraries, empty inputs, sample_weight",
    "labelled/dmv": "the dependency model with valence",
    "labelled/kernel_perceptron": "a kernel between tokens",
    "margins/lclr": "a yes or no by a latent structure",
    "margins/transductive_svm": "margins of unlabelled inputs",
    "wrappers/agreement": "views that agree",
    "wrappers/combined": "any mixture of signals",
}
# Lines of learners/ in that version, without what chooses among learners.
BEFORE = 5563


def depth(cls: type) -> int:
    """Returns how many learner classes there are from this one up to `Learner`, both counted."""
    return 1 + max((depth(base) for base in cls.__bases__ if issubclass(base, Learner)), default=0)


def lines(where: Path) -> int:
    """Returns the lines of a module, or of all modules of a folder."""
    paths = [where] if where.is_file() else where.rglob("*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def scaffolding() -> list[str]:
    """Returns the modules of learners/ that hold no learner or task, but what learners are made of."""
    folder, own = HOME / "learners", {one.module for one in REGISTRY.values()}
    names = [path.relative_to(folder).with_suffix("") for path in sorted(folder.rglob("*.py"))]
    return [
        str(name)
        for name in names
        if name.name not in ("__init__", "registry")
        and name.parts[0] not in ("tasks", "choosing")
        and ".".join(name.parts) not in own
    ]


def compiled(code: CodeType) -> bool:
    """Returns whether this is the code of a kernel, whose calls numba reports as if Python ran it."""
    if "." in code.co_qualname:
        return False
    module = sys.modules.get(".".join(("sidelight", *Path(code.co_filename).relative_to(HOME).with_suffix("").parts)))
    found = getattr(module, code.co_name, None)
    return found is not None and not isinstance(found, FunctionType)


def passed_through(learner: Any, X: Any, y: Any) -> list[str]:
    """Returns the modules in which a function is called during a second fit, compiled ones left out.

    The first one imports modules and loads kernels, which leads through files that have no part in the fit.
    """
    learner.fit(X, y)
    seen: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and str(HOME) in frame.f_code.co_filename and not compiled(frame.f_code):
            seen.add(str(Path(frame.f_code.co_filename).relative_to(HOME)))

    sys.setprofile(note)
    try:
        learner.fit(X, y)
    finally:
        sys.setprofile(None)
    return sorted(seen)


def main() -> None:
    """Print what was found."""
    depths = {name: depth(cls) for name, cls in sidelight.learners_by_name().items()}
    print(f"depth of inheritance: {max(depths.values())} at most; {depths}")
    for name in ("", "labelled", "margins", "wrappers", "tasks", "choosing"):
        print(f"lines of learners/{name}: {lines(HOME / 'learners' / name):,}")
    whole, apart = lines(HOME / "learners"), sum(lines(HOME / "learners" / name) for name in ("tasks", "choosing"))
    new = {name: lines(HOME / "learners" / f"{name}.py") for name in NEW}
    rest = whole - apart - sum(new.values())
    print(f"lines of learners/ without tasks and choosing: {whole - apart:,}")
    print(f"of these for what is new: {sum(new.values()):,}; {new}")
    print(f"without what is new: {rest:,}, {1 - rest / BEFORE:.1%} fewer than {BEFORE:,}")
    print(f"scaffolding in learners/: {len(scaffolding())} modules ({', '.join(scaffolding())})")
    X, y = generate_references(20, seed=0)
    half = [labels if i < 10 else None for i, labels in enumerate(y)]
    rules = [runs("author") <= 1]
    fits = {
        "CRF": (CRF(n_jobs=1), y),
        "CoDL(HMM)": (CoDL(HMM(n_jobs=1), rules, guard=False, n_jobs=1), half),
        "PosteriorRegularization(CRF)": (PosteriorRegularization(CRF(n_jobs=1), rules, guard=False, n_jobs=1), half),
        "JLIS": (JLIS(guard=False, n_jobs=1, max_rounds=2), y),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (learner, known) in fits.items():
            files = passed_through(learner, X, known)
            print(f"{name}: a fit passes through {len(files)} files: {', '.join(files)}")


if __name__ == "__main__":
    main()
