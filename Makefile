# make demo   ResNet-50 on edge_npu, with its report in demo/
# make test   every test; make test-fast is the first ring: unit tests
# make browser   install Chromium (Debian), or say how; without a browser the tests of pages are skipped by name
# make docs   the documentation as a site in site/, without warnings or it fails; open site/index.html
# make lint types contracts   style, types, who may import whom
# make pythons   the project on each Python from 3.11 on that this machine has; a few minutes each, not part of make test
# make yardstick   how fast this machine is at the moment: user CPU seconds divided by it compare between machines
# make bench   one table of how fast everything is, beside the last one; FULL=1 for all sizes and scripts, BENCH=FOLDER
# make replay   rewrite tests/golden/replay.json after a meant change of numbers; laws   rewrite docs/laws.md;
#               chip-page   rewrite docs/chip.md from the schema of chips
#
# Each makes its own virtual environment in .venv first. Needs Python 3.11 or newer; PYTHON=... names one.

.DEFAULT_GOAL := demo
.PHONY: demo test test-fast browser lint types contracts pythons yardstick bench replay laws chip-page models-page area-page docs clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# An editable install has no bytecode of its own; without it each start compiles 400 files where Python may not write any.
COMPILE := $(BIN)/python -m compileall -q archsim mapper
FIND_PYTHON := for p in python3.11 python3.12 python3.13 python3; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done
PYTHON ?= $(shell $(FIND_PYTHON))
WORKERS ?= 2
# By itself, so that nothing else has a say in which build of it is taken; tests that need it are skipped without it.
TORCH := torch==2.13.0

demo: $(VENV)/.archsim
	$(BIN)/archsim run resnet50 --on edge_npu --out demo

test: $(VENV)/.dev
	$(BIN)/python -m tests.tools.warm
	$(BIN)/python -m pytest -n $(WORKERS)

test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" tests/unit

browser:
	sh tests/tools/install_browser.sh

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/python -m pytest tests/unit/test_rooms.py

pythons: $(VENV)/.dev
	$(BIN)/python -m tests.tools.pythons

yardstick: $(VENV)/.archsim
	$(BIN)/python studies/benchmarks/yardstick.py

bench: $(VENV)/.archsim
	$(BIN)/python studies/benchmarks/bench.py $(if $(FULL),--full) $(BENCH)

replay: $(VENV)/.dev
	$(BIN)/python studies/replay.py --write

laws: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -p tests.laws_page --laws-page docs/laws.md --ignore tests/unit/test_docs.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 PYTHONPATH="$(CURDIR)" PATH="$(abspath $(BIN)):$$PATH" $(BIN)/mkdocs build --strict

chip-page: $(VENV)/.dev
	$(BIN)/python -m tests.tools.chip_page > docs/chip.md

models-page: $(VENV)/.dev
	$(BIN)/python -m tests.tools.models_page > docs/models.md

area-page: $(VENV)/.dev
	$(BIN)/python -m tests.tools.area_page > area.md && mv area.md docs/area.md

clean:
	rm -rf $(VENV) demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.venv:
	@test -n "$(PYTHON)" || { echo "make: needs Python 3.11 or newer; name one with PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "make: $(PYTHON) is older than Python 3.11; name another with PYTHON=/path/to/python" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.archsim: $(VENV)/.venv pyproject.toml
	$(PIP) --editable .
	$(COMPILE)
	@touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	$(PIP) $(TORCH)
	$(PIP) --editable ".[dev]"
	$(COMPILE)
	@touch $@ $(VENV)/.archsim

$(VENV)/.docs: $(VENV)/.venv pyproject.toml
	$(PIP) --editable ".[docs]"
	@touch $@ $(VENV)/.archsim
