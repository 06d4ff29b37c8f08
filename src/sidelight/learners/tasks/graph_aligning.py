"""Aligning graphs: which words and dependencies of two sentences belong together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...declared import Bounds
from ...errors import DataError, NotSupported
from ...features import sentence_pairs
from ...features.parts import token_columns
from ...features.sentence_pairs import Sentence
from ...kernels.compiling import Floats, Ints, Longs
from ...quoting import quoted
from ...rules.part_view import EndView, PartView
from ...structures.flat import FlatParts, Shape
from ...structures.graph_alignments import GraphAlignments, GraphRows, Graphs
from ...structures.protocol import TIME_LIMIT
from .matching import Matching
from .pairs import links_f1
from .parts import PartsTask
from .task import Choices, position_of


@dataclass(frozen=True)
class GraphAligning(PartsTask):
    """Links words of two sentences, each at most once, and the edges between linked words.

    An input is a pair (source, target) of `Sentence`, or of lists of words or tuples (word, tag), which have no edges.
    An output is a list of links (i, j). (Section 5.3 of Chang 2011.)

    Parameters
    ----------
    edges : bool, default=True
        Whether the edges of sentences are aligned too; else it is a matching.
    null_words : bool, default=True
        Whether words can be deleted, with features of their own; else all words of the shorter sentence are linked, and
        any two words can be.
    null_relations : bool, default=True
        Whether edges that are not aligned have features of their own.
    least : float, default=0.5
        How similar two words are at least that can be linked, from 0 to 1; 0 lets all be linked.
    directed : bool, default=False
        Whether what is deleted of the source and of the target has features of its own.
    vectors : str or None, default=None
        A file of word vectors, a word and its numbers on each line, whose cosines count as similarity too.
    wordnet : bool, default=False
        Whether the similarity of senses in WordNet counts too; needs the package wn with a lexicon.
    time_limit : float or None, default=60.0
        Seconds for each input. Out of time, the best output found is taken, and `infer` has a bound for it. None
        searches until the best output is proved to be it.
    """

    edges: Annotated[bool, "Whether the edges of sentences are aligned too; else it is a matching."] = True
    null_words: Annotated[
        bool,
        "Whether words can be deleted, with features of their own; else all words of the shorter sentence are linked.",
    ] = True
    null_relations: Annotated[bool, "Whether edges that are not aligned have features of their own."] = True
    least: Annotated[
        float, "How similar two words are at least that can be linked; 0 lets all be linked.", Bounds(0, 1)
    ] = 0.5
    directed: Annotated[bool, "Whether what is deleted of the source and of the target has features of its own."] = (
        False
    )
    vectors: Annotated[str | None, "A file of word vectors, whose cosines count as similarity too."] = None
    wordnet: Annotated[
        bool, "Whether the similarity of senses in WordNet counts too; needs the package wn with a lexicon."
    ] = False
    time_limit: Annotated[
        float | None,
        "Seconds for each input. Out of time, the best output found is taken, and `infer` has a bound for it. None "
        "searches until the best output is proved to be it.",
        Bounds(0, above=True, infinite=True),
    ] = TIME_LIMIT

    noun: ClassVar[str] = "pair"
    kind: ClassVar[str] = "links"
    place: ClassVar[str] = "source item"

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
        similarity = sentence_pairs.similarities(source, target, vectors=self.vectors, wordnet=self.wordnet)
        least = self.least if self.null_words else 0.0
        links = np.argwhere(similarity >= least)
        edges, other_edges = (_ends(side if self.edges else Sentence(())) for side in (source, target))
        graphs = Graphs(
            len(source), len(target), links, edges, other_edges,
            null_words=self.null_words, null_relations=self.null_relations,
        )  # fmt: skip
        return graphs, similarity

    def view(self, X: Sequence[Any], classes: Sequence[str]) -> PartView:
        """Returns the links and deletions of words with source and target; edges follow from links."""
        sentences, graphs = [_sentences(x) for x in X], [shape[1].graphs for shape in self.sizes(X)]
        sizes, views = [int(one.places[-1]) for one in graphs], {}
        for side, name in enumerate(("source", "target")):
            first, last = np.zeros((2, sum(sizes)), np.int64)
            part = word = 0
            for one, size in zip(graphs, sizes, strict=True):
                count, words = len(one.links), (one.n, one.m)[side]
                deleted = part + one.places[side] + np.arange(words if self.null_words else 0)
                first[part : part + count], first[deleted] = word + one.ends[side], word + np.arange(len(deleted))
                last[part : part + count], last[deleted] = first[part : part + count] + 1, first[deleted] + 1
                part, word = part + size, word + words
            views[name] = EndView([_tokens(pair[side]) for pair in sentences], first, last)
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        links = [np.arange(size) < len(one.links) for one, size in zip(graphs, sizes, strict=True)]
        return PartView(offsets, np.full(sum(sizes), -1, np.int32), [], views, "source", np.concatenate(links))

    def parts_at(self, shape: Shape, t: int) -> Longs:
        """Returns the links of one source word, and its deletion."""
        graphs = shape[1].graphs
        deletion = [len(graphs.links) + t] if self.null_words else []
        return np.append(np.flatnonzero(graphs.ends[0] == t), deletion).astype(np.int64)

    def part_names(self, x: Any, parts: Longs, classes: Sequence[str]) -> list[str]:
        """Returns the target word of each link."""
        (_, target), graphs = _sentences(x), self.shape(x)[1].graphs
        ends = [int(graphs.ends[1][part]) if part < len(graphs.links) else -1 for part in parts.tolist()]
        return [f"{target.words[j]} ({j})" if j >= 0 else "nothing" for j in ends]

    def choices(self, x: Any, scores: FlatParts, outputs: Ints, position: int, classes: Sequence[str]) -> Choices:
        """Returns the links of one source word, and its deletion."""
        shape = scores.of(0)[1]
        t = position_of(position, shape[1].graphs.n, self.noun, self.place)
        parts = self.parts_at(shape, t)
        on = np.flatnonzero(np.asarray(outputs)[parts] > 0)
        if not len(on):
            raise NotSupported(f"source item {t} has no link and no deletion, so there is nothing to explain")
        return Choices(t, self.place, self.part_names(x, parts, classes), int(on[0]), parts)

    # Outputs ----------------------------------------------------------------------------------------------------------

    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns 0 or 1 for every variable, from the links."""
        rows: GraphRows = x_shape[1]
        graphs, pairs = rows.graphs, Matching()
        number = {link: k for k, link in enumerate(map(tuple, graphs.links.tolist()))}
        chosen = np.zeros(len(number), bool)
        if isinstance(y, str) or not hasattr(y, "__iter__"):
            raise DataError("an output is a list of links (i, j)")
        for link in y:
            i, _, j, _ = pairs.link_segments((graphs.n, graphs.m, 1), link)
            if (i, j) not in number:
                raise DataError(f"the words of the link {quoted(link)} are too different to be linked; lower `least`")
            chosen[number[i, j]] = True
        output = graphs.output(chosen).astype(np.int32)
        broken = rows.broken(output)
        if broken:
            raise DataError(f"it breaks the row {rows.title(broken[0])}: a word has one link, or none if it is deleted")
        listed: list[int] = output.tolist()
        return listed

    def to_y(self, x_shape: Shape, output: Ints) -> list[Any]:
        """Returns the links, in the order of their source words."""
        links = x_shape[1].graphs.links
        return list(map(tuple, links[np.asarray(output[: len(links)]) > 0].tolist()))

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the F1 of the links; 1 where there are none in either."""
        return links_f1(y, predicted, weights)


def _sentences(x: Any) -> tuple[Sentence, Sentence]:
    """Both sentences of an input, checked."""
    if isinstance(x, str) or not hasattr(x, "__len__") or len(x) != 2:
        raise DataError(f"a pair is (source, target), got {quoted(x)}")
    return _sentence("source", x[0]), _sentence("target", x[1])


def _tokens(sentence: Sentence) -> list[Any]:
    """Words as rules read them, with their tags where there are some."""
    return list(zip(sentence.words, sentence.tags, strict=True)) if sentence.tags else list(sentence.words)


def _sentence(side: str, given: Any) -> Sentence:
    if isinstance(given, Sentence):
        sentence = given
    elif isinstance(given, str) or not hasattr(given, "__len__"):
        raise DataError(f"the {side} is a Sentence or a list of words, got {quoted(given)}")
    else:
        words, tags = token_columns(list(given))
        sentence = Sentence(words, tags if any(tags) else ())
    count = len(sentence.words)
    if not count:
        raise DataError(f"the {side} has no words; leave such pairs out")
    for name, values in (("tags", sentence.tags), ("lemmas", sentence.lemmas)):
        if len(values) not in (0, count):
            raise DataError(f"the {side} has {count} words and {len(values)} {name}; give one for each word, or none")
    return sentence


def _ends(sentence: Sentence) -> Longs:
    """Head and child of every edge."""
    for edge in sentence.edges:
        if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) not in (2, 3):
            raise DataError(f"an edge is (head, child) or (head, child, label), got {quoted(edge)}")
        if not all(isinstance(end, int | np.integer) and not isinstance(end, bool) for end in edge[:2]):
            raise DataError(f"the ends of an edge are the numbers of words, got {quoted(edge)}")
    return np.array([edge[:2] for edge in sentence.edges], np.int64).reshape(-1, 2)
