# `make demo` and `make test` set up what they need in .venv and run.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: demo test lint types tests oldest fuzz bench wheel clean

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

# The tests of learners, commands and clusters with the smallest versions of other packages that pyproject.toml allows.
OLDEST := .venv-oldest
oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -n $(JOBS) --dist loadfile tests/learners tests/cli tests/running

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

$(OLDEST)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  extras = project["optional-dependencies"]; names = ("figures", "wordnet", "dask", "ray"); \
	  print(*project["dependencies"], *(one for name in names for one in extras[name]), sep="\n")' \
	  | sed 's/>=/==/' > $(OLDEST)/smallest.txt
	SIDELIGHT_COMPILE=0 $(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(OLDEST)/smallest.txt --editable '.[dev,wordnet]'
	touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

# A wheel with kernels for all x86-64 processors that have AVX2, and where this one has it AVX-512; and for this Python,
# numba and NumPy. Those that lie beside the sources now, for this processor alone, are removed.
wheel: $(VENV)/.installed
	rm -rf src/sidelight/kernels/compiled
	$(BIN)/sidelight compile --cpu x86-64-v3
	-$(BIN)/sidelight compile --cpu x86-64-v4
	SIDELIGHT_COMPILE=0 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) $(OLDEST) src/sidelight/kernels/compiled dist build .pytest_cache .mypy_cache .ruff_cache
