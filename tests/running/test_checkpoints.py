"""Fits that are killed go on, and end with the same model to the last bit."""

import errno
import io
import os
import signal
import subprocess
import sys
import warnings
from types import SimpleNamespace
from zipfile import ZipFile

import numpy as np
import pytest

from sidelight import (
    BAD,
    CRF,
    EM,
    GOOD,
    HMM,
    JLIS,
    MIRA,
    Agreement,
    Auto,
    CoDL,
    Combined,
    ContrastiveEstimation,
    DataError,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    KernelPerceptron,
    LatentStructuralSVM,
    PosteriorRegularization,
    SelfTraining,
    SemiCRF,
    StructuralSVM,
    StructuredPerceptron,
    TransductiveSVM,
    UnifiedEM,
    WordAligner,
    checkpointing,
    count,
    once_each,
    starts_with,
)
from sidelight.learners.choosing.candidates import Knowledge
from sidelight.running import checkpoints, saved_values, stopping
from tests.learners.samples import labelled

from .killing import Killed, bitext, content, killed_after, references, survive

SOME, HALF, ALL = references(16, 8)
HARD, EXPECTED = [starts_with("author", "editor"), once_each()], [count("author") >= 1]
CLASSES = sorted({label for one in ALL for label in one})
CHOICES = [[{label} if t % 3 else set(CLASSES[:3]) | {label} for t, label in enumerate(one)] for one in ALL]
SUPERVISED = {
    "eg": CRF(solver="eg", tolerance=1e-4),
    "lbfgs": CRF(solver="lbfgs"),
    "lbfgs with l1": CRF(solver="lbfgs", l1=0.2, tolerance=1e-7),
    "sgd": CRF(solver="sgd", max_iterations=4),
    "perceptron": StructuredPerceptron(),
    "mira": MIRA(epochs=5),
    "kernel perceptron": KernelPerceptron(epochs=4),
    "cutting planes": StructuralSVM(tolerance=0.05),
    "subgradient": StructuralSVM(solver="sgd", max_iterations=6),
    "eg on the hinge loss": StructuralSVM(solver="eg", loss="hinge", max_iterations=6),
    "eg on segments": SemiCRF(max_iterations=6),
    "eg on segments, then l-bfgs": SemiCRF(tolerance=1e-6, max_iterations=36),
}
OTHERS = {
    "em": (EM(HMM(), iterations=4, guard=False), HALF),
    "em without labels": (EM(HMM(), iterations=3, restarts=2, classes=CLASSES, guard=False), [None] * len(SOME)),
    "codl": (CoDL(CRF(), HARD, iterations=3, guard=False), HALF),
    "codl that settles": (CoDL(HMM(), HARD, iterations=9, balance=0.0, guard=False, counting="tokens"), HALF),
    "self-training": (SelfTraining(CRF(), iterations=2, guard=False, threshold=0.5), HALF),
    "pr around an hmm": (PosteriorRegularization(HMM(), EXPECTED, iterations=3, guard=False), HALF),
    "pr around a crf": (PosteriorRegularization(CRF(), EXPECTED, iterations=4, guard=False), HALF),
    "pr in batches": (
        PosteriorRegularization(CRF(), EXPECTED, iterations=2, batches=2, label_shares=False, guard=False), HALF
    ),
    "unified em": (UnifiedEM(HMM(), EXPECTED, gamma=0.5, iterations=3, guard=False), HALF),
    "annealing": (DeterministicAnnealing(CRF(), EXPECTED, iterations=2, temperatures=2, guard=False), HALF),
    "generalized expectation": (GeneralizedExpectation(CRF(max_iterations=8), EXPECTED, guard=False), HALF),
    "entropy": (EntropyRegularization(CRF(max_iterations=8), guard=False), HALF),
    "agreement": (Agreement([CRF(features=["word"]), HMM()], iterations=2, guard=False), HALF),
    "combined": (Combined(CRF(), EXPECTED, iterations=2, weights={}, guard=False), HALF),
    "contrastive estimation": (ContrastiveEstimation(restarts=2, max_iterations=6), CHOICES),
}  # fmt: skip


WORDS, LABELS = labelled(count=12, longest=4)
MARGINS = {
    "latent svm": (
        LatentStructuralSVM(tolerance=0.1),
        [one if i < 4 else [None if t % 2 else label for t, label in enumerate(one)] for i, one in enumerate(LABELS)],
    ),
    "jlis": (
        JLIS(tolerance=0.1, guard=False),
        [one if i < 6 else GOOD if i < 9 else BAD for i, one in enumerate(LABELS)],
    ),
    "transductive svm": (
        TransductiveSVM(tolerance=0.1, steps=2, guard=False),
        [one if i < 6 else None for i, one in enumerate(LABELS)],
    ),
}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.fixture
def ctrl_c():
    """Ctrl-C is what it is in a program in the foreground."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def fresh(learner):
    """An unfitted copy, made anew as another process would."""
    return type(learner)(**learner.get_params(deep=False))


def require_survives(learner, y, tmp_path, monkeypatch, X=SOME):
    right = content(fresh(learner).fit(X, y), tmp_path)
    found, kills = survive(lambda: fresh(learner).fit(X, y), tmp_path / "c", monkeypatch)
    assert kills >= 1
    assert content(found, tmp_path) == right
    assert os.listdir(tmp_path / "c") == ["lock"]


@pytest.mark.parametrize("name", SUPERVISED)
def test_supervised_learners(name, tmp_path, monkeypatch):
    require_survives(SUPERVISED[name], ALL, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", OTHERS)
def test_other_learners(name, tmp_path, monkeypatch):
    require_survives(*OTHERS[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", MARGINS)
def test_margins_with_unknown_outputs(name, tmp_path, monkeypatch):
    require_survives(*MARGINS[name], tmp_path, monkeypatch, WORDS)


def test_word_aligner(tmp_path, monkeypatch):
    pairs = bitext()
    right = content(WordAligner().fit(pairs), tmp_path)
    found, kills = survive(lambda: WordAligner().fit(pairs), tmp_path / "c", monkeypatch)
    assert kills >= 2
    assert content(found, tmp_path) == right


def test_auto(tmp_path, monkeypatch):
    everything, names = Knowledge.candidates, ("HMM", "CRF", "CoDL(HMM)")
    monkeypatch.setattr(Knowledge, "candidates", lambda self: (one for one in everything(self) if one.name in names))

    def fit():
        return Auto(HARD, folds=2, budget=1000).fit(SOME, HALF)

    right = fit()
    found, kills = survive(fit, tmp_path / "c", monkeypatch, gaps=(2, 9))
    assert kills >= 2
    assert content(found.best_, tmp_path) == content(right.best_, tmp_path)
    assert [one.score for one in found.results_] == [one.score for one in right.results_]


def test_auto_counts_the_seconds_of_the_run_before(tmp_path, monkeypatch):
    def seconds(now):
        clock = checkpoints.Clock()
        clock._begin -= now
        return clock.seconds()

    with checkpointing(tmp_path, every=0) as journal:
        with checkpoints.fitting(CRF(), {}):
            assert 100 <= seconds(100) < 101
        kept = journal.file.read_bytes()
    (tmp_path / "checkpoint.zip").write_bytes(kept)
    with checkpointing(tmp_path), checkpoints.fitting(CRF(), {}):
        clock = checkpoints.Clock()
        assert 100 <= clock.seconds() < 101
        assert 100 <= clock.seconds() < 102


def test_steps_that_are_finished_are_not_run_again(tmp_path, monkeypatch):
    calls = []

    def fit():
        with checkpoints.fitting(CRF(), {}):
            for k in range(3):
                checkpoints.recorded("part", lambda k=k: calls.append(k) or k, int)

    with monkeypatch.context() as patch:
        killed_after(3, patch)
        with pytest.raises(Killed), checkpointing(tmp_path, every=0):
            fit()
    with checkpointing(tmp_path):
        fit()
    assert calls == [0, 1, 2]


def test_several_fits_in_one_block(tmp_path, monkeypatch):
    def fit():
        return [content(CRF(l2=l2, solver="lbfgs").fit(SOME, ALL), tmp_path) for l2 in (0.1, 1.0)]

    right = fit()
    found, kills = survive(fit, tmp_path / "c", monkeypatch, gaps=(2, 7))
    assert kills >= 2
    assert found == right


def test_threads_do_not_matter_on_resuming(tmp_path, monkeypatch):
    right = content(CRF(solver="lbfgs", n_jobs=1).fit(SOME, ALL), tmp_path)
    killed_once(CRF(solver="lbfgs", n_jobs=2, verbose=True), tmp_path / "c", monkeypatch)
    with checkpointing(tmp_path / "c"):
        assert content(CRF(solver="lbfgs", n_jobs=1).fit(SOME, ALL), tmp_path) == right


# What is refused ------------------------------------------------------------------------------------------------------


def killed_once(learner, folder, monkeypatch, y=ALL):
    with monkeypatch.context() as patch:
        killed_after(3, patch)
        with pytest.raises(Killed), checkpointing(folder, every=0):
            learner.fit(SOME, y)
    assert (folder / "checkpoint.zip").exists()


@pytest.mark.parametrize(
    ("learner", "X", "y", "message"),
    [
        (StructuredPerceptron(), SOME, ALL, "it is of CRF, and this is StructuredPerceptron"),
        (CRF(l2=1.0), SOME, ALL, "its parameter l2 was 0.1, and is now 1.0"),
        (CRF(), SOME[::-1], ALL[::-1], r"the data differ \(X, y\)"),
        (CRF(), SOME, [ALL[0][::-1], *ALL[1:]], r"the data differ \(y\)"),
    ],
)
def test_another_fit_is_refused(learner, X, y, message, tmp_path, monkeypatch):
    killed_once(CRF(), tmp_path, monkeypatch)
    before = (tmp_path / "checkpoint.zip").read_bytes()
    expected = f"of another fit: {message}; give another folder, or delete"
    with pytest.raises(DataError, match=expected), checkpointing(tmp_path):
        learner.fit(X, y)
    assert (tmp_path / "checkpoint.zip").read_bytes() == before


def test_another_way_is_refused(tmp_path, monkeypatch):
    killed_once(CRF(), tmp_path, monkeypatch)
    monkeypatch.setattr(CRF, "choose_solver", lambda *_: "lbfgs")
    with pytest.raises(DataError, match="'eg' where this fit has 'lbfgs'"), checkpointing(tmp_path):
        CRF().fit(SOME, ALL)


def test_another_version_is_refused(tmp_path, monkeypatch):
    killed_once(CRF(), tmp_path, monkeypatch)
    monkeypatch.setattr("sidelight.__version__", "77")
    with pytest.raises(DataError, match="and this is 77; go on with that version"), checkpointing(tmp_path):
        pass


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"PK" + raw[:50]])
def test_a_file_that_is_cut_off_is_refused(damage, tmp_path, monkeypatch):
    killed_once(CRF(), tmp_path, monkeypatch)
    file = tmp_path / "checkpoint.zip"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DataError, match=r"is damaged .*; give another folder, or delete"), checkpointing(tmp_path):
        pass


def test_a_byte_that_changed_is_noticed(tmp_path, monkeypatch):
    killed_once(CRF(), tmp_path, monkeypatch)
    file = tmp_path / "checkpoint.zip"
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)
    with pytest.raises(DataError, match="is damaged"), checkpointing(tmp_path):
        pass


def forge(folder, change):
    """Writes the checkpoint again with other arrays; change: takes the arrays by their numbers."""
    with ZipFile(folder / "checkpoint.zip") as file:
        members = {name: file.read(name) for name in file.namelist()}
    arrays = {name: np.load(io.BytesIO(content)) for name, content in members.items() if name.endswith(".npy")}
    with ZipFile(folder / "checkpoint.zip", "w") as file:
        file.writestr("values.json", members["values.json"])
        for name, array in arrays.items():
            out = io.BytesIO()
            np.save(out, change(array) if array.ndim else array)
            file.writestr(name, out.getvalue())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a[:-1], "has the shape"),
        (lambda a: a[..., None], "must have 1 dimensions, it has 2"),
        (lambda a: a.astype(np.float32), "must hold float64 numbers, it holds float32"),
        (lambda a: a + np.nan, "holds something that is no finite number"),
        (lambda a: a + 1e200, "and its numbers are at most 1e\\+100"),
    ],
)
@pytest.mark.parametrize("learner", [CRF(solver="lbfgs"), StructuredPerceptron(epochs=9)])
def test_forged_arrays_are_refused(learner, change, message, tmp_path, monkeypatch):
    killed_once(learner, tmp_path, monkeypatch)
    forge(tmp_path, change)
    expected = rf"is damaged \(the array .* {message}.*; give another folder, or delete"
    with pytest.raises(DataError, match=expected), checkpointing(tmp_path):
        learner.fit(SOME, ALL)


def test_a_forged_state_is_no_outcome_of_a_trial(tmp_path, monkeypatch):
    """`Auto` takes errors of its trials for outcomes, and would choose another learner."""
    everything = Knowledge.candidates
    monkeypatch.setattr(
        Knowledge, "candidates", lambda self: (one for one in everything(self) if one.name in ("HMM", "CRF"))
    )
    auto = Auto(HARD, folds=2, budget=1000)
    with monkeypatch.context() as patch:
        killed_after(3, patch)
        with pytest.raises(Killed), checkpointing(tmp_path, every=0):
            auto.fit(SOME, HALF)
    forge(tmp_path, lambda a: a[:-1])
    with pytest.raises(DataError, match="is damaged"), checkpointing(tmp_path):
        auto.fit(SOME, HALF)


def test_rows_of_working_sets_must_be_about_the_weights(tmp_path, monkeypatch):
    learner = StructuralSVM(tolerance=1e-3)
    killed_once(learner, tmp_path, monkeypatch)
    forge(tmp_path, lambda a: a + 10**6 if a.dtype == np.int32 else a)
    with (
        pytest.raises(DataError, match=r"is damaged \(the values of .* contradict each other"),
        checkpointing(tmp_path),
    ):
        learner.fit(SOME, ALL)


def test_a_folder_in_use_is_refused(tmp_path):
    with checkpointing(tmp_path):
        program = f"import sidelight\nwith sidelight.checkpointing({str(tmp_path)!r}): pass"
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "is in use by another program" in said.stderr


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    expected = r"cannot write checkpoints to .*; give another folder"
    with pytest.raises(DataError, match=expected), checkpointing(tmp_path / "file"):
        pass


def test_every_is_a_number_of_seconds(tmp_path):
    for wrong in (-1, float("nan"), "often"):
        with pytest.raises(DataError, match="every is a number of seconds"), checkpointing(tmp_path, every=wrong):
            pass


@pytest.mark.parametrize("cost", [0.0, 2.0, 30.0])
def test_writing_takes_a_tenth_of_the_time_at_most(cost, tmp_path, monkeypatch):
    """States are `every` seconds apart, or ten times what the last one took to write, whichever is longer."""
    now = [100.0]

    def written(*_):
        now[0] += cost

    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(saved_values, "write", written)
    journal = checkpoints.Journal(tmp_path, every=5.0)
    journal.write()
    begin = now[0]
    for seconds in range(400):
        now[0] = begin + seconds
        assert journal.due == (seconds >= max(5.0, 10 * cost))


# A full disk ----------------------------------------------------------------------------------------------------------


def test_a_full_disk_at_the_start_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_values, "write", full)
    expected = "No space left on device; make room there, or give another folder"
    with pytest.raises(DataError, match=expected), checkpointing(tmp_path):
        pass


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_up_stops_nothing(tmp_path, monkeypatch):
    right = content(CRF(solver="lbfgs").fit(SOME, ALL), tmp_path)
    said = []
    with checkpointing(tmp_path / "c", every=0, complain=said.append), monkeypatch.context() as patch:
        patch.setattr(saved_values, "write", full)
        assert content(CRF(solver="lbfgs").fit(SOME, ALL), tmp_path) == right
    assert len(said) == 1
    assert "could not be written: No space left on device; training goes on" in said[0]


def test_a_state_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    right = content(CRF(solver="lbfgs").fit(SOME, ALL), tmp_path)
    killed_once(CRF(solver="lbfgs"), tmp_path / "c", monkeypatch)
    before = (tmp_path / "c" / "checkpoint.zip").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(saved_values.np.lib.format, "write_array", full)
        with pytest.raises(DataError, match="No space left"), checkpointing(tmp_path / "c"):
            pass
    assert (tmp_path / "c" / "checkpoint.zip").read_bytes() == before
    assert sorted(os.listdir(tmp_path / "c")) == ["checkpoint.zip", "lock"]
    with checkpointing(tmp_path / "c"):
        assert content(CRF(solver="lbfgs").fit(SOME, ALL), tmp_path) == right


# Ctrl-C ---------------------------------------------------------------------------------------------------------------


def pressed_at(step, monkeypatch, times=1):
    """Let Ctrl-C be pressed at the end of an iteration, counted over all solvers."""
    left, save = [step], checkpoints.JournalStep.save

    def press(self, state):
        left[0] -= 1
        if left[0] == 0:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return save(self, state)

    monkeypatch.setattr(checkpoints.JournalStep, "save", press)


def saves_of(codl):
    """How often both models were saved: after every iteration but the last."""
    return len(codl.base_.trace_) + len(codl.driven_.trace_) - 2


def test_an_interrupt_in_python_comes_after_the_state_was_saved(tmp_path, monkeypatch, ctrl_c):
    right = content(CRF(solver="lbfgs").fit(SOME, ALL), tmp_path)
    with monkeypatch.context() as patch:
        pressed_at(4, patch)
        with pytest.raises(KeyboardInterrupt), checkpointing(tmp_path / "c", every=1000):
            CRF(solver="lbfgs").fit(SOME, ALL)
    with checkpointing(tmp_path / "c", every=1000) as journal:
        (entry,) = journal.entries.values()
        assert len(entry.value["steps"]) == 4
        assert content(CRF(solver="lbfgs").fit(SOME, ALL), tmp_path) == right
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_solver_ends_gently_with_what_it_has(monkeypatch, ctrl_c):
    pressed_at(4, monkeypatch)
    with stopping.stoppable(gently=True) as request:
        learner = CRF(solver="lbfgs").fit(SOME, ALL)
    assert request.heeded
    assert (len(learner.trace_), learner.converged_) == (4, False)


def test_a_second_interrupt_is_one(monkeypatch, ctrl_c):
    pressed_at(4, monkeypatch, times=2)
    with pytest.raises(KeyboardInterrupt), stopping.stoppable(gently=True):
        CRF(solver="lbfgs").fit(SOME, ALL)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_rounds_that_are_interrupted_keep_the_model_of_the_round_before(monkeypatch, ctrl_c):
    def after(rounds):
        learner = SelfTraining(CRF(solver="lbfgs"), iterations=rounds, threshold=0.0, guard=False)
        return learner.fit(SOME, HALF).base_

    begun, one_round = after(0), after(1)
    pressed_at(len(begun.trace_) + len(one_round.trace_) - 1, monkeypatch)  # no last iteration is saved
    with stopping.stoppable(gently=True) as request:
        found = after(2)
    assert request.heeded
    assert np.array_equal(found.weights_, one_round.weights_)


def test_the_first_round_is_finished_where_there_is_no_model_without_it(monkeypatch, ctrl_c):
    whole = PosteriorRegularization(HMM(), EXPECTED, iterations=1, guard=False).fit(SOME, HALF)
    expect = stopping.asked

    def press():
        monkeypatch.setattr(stopping, "asked", expect)
        signal.raise_signal(signal.SIGINT)
        return expect()

    monkeypatch.setattr(stopping, "asked", press)
    with stopping.stoppable(gently=True) as request:
        found = PosteriorRegularization(HMM(), EXPECTED, iterations=5, guard=False).fit(SOME, HALF)
    assert request.heeded
    assert np.array_equal(found.base_.scorer_.emission, whole.base_.scorer_.emission)


def test_what_was_interrupted_gently_can_be_resumed(tmp_path, monkeypatch, ctrl_c):
    learner = CoDL(CRF(solver="lbfgs"), HARD, iterations=2, guard=False)
    right = content(fresh(learner).fit(SOME, HALF), tmp_path)
    for step in (3, 40):
        with monkeypatch.context() as patch:
            pressed_at(step, patch)
            with checkpointing(tmp_path / "c", every=1000), stopping.stoppable(gently=True) as request:
                fresh(learner).fit(SOME, HALF)
        assert request.heeded
        assert (tmp_path / "c" / "checkpoint.zip").exists()
    with checkpointing(tmp_path / "c"):
        assert content(fresh(learner).fit(SOME, HALF), tmp_path) == right


def test_auto_that_is_interrupted_chooses_among_what_was_tried(monkeypatch, ctrl_c):
    everything, names = Knowledge.candidates, ("HMM", "CRF", "CoDL(HMM)")
    monkeypatch.setattr(Knowledge, "candidates", lambda self: (one for one in everything(self) if one.name in names))
    pressed_at(3, monkeypatch)
    with stopping.stoppable(gently=True) as request:
        found = Auto(HARD, folds=2, budget=1000).fit(SOME, HALF)
    assert request.heeded
    outcomes = {one.candidate: one.outcome for one in found.results_}
    assert outcomes["CoDL(HMM)"] == "not tried: interrupted"
    assert "" in outcomes.values()
    assert found.best_.converged_ in (None, True)


@pytest.mark.guarded
def test_a_guard_that_is_interrupted_compares_nothing(monkeypatch, ctrl_c):
    alone = CoDL(CRF(solver="lbfgs"), HARD, iterations=1, guard=False).fit(SOME, HALF)
    pressed_at(saves_of(alone) + 2, monkeypatch)
    with stopping.stoppable(gently=True):
        found = CoDL(CRF(solver="lbfgs"), HARD, iterations=1, guard=True).fit(SOME, HALF)
    assert "training was interrupted" in str(found.guard_)
    assert np.array_equal(found.driven_.weights_, alone.driven_.weights_)
