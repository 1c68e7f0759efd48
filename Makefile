# make demo: set up and run the main job.   make test: set up, then lint, types and tests.
# make test PYTHON=python3.13 VENV=.venv-3.13: the same under another Python, 3.11 to 3.14, in an environment of its own.
# make evidence: the longer proofs, and properties tried on new examples.   make soak: an hour of random operation, in virtual time.
# make fuzz: damaged files given to every reader of files for 20 minutes (SEED=1, MINUTES=20).
# make wire-fuzz: a million false frames at every socket of a running daemon (SEED=1, FRAMES=1000000).
# make fault-table: every fault of the plant over the real link, found when and by what.
# make line-table: the table's true motion while the plant link is late, jitters or loses messages, in virtual time.
# make kills: processes of a service killed, or stopped for a while, in every state of the table (SEED=1, EPISODES=300).
# make bench: speeds; where ../shared holds the vehicle's peers, they are installed into an environment of their own.
# make control-bench: how well the table is made to follow, on ten hidden truths, half an hour; goes on where it was.
# make docs: the pages and the public Python interface as a site, in build/site.
# make install: onto this machine, or below DESTDIR; make uninstall; make deb: a Debian package in build/.
# make systemd-test: the package from installation to purge under a real systemd in a container (root, Debian).
PYTHON ?= python3
SYSTEM_PYTHON ?= /usr/bin/python3
PREFIX ?= /usr
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
PEERS := .venv-peers
MINUTES ?= 20
SEED ?= 1
FRAMES ?= 1000000
EPISODES ?= 300
PEER_PROGRAMS := ../shared/peers/vehicle
IN_PAIRS := real_time and not alone and not evidence

# Where it is set, each of some thousand processes would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test lint types docs evidence soak fuzz wire-fuzz fault-table line-table kills bench control-bench install uninstall deb systemd-test clean

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

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# First what several tests would otherwise wait for or compile twice: vehicle, plant and cycle take a core, types and
# another solver, which finds compiled what both need, the other. Then all cores, two of them as a rule, share the
# tests that mind no neighbour; then come, two at a time, those in real time (one that fails beside a neighbour is judged
# again without), and one by one those about measured time.
test: lint
	@{ $(BIN)/mypy && $(BIN)/mastd vehicle bump --duration 5ms --solver independent > /dev/null; } & beside=$$!; \
	  $(BIN)/mastd vehicle bump --duration 5ms > /dev/null && $(BIN)/hil-sim soak --hours 0.001 > /dev/null; \
	  compiled=$$?; wait $$beside && exit $$compiled
	@$(BIN)/pytest -q -n auto --maxprocesses 4 --dist worksteal -m 'not evidence and not real_time and not alone'; \
	  together=$$?; $(BIN)/pytest -q -n 2 --dist worksteal -m '$(IN_PAIRS)' || \
	  $(BIN)/pytest -q --last-failed --last-failed-no-failures none -m '$(IN_PAIRS)'; \
	  in_pairs=$$?; \
	  $(BIN)/pytest -q -m 'alone and not evidence' && exit $$((together + in_pairs))

evidence: $(STAMP)
	$(BIN)/pytest -q -m evidence
	HYPOTHESIS_PROFILE=searching $(BIN)/pytest -q tests/unit

soak: $(STAMP)
	$(BIN)/hil-sim soak --hours 1 --out runs

fuzz: $(STAMP)
	$(BIN)/python -m tests.support.formats.fuzz --minutes $(MINUTES) --seed $(SEED) --out runs/fuzz

wire-fuzz: $(STAMP)
	$(BIN)/python -m tests.support.rigs.fuzz --frames $(FRAMES) --seed $(SEED)

fault-table: $(STAMP)
	$(BIN)/python -m tests.support.fault_report

line-table: $(STAMP)
	$(BIN)/python -m tests.support.line_table

kills: $(STAMP)
	$(BIN)/python -m tests.support.kill_campaign --episodes $(EPISODES) --seed $(SEED) --out runs/kills

bench: $(STAMP)
	@if [ -d $(PEER_PROGRAMS) ]; then $(MAKE) --no-print-directory $(PEERS)/.ready || \
	  echo "the peers are not installed: their figures are left out" >&2; fi
	$(BIN)/mastd bench

control-bench: $(STAMP)
	$(BIN)/mastd bench control --out runs/bench

# What the peers' programs import: mujoco, exudyn, numpy, scipy, numba, pyyaml, in versions that requirements.txt allows.
$(PEERS)/.ready: requirements-peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-peers.txt
	@touch $@

install:
	@$(PYTHON) -m installer install --python $(SYSTEM_PYTHON) --prefix $(PREFIX) --destdir "$(DESTDIR)"

uninstall:
	@$(PYTHON) -m installer uninstall --prefix $(PREFIX) --destdir "$(DESTDIR)"

deb:
	@$(PYTHON) -m installer deb --python $(SYSTEM_PYTHON)

systemd-test: deb
	@$(PYTHON) -m tests.systemd

clean:
	rm -rf $(VENV) $(PEERS) build runs .pytest_cache .mypy_cache .ruff_cache
