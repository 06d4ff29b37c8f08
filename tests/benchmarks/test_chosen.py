"""Constants that were chosen stand in one list, and the benchmarks use those."""

from importlib import import_module
from itertools import chain

import pytest

from benchmarks.__main__ import BENCHMARKS, TABLES
from benchmarks.chosen import CHOICES, main
from benchmarks.companions.sample import Costs


@pytest.mark.parametrize("name", CHOICES)
def test_the_benchmark_has_the_constant_of_the_list(name: str) -> None:
    module, _, constant = name.rpartition(".")
    found, value = getattr(import_module(f"benchmarks.{module}"), constant), CHOICES[name].value
    if name == "annealing.SCHEDULE":
        found = {key: found[key] for key in value}
    if name.startswith("companions."):
        assert any(isinstance(one, Costs) or isinstance(one[1], Costs) for one in found.values())
    assert found == value


def test_tables_exist() -> None:
    known = {*BENCHMARKS, *chain.from_iterable(TABLES.values())}
    assert {table for choice in CHOICES.values() for table in choice.tables} <= known


def test_every_choice_says_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    told = capsys.readouterr().out
    assert all(choice.what and choice.tables for choice in CHOICES.values())
    assert all("dev" in choice.data or "train" in choice.data for choice in CHOICES.values())
    assert "chosen on" in told
