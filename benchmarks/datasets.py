"""The data sets of the benchmarks and how they are split."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sidelight import read_columns, read_conllu

Split = Literal["dev", "test"]
# Chunking has no dev file: its dev set is what follows this many training sentences.
_DEV_AFTER = 8000


class MissingData(Exception):
    """A benchmark's file or folder is not there, or does not hold enough."""


@dataclass(frozen=True)
class Task:
    """Sequences to train on and to score."""

    train_X: Sequence[Any]  # noqa: N815
    train_y: Sequence[Any]
    eval_X: Sequence[Any]  # noqa: N815
    eval_y: Sequence[Any]

    @property
    def train_tokens(self) -> int:
        """Number of training tokens."""
        return sum(map(len, self.train_X))


def chunking_files(data: Path, split: Split) -> list[Path]:
    """What `read_chunking` reads."""
    folder = data / "conll2000"
    return [folder / "train.txt", *([folder / "test.txt"] if split == "test" else [])]


def read_chunking(data: Path, split: Split) -> Task:
    """CoNLL-2000: tokens are (word, part of speech), labels BIO chunks."""
    X, y = read_columns(data / "conll2000" / "train.txt")
    if split == "test":
        return Task(X, y, *read_columns(data / "conll2000" / "test.txt"))
    if len(X) <= _DEV_AFTER:
        raise MissingData(f"conll2000/train.txt has {len(X)} sentences, and dev is what follows the first {_DEV_AFTER}")
    return Task(X[:_DEV_AFTER], y[:_DEV_AFTER], X[_DEV_AFTER:], y[_DEV_AFTER:])


def citation_files(data: Path, split: Split) -> list[Path]:
    """What `read_citations` reads."""
    return [data / "citations" / "train.tsv", data / "citations" / f"{split}.tsv"]


def read_citations(data: Path, split: Split) -> Task:
    """References, token by token, and their fields."""
    train, evaluation = (read_columns(path, separator="\t") for path in citation_files(data, split))
    return Task(*train, *evaluation)


def unlabelled_citations(data: Path) -> Path:
    """References without labels, one token a line."""
    return data / "citations" / "unlabeled.txt"


def treebank_file(data: Path, treebank: str = "en_ewt") -> Path:
    """Sentences with universal tags, the English ones also with Penn tags."""
    return data / "ud" / treebank / "train.conllu"


def treebank_files(data: Path, split: Split) -> list[Path]:
    """What `read_treebank` reads."""
    return [treebank_file(data), treebank_file(data).with_name(f"{split}.conllu")]


def read_treebank(data: Path, split: Split) -> Task:
    """English words and their universal tags."""
    train, evaluation = map(read_conllu, treebank_files(data, split))
    return Task(*train, *evaluation)


def read_tagged(data: Path, column: str, treebank: str = "en_ewt") -> tuple[list[Any], list[Any]]:
    """Words of a treebank's training sentences and their tags from a column, upos or xpos."""
    X, y = read_conllu(treebank_file(data, treebank), label=column)
    full = [i for i, labels in enumerate(y) if labels is not None and None not in labels]
    return [X[i] for i in full], [y[i] for i in full]


def read_parsed(data: Path, split: Split, most: int) -> Task:
    """English words with their universal tags, and the head of each; at most this many sentences to train on."""
    train, evaluation = (_heads(path) for path in treebank_files(data, split))
    return Task(train[0][:most], train[1][:most], *evaluation)


def _heads(path: Path) -> tuple[list[Any], list[Any]]:
    X, y = read_conllu(path, columns=("form", "upos"), label="head")
    return X, [[int(head) for head in heads] for heads in y]


def require_files(data: Path, files: Sequence[Path]) -> None:
    """Raise `MissingData` for what is not there."""
    if not data.is_dir():
        raise MissingData(f"the data folder {data} does not exist; give --data a folder of data sets")
    missing = [str(path.relative_to(data)) for path in files if not path.is_file()]
    if missing:
        advice = "put them there, or choose another --split or benchmark"
        raise MissingData(f"missing in {data}: {', '.join(missing)}; {advice}")
