"""How outputs of each kind (`Task.kind`) are compared with known ones and shown: labels, trees and links."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from rich.console import Group, RenderableType
from rich.text import Text

from ..errors import DataError, NotSupported
from ..parts_metrics import (
    AnswerScores,
    Attachment,
    LinkScores,
    TreeScores,
    answer_scores,
    as_segments,
    link_scores,
    tree_scores,
)
from ..supervision import BAD, GOOD, Companion, Partial
from .alignments import draw_alignment, links_line
from .evaluation import compare as compare_labels
from .evaluation import evaluate as evaluate_labels
from .tables import counted, evaluation_page, grid, headline, page, percent, remarks, scores_table
from .text import marked_text, token_text
from .trees import draw_tree, tree_line


class Evaluating(Protocol):
    """How predictions are compared with what is known."""

    def evaluate(self, learner: Any, X: Sequence[Any], y: Sequence[Any], **options: Any) -> Any:
        """Returns how good predictions are."""
        ...

    def compare(self, task: Any, X: Sequence[Any], y: Sequence[Any], predicted: Sequence[Any], **options: Any) -> Any:
        """Returns how good outputs are that were predicted somewhere else."""
        ...

    def headline(self, evaluation: Any) -> list[tuple[str, RenderableType]]:
        """Returns the numbers that matter, and what they alone do not tell."""
        ...

    def page(self, evaluation: Any, width: int, *, confusion: bool) -> Group:
        """Returns all numbers."""
        ...


class OutputKind(Evaluating, Protocol):
    """One kind of outputs; `decision` is what one part of an output is called."""

    decision: ClassVar[str]

    def line(self, x: Any, y: Any, marked: Iterable[int]) -> Text:
        """Returns an input with its output on one line, some tokens marked."""
        ...

    def changes(self, y: Any, other: Any) -> int:
        """Returns in how many decisions two outputs differ."""
        ...

    def token(self, x: Any, position: int) -> str:
        """Returns what stands at a position."""
        ...

    def draw(self, x: Any, y: Any, path: str | None = None, *, chances: Any = None, gold: Any = None) -> str | None:
        """Returns a drawing as text, or writes it to a file; chances: the probability of what each position has."""
        ...


class LabelOutputs:
    """A label for every token."""

    decision: ClassVar[str] = "label"

    def evaluate(self, learner: Any, X: Sequence[Any], y: Sequence[Any], **options: Any) -> Any:
        """Returns scores of tokens, spans and labels."""
        return evaluate_labels(learner, X, y, **options)

    def compare(self, task: Any, X: Sequence[Any], y: Sequence[Any], predicted: Sequence[Any], **options: Any) -> Any:
        """Returns scores of tokens, spans and labels."""
        return compare_labels(y, predicted, **options)

    def headline(self, evaluation: Any) -> list[tuple[str, RenderableType]]:
        """Returns accuracy and span F1."""
        return [("dev", headline(evaluation)), *remarks(evaluation)]

    def page(self, evaluation: Any, width: int, *, confusion: bool) -> Group:
        """Returns tables of spans and labels."""
        return evaluation_page(evaluation, width, confusion=confusion)

    def line(self, x: Any, y: Any, marked: Iterable[int]) -> Text:
        """Returns the words with a tag before each run."""
        return marked_text(x, y, marked)

    def changes(self, y: Any, other: Any) -> int:
        """Returns how many labels differ."""
        return sum(map(str.__ne__, y, other))

    def token(self, x: Any, position: int) -> str:
        """Returns one token."""
        return token_text(x[position])

    def draw(self, x: Any, y: Any, path: str | None = None, *, chances: Any = None, gold: Any = None) -> str | None:
        """Not offered: `draw_posteriors` draws the probabilities of labels."""
        raise NotSupported("labels are drawn with their probabilities; see draw_posteriors")


# Sentences that are parsed at a time: scores of all arcs and labels of more would take much memory.
_SENTENCES = 200


def parse(learner: Any, X: Sequence[Any]) -> list[Any]:
    """Returns the trees of sentences, of some after the other."""
    return [y for first in range(0, len(X), _SENTENCES) for y in learner.predict(X[first : first + _SENTENCES])]


class TreeOutputs:
    """A head for every word."""

    decision: ClassVar[str] = "head"

    def evaluate(self, learner: Any, X: Sequence[Any], y: Sequence[Any], **options: Any) -> TreeScores:
        """Returns attachment scores; sentences without any known head are left out."""
        chosen = self._known(y)
        some = [X[i] for i in chosen]
        found = tree_scores([y[i] for i in chosen], parse(learner, some), labelled=learner.task_.has_labels, X=some)
        return replace(found, skipped=len(y) - len(chosen))

    def compare(
        self, task: Any, X: Sequence[Any], y: Sequence[Any], predicted: Sequence[Any], **options: Any
    ) -> TreeScores:
        """Returns attachment scores; heads that were not predicted are wrong."""
        chosen = self._known(y)
        guesses = [[None] * len(y[i]) if predicted[i] is None else predicted[i] for i in chosen]
        found = tree_scores([y[i] for i in chosen], guesses, labelled=task.has_labels, X=[X[i] for i in chosen])
        return replace(found, skipped=len(y) - len(chosen))

    def _known(self, y: Sequence[Any]) -> list[int]:
        """The sentences with a known head."""
        chosen = [i for i, known in enumerate(y) if known is not None and not isinstance(known, Companion)]
        if not chosen:
            raise DataError("there is nothing to compare with: no head is known")
        return chosen

    def headline(self, evaluation: TreeScores) -> list[tuple[str, RenderableType]]:
        """Returns UAS and LAS."""
        return [("dev", self._summary(evaluation))]

    def _summary(self, e: TreeScores) -> str:
        las = "" if e.las is None else f"LAS {percent(e.las)} %, "
        return f"UAS {percent(e.uas)} %, {las}{counted(e.words, 'word')} in {counted(e.sentences, 'sentence')}"

    def _without(self, e: Attachment) -> str:
        las = "" if e.las is None else f"LAS {percent(e.las)} %, "
        return f"UAS {percent(e.uas)} %, {las}{counted(e.words, 'word')} without punctuation"

    def page(self, evaluation: TreeScores, width: int, *, confusion: bool) -> Group:
        """Returns UAS, LAS and exact trees."""
        e = evaluation
        facts: list[tuple[str, RenderableType]] = [
            ("heads", self._summary(e)),
            *([("", self._without(e.without))] if e.without is not None and e.without.words < e.words else []),
            ("trees", f"{percent(e.exact)} % of {e.whole:,} right as a whole"),
        ]
        if e.unknown:
            what = "head" if e.las is None else "head and label"
            facts.append(("left out", f"{counted(e.unknown, 'word')} without a {what}"))
        if e.skipped:
            facts.append(("left out", f"{counted(e.skipped, 'sentence')} without any head"))
        return page(grid(facts))

    def line(self, x: Any, y: Any, marked: Iterable[int]) -> Text:
        """Returns every word with its head."""
        return tree_line(x, y, marked)

    def changes(self, y: Any, other: Any) -> int:
        """Returns how many heads or labels differ."""
        return sum(one != two for one, two in zip(y, other, strict=True))

    def token(self, x: Any, position: int) -> str:
        """Returns one word with its number, from 1 as heads are."""
        return f"{token_text(x[position])} ({position + 1})"

    def draw(self, x: Any, y: Any, path: str | None = None, *, chances: Any = None, gold: Any = None) -> str | None:
        """Returns the tree as text, or writes a drawing."""
        return draw_tree(x, y, path, probabilities=chances, gold=gold)


class LinkOutputs:
    """Links of two sides."""

    decision: ClassVar[str] = "link"

    def evaluate(self, learner: Any, X: Sequence[Any], y: Sequence[Any], **options: Any) -> LinkScores:
        """Returns scores of links; pairs whose links are not all known are left out."""
        chosen = self._known(y)
        found = link_scores([y[i] for i in chosen], learner.predict([X[i] for i in chosen]))
        return replace(found, skipped=len(y) - len(chosen))

    def compare(
        self, task: Any, X: Sequence[Any], y: Sequence[Any], predicted: Sequence[Any], **options: Any
    ) -> LinkScores:
        """Returns scores of links; every pair that is compared needs predicted ones."""
        chosen = self._known(y)
        for i in chosen:
            if predicted[i] is None or isinstance(predicted[i], Companion | Partial):
                raise DataError(f"pair {i} has no predicted links, or not all of them; write [] where there are none")
        found = link_scores([y[i] for i in chosen], [predicted[i] for i in chosen])
        return replace(found, skipped=len(y) - len(chosen))

    def _known(self, y: Sequence[Any]) -> list[int]:
        """The pairs of which all links are known."""
        chosen = [i for i, known in enumerate(y) if known is not None and not isinstance(known, Companion | Partial)]
        if not chosen:
            raise DataError("there is nothing to compare with: of no pair all links are known")
        return chosen

    def headline(self, evaluation: LinkScores) -> list[tuple[str, RenderableType]]:
        """Returns the F1 of the links."""
        e = evaluation
        return [
            ("dev", f"F1 {percent(e.links.f1)} % of links, {percent(e.exact)} % of {counted(e.pairs, 'pair')} exact")
        ]

    def page(self, evaluation: LinkScores, width: int, *, confusion: bool) -> Group:
        """Returns precision, recall and F1 of links, and exact pairs."""
        e = evaluation
        exact = f"{percent(e.exact)} % of {e.pairs:,} with exactly the right links"
        facts: list[tuple[str, RenderableType]] = [("pairs", exact)]
        if e.skipped:
            facts.append(("left out", f"{counted(e.skipped, 'pair')} whose links are not all known"))
        return page(grid(facts), scores_table("Links", "", {"links": e.links}))

    def line(self, x: Any, y: Any, marked: Iterable[int]) -> Text:
        """Returns every source item with what it is linked to."""
        return links_line(x, y, marked)

    def changes(self, y: Any, other: Any) -> int:
        """Returns how many links are in one of the outputs alone."""
        return len(set(y) ^ set(other))

    def token(self, x: Any, position: int) -> str:
        """Returns one source item with its number."""
        return f"{token_text(x[0][position])} ({position})"

    def draw(self, x: Any, y: Any, path: str | None = None, *, chances: Any = None, gold: Any = None) -> str | None:
        """Returns the grid as text, or writes a drawing."""
        probabilities = None if chances is None else [chances[as_segments(link)[0]] for link in y]
        return draw_alignment(x, y, path, probabilities=probabilities, gold=gold)


class YesOrNo:
    """A yes or no for every pair, by its links."""

    def evaluate(self, learner: Any, X: Sequence[Any], y: Sequence[Any], **options: Any) -> AnswerScores:
        """Returns scores of the answers; pairs of which none is known are left out."""
        chosen = [i for i, known in enumerate(y) if isinstance(known, Companion)]
        if not chosen:
            raise DataError("there is nothing to compare with: of no pair is known whether it is good")
        good = dict(zip(chosen, learner.decision_function([X[i] for i in chosen]) > 0, strict=True))
        answers = [(GOOD if good[i] else BAD) if i in good else None for i in range(len(y))]
        return self.compare(learner.task_, X, y, answers)

    def compare(
        self, task: Any, X: Sequence[Any], y: Sequence[Any], predicted: Sequence[Any], **options: Any
    ) -> AnswerScores:
        """Returns scores of the answers; pairs of which none is known, on either side, are left out."""
        chosen = [i for i in range(len(y)) if isinstance(y[i], Companion) and isinstance(predicted[i], Companion)]
        if not chosen:
            raise DataError("there is nothing to compare: of no pair is known whether it is good")
        found = answer_scores([y[i] for i in chosen], [predicted[i] for i in chosen])
        return replace(found, skipped=len(y) - len(chosen))

    def headline(self, evaluation: AnswerScores) -> list[tuple[str, RenderableType]]:
        """Returns the share of right answers."""
        e = evaluation
        return [("dev", f"{percent(e.accuracy)} % of {counted(e.inputs, 'pair')} right, F1 {percent(e.good.f1)} %")]

    def page(self, evaluation: AnswerScores, width: int, *, confusion: bool) -> Group:
        """Returns accuracy, and precision and recall of good pairs."""
        e = evaluation
        facts: list[tuple[str, RenderableType]] = [("pairs", f"{percent(e.accuracy)} % of {e.inputs:,} right")]
        if e.skipped:
            facts.append(("left out", f"{counted(e.skipped, 'pair')} of which it is not known whether they are good"))
        return page(grid(facts), scores_table("Answers", "", {"good": e.good}))


_KINDS: dict[str, OutputKind] = {"labels": LabelOutputs(), "trees": TreeOutputs(), "links": LinkOutputs()}


def evaluated_by(learner: Any) -> Evaluating:
    """Returns how what a learner predicts is compared: outputs of its task, or a yes or no."""
    return YesOrNo() if learner.judges else outputs_of(learner.task_)


def outputs_of(task: Any) -> OutputKind:
    """Returns how the outputs of a task are shown."""
    return _KINDS[task.kind]
