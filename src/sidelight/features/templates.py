"""Templates over token columns, evaluated on integer columns.

Strings become integers once per batch; an expression is worked out once per distinct string; a conjunction is a
number whose digits are its columns' codes, looked up in a hash table. Nothing is done per token in Python but the
first step.
"""

from collections.abc import Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.corpus import Corpus
from ..errors import DataError
from ..kernels.compiling import Ints, Longs
from ..quoting import quoted
from ..stored import Arrays, numbered, whole
from .columns import NAMES, Column, Template, as_template, parse
from .encoded import Encoded, State, require_list
from .numbering import KeyCounts, Numbering, factorize
from .on_disk import block_tokens, encode_to_disk

if TYPE_CHECKING:
    from .hashed import HashedEncoder


def sequence_offsets(X: Sequence[Any]) -> Longs:
    """Where sequences begin; an empty one is an error."""
    if isinstance(X, Corpus):
        return X.offsets
    require_list(X)
    for i, x in enumerate(X):
        if type(x) is not list and (
            isinstance(x, str | Set | Mapping) or not hasattr(x, "__len__") or hasattr(x, "tocsr")
        ):
            hint = "; split it first, for example by tokenize" if isinstance(x, str) else ""
            raise DataError(f"sequence {i}: expected a list of tokens, got {quoted(x)}{hint}")
    lengths = np.fromiter((len(x) for x in X), np.int64, len(X))
    if not lengths.all():
        raise DataError(f"sequence {int(np.argmin(lengths))} is empty; leave empty sequences out")
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))


def split_columns(X: Sequence[Sequence[Any]]) -> list[list[str]]:
    """The columns of all tokens, one flat list each. A token is a string or a tuple of strings."""
    first = X[0][0]
    flat = list(chain.from_iterable(X))
    if isinstance(first, str):
        columns = [flat]
    elif not isinstance(first, tuple | list):
        raise DataError(f"sequence 0, token 0: expected a string or a tuple of strings, got {quoted(first)}")
    else:
        width = len(first)
        if set(map(type, flat)) - {tuple, list} or set(map(len, flat)) != {width}:
            _complain(X, lambda token: not isinstance(token, tuple | list) or len(token) != width, f"{width} columns")
        columns = [list(map(itemgetter(k), flat)) for k in range(width)]
    for number, values in enumerate(columns):
        kinds = set(map(type, values)) - {str}
        if kinds and all(issubclass(kind, str) for kind in kinds):  # such as those of NumPy
            columns[number] = list(map(str, values))
        elif kinds:
            _complain(
                X,
                lambda token, k=number: not isinstance(token if isinstance(first, str) else token[k], str),
                f"a string in column {number}" if len(columns) > 1 else "a string",
            )
    return columns


class CodedColumn(NamedTuple):
    """One column of all tokens: its distinct strings in order of appearance, and every token's number among these.

    places, memo: of a corpus, the place of each string in its vocabulary, and what was worked out there before.
    """

    strings: list[str]
    codes: Ints
    places: Ints | None = None
    memo: dict[Any, Any] | None = None

    def some(self, which: NDArray[np.bool_]) -> "CodedColumn":
        """The same for some of the strings alone, without tokens."""
        strings = [one for one, chosen in zip(self.strings, which.tolist(), strict=True) if chosen]
        return self._replace(strings=strings, places=None if self.places is None else self.places[which])

    def values(self, column: Column) -> list[str | None]:
        """What an expression says of each string."""
        if self.places is None or self.memo is None:
            return [column.value(one) for one in self.strings]
        table = self.memo[column.base]
        found: list[Any] = table[self.places].tolist()
        for k, value in enumerate(found):
            if value is _UNSEEN:
                found[k] = table[self.places[k]] = column.value(self.strings[k])
        return found


# Stands for what was not worked out yet.
_UNSEEN = object()


def coded_columns(X: Sequence[Sequence[Any]]) -> list[CodedColumn]:
    """The columns of all tokens."""
    if isinstance(X, Corpus):
        rows = X.rows()
        return [_coded(X, rows, k) for k in range(X.columns)]
    return [CodedColumn(list(words), codes) for words, codes in map(factorize, split_columns(X))]


def _coded(X: Corpus, rows: Ints, number: int) -> CodedColumn:
    """A column of a corpus, which has numbers on disk already."""
    from ..kernels import hashing

    strings, codes = X.file.strings[number], np.ascontiguousarray(rows[:, number])
    numbers, order = np.full(len(strings), -1, np.int32), np.empty(len(strings), np.int32)
    places = order[: hashing.number_codes(codes, numbers, order, 0)]
    memo = X.file.memo.setdefault(number, _Memo(len(strings)))
    return CodedColumn(strings[places].tolist(), numbers[codes], places, memo)


class _Memo(dict[Column, Any]):
    """What expressions say of each string of a vocabulary, `_UNSEEN` at first."""

    def __init__(self, strings: int) -> None:
        super().__init__()
        self._strings = strings

    def __missing__(self, column: Column) -> Any:
        return self.setdefault(column, np.full(self._strings, _UNSEEN, object))


def coded_column(X: Sequence[Any], column: Column) -> CodedColumn:
    """The column that an expression reads, likewise: for rules and dictionaries, which any input may have."""
    if isinstance(X, Corpus):
        _require_column(column, X.columns)
        return _coded(X, X.rows(), column.index)
    words, codes = factorize(column_of_tokens(X, column))
    return CodedColumn(list(words), codes)


def _require_column(column: Column, width: int) -> None:
    if column.index >= width:
        raise DataError(f"{column} needs column {column.index}, but tokens have {width}")


def column_of_tokens(X: Sequence[Any], column: Column) -> list[str]:
    """The column that an expression reads, of all tokens, flat: for rules and dictionaries, which any input may have.

    Tokens are strings or tuples of strings, or feature dicts, whose columns are the keys "word" and "pos".
    """
    first = X[0][0]
    if isinstance(first, Mapping):
        return _key_of_tokens(X, column)
    if hasattr(first, "shape"):
        raise DataError(f"{column} reads tokens, and X holds arrays; give feature dicts with the key 'word' instead")
    columns = split_columns(X)
    _require_column(column, len(columns))
    return columns[column.index]


def _key_of_tokens(X: Sequence[Any], column: Column) -> list[str]:
    if column.index >= len(NAMES):
        raise DataError(f"{column} is a column of tuples, and X holds feature dicts, of which word and pos are read")
    key = NAMES[column.index]
    out: list[str] = []
    for i, x in enumerate(X):
        for t, token in enumerate(x):
            value = token.get(key) if isinstance(token, Mapping) else None
            if not isinstance(value, str):
                raise DataError(
                    f"sequence {i}, token {t}: {column} reads the key {quoted(key)}, which must be a string in every "
                    f"feature dict, got {quoted(value)}"
                )
            out.append(value)
    return out


def _complain(X: Sequence[Sequence[Any]], wrong: Any, expected: str) -> None:
    for i, x in enumerate(X):
        for t, token in enumerate(x):
            if wrong(token):
                raise DataError(
                    f"sequence {i}, token {t}: expected {expected} as in the first token, got {quoted(token)}"
                )


def other_width(expected: int, found: int) -> DataError:
    """Returns an error (to be raised) about tokens with another number of columns than in training."""
    return DataError(
        f"the model was trained on tokens of {expected} column{'s' * (expected > 1)}, these have {found}; "
        "give every token the columns that it had in training"
    )


@dataclass(frozen=True)
class _Expression:
    """A column expression without its offset: its values, and its code for every word known from fit."""

    column: Column
    values: dict[str, int]
    known: Ints


@dataclass
class TemplateEncoder:
    """Attributes are the observed combinations of the templates' values.

    Attributes seen fewer than `min_count` times are dropped; values never seen in `fit_transform` are ignored later.
    """

    templates: Sequence[str | Column | Template]
    min_count: int = 1
    n_jobs: int = -1
    words_: list[dict[str, int]] = field(default_factory=list, init=False, repr=False)
    width_: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.templates, str | Column | Template):
            raise DataError(f"features are a list of templates, got only {quoted(self.templates)}; put it into a list")
        if not isinstance(self.templates, Sequence | np.ndarray) or getattr(self.templates, "ndim", 1) != 1:
            raise DataError(f"features are a list of templates, got {quoted(self.templates)}")
        self.templates_ = [as_template(t) for t in self.templates]
        if not self.templates_:
            raise DataError("at least one template is needed")
        offsets = [c.offset for t in self.templates_ for c in t.columns]
        self.reach_ = max((abs(o) for o in offsets), default=0)

    def hashed(self, bits: int) -> "HashedEncoder":
        """Returns an encoder of the same templates that hashes attributes, and keeps no words."""
        from .hashed import HashedEncoder

        if self.min_count > 1:
            raise DataError("attributes that are hashed are not counted; leave out min_count or hash_bits")
        return HashedEncoder(self.templates, bits, self.n_jobs)

    def fit_transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Learn values and combinations, and encode X; the rows of a corpus go to disk."""
        if isinstance(X, Corpus):
            self._fit_corpus(X)
            return encode_to_disk(X, self.transform, len(self.templates_))
        offsets, ids = self.fit_numbers(X)
        return self.numbering_.encoded(ids, offsets)

    def fit_numbers(self, X: Sequence[Sequence[Any]]) -> tuple[Longs, Ints]:
        """Learn values and combinations; returns where sequences begin, and the attribute of every token and template.

        The attributes are numbers, (tokens, templates), -1 where a template has none.
        """
        if len(X) == 0:
            raise DataError("no sequences were given")
        offsets = sequence_offsets(X)
        columns = split_columns(X)
        self.width_ = len(columns)
        self._require_columns()
        self.words_, coded = [], []
        for values in columns:
            words, codes = factorize(values)
            self.words_.append(words)
            coded.append(codes)
        del columns, values
        self._learn_expressions()
        tables = {e.column: e.known[coded[e.column.index]] for e in self.expressions_.values()}
        self.numbering_, ids = Numbering.learn(
            lambda number, first, last: self._keys(self.templates_[number], tables, offsets, first, last),
            offsets,
            len(self.templates_),
            self.min_count,
            self.n_jobs,
        )
        return offsets, ids

    def _fit_corpus(self, X: Corpus) -> None:
        """Learn values and combinations block by block; their numbers are those that a list of the same would get."""
        from ..kernels import hashing
        from ..kernels.parallel import map_each

        if len(X) == 0:
            raise DataError("no sequences were given")
        strings = X.file.strings
        self.width_ = len(strings)
        self._require_columns()
        numbers = [np.full(len(some), -1, np.int32) for some in strings]
        order, count = [np.empty(len(some), np.int32) for some in strings], [0] * len(strings)
        for block in X.blocks():
            rows = block.rows()
            for k in range(len(strings)):
                count[k] = hashing.number_codes(np.ascontiguousarray(rows[:, k]), numbers[k], order[k], count[k])
        self.words_ = [
            {word: n for n, word in enumerate(some[mine[:n]].tolist())}
            for some, mine, n in zip(strings, order, count, strict=True)
        ]
        self._learn_expressions()
        known = {e.column: e.known[numbers[e.column.index]] for e in self.expressions_.values()}
        counts = [KeyCounts() for _ in self.templates_]
        for block in X.blocks(block_tokens(len(self.templates_))):
            rows = block.rows()
            tables = {c: table[rows[:, c.index]] for c, table in known.items()}

            def add(number: int, tables: dict[Column, Ints] = tables, block: Corpus = block) -> None:
                counts[number].add(self._keys(self.templates_[number], tables, block.offsets, 0, len(block)))

            map_each(add, range(len(self.templates_)), self.n_jobs)
        self.numbering_ = Numbering.counted(counts, self.min_count)

    def transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Encode X with what was learned."""
        from ..kernels import parallel

        offsets = sequence_offsets(X)
        if len(X) == 0:
            return self.numbering_.encoded(np.empty((0, len(self.templates_)), np.int32), offsets)
        columns = coded_columns(X)
        if len(columns) != self.width_:
            raise other_width(self.width_, len(columns))
        coded = [(column, self._known(k, column.strings)) for k, column in enumerate(columns)]
        tables = {e.column: self._codes_of(e, *coded[e.column.index]) for e in self.expressions_.values()}
        ids = np.empty((int(offsets[-1]), len(self.templates_)), np.int32)
        _ = self.numbering_.tables  # once, before the threads

        def run(first: int, last: int) -> None:
            at = slice(offsets[first], offsets[last])
            for number, template in enumerate(self.templates_):
                keys = self._keys(template, tables, offsets, first, last)
                self.numbering_.look_up(number, keys, ids[at, number])

        parallel.map_shards(run, offsets, self.n_jobs)
        return self.numbering_.encoded(ids, offsets)

    def extended(self, X: Sequence[Sequence[Any]]) -> "TemplateEncoder":
        """Returns an encoder that knows the attributes of X too, behind those that it has; `min_count` is of X alone.

        Attributes keep their numbers. The digits of their keys change where columns have new values.
        """
        offsets, columns = sequence_offsets(X), split_columns(X)
        if len(columns) != self.width_:
            raise other_width(self.width_, len(columns))
        grown = copy(self)
        grown.words_ = [dict(words) for words in self.words_]
        for words, values in zip(grown.words_, columns, strict=True):
            for value in values:
                words.setdefault(value, len(words))
        grown._learn_expressions()
        coded = [np.array([words[one] for one in values]) for words, values in zip(grown.words_, columns, strict=True)]
        tables = {e.column: e.known[coded[e.column.index]] for e in grown.expressions_.values()}
        known = Numbering([self._rekeyed(k, grown.expressions_) for k in range(len(self.templates_))])
        keys = (grown._keys(template, tables, offsets, 0, len(X)) for template in self.templates_)
        grown.numbering_ = known.extended(keys, self.min_count)
        return grown

    def _rekeyed(self, number: int, grown: dict[Column, _Expression]) -> tuple[Longs, Ints]:
        """The keys of a template, and their numbers, where columns have more values."""
        rest, numbers = self.numbering_.keys[number]
        keys, place = np.zeros_like(rest), 1
        for c in reversed(self.templates_[number].columns):
            before, after = len(self.expressions_[c.base].values), len(grown[c.base].values)
            rest, digit = np.divmod(rest, before + 2 * self.reach_)
            keys += place * np.where(digit >= before, digit + (after - before), digit)
            place *= after + 2 * self.reach_
        return keys, numbers

    def _require_columns(self) -> None:
        for template in self.templates_:
            for c in template.columns:
                if c.index >= self.width_:
                    raise DataError(f"template {template} needs column {c.index}, but tokens have {self.width_}")

    def _learn_expressions(self) -> None:
        self.expressions_: dict[Column, _Expression] = {}
        for template in self.templates_:
            for c in template.columns:
                if c.base not in self.expressions_:
                    self.expressions_[c.base] = _learn(c.base, self.words_[c.index])
            room = 2**63
            for c in template.columns:
                room //= max(1, len(self.expressions_[c.base].values) + 2 * self.reach_)
            if room == 0:
                raise DataError(f"template {template} has more than 2^63 possible values; join fewer columns")

    def _keys(self, template: Template, tables: dict[Column, Ints], offsets: Longs, first: int, last: int) -> Longs:
        """Keys of one template at the tokens of sequences first to last - 1."""
        from ..kernels.hashing import template_keys

        at = slice(offsets[first], offsets[last])
        keys = np.empty(at.stop - at.start, np.int64)
        columns = template.columns
        codes = np.empty((len(columns), len(keys)), np.int32)
        for code, c in zip(codes, columns, strict=True):
            code[:] = tables[c.base][at]
        places = np.array([c.offset for c in columns], np.int64)
        sizes = np.array([len(self.expressions_[c.base].values) for c in columns], np.int64)
        template_keys(offsets[first : last + 1], codes, places, sizes, self.reach_, keys)
        return keys

    def _known(self, number: int, distinct: list[str]) -> Ints:
        """The numbers of strings of a column as known words, -1 for a new one."""
        known = self.words_[number].get
        return np.fromiter((known(w, -1) for w in distinct), np.int32, len(distinct))

    def _codes_of(self, expression: _Expression, coded: CodedColumn, known: Ints) -> Ints:
        table = np.where(known >= 0, expression.known[known], -1).astype(np.int32)
        column, values = expression.column, expression.values
        if (column.steps or column.negated) and (known < 0).any():  # a new word may have a known suffix or shape
            for j, value in zip(np.flatnonzero(known < 0), coded.some(known < 0).values(column), strict=True):
                table[j] = -1 if value is None else values.get(value, -1)
        return table[coded.codes]

    @property
    def attributes_(self) -> int:
        """How many attributes there are."""
        return self.numbering_.attributes

    def describe(self, attribute: int) -> str:
        """For example "word[-1]=the & pos=NN"."""
        template, key = self.numbering_.find(attribute)
        return self._in_words(self.templates_[template], key)

    def _in_words(self, template: Template, key: int) -> str:
        texts = []
        for c in reversed(template.columns):
            values = list(self.expressions_[c.base].values)
            key, digit = divmod(key, len(values) + 2 * self.reach_)
            if digit < len(values):
                value = values[digit]
            elif digit < len(values) + self.reach_:
                value = f"<start-{digit - len(values) + 1}>"
            else:
                value = f"<end+{digit - len(values) - self.reach_ + 1}>"
            texts.append(f"{c}={value}")
        return " & ".join(reversed(texts)) or "bias"

    def state(self) -> State:
        """Templates as text, words of each column, values of each expression, keys of each template."""
        for c in self.expressions_:
            c.require_text()
        values = {
            "templates": [str(t) for t in self.templates_],
            "min_count": self.min_count,
            "words": [list(words) for words in self.words_],
        }
        return values, dict(self.numbering_.arrays())

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, n_jobs: int = -1) -> "TemplateEncoder":
        """The encoder that gave this state."""
        encoder = cls([parse(t) for t in values["templates"]], whole(values["min_count"], "min_count"), n_jobs)
        encoder.words_ = [numbered(words, "the words of a column") for words in values["words"]]
        encoder.width_ = len(encoder.words_)
        if not all(encoder.words_):
            raise DataError("a column of the encoder has no words")
        encoder._require_columns()
        encoder._learn_expressions()
        encoder.numbering_ = Numbering.from_arrays(arrays, len(encoder.templates_))
        return encoder


def _learn(column: Column, words: dict[str, int]) -> _Expression:
    if not column.steps and not column.negated:
        return _Expression(column, words, np.arange(len(words), dtype=np.int32))
    values: dict[str, int] = {}
    known = np.empty(len(words), np.int32)
    for k, word in enumerate(words):
        value = column.value(word)
        known[k] = -1 if value is None else values.setdefault(value, len(values))
    return _Expression(column, values, known)
