"""Models as the commands load them."""

from typing import Any


def load_model(path: str, jobs: int | None = None) -> Any:
    """Any fitted learner, to run on so many threads (None: every core), however many it was trained on."""
    from sidelight.model_file import load

    learner = load(path)
    threads = -1 if jobs is None else jobs
    learner.set_params(n_jobs=threads)
    if hasattr(learner.encoder_, "n_jobs"):
        learner.encoder_.n_jobs = threads
    return learner
