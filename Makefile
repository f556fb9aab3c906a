# Two commands do everything on a machine with Python 3.11, git and make:
#   make demo   runs the main job on the embedded network alarm into results/demo
#   make test   runs all that continuous integration runs
# For daily work: make check, the same without the tests marked slow. make docs: build/docs, the
# library's pages.
PYTHON ?= python3.11
BIN := .venv/bin
SAY := $(PYTHON) tools/say_progress.py
PARTS := fedbn clients server simulations

.PHONY: demo test check lint docs install browser clean

install: .venv/installed

# pip compiles with one process; some packages hold files that are no Python 3, which it skips, too.
.venv/installed: pyproject.toml setup.py constraints.txt
	@$(SAY) "making .venv" $(PYTHON) -m venv .venv
	@$(SAY) "installing packages" $(BIN)/python -m pip install --progress-bar off --no-compile \
	  --constraint constraints.txt --editable '.[all]'
	@$(SAY) "compiling packages" $(BIN)/python -m compileall -qq -j 0 .venv/lib $(PARTS) || true
	$(BIN)/fedbn warmup
	touch $@

# What tests and checks need beside.
.venv/tools: .venv/installed
	@$(SAY) "installing what the tests need" $(BIN)/python -m pip install --progress-bar off \
	  --constraint constraints.txt --editable '.[all,dev]'
	touch $@

demo: install
	$(BIN)/fedbn simulate --config simulations/demo.toml --out results/demo

test: lint browser
	$(BIN)/python -m pytest -n 2 --durations=20

# The report is tested in Chromium. Where it is missing and cannot be had, those tests are skipped,
# which pytest says at its end.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { apt-get update -qq; apt-get install -y -qq --no-install-recommends chromium; } } || \
	  echo "no Chromium: the report is not tested in a browser"

check: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

lint: .venv/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

docs: .venv/tools
	$(BIN)/python docs/api.py build/docs

clean:
	rm -rf .venv results build dist *.egg-info
