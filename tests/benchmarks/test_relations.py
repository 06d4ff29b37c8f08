"""The benchmark of entities and relations on a few sentences."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.relations import IN_PREDICTIONS, Relations, f1, pair_features, read, spans_of

SENTENCE = """#doc {number}
0\tAnn\tB-Peop\t['N']\t[0]
1\tLee\tI-Peop\t['Work_For', 'Live_In']\t[3, 5]
2\tjoined\tO\t['N']\t[2]
3\tAcme\tB-Org\t['N']\t[3]
4\tin\tO\t['N']\t[4]
5\tBonn\tB-Loc\t['{wrong}']\t[3]
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "conll04").mkdir()
    for name, count in (("train", 3), ("dev", 2)):
        blocks = [SENTENCE.format(number=k, wrong="Kill" if name == "train" and not k else "N") for k in range(count)]
        (tmp_path / "conll04" / f"{name}.txt").write_text("".join(blocks))
    return tmp_path


def test_sentences_are_read(data: Path) -> None:
    X, y = read(data / "conll04" / "train.txt")
    assert X[0].words == ("Ann", "Lee", "joined", "Acme", "in", "Bonn")
    assert X[0].spans == ((0, 2), (3, 4), (5, 6))
    types = {(0, "Peop"), (1, "Org"), (2, "Loc")}
    assert y[0] == types | {(0, 1, "Work_For"), (0, 2, "Live_In"), (2, 1, "Kill")}
    assert read(data / "conll04" / "train.txt", keep_rules=True)[1][0] == y[0] - {(2, 1, "Kill")}


def test_spans_with_other_words_inside() -> None:
    assert spans_of(["O", "B-Loc", "O", "I-Loc", "B-Org", "O"]) == [(1, 4), (4, 5)]


def test_features_and_rules(data: Path) -> None:
    X, y = read(data / "conll04" / "dev.txt")
    there, back = (pair_features(X[0].words, X[0].spans, *pair) for pair in ((0, 1), (1, 0)))
    assert there["forth gap"] == back["back gap"] == "joined"
    assert (there["first"], there["second"]) == ("lee", "acme")
    shape, _ = Relations().describe(X[0])
    assert Relations().to_y(shape, Relations().to_output(shape, y[0])) == sorted(y[0], key=shape[1].names.index)
    with pytest.raises(ValueError, match="'Live_In or Work_For or Kill has Peop in place 1'"):
        Relations().to_output(shape, y[0] | {(2, 1, "Kill")})
    assert len(Relations(rules=False).describe(X[0])[0][1].rows) == 3 + 6


def test_f1() -> None:
    gold = [{(0, "Peop"), (0, 1, "Kill"), (1, 0, "Kill")}, set()]
    assert f1(gold, [[(0, "Peop"), (0, 1, "Kill")], [(0, 1, "Kill")]], 3) == 50.0
    assert f1(gold, [[(0, "Peop")], []], 2) == 100.0
    assert f1([set()], [[]], 3) == 0.0


def test_rules_are_used_in_three_ways(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.report.Console", lambda **_: Console(file=io.StringIO()))
    out = data / "results.jsonl"
    assert main(["relations", "--data", str(data), "--json", str(out), "--seeds", "0"]) == 0
    found = {x["what"]: x for x in map(json.loads, out.read_text().splitlines())}
    assert found[f"relations: F1, {IN_PREDICTIONS}"]["value"] == 100.0
    assert found["relations: F1, what rules add at their better place"]["target"] == 3.0
