"""Trees from another language: heads are projected along links of words (section 7 of Ganchev et al. 2010).

An arc of the source from p to c is projected to the arc from p' to c' where p and p', c and c' are linked. Links are
noisy and sentences are translated freely, so what comes out are lists of heads, for some of the words, that contradict
each other at times. A rule says how many of them to keep (`conserved`), and trees that are completed at random are a
simple alternative. That a word has no children is projected in the same way: words that are linked with leaves are
expected to be leaves. (The paper suggests a rule of this kind for words without links, and does not try it.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .declared import require_seed
from .errors import DataError
from .features.arcs import arc_ends
from .structures.trees import Trees

LEAF = "leaf"
TokenColumns = tuple[str, ...]
LinkPairs = Sequence[tuple[int, int]]
# Links between words whose tags are in no group together are left out: those of nouns with verbs, for instance.
_TOGETHER = (
    {"NOUN", "PROPN", "PRON", "NUM", "X", "SYM"},
    {"VERB", "AUX"},
    {"ADJ", "ADV", "DET", "NUM", "PRON"},
    {"ADP", "PART", "SCONJ", "CCONJ", "ADV"},
)
# What a projected head costs that is not kept beyond the share: so much that it hardly happens where trees allow it.
_PENALTY = 10.0
# The prior of the discriminative parser, and how exact projections are.
_L2, _TOLERANCE = 1.0, 0.05
_PUNCTUATION, _VERBS = "PUNCT", {"VERB", "AUX"}


def projected_heads(heads: Sequence[int], links: LinkPairs, words: int) -> list[list[int]]:
    """Project the arcs of a sentence along links to its translation.

    Parameters
    ----------
    heads : sequence of int
        The head of every word of the source, 0 for the root, which is linked with the root of the translation.
    links : sequence of (int, int)
        Pairs of a source word and a target word, counted from 0.
    words : int
        How many words the translation has.

    Returns
    -------
    list of list of int
        For every word of the translation the heads that are projected on it, counted from 1, 0 for the root.
    """
    linked: dict[int, list[int]] = {0: [0]}
    for i, j in links:
        if not (0 <= i < len(heads) and 0 <= j < words):
            raise DataError(f"the link {i}-{j} is outside of sentences of {len(heads)} and {words} words")
        linked.setdefault(i + 1, []).append(j + 1)
    found: list[set[int]] = [set() for _ in range(words)]
    for c, head in enumerate(heads, start=1):
        for below in linked.get(c, ()):
            found[below - 1].update(above for above in linked.get(head, ()) if above != below)
    return [sorted(one) for one in found]


@dataclass(frozen=True)
class PlainSentence:
    """A sentence without its punctuation.

    x: the other words; heads: of these, None where no tree was given; place: of every word of the whole sentence its
    number here from 0, -1 for punctuation.
    """

    x: list[TokenColumns]
    heads: list[int] | None
    place: list[int]

    @classmethod
    def of(cls, x: Sequence[TokenColumns], heads: Sequence[int] | None = None) -> "PlainSentence":
        """What depends on punctuation depends on the head of that instead."""
        kept = [t for t, token in enumerate(x) if token[1] != _PUNCTUATION]
        place = [-1] * len(x)
        for number, t in enumerate(kept):
            place[t] = number
        if heads is None:
            return cls([x[t] for t in kept], None, place)
        out = []
        for t in kept:
            head = heads[t]
            while head and place[head - 1] < 0:
                head = heads[head - 1]
            out.append(place[head - 1] + 1 if head else 0)
        return cls([x[t] for t in kept], out, place)

    @property
    def whole(self) -> bool:
        """Whether it has a verb, without which it is likely a fragment."""
        return any(token[1] in _VERBS for token in self.x)


def project_bitext(
    source: Sequence[Sequence[TokenColumns]],
    heads: Sequence[Sequence[int]],
    target: Sequence[Sequence[TokenColumns]],
    links: Sequence[LinkPairs],
    *,
    longest: int = 20,
) -> list[list[TokenColumns]]:
    """Project the trees of a text on its translation, and choose the sentences to learn from.

    Punctuation is taken out of both sides. Links between words of different kinds (a noun and a verb) are left out, and
    so are sentences without a verb on either side, those that are too long, and those on which nothing is projected.

    Parameters
    ----------
    source : sequence
        Sentences, each a list of tuples (word, universal tag).
    heads : sequence
        The heads of the words of every source sentence.
    target : sequence
        The translations, in the same form.
    links : sequence
        For every pair the links of its words, as `WordAligner.predict` gives them.
    longest : int, default=20
        Most words of a translation, punctuation not counted.

    Returns
    -------
    list of list
        The translations that are left, each a list of tuples (word, tag, heads, leaf): the projected heads as `head_in`
        and `conserved` read them, and "leaf" for words that are linked, and only with words without children.
    """
    if not len(source) == len(heads) == len(target) == len(links):
        counts = f"{len(source)}, {len(heads)}, {len(target)} and {len(links)}"
        raise DataError(f"there must be as many sentences as heads, translations and links, got {counts}")
    out: list[list[TokenColumns]] = []
    for x, tree, z, some in zip(source, heads, target, links, strict=True):
        for i, j in some:
            if not (0 <= i < len(x) and 0 <= j < len(z)):
                raise DataError(f"the link {i}-{j} is outside of sentences of {len(x)} and {len(z)} words")
        one, other = PlainSentence.of(x, tree), PlainSentence.of(z)
        if one.heads is None or not one.whole or not other.whole or len(other.x) > longest:
            continue
        kept = [
            (one.place[i], other.place[j])
            for i, j in some
            if one.place[i] >= 0 and other.place[j] >= 0 and _alike(x[i][1], z[j][1])
        ]
        found = projected_heads(one.heads, kept, len(other.x))
        if any(found):
            lists, leaves = (",".join(map(str, listed)) for listed in found), _leaves(one.heads, kept)
            marks = (LEAF if t in leaves else "" for t in range(len(other.x)))
            out.append([(*token[:2], *more) for token, *more in zip(other.x, lists, marks, strict=True)])
    return out


def project_pairs(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    links: Sequence[LinkPairs],
    tagger: Any,
    parser: Any,
    target_tagger: Any,
    *,
    longest: int = 20,
) -> list[list[TokenColumns]]:
    """Tag both sides of a bitext, parse the source, and project its trees.

    Parameters
    ----------
    pairs : sequence
        Pairs (source, target) of lists of words.
    links : sequence
        For every pair the links of its words.
    tagger, parser, target_tagger : learner
        Fitted models: a tagger and a parser of the source, and a tagger of the target, all with universal tags.
    longest : int, default=20
        Most words of a translation, punctuation not counted.

    Returns
    -------
    list of list
        What `project_bitext` gives.
    """
    short = [i for i, (x, z) in enumerate(pairs) if len(x) and 0 < len(z) <= 2 * longest]
    if not short:
        return []
    sides = [[list(pairs[i][side]) for i in short] for side in (0, 1)]
    source, target = (
        [list(zip(words, tags, strict=True)) for words, tags in zip(X, model.predict(X), strict=True)]
        for X, model in zip(sides, (tagger, target_tagger), strict=True)
    )
    trees = [[one[0] if isinstance(one, tuple) else one for one in tree] for tree in parser.predict(source)]
    return project_bitext(source, trees, target, [links[i] for i in short], longest=longest)


def learn_from_projected(
    X: Sequence[Sequence[TokenColumns]],
    *,
    generative: bool = False,
    share: float = 0.9,
    leaves: bool | None = None,
    iterations: int | None = None,
    n_jobs: int = -1,
    verbose: bool = False,
) -> Any:
    """Learn a parser from sentences with projected heads, by posterior regularization.

    Parameters
    ----------
    X : sequence
        Sentences as `project_bitext` gives them.
    generative : bool, default=False
        Whether it is the model with valence (`DMV`), which knows tags alone; else a conditional random field.
    share : float, default=0.9
        η: the share of projected heads that each sentence keeps in expectation.
    leaves : bool or None, default=None
        Whether words that are linked with leaves are expected to be leaves: in each sentence the arcs from them are no
        more than 1 - η times as many as these words. None: if the model is generative, which gains by it.
    iterations : int or None, default=None
        Rounds; None is 30 for the discriminative model, and 3 for the generative one, which drifts away from the
        projected heads in more of them.
    n_jobs : int, default=-1
        Threads; -1 is every core.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    CRF or DMV
        The fitted parser, which needs words and tags alone.
    """
    from .features.columns import column
    from .learners.labelled.crf import CRF
    from .learners.labelled.dmv import DMV
    from .learners.tasks.parsing import Parsing
    from .learners.wrappers.posterior import PosteriorRegularization
    from .rules.counts import count
    from .rules.ends import child, head
    from .rules.usual import conserved

    base: Any = (
        DMV(start="even", n_jobs=n_jobs) if generative else CRF(task=Parsing(projective=True), l2=_L2, n_jobs=n_jobs)
    )
    rounds = (3 if generative else 30) if iterations is None else iterations
    is_leaf = column(3).isin(LEAF)
    rules = [conserved(column(2), share)]
    if generative if leaves is None else leaves:
        rules.append(count(where=head(is_leaf)) <= round(1 - share, 9) * count(where=child(is_leaf)))
    learner = PosteriorRegularization(
        base, rules, penalty=_PENALTY, tolerance=_TOLERANCE, decode="model", iterations=rounds, guard=False,
        n_jobs=n_jobs, verbose=verbose,
    )  # fmt: skip
    return learner.fit(X, [None] * len(X)).base_


def _leaves(heads: Sequence[int], links: LinkPairs) -> set[int]:
    """Target words that are linked with source words, all of which have no children."""
    inner = {j for i, j in links if i + 1 in heads}
    return {j for _, j in links} - inner


def _alike(one: str, other: str) -> bool:
    return one == other or any(one in group and other in group for group in _TOGETHER)


def complete_at_random(projected: Sequence[Sequence[Sequence[int]]], *, random_state: int = 0) -> list[list[int]]:
    """Make projective trees of projected heads: the baseline of section 7.3 of Ganchev et al. 2010.

    Arcs are added one at a time wherever a tree is still possible: first the projected ones in random order, then for
    every word that has no head any head, in random order.

    Parameters
    ----------
    projected : sequence
        For every sentence the heads that are projected on each of its words, as `projected_heads` gives them.
    random_state : int, default=0
        Seed of the order.

    Returns
    -------
    list of list of int
        The heads of every sentence.
    """
    require_seed(random_state, "random_state")
    rng = np.random.default_rng(random_state)
    return [_completed(lists, rng) for lists in projected]


def _completed(lists: Sequence[Sequence[int]], rng: np.random.Generator) -> list[int]:
    n, trees = len(lists), Trees(1, projective=True)
    child, head = arc_ends(n)
    scores, heads = np.zeros(n * n), [-1] * n

    def attach(c: int, h: int) -> None:
        """Give a word this head if it has none and a tree is still possible."""
        nonlocal scores
        if heads[c] >= 0:
            return
        fewer = np.where((child == c) & (head != h), -np.inf, scores)
        if np.isfinite(fewer[(child == c) & (head == h)]).all() and trees.best(fewer, (n, 1), 1):
            scores, heads[c] = fewer, h

    arcs = [(c, h) for c, listed in enumerate(lists) for h in listed]
    for k in rng.permutation(len(arcs)):
        attach(*arcs[k])
    for c in rng.permutation(n):
        for h in rng.permutation(n + 1):
            if h != c + 1:
                attach(int(c), int(h))
    return heads


def listed_heads(x: Sequence[Any]) -> list[list[int]]:
    """Returns the projected heads of a sentence that `project_bitext` gave."""
    return [[int(number) for number in token[2].split(",") if number] for token in x]
