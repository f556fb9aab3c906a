# Two commands do everything on a machine with Python 3.11, git, make and a C++ compiler:
#   make demo   runs the main job on the embedded network alarm into results/demo
#   make test   runs all that continuous integration runs
# For daily work: make check, the same without the tests marked slow. make docs: build/docs, the
# pages to browse.
PYTHON ?= python3.11
BIN := .venv/bin
SAY := $(PYTHON) tools/say_progress.py
INSTALL := $(BIN)/python -m pip install --progress-bar off --constraint constraints.txt
PARTS := fedbn clients server simulations
CORE := $(shell find core -name '*.[ch]pp')
BUILD_NEEDS := scikit-build-core nanobind cmake ninja \
  $(if $(shell command -v c++ || command -v g++ || command -v clang++),,ziglang)

TOOLS := build/tools/bin

.PHONY: demo test check lint style imports types docs install browser core sanitize lock bom clean

install: .venv/installed

# The core is compiled with the machine's C++ compiler; where there is none, with the one in the
# package ziglang. pip compiles Python with one process, and the tests of packages, too; some
# packages hold files that are no Python 3, which pip skips as well.
define ENVIRONMENT
	@test -x $(BIN)/python || $(SAY) "making .venv" $(PYTHON) -m venv .venv
	@$(SAY) "installing what the build needs" $(INSTALL) $(BUILD_NEEDS)
	@$(SAY) "compiling the core, installing packages" $(INSTALL) --no-compile \
	  --no-build-isolation --editable '.[$(EXTRAS)]'
	@$(SAY) "compiling packages" $(BIN)/python -m compileall -qq -j 0 -x /tests/ \
	  .venv/lib $(PARTS) || true
endef
SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(CORE)

.venv/installed: EXTRAS := all
.venv/installed: $(SOURCES)
	$(ENVIRONMENT)
	touch $@

# With what tests and checks need beside.
.venv/tools: EXTRAS := all,dev
.venv/tools: $(SOURCES)
	$(ENVIRONMENT)
	touch .venv/installed $@

# After a change in core/: compile what changed.
core: .venv/tools
	$(INSTALL) --quiet --no-deps --no-build-isolation --editable .

# The core with the address and undefined-behaviour sanitizers, shown to Python beside the Python files
# for as long as the tests of compiled rooms run. Without site (-S) Python sees this core and not the
# installed one.
SANITIZED := tests/core tests/graphs tests/scores tests/search tests/search_optimal \
  tests/search_cg_dca tests/fusion tests/consensus tests/credible tests/secure tests/privacy \
  tests/learners/test_completion.py
sanitize: .venv/tools
	@$(SAY) "compiling the core with sanitizers" sh -c "$(BIN)/cmake -S . -B build/sanitize -G Ninja \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DFEDBN_SANITIZE=ON \
	  && $(BIN)/cmake --build build/sanitize"
	trap 'rm -f fedbn/_core.*.so' EXIT; ln -sf $(CURDIR)/build/sanitize/_core.*.so fedbn/ && \
	  LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  PYTHONPATH=$$(echo $(CURDIR)/.venv/lib/python3*/site-packages):$(CURDIR) \
	  $(BIN)/python -S -m pytest -p no:cacheprovider -m "not slow" $(SANITIZED)

# What is installed where fedbn is deployed, with the hashes of all files of all platforms: for
# constraints.txt as it is. What was locked is not read, so that the same files give the same lines.
LOCK := deploy/requirements.lock
lock: build/tools/bin/uv
	@printf '%s\n' scikit-build-core nanobind cmake ninja | $(TOOLS)/uv pip compile --quiet \
	  --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  --constraint constraints.txt --extra flower --extra exact pyproject.toml - > build/tools/lock
	@mv build/tools/lock $(LOCK)

# The bill of materials of a deployment, in CycloneDX, from the lock.
bom: build/tools/bin/uv
	$(TOOLS)/cyclonedx-py requirements $(LOCK) --pyproject pyproject.toml --output-reproducible \
	  --of JSON -o build/fedbn.cdx.json

build/tools/bin/uv:
	@$(SAY) "installing tools" sh -c "$(PYTHON) -m venv build/tools && $(TOOLS)/python -m pip install \
	  --quiet uv==0.13.9 cyclonedx-bom==7.5.0"

demo: install
	$(BIN)/fedbn simulate --config simulations/demo.toml --out results/demo

# What waits for a network or one core does so beside the rest.
test:
	@$(MAKE) --no-print-directory --jobs 3 lint browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal --durations=20

# The report is tested in Chromium. Where it is missing and cannot be had, those tests are skipped,
# which pytest says at its end.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { apt-get update -qq; apt-get install -y -qq --no-install-recommends chromium; } } || \
	  echo "no Chromium: the report is not tested in a browser"

check: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

lint: style imports types

style: .venv/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports: .venv/tools
	$(BIN)/lint-imports

types: .venv/tools
	$(BIN)/mypy

# Warnings of Sphinx are errors, links that lead nowhere among them.
docs: .venv/docs
	rm -rf build/docs docs/generated
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . build/docs
	$(BIN)/python docs/check_pages.py build/docs

.venv/docs: .venv/tools
	@$(SAY) "installing what the pages need" $(INSTALL) --no-build-isolation \
	  --editable '.[all,dev,docs]'
	touch $@

clean:
	rm -rf .venv results build dist *.egg-info
