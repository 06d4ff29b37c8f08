"""Fit the learners of `cases` and write their model files and what they predict: `python -m tests.golden.regenerate`.

Names of cases may follow; without any, all files are written. Files of earlier versions of the format stay as they are.
"""

import json
import sys
import warnings
from pathlib import Path

from sidelight.model_file import VERSION
from tests.golden.cases import CASES

FOLDER = Path(__file__).parent / f"version-{VERSION}"
PREDICTED = "predicted.json"


def plain(predicted):
    """What was predicted, as JSON has it."""
    return json.loads(json.dumps(predicted, default=lambda value: getattr(value, "name", None) or value.tolist()))


def main(names):
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / PREDICTED
    predicted = json.loads(path.read_text()) if path.exists() else {}
    for name in names or CASES:
        case = CASES[name]
        learner = case.learner()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.set_params(n_jobs=1)
            if "guard" in learner.get_params():
                learner.set_params(guard=False)
            (learner.fit(case.X) if case.y is None else learner.fit(case.X, case.y)).save(FOLDER / f"{name}.model")
            predicted[name] = plain(learner.predict(case.new))
        print(name, (FOLDER / f"{name}.model").stat().st_size, flush=True)
    path.write_text(json.dumps(dict(sorted(predicted.items())), ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
