# make demo: set up and run the main job.   make test: set up, then lint, types and tests.
# make evidence: the longer proofs.   make soak: an hour of random operation, in virtual time.
# make fault-table: every fault of the plant over the real link, found when and by what.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: setup demo test lint types evidence soak fault-table bench clean

setup: $(STAMP)

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mastd needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Set PYTHON=/path/to/python3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing: on Debian or Ubuntu run 'apt-get install python3-venv'."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)
	$(BIN)/mastd run config/profiles/class_b_road.yaml --sim --link socket --out runs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

test: lint types
	$(BIN)/pytest -q

evidence: $(STAMP)
	$(BIN)/pytest -q -m evidence

soak: $(STAMP)
	$(BIN)/hil-sim soak --hours 1 --out runs

fault-table: $(STAMP)
	$(BIN)/python -m tests.fault_report

bench: $(STAMP)
	$(BIN)/mastd bench

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache
