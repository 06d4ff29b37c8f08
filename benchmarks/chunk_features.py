"""The word and POS templates of the CRF++ chunking example, for sidelight and as attribute strings for its peers."""

from collections.abc import Sequence
from sys import intern

from sidelight import pos, window, word

TEMPLATES = [
    *window(word, -2, 2),
    word[-1] & word,
    word & word[1],
    *window(pos, -2, 2),
    pos[-2] & pos[-1],
    pos[-1] & pos,
    pos & pos[1],
    pos[1] & pos[2],
    pos[-2] & pos[-1] & pos,
    pos[-1] & pos & pos[1],
    pos & pos[1] & pos[2],
]
_BEFORE, _AFTER = ("<start-2>", "<start-1>"), ("<end+1>", "<end+2>")


def feature_dicts(sentence: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """For every token its attributes as a dict from name to value; names are the same objects everywhere."""
    out = []
    for token in attributes(sentence):
        pairs = (attribute.partition("=") for attribute in token)
        out.append({intern(name): value for name, _, value in pairs})
    return out


def attributes(sentence: Sequence[tuple[str, str]]) -> list[list[str]]:
    """For every token its attributes, in the order of `TEMPLATES`."""
    words, tags = ([*_BEFORE, *column, *_AFTER] for column in zip(*sentence, strict=True))
    windows = zip(
        words, words[1:], words[2:], words[3:], words[4:], tags, tags[1:], tags[2:], tags[3:], tags[4:], strict=False
    )
    return [
        [
            f"w-2={a}", f"w-1={b}", f"w={c}", f"w+1={d}", f"w+2={e}",
            f"w-1,w={b} {c}", f"w,w+1={c} {d}",
            f"p-2={p}", f"p-1={q}", f"p={r}", f"p+1={s}", f"p+2={t}",
            f"p-2,p-1={p} {q}", f"p-1,p={q} {r}", f"p,p+1={r} {s}", f"p+1,p+2={s} {t}",
            f"p-2,p-1,p={p} {q} {r}", f"p-1,p,p+1={q} {r} {s}", f"p,p+1,p+2={r} {s} {t}",
        ]
        for a, b, c, d, e, p, q, r, s, t in windows
    ]  # fmt: skip
