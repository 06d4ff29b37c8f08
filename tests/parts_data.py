"""Small trees, alignments and matchings for tests of learners."""

import numpy as np

NOUNS, VERBS, DETS = ["dog", "cat", "bird", "child"], ["sees", "hears", "likes"], ["the", "a"]
LETTERS = {"a": "α", "b": "β", "g": "γ", "d": "δ", "k": "κ", "l": "λ"}


def sentences(count, seed=0):
    """Sentences of words with tags, and the heads of their words: det -> noun -> verb, adverbs on verbs."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(count):
        words, heads = [], []

        def phrase(verb, words=words, heads=heads):
            at = len(words)
            if rng.random() < 0.7:
                words.append((str(rng.choice(DETS)), "DET"))
                heads.append(at + 2)
            words.append((str(rng.choice(NOUNS)), "NOUN"))
            heads.append(verb)

        phrase(-1)
        verb = len(words) + 1
        words.append((str(rng.choice(VERBS)), "VERB"))
        heads.append(0)
        if rng.random() < 0.7:
            phrase(-1)
        if rng.random() < 0.4:
            words.append(("often", "ADV"))
            heads.append(-1)
        X.append(words)
        y.append([verb if head == -1 else head for head in heads])
    return X, y


def with_labels(X, y):
    """The same trees with labels of arcs."""
    names = {"DET": "det", "NOUN": "arg", "VERB": "root", "ADV": "mod"}
    return [
        [(head, names[tag]) for head, (_, tag) in zip(heads, x, strict=True)] for x, heads in zip(X, y, strict=True)
    ]


def spellings(count, seed=0):
    """Words in two alphabets, the second without some letters, and which letters correspond."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(count):
        source = [str(c) for c in rng.choice(list(LETTERS), rng.integers(2, 6))]
        target, links = [], []
        for i, letter in enumerate(source):
            if letter == "l":
                continue
            links.append((i, len(target)))
            target.append(LETTERS[letter])
        if not target:
            target = ["κ"]
        X.append((source, target))
        y.append(links)
    return X, y


def shuffles(count, seed=0):
    """Words in two alphabets and in another order, each letter once, and which letters correspond."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(count):
        source = [str(c) for c in rng.permutation(list(LETTERS))[: rng.integers(2, 5)]]
        order = rng.permutation(len(source)).tolist()
        kept = [i for i in order if source[i] != "l"] or order
        X.append((source, [LETTERS[source[i]] for i in kept]))
        y.append(sorted((i, j) for j, i in enumerate(kept)))
    return X, y
