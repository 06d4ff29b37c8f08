"""CoNLL-2004: types of entities and relations between them, as integer programs (Roth and Yih 2004).

Where entities begin and end is given. Variables say which type an entity has, and which relation a pair of them. Rules
say which types a relation needs. They are left out, or used for predictions only, or in training as well. Margins are
learned on one seed only, since the order of inputs is all that it decides on, and without the few sentences that have
many entities: the outputs that violate margins most have many relations, and are slow to find there.
"""

import random
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from sidelight import (
    BAD,
    GOOD,
    JLIS,
    CoDL,
    Program,
    StructuralSVM,
    StructuredPerceptron,
    Variables,
    register_task,
)
from sidelight.learners.model import LinearModel

from .report import Report, seconds
from .setting import Setting

TYPES = ("Peop", "Org", "Loc", "Other")
# The types that the first and the second entity of a relation have.
ARGUMENTS = {
    "Live_In": ("Peop", "Loc"),
    "Work_For": ("Peop", "Org"),
    "OrgBased_In": ("Org", "Loc"),
    "Located_In": ("Loc", "Loc"),
    "Kill": ("Peop", "Peop"),
}
# How many points of F1 rules are to add.
ASKED = 3.0
EPOCHS = 10
# Words between two entities that are features one by one.
_BETWEEN = 12

# Entities of a sentence, at most, where margins are learned.
_ENTITIES = 6
# The share of the training sentences that is labelled where few are, and rounds of learning from the others.
_FEW, _ROUNDS = 0.2, 1
# Where rules are used.
NOWHERE, IN_PREDICTIONS, IN_TRAINING = USES = "no rules", "rules in predictions only", "rules in training too"

Features = dict[str, Any]


@dataclass(frozen=True)
class Sentence:
    """Words, and where entities begin and end; what their features are, and those of pairs."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    entities: list[Features] = field(repr=False)
    pairs: dict[tuple[int, int], Features] = field(repr=False)

    @classmethod
    def of(cls, words: Sequence[str], spans: Sequence[tuple[int, int]]) -> "Sentence":
        """Works out the features."""
        words, spans = tuple(words), tuple(spans)
        entities = [entity_features(words, *span) for span in spans]
        pairs = {(i, j): pair_features(words, spans, i, j) for i, j in permutations(range(len(spans)), 2)}
        return cls(words, spans, entities, pairs)


def shape_of(word: str) -> str:
    """Capitals, small letters and digits of a word, runs of them as one."""
    kinds = ["X" if c.isupper() else "x" if c.islower() else "9" if c.isdigit() else c for c in word]
    return "".join(c for k, c in enumerate(kinds) if not k or kinds[k - 1] != c)


def around(words: Sequence[str], place: int) -> str:
    """A word, or a mark beyond the ends."""
    return words[place].lower() if 0 <= place < len(words) else "(end)"


def entity_features(words: Sequence[str], begin: int, end: int) -> Features:
    """Words of an entity and beside it."""
    inside = words[begin:end]
    out: Features = {f"has {w.lower()}": True for w in inside}
    out |= {f"shape {shape_of(w)}": True for w in inside}
    out |= {"all": " ".join(inside).lower(), "last": inside[-1].lower(), "first": inside[0].lower()}
    out |= {
        f"{name} {k}": around(words, p) for k in (1, 2) for name, p in (("before", begin - k), ("behind", end + k - 1))
    }
    out |= {"end": inside[-1][-3:].lower(), "begin": inside[-1][:3].lower(), "length": str(min(len(inside), 4))}
    return {**out, "": True}


def pair_features(words: Sequence[str], spans: Sequence[tuple[int, int]], i: int, j: int) -> Features:
    """Words of two entities, between them and beside them."""
    left, right = sorted((spans[i], spans[j]))
    order, between = "forth" if i < j else "back", [w.lower() for w in words[left[1] : right[0]]]
    others = sum(left[1] <= begin < right[0] for begin, _ in spans)
    one, two = words[spans[i][1] - 1].lower(), words[spans[j][1] - 1].lower()
    out: Features = {f"between {w}": True for w in between[:_BETWEEN]}
    out |= {f"between {a} {b}": True for a, b in pairwise(between)}
    out |= {"gap": " ".join(between) if len(between) <= 5 else "long", "first": one, "second": two}
    out |= {"before": around(words, left[0] - 1), "behind": around(words, right[1]), "others": str(min(others, 3))}
    out |= {"distance": str(min(len(between), 8)), "shapes": f"{shape_of(words[spans[i][0]])} {shape_of(two)}"}
    return {**{f"{order} {name}": value for name, value in out.items()}, "": True, "first": one, "second": two}


@register_task
@dataclass(frozen=True)
class Relations(Program):
    """Types of entities, (entity, type), and relations, (first, second, relation); rules join them."""

    rules: bool = True
    noun = "sentence"

    def declare(self, x: Sentence) -> Variables:
        """The variables and rows of a sentence."""
        found = Variables()
        for i, features in enumerate(x.entities):
            for label in TYPES:
                found.add((i, label), {f"{label}: {name}": value for name, value in features.items()})
            found.exactly_one([(i, label) for label in TYPES], title="an entity has one type")
        for (i, j), features in x.pairs.items():
            for label in ARGUMENTS:
                found.add((i, j, label), {f"{label}: {name}": value for name, value in features.items()})
            found.at_most_one([(i, j, label) for label in ARGUMENTS], title="a pair has one relation at most")
            if self.rules:
                self.join(found, i, j)
        return found

    def join(self, found: Variables, i: int, j: int) -> None:
        """The rows of the rules: a relation that needs a type of one of its entities implies that type."""
        for place, entity in enumerate((i, j)):
            for label in TYPES:
                needing = [name for name, types in ARGUMENTS.items() if types[place] == label]
                if needing:
                    row = {**{(i, j, name): 1.0 for name in needing}, (entity, label): -1.0}
                    found.row(row, "<=", 0.0, title=f"{' or '.join(needing)} has {label} in place {place + 1}")


def read(path: Path, *, keep_rules: bool = False) -> tuple[list[Sentence], list[set[Any]]]:
    """Sentences and their names that are 1; with `keep_rules` without the relations that break a rule."""
    X, y = [], []
    for block in path.read_text().split("#doc ")[1:]:
        lines = [line.split("\t") for line in block.splitlines()[1:] if line]
        spans = spans_of([line[2] for line in lines])
        types = [lines[begin][2][2:] for begin, _ in spans]
        number = {end - 1: k for k, (_, end) in enumerate(spans)}  # relations are between last words
        known: set[Any] = set(enumerate(types))
        for k, (*_, names, heads) in enumerate(lines):
            for name, head in zip(literal_eval(names), literal_eval(heads), strict=True):
                if name != "N":
                    pair = number[k], number[head]
                    if not keep_rules or (types[pair[0]], types[pair[1]]) == ARGUMENTS[name]:
                        known.add((*pair, name))
        X.append(Sentence.of([line[1] for line in lines], spans))
        y.append(known)
    return X, y


def spans_of(tags: Sequence[str]) -> list[tuple[int, int]]:
    """Where entities begin and end; one that goes on after other words has these in it, as two of the data do."""
    begins = [k for k, tag in enumerate(tags) if tag.startswith("B-")]
    edges = pairwise([*begins, len(tags)])
    return [(begin, max(k for k in range(begin, limit) if tags[k] != "O") + 1) for begin, limit in edges]


def with_task(model: Any, task: Relations) -> Any:
    """The same weights for another task of the same variables and features."""
    other = type(model)(**{**model.get_params(deep=False), "task": task})
    encoder = task.restore_encoder(*model.encoder_.state())
    other._adopt(LinearModel.restored(task, model.classes_, encoder, model.model_.state()))
    return other


def f1(y: Sequence[set[Any]], predicted: Sequence[Sequence[Any]], size: int) -> float:
    """F1 of names of this many parts in per cent: 2 for types, which is accuracy, and 3 for relations."""
    gold, found = ({(k, n) for k, one in enumerate(all_) for n in one if len(n) == size} for all_ in (y, predicted))
    return 200 * len(gold & found) / (len(gold) + len(found)) if gold or found else 0.0


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [setting.data / "conll04" / name for name in ("train.txt", f"{setting.split}.txt")]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"conll04, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """Without rules, with rules in predictions only, and with rules in training too."""
    train, evaluation = files(setting)
    X, y = read(train, keep_rules=True)
    other_X, other_y = read(evaluation)
    report.note(
        f"{len(X)} sentences to learn from, {len(other_X)} scored; averaged perceptron, {EPOCHS} passes. Where "
        "entities begin and end is given, their types are not. A relation is right if both entities and its name are. "
        "Relations of the training data that break a rule (two) are left out."
    )
    scores: dict[str, list[float]] = {what: [] for what in USES}
    types: dict[str, list[float]] = {what: [] for what in USES}
    times: dict[str, list[float]] = {what: [] for what in (NOWHERE, IN_TRAINING)}
    for seed in setting.seeds:
        models = {}
        for what, rules in ((NOWHERE, False), (IN_TRAINING, True)):
            learner = StructuredPerceptron(task=Relations(rules=rules), epochs=EPOCHS, random_state=seed)
            times[what].append(seconds(lambda learner=learner: learner.fit(X, y)))
            models[what] = learner
        models[IN_PREDICTIONS] = with_task(models[NOWHERE], Relations(rules=True))
        for what, model in models.items():
            predicted = model.predict(other_X)
            scores[what].append(f1(other_y, predicted, 3))
            types[what].append(f1(other_y, predicted, 2))
        report.note(f"seed {seed}: " + ", ".join(f"{what} {scores[what][-1]:.2f}" for what in USES))
    for what in USES:
        for name, values in (("relations: F1", scores[what]), ("types: right", types[what])):
            report.add(f"{name}, {what}", "sidelight", fmean(values), "%", deviation=pstdev(values))
    gains = [fmean(scores[what]) - fmean(scores[NOWHERE]) for what in (IN_PREDICTIONS, IN_TRAINING)]
    report.add("relations: F1, what rules add at their better place", "sidelight", max(gains), "%", at_least=ASKED)
    for what, values in times.items():
        report.add(f"training, {what}", "sidelight", fmean(values), "s")
    _few_labels(setting, report, X, y, other_X, other_y)
    _margins(setting, report, X, y, other_X, other_y)


def backwards(x: Sentence) -> Sentence:
    """A sentence with its words in reverse, which has no good output."""
    n = len(x.words)
    return Sentence.of(x.words[::-1], [(n - end, n - begin) for begin, end in x.spans[::-1]])


def _margins(
    setting: Setting, report: Report, X: list[Sentence], y: list[set[Any]], other_X: list[Sentence], other_y: list[Any]
) -> None:
    """Structural SVMs with rules in each place; J-LIS with a fifth labelled, the others GOOD, and BAD in reverse."""
    seed, found = setting.seeds[0], dict[str, Any]()
    short = [i for i, x in enumerate(X) if len(x.spans) <= _ENTITIES]
    report.note(f"margins are learned on {len(short)} sentences, those with at most {_ENTITIES} entities")
    X, y = [X[i] for i in short], [y[i] for i in short]
    for what, rules in ((NOWHERE, False), (IN_TRAINING, True)):
        learner = StructuralSVM(task=Relations(rules=rules), random_state=seed)
        report.add(f"training a structural SVM, {what}", "sidelight", seconds(lambda m=learner: m.fit(X, y)), "s")
        found[f"structural SVM, {what}"] = learner
    free = found[f"structural SVM, {NOWHERE}"]
    found[f"structural SVM, {IN_PREDICTIONS}"] = with_task(free, Relations(rules=True))
    order = random.Random(seed).sample(range(len(X)), len(X))
    count = round(_FEW * len(X))
    labelled, known, pool = [X[i] for i in order[:count]], [y[i] for i in order[:count]], [X[i] for i in order[count:]]
    task = Relations(rules=True)
    few = "a fifth labelled, structural SVM, rules in training too"
    found[few] = StructuralSVM(task=task, random_state=seed).fit(labelled, known)
    joint = JLIS(task=task, guard=False, max_rounds=3, random_state=seed)
    more = [*pool, *map(backwards, pool)]
    signs = [GOOD] * len(pool) + [BAD] * len(pool)
    taken = seconds(lambda: joint.fit([*labelled, *more], [*known, *signs]))
    report.add("training J-LIS, a fifth labelled, the others GOOD, reversed BAD", "sidelight", taken, "s")
    found["a fifth labelled, J-LIS, rules in training too"] = joint
    for name, model in found.items():
        predicted = model.predict(other_X)
        report.add(f"relations: F1, {name}", "sidelight", f1(other_y, predicted, 3), "%")
        report.add(f"types: right, {name}", "sidelight", f1(other_y, predicted, 2), "%")


def _few_labels(
    setting: Setting, report: Report, X: list[Sentence], y: list[set[Any]], other_X: list[Sentence], other_y: list[Any]
) -> None:
    """A fifth of the sentences labelled: alone, with rules, and with rules and the other sentences without labels."""
    scores: dict[str, list[float]] = {"no rules": [], "rules": [], "rules and unlabelled sentences (CoDL)": []}
    for seed in setting.seeds:
        order = random.Random(seed).sample(range(len(X)), len(X))
        count = round(_FEW * len(X))
        labelled, known = [X[i] for i in order[:count]], [y[i] for i in order[:count]]
        learners = [
            StructuredPerceptron(task=Relations(rules=rules), epochs=EPOCHS, random_state=seed)
            for rules in (False, True, True)
        ]
        models = [learner.fit(labelled, known) for learner in learners[:2]]
        pool = [X[i] for i in order[count:]]
        driven = CoDL(learners[2], [], iterations=_ROUNDS, guard=False)
        models.append(driven.fit([*labelled, *pool], [*known, *([None] * len(pool))]))
        for values, model in zip(scores.values(), models, strict=True):
            values.append(f1(other_y, model.predict(other_X), 3))
        report.note(
            f"seed {seed}, a fifth labelled: " + ", ".join(f"{name} {all_[-1]:.2f}" for name, all_ in scores.items())
        )
    for name, values in scores.items():
        least = fmean(scores["no rules"]) if "CoDL" in name else None
        report.add(
            f"relations: F1, a fifth labelled, {name}", "sidelight", fmean(values), "%", deviation=pstdev(values),
            at_least=least,
        )  # fmt: skip
