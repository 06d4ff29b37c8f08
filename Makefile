# `make demo` and `make test` set up what they need in .venv and run.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: demo test lint types tests fuzz bench clean clean-kernels

demo: $(VENV)/.installed
	$(BIN)/sidelight demo

test: lint types tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# CASES of every target of fuzz/, drawn from SEED.
CASES ?= 10000
SEED  ?= 0
fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz all --cases $(CASES) --seed $(SEED)

# DATA is a folder of data sets, SPLIT is dev or test.
DATA  ?= data
SPLIT ?= dev
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks --data $(DATA) --split $(SPLIT)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sidelight needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

# Compiled kernels that call an edited kernel of another file would not be compiled again.
clean-kernels:
	find src -name '*.nb[ic]' -delete

clean: clean-kernels
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
