# `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
COLLECT := $(VENV)/.collect
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint pins.txt

INPUTS =
ROLLOUTS = $(RUN)
OUT =
PARTIAL =
ARGS =
RUN = sample_data/complete
Q = pass_rates
export Q

.PHONY: help setup demo profile query notebook test check format lint types contracts bench samples clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile
	@echo
	@echo 'make profile INPUTS=M.jsonl ROLLOUTS=R.jsonl OUT=STEM PARTIAL=1 ARGS="--counts"'

setup: $(READY) ## Make .venv with pinned dependencies and .venv/bin/rollprof

# Compiled here once: where PYTHONDONTWRITEBYTECODE is set, as images often have it, each start would do it anew.
$(READY): pins.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or later is needed, this is {v[0]}.{v[1]}; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) setuptools
	$(PIP) --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q pipeline queries rollprof.py
	@touch $(READY)

$(TOOLS): $(READY)
	$(PIP) --requirement pins.txt
	@touch $(TOOLS)

$(COLLECT): $(READY)
	$(PIP) --no-build-isolation --editable '.[collect]'
	@touch $(COLLECT)

demo: $(COLLECT) ## Start servers with a demo model, collect rollouts into demo/, profile them; no key and no network
	@rm -f demo/rollouts.jsonl demo/rollouts_*.json*
	$(BIN)/rollprof collect --config sample_data/demo/env.yaml --input sample_data/demo/arithmetic.jsonl --num-repeats 8 --output demo/rollouts.jsonl
	$(BIN)/rollprof profile demo/rollouts.jsonl

profile: $(READY) ## Profile a run: RUN=…, or INPUTS=… and ROLLOUTS=…; else the sample run
	@test -z '$(INPUTS)' || test '$(origin ROLLOUTS)' != file || { echo 'make profile: give ROLLOUTS=R.jsonl too' >&2; exit 2; }
	$(BIN)/rollprof profile $(if $(INPUTS),--rollouts '$(ROLLOUTS)' --inputs '$(INPUTS)','$(ROLLOUTS)') $(if $(OUT),-o '$(OUT)') $(if $(PARTIAL),--partial) $(ARGS)

query: $(READY) ## Ask a run: make query Q=hardest, or Q="select …" for SQL; RUN=… for another than the sample run
	@case "$$Q" in *[Ss][Ee][Ll][Ee][Cc][Tt]\ *) set -- --sql "$$Q";; *) set -- "$$Q";; esac; \
	$(BIN)/rollprof query "$$@" '$(RUN)' $(ARGS)

notebook: $(TOOLS) ## Open the sample notebook in marimo
	$(BIN)/marimo edit sample_data/questions.py

test: $(TOOLS) ## Run the tests
	$(BIN)/python -m pytest -n auto

check: format lint types contracts test ## Format, lint, types, import contracts and tests

format: $(TOOLS)
	$(BIN)/ruff format --check .

lint: $(TOOLS)
	$(BIN)/ruff check .

types: $(TOOLS)
	$(BIN)/mypy

contracts: $(TOOLS)
	$(BIN)/lint-imports

bench: $(TOOLS) ## Measure time and memory against the budgets; BENCH="--quick" for a short run
	$(BIN)/python -m tests.bench $(BENCH)

samples: $(COLLECT) ## Write sample_data again: invented and collected by its seeded script
	$(BIN)/python sample_data/make_samples.py

clean: ## Remove .venv and caches
	rm -rf $(VENV) *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
