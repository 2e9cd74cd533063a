# Every target works from a fresh clone with python3 (3.11 or newer) and make: it builds .venv when missing.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test lint format bench race clean

test: .venv/.dev
	$(BIN)/pytest -n auto --cov --cov-report=term

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.bench
	$(BIN)/python benchmarks/throughput.py --json results/throughput.json

race: .venv/.dev
	$(BIN)/python examples/first_race.py

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("massart needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 $(MAKECMDGOALS)") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

.venv/.bench: pyproject.toml .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

clean:
	rm -rf .venv results .pytest_cache .mypy_cache .ruff_cache .coverage
