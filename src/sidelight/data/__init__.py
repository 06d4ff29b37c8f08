"""Readers and writers of sequences and labels, and generators of practice data."""

from typing import TYPE_CHECKING, Any

from sidelight.data.bitext import GoldLinks, read_bitext, read_links, write_links
from sidelight.data.columns import read_columns, write_columns
from sidelight.data.conllu import read_conllu, write_conllu
from sidelight.data.docs import read_docs, write_docs
from sidelight.data.formats import FORMATS, Format, guess_format
from sidelight.data.jsonlines import read_jsonlines, write_jsonlines
from sidelight.data.pairs import read_pairs, write_pairs
from sidelight.data.spans import CharSpan, char_spans, read_spans, token_offsets
from sidelight.data.tables import read_table, write_table
from sidelight.data.text import read_text, tokenize, write_text
from sidelight.data.trees import read_trees, write_trees

if TYPE_CHECKING:
    from sidelight.data.corpus import Corpus, read_corpus
    from sidelight.data.corpus_file import write_corpus
    from sidelight.demo.references import generate_references

__all__ = [
    "FORMATS",
    "CharSpan",
    "Corpus",
    "Format",
    "GoldLinks",
    "char_spans",
    "generate_references",
    "guess_format",
    "read_bitext",
    "read_columns",
    "read_conllu",
    "read_corpus",
    "read_docs",
    "read_jsonlines",
    "read_links",
    "read_pairs",
    "read_spans",
    "read_table",
    "read_text",
    "read_trees",
    "token_offsets",
    "tokenize",
    "write_columns",
    "write_conllu",
    "write_corpus",
    "write_docs",
    "write_jsonlines",
    "write_links",
    "write_pairs",
    "write_table",
    "write_text",
    "write_trees",
]


def __getattr__(name: str) -> Any:
    """Import generators and corpora when they are asked for: they need NumPy, which the readers do not."""
    if name in ("Corpus", "read_corpus", "write_corpus"):
        from sidelight.data import corpus, corpus_file

        return getattr(corpus_file if name == "write_corpus" else corpus, name)
    if name == "generate_references":
        from sidelight.demo.references import generate_references

        return generate_references
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the lazy names too."""
    return sorted({*globals(), *__all__})
