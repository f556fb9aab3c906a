# Two commands do everything on a machine with Python 3.11, git, make and gcc:
#   make demo   runs the main job on the embedded network alarm into results/demo
#   make test   runs all that continuous integration runs
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test lint install clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: install
	$(BIN)/fedbn simulate --config simulations/demo.toml --out results/demo

test: install lint
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

clean:
	rm -rf .venv results build dist *.egg-info
