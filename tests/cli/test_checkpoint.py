"""`train` and `align` that are killed or interrupted."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidelight import ModelFileError, load
from sidelight.running import checkpoints
from tests.running.killing import Killed, bitext, killed_after

from .conftest import Run

CRF = ("--learner", "crf", "--solver", "lbfgs")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def killed(run: Run, *arguments: object) -> None:
    with pytest.raises(Killed):
        run(*arguments)


def press_at(step: int, times: int, monkeypatch: pytest.MonkeyPatch, *, call: str = "save") -> None:
    left, save = [step], getattr(checkpoints.JournalStep, call)

    def press(self: checkpoints.JournalStep, state: object) -> Any:
        left[0] -= 1
        for _ in range(times if left[0] == 0 else 0):
            signal.raise_signal(signal.SIGINT)
        return save(self, state)

    monkeypatch.setattr(checkpoints.JournalStep, call, press)


def test_training_that_is_killed_goes_on(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("train", folder / "train.tsv", *CRF, "-q")
    run(*command, "-o", tmp_path / "right")
    save = ("--checkpoint", tmp_path / "c", "--every", 0)
    with monkeypatch.context() as patch:
        killed_after(5, patch)
        killed(run, *command, "-o", tmp_path / "model", *save)
    assert not (tmp_path / "model").exists()
    said = run(*command, "-o", tmp_path / "model", *save)
    assert (said.code, said.err) == (0, "")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "right").read_bytes()
    assert os.listdir(tmp_path / "c") == ["lock"]


def test_a_model_that_cannot_be_written_costs_nothing(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("train", folder / "train.tsv", *CRF, "-q", "-o", tmp_path / "model", "--checkpoint", tmp_path / "c")

    def full(*_: object) -> None:
        raise ModelFileError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("sidelight.model_file._zipped", full)
        said = run(*command)
    assert said.code == 1
    assert (tmp_path / "c" / "checkpoint.zip").exists()
    monkeypatch.setattr("sidelight.solvers.losses.LogLoss.__call__", full)  # nothing is trained again
    assert run(*command).code == 0
    assert load(tmp_path / "model").converged_


def test_other_data_are_refused(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ("-o", tmp_path / "model", "-q", "--checkpoint", tmp_path / "c", "--every", 0)
    with monkeypatch.context() as patch:
        killed_after(5, patch)
        killed(run, "train", folder / "train.tsv", *CRF, *where)
    said = run("train", folder / "dev.tsv", *CRF, *where)
    assert said.code == 1
    assert "is of another fit: the data differ (X, y); give another folder, or delete" in said.err
    said = run("train", folder / "train.tsv", *CRF, "--l2", 3, *where)
    assert "its parameter l2 was 0.1, and is now 3" in said.err
    assert not (tmp_path / "model").exists()


def test_ctrl_c_ends_with_the_model_so_far(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: None
) -> None:
    command = ("train", folder / "train.tsv", *CRF, "-q", "-o", tmp_path / "model")
    with monkeypatch.context() as patch:
        press_at(4, 1, patch)
        said = run(*command)
    assert said.code == 0
    assert said.err.splitlines() == [
        "stopping at the next step, to write the model as it is; Ctrl-C again ends at once",
        "note: training was interrupted after 4 iterations, and the model is as it was then; with --checkpoint DIR it "
        "could go on from there",
    ]
    assert len(load(tmp_path / "model").trace_) == 4


def test_an_unfinished_model_does_not_take_the_place_of_another(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: None
) -> None:
    model, beside = tmp_path / "model", tmp_path / "model.unfinished"
    command = ("train", folder / "train.tsv", *CRF, "-q", "-o", model)
    run(*command)
    before = model.read_bytes()
    with monkeypatch.context() as patch:
        press_at(4, 1, patch)
        said = run(*command)
    assert said.code == 130
    assert said.err.splitlines()[-1] == (
        f"note: training was interrupted after 4 iterations, and the model as it was then is in {beside}; {model} is "
        "the one that was there before; with --checkpoint DIR it could go on from there"
    )
    assert str(beside) in said.out
    assert model.read_bytes() == before
    assert len(load(beside).trace_) == 4


def test_a_signal_to_the_process_leaves_the_old_model(tmp_path: Path) -> None:
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    data.write_text("a\tA\n\na\tB\n\n")  # no pass is without mistakes
    model.write_bytes(b"the model from before")
    settings = ("--learner", "perceptron", "--epochs", "100000000", "-o", str(model))
    command = [sys.executable, "-m", "sidelight", "train", str(data), *settings]
    # Whoever runs the tests in the background of a shell ignores SIGINT, and so would the process.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heard) as process:
        assert process.stderr is not None
        while "StructuredPerceptron" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert f"the model as it was then is in {model}.unfinished; {model} is the one that was there before" in said
    assert model.read_bytes() == b"the model from before"
    assert load(f"{model}.unfinished").predict([["a"]]) in ([["A"]], [["B"]])


def test_what_was_interrupted_goes_on(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: None
) -> None:
    command = ("train", folder / "train.tsv", *CRF, "-q")
    run(*command, "-o", tmp_path / "right")
    save = ("-o", tmp_path / "model", "--checkpoint", tmp_path / "c")
    with monkeypatch.context() as patch:
        press_at(4, 1, patch)
        said = run(*command, *save)
    assert said.err.endswith("the model is as it was then; the same command goes on from there\n")
    assert run(*command, *save).err == ""
    assert (tmp_path / "model").read_bytes() == (tmp_path / "right").read_bytes()


def test_a_second_ctrl_c_ends_at_once(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: None
) -> None:
    press_at(4, 2, monkeypatch)
    said = run("train", folder / "train.tsv", *CRF, "-q", "-o", tmp_path / "model")
    assert said.code == 130
    assert said.err.endswith("interrupted\n")
    assert os.listdir(tmp_path) == []


def test_how_often_needs_where(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("train", folder / "train.tsv", *CRF, "-q", "-o", tmp_path / "model", "--every", 3)
    assert said.code == 2
    assert "--checkpoint DIR" in said.err


def test_alignment_that_is_killed_goes_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = bitext()
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs))
    command = ("align", tmp_path / "source", tmp_path / "target", "-q")
    run(*command, "--save", tmp_path / "right", "-o", tmp_path / "links")
    save = ("--save", tmp_path / "model", "-o", tmp_path / "found", "--checkpoint", tmp_path / "c", "--every", 0)
    with monkeypatch.context() as patch:
        killed_after(4, patch)
        killed(run, *command, *save)
    assert run(*command, *save).code == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "right").read_bytes()
    assert (tmp_path / "found").read_text() == (tmp_path / "links").read_text()


@pytest.mark.parametrize("before", [None, b"the model from before"], ids=["no model", "a model"])
def test_an_interrupted_alignment_says_by_its_exit_code_whether_its_model_is_written(
    before: bytes | None, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctrl_c: None
) -> None:
    model, links = tmp_path / "model", tmp_path / "links"
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in bitext()))
    if before is not None:
        model.write_bytes(before)
    press_at(3, 1, monkeypatch, call="keep")
    said = run("align", tmp_path / "source", tmp_path / "target", "-q", "--save", model, "-o", links)
    assert "training was interrupted after" in said.err
    assert len(links.read_text().splitlines()) == len(bitext())
    if before is None:
        assert said.code == 0
        assert load(model).predict(bitext())
    else:
        assert said.code == 130
        assert model.read_bytes() == before
        assert load(f"{model}.unfinished").predict(bitext())
