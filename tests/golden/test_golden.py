"""Files of this version of the format, as they were once written: they load, and predict what they predicted then."""

import json
import resource
import signal
import warnings
import zipfile
from pathlib import Path

import pytest

import sidelight
from sidelight import load
from sidelight.errors import ModelFileError
from sidelight.model_file import VERSION
from tests.golden.cases import CASES
from tests.golden.regenerate import FOLDER, PREDICTED, plain

RECORDED = json.loads((FOLDER / PREDICTED).read_text())


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_predicts_what_is_recorded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plain(load(FOLDER / f"{name}.model").predict(CASES[name].new)) == RECORDED[name]


def test_every_learner_has_a_golden_file():
    """What is recorded, what is there and what is declared are the same files, and no learner is left out."""
    assert {path.stem for path in FOLDER.glob("*.model")} == RECORDED.keys() == CASES.keys()
    learners = set()
    for path in FOLDER.glob("*.model"):
        with zipfile.ZipFile(path) as archive:
            learners.add(json.loads(archive.read("header.json"))["learner"])
    assert learners == {*sidelight.LEARNERS, "WordAligner"}


@pytest.mark.parametrize("folder", sorted(set(FOLDER.parent.glob("version-*")) - {FOLDER}), ids=lambda one: one.name)
def test_files_of_earlier_versions_say_what_to_do(folder):
    found = f"has version {folder.name.removeprefix('version-')} of the model format, this sidelight reads {VERSION}"
    for path in folder.glob("*.model"):
        with pytest.raises(ModelFileError, match=f"{found}; .*; train the model again, or load it with that version"):
            load(path)


def numbers_of(values, path=()):
    """The places of all numbers, and of what is not given and may be one; of a trace those of its first step."""
    for key in values if isinstance(values, dict) else range(len(values)):
        value, here = values[key], (*path, key)
        if isinstance(value, dict | list):
            if not (path and path[-1] in ("trace_", "rounds_", "results_", "trace") and key):
                yield from numbers_of(value, here)
        elif value is None or isinstance(value, int | float):
            yield here


@pytest.fixture
def _limited():
    """Little memory beside what the process has, and a few seconds of processor time."""

    def end(*_):
        raise AssertionError("it takes too long")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGVTALRM, end)
    resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", CASES)
def test_large_numbers_are_refused_or_harmless(name, tmp_path, request):
    """A few bytes of a file must not ask for gigabytes or minutes, whatever number they are."""
    with zipfile.ZipFile(FOLDER / f"{name}.model") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    header = json.loads(members.pop("header.json"))
    load(FOLDER / f"{name}.model")  # imports what it needs
    request.getfixturevalue("_limited")
    for *path, last in list(numbers_of(header)):
        holder = header
        for key in path:
            holder = holder[key]
        before = holder[last]
        for large in (10**9, 10**8) if "parameters" in path else (10**9,):
            holder[last] = large
            with zipfile.ZipFile(tmp_path / "m", "w") as archive:
                for member, content in {**members, "header.json": json.dumps(header).encode()}.items():
                    archive.writestr(member, content)
            signal.setitimer(signal.ITIMER_VIRTUAL, 5.0)
            reason = None
            try:
                repr(load(tmp_path / "m"))
            except ModelFileError as error:
                reason = error.__cause__
            assert not isinstance(reason, MemoryError), (path, last)
        holder[last] = before
