"""Processes that work, and temporary folders, when the process that started them ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from sidelight.running import joblib_cluster

# The command, with work that takes a minute in the place of a training that does.
PROGRAM = """
import sidelight.cli.main
from sidelight.__main__ import main
from sidelight.running import running_on, scatter
from tests.running import work

def train():
    with running_on(2):
        held = scatter([1, 2], 0)
        print("begun", flush=True)
        list(held.map(work.for_a_minute))

sidelight.cli.main.main = train
main()
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed by /proc")


def processes_of(group):
    """The processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(its_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.fixture
def at_work(tmp_path):
    """A command with two worker processes, whose temporary folder is in `tmp_path`."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "begun\n"
        while len(processes_of(process.pid)) < 4:  # with one of joblib's own
            sleep(0.05)
        yield process
    finally:
        for one in processes_of(process.pid):
            os.kill(one, signal.SIGKILL)
        process.communicate()


def gone(group, seconds=20.0):
    """Whether all processes of a group end in time."""
    for _ in range(int(seconds / 0.1)):
        if not processes_of(group):
            return True
        sleep(0.1)
    return False


def test_a_command_that_is_terminated_leaves_nothing(at_work, tmp_path):
    assert len(list(tmp_path.glob("sidelight-*"))) == 1
    at_work.send_signal(signal.SIGTERM)
    assert at_work.wait(20) == 143
    assert gone(at_work.pid)
    assert list(tmp_path.glob("sidelight-*")) == []
    assert at_work.stderr.read().startswith("terminated\n")


def test_workers_of_a_process_that_was_killed_end_and_its_folder_is_swept(at_work, tmp_path):
    (folder,) = tmp_path.glob("sidelight-*")
    joblib_cluster._sweep(tmp_path)
    assert folder.exists()
    at_work.kill()
    assert gone(at_work.pid)
    assert folder.exists()
    joblib_cluster._sweep(tmp_path)
    assert not folder.exists()


def test_folders_without_a_lock_are_nobodys_to_sweep(tmp_path):
    (tmp_path / "sidelight-mine").mkdir()
    (tmp_path / "sidelight-file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "lock").write_text("")
    (tmp_path / "sidelight-link").symlink_to(tmp_path / "other")
    joblib_cluster._sweep(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {"sidelight-mine", "sidelight-file", "other", "sidelight-link"}
