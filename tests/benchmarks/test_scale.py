"""The benchmark of corpora larger than memory, on small ones."""

import json

import pytest

from benchmarks import scale


def test_what_is_generated_follows_from_words_and_neighbours():
    made = list(scale.generate(3000, 0))
    assert sum(len(x) for x, _ in made) == pytest.approx(3000, abs=scale.LENGTH * 2)
    assert made == list(scale.generate(3000, 0))
    words = scale.vocabulary()
    number = {word: k for k, word in enumerate(words)}
    assert len(number) == scale.WORDS
    right = [
        label == f"L{(number[w] + (number[before] if number[w] % 3 == 0 else 0)) % scale.LABELS}"
        for x, y in made
        for before, w, label in zip([words[0], *x], x, y, strict=False)
    ]
    assert 0.93 < sum(right) / len(right) < 0.98


def test_every_learner_runs_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "_LABELLED", 50)
    monkeypatch.setattr(scale, "_MILLION", 10_000)
    scale.write(4000, tmp_path)
    with pytest.warns(UserWarning, match="stopped before"):
        found = {name: scale.run(name, tmp_path) for name in ("crf", "perceptron", "codl")}
    assert all(one["peak_mb"] > 0 and one["cpu"] > 0 for one in found.values())
    assert found["perceptron"]["accuracy"] > 0.4
    scale.small_model(tmp_path)
    assert scale.run("predict", tmp_path)["bytes_written"] > 4000


def test_lines_of_results_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    lines = [{"learner": "crf", "tokens": n * 10**6, "cpu": float(n), "peak_mb": 300 + n} for n in (1, 2)]
    scale.figure([json.loads(json.dumps(one)) for one in lines], tmp_path / "scale.svg")
    assert "processor time" in (tmp_path / "scale.svg").read_text()


def test_sizes_that_were_not_run_have_no_number():
    lines = [("crf", 1, 9.0), ("crf", 50, 400.0), ("crf", 50, 1300.4), ("predict", 1, 2.0)]
    shown = scale.table([{"learner": a, "tokens": n * 10**6, "cpu": cpu, "peak_mb": 300} for a, n, cpu in lines])
    assert shown.splitlines()[2:] == ["| 1 | 9 s, 300 MB | 2 s, 300 MB |", "| 50 | 1,300 s, 300 MB | not run |"]
