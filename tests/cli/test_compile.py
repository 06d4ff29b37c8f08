import os
from pathlib import Path

import pytest

from sidelight.cli.compile import LevelName
from sidelight.kernels import store

from .conftest import Run


def test_a_learner_is_trained_and_used(run: Run, tmp_path: Path) -> None:
    said = run("compile", "hmm", "--folder", tmp_path)
    assert said.code == 0
    assert str(tmp_path) in said.out.replace("\n", "")
    assert (tmp_path / "sidelight").is_dir()


def test_new_kernels_go_where_they_are_asked_for(tmp_path: Path) -> None:
    before = store.own_folder()
    with store.fill(tmp_path):
        assert store.own_folder() == tmp_path
    assert store.own_folder() == before


@pytest.mark.parametrize("before", [None, "znver4"])
def test_the_environment_is_left_as_it_was(run: Run, tmp_path: Path, monkeypatch, before: str | None) -> None:
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    if before:
        monkeypatch.setenv("NUMBA_CPU_NAME", before)
    run("compile", "crv", "--folder", tmp_path, "--cpu", "x86-64-v3")
    assert os.environ.get("NUMBA_CPU_NAME") == before


def test_learners_that_do_not_exist(run: Run, tmp_path: Path) -> None:
    said = run("compile", "crff", "--folder", tmp_path)
    assert said.code == 1
    assert "no learner 'crff'" in said.message
    assert "did you mean 'crf'?" in said.message.replace("\n", " ")


def test_a_folder_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = run("compile", "--folder", tmp_path / "file")
    assert said.code == 1
    assert "NUMBA_CACHE_DIR" in said.message


@pytest.mark.parametrize("level", [None, *LevelName])
def test_a_machine_takes_kernels_of_its_own_level(level: LevelName | None) -> None:
    class Codegen:
        def magic_tuple(self) -> tuple[str, str, str]:
            has = ["+" + one for one in store.LEVELS[level]] if level else []
            return "x86_64-unknown-linux-gnu", "some", ",".join([*has, "-amx-tile"])

    assert [name for _, name, _ in store._machines(Codegen())] == ["some", *([level] if level else [])]


def test_levels_are_those_of_the_store() -> None:
    assert set(LevelName) == set(store.LEVELS)
