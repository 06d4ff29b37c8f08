"""Models as the commands load them."""

from typing import Any


def load_model(path: str, jobs: int | None = None, *, rules: bool = True) -> Any:
    """Any fitted learner, to run on this many threads (None: every core), however many it was trained on; of `Auto` the
    one that it chose.

    With `rules` False, it predicts as if it had none.
    """
    return prepare_model(load_whole(path), jobs, rules=rules)


def load_whole(path: str) -> Any:
    """Any fitted learner of a task that the commands have files for, as it was saved."""
    from sidelight.errors import DataError
    from sidelight.model_file import load

    learner = load(path)
    if type(learner).__name__ == "WordAligner":
        raise DataError(f"{path}: this is a word aligner; use it with `sidelight align SOURCE TARGET --force {path}`")
    if learner.task_.noun == "document":
        name = type(learner).__name__
        raise DataError(f"{path}: {name} labels documents, not tokens; load it in Python with sidelight.load")
    if learner.task_.kind == "others":
        task = type(learner.task_).__name__
        raise DataError(f"{path}: outputs of {task} have no files; load it in Python with sidelight.load")
    return learner


def prepare_model(whole: Any, jobs: int | None = None, *, rules: bool = True) -> Any:
    """A learner that was loaded, ready to predict; see `load_model`."""
    learner = whole.chosen_
    learner.layout_ = whole.layout_
    learner.use_threads(-1 if jobs is None else jobs)
    return learner if rules else learner.without_rules()
