"""Aligning graphs: which words and dependencies of two sentences belong together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...errors import DataError
from ...features import sentence_pairs
from ...features.sentence_pairs import Sentence
from ...kernels.compiling import Floats, Ints, Longs
from ...structures.flat import Shape
from ...structures.graph_alignments import GraphAlignments, GraphRows, Graphs
from .parts import PartsTask, token_columns


@dataclass(frozen=True)
class GraphAligning(PartsTask):
    """Links words of two sentences, each at most once, and the edges between linked words.

    An input is a pair (source, target) of `Sentence`, or of lists of words or tuples (word, tag), which have no edges.
    An output is a list of links (i, j). (Section 5.3 of Chang 2011.)
    """

    edges: Annotated[bool, "Whether the edges of sentences are aligned too; else it is a matching."] = True
    null_words: Annotated[
        bool,
        "Whether words can be deleted, with features of their own; else all words of the shorter sentence are linked.",
    ] = True
    null_relations: Annotated[bool, "Whether edges that are not aligned have features of their own."] = True
    least: Annotated[float, "How similar two words are at least that can be linked; 0 lets all be linked."] = 0.5
    directed: Annotated[bool, "Whether what is deleted of the source and of the target has features of its own."] = False
    time_limit: Annotated[
        float | None,
        "Seconds for each input. Out of time, the best output found is taken, and `infer` has a bound for it. None "
        "searches until the best output is proved to be it.",
    ] = None

    noun: ClassVar[str] = "pair"
    kind: ClassVar[str] = "links"
    place: ClassVar[str] = "source item"

    def check(self) -> None:
        """Raises `DataError` for parameters that make no sense."""
        self.structure(1)
        if not 0 <= self.least <= 1:
            raise DataError(f"least is a similarity from 0 to 1, got {self.least!r}")

    def structure(self, n_jobs: int = -1) -> GraphAlignments:
        """Returns the alignments of graphs."""
        return GraphAlignments(n_jobs, self.time_limit)

    # Inputs -----------------------------------------------------------------------------------------------------------

    def shape(self, x: Any) -> Shape:
        """Returns the rows of an input."""
        return GraphRows(self._graphs(*_sentences(x))[0]).shape

    def size_of(self, x: Any) -> float:
        """Returns how many words both sentences have."""
        return float(self.tokens(x))

    def tokens(self, x: Any) -> int:
        """Returns how many words both sentences have."""
        return sum(len(side.words) for side in _sentences(x))

    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns the rows of an input, and the features of its links, deletions and edges."""
        source, target = _sentences(x)
        graphs, similarity = self._graphs(source, target)
        own = similarity[graphs.ends]
        sides = ("source", "target") if self.directed else ("", "")
        features = sentence_pairs.link_features(source, target, graphs.links, own)
        for side, name in zip((source, target), sides, strict=True):
            features += sentence_pairs.deletion_features(side, name) if self.null_words else []
        if self.edges:
            one, other, heads, children = graphs.pairs
            numbers = one.tolist(), other.tolist()
            features += sentence_pairs.pair_features(source, target, numbers, own[heads] * own[children])
            for side, name in zip((source, target), sides, strict=True):
                features += sentence_pairs.edge_deletion_features(side, name) if self.null_relations else []
        return GraphRows(graphs).shape, features

    def _graphs(self, source: Sentence, target: Sentence) -> tuple[Graphs, Floats]:
        """The graphs of two sentences, and how similar their words are."""
        similarity = sentence_pairs.similarities(source, target)
        least = self.least if self.null_words else 0.0
        links = np.argwhere(similarity >= least)
        edges = (_ends(side) if self.edges else np.empty((0, 2), np.int64) for side in (source, target))
        graphs = Graphs(*similarity.shape, links, *edges, self.null_words, self.null_relations)
        return graphs, similarity

    # Outputs ----------------------------------------------------------------------------------------------------------

    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns 0 or 1 for every variable, from the links."""
        graphs = x_shape[1].graphs
        chosen = np.zeros(len(graphs.links), bool)
        number = {tuple(link): k for k, link in enumerate(graphs.links.tolist())}
        for link in y:
            if tuple(link) not in number:
                raise DataError(f"the words of the link {link!r} cannot be linked; lower `least`, or leave it out")
            chosen[number[tuple(link)]] = True
        output: list[int] = graphs.output(chosen).astype(int).tolist()
        broken = x_shape[1].broken(np.array(output, np.int32))
        if broken:
            raise DataError(f"the links break the row of {x_shape[1].title(broken[0])}")
        return output

    def to_y(self, x_shape: Shape, output: Ints) -> list[Any]:
        """Returns the links."""
        links = x_shape[1].graphs.links
        return list(map(tuple, links[np.asarray(output[: len(links)]) > 0].tolist()))


def _sentences(x: Any) -> tuple[Sentence, Sentence]:
    """Both sentences of an input, checked."""
    if isinstance(x, str) or not hasattr(x, "__len__") or len(x) != 2:
        raise DataError(f"a pair is (source, target), got {x!r}")
    return _sentence("source", x[0]), _sentence("target", x[1])


def _sentence(side: str, given: Any) -> Sentence:
    if not isinstance(given, Sentence):
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise DataError(f"the {side} is a Sentence or a list of words, got {given!r}")
        words, tags = token_columns(list(given))
        given = Sentence(words, tags if any(tags) else ())
    if not len(given.words):
        raise DataError(f"the {side} has no words; leave such pairs out")
    for name in ("tags", "lemmas"):
        if len(getattr(given, name)) not in (0, len(given.words)):
            raise DataError(f"the {side} has {len(given.words)} words and {len(getattr(given, name))} {name}")
    return given


def _ends(sentence: Sentence) -> Longs:
    """Head and child of every edge."""
    return np.array([edge[:2] for edge in sentence.edges], np.int64).reshape(-1, 2)
