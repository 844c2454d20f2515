# Every target makes what it needs; `make` alone lists them. Needs Python 3.11+ with pip, nothing else.

PYTHON ?= python3
BIN := .venv/bin
# Processes that tests run in: all processors, unless told otherwise (make test JOBS=1).
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST := $(BIN)/python -m pytest -q -rfEs
# Compilations are the long part of the tests and independent of each other: worth the processes. A process
# has neighbouring tests, which share what they compile, until another has none left.
PARALLEL := -n $(JOBS) --dist worksteal

# ziglang carries a C compiler (about 400 MB unpacked), for machines where inarch/machine/toolchain.py finds none.
COMPILERS := $(if $(filter environment,$(origin CC)),$(CC)) gcc clang clang-19 zig
CC_FOUND := $(firstword $(foreach cc,$(COMPILERS),$(shell command -v $(cc) 2>/dev/null)))
comma := ,
EXTRAS := $(if $(CC_FOUND),dev,dev$(comma)zig)

# How long `make soak` begins units of work, and which parts of it (all).
MINUTES ?= 30
PART ?=

# The frameworks that bridges reach: each has its pins in tests/unit/bridges/NAME.txt, its tests beside them.
BRIDGES ?= $(basename $(notdir $(wildcard tests/unit/bridges/*.txt)))

export PATH := $(CURDIR)/$(BIN):$(PATH)
# Without bytecode each process of a test would compile all of inarch again: 0.3 s, hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PRECIOUS: .venv-bridges/%/.stamp
.PHONY: help setup demo test verdict lit unit docs house lint types strict-types mutants slow soak soak-report branches conformance wheel bridges packages bench performance instructions upgrade clean soak-tools release

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: .venv/.stamp ## a virtual environment in .venv with Inarch, editable, and everything below

demo: setup ## compile the real magika model and name the types of files in this repository
	$(BIN)/python examples/demo.py

test: setup ## the gate, before every commit: lint, types, unit tests, lit, conformance (tests/gate.py)
	$(BIN)/python tests/gate.py $(if $(findstring command,$(origin JOBS)),--jobs $(JOBS))

verdict: ## whether HEAD is what .ci/run passed
	@$(PYTHON) tests/gate.py --said .ci/verdict

lit: setup ## tests of text in, text out: tests/lit
	$(BIN)/lit -q -j$(JOBS) tests/lit

unit: setup ## tests in Python, without the slow ones: tests/unit
	$(PYTEST) $(PARALLEL) -m "not slow and not fuzz" --ignore=tests/unit/house/test_docs.py

docs: setup ## doctests, examples/*.py, and the blocks of every .md file
	$(PYTEST) $(PARALLEL) -m "not slow and not fuzz" tests/unit/house/test_docs.py

house: setup ## what grows: long files, full folders; writes what the pages say of the code (tests/house.py)
	@$(BIN)/python tests/house.py

lint: setup ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup ## types by pyrefly, as the gate checks them
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

strict-types: setup ## types by basedpyright, strict: 2 minutes, which the gate leaves to the search
	$(BIN)/basedpyright --pythonpath $(BIN)/python

mutants: setup ## small faults in what the branch changed: do tests see them? (MINUTES=5, ONLY=FILE::FUNCTION or all, BASE, SEED)
	$(BIN)/python tests/mutants/run.py --seconds $$((60 * $(or $(MINUTES),5))) --seed $(or $(SEED),0) \
	  $(if $(filter all,$(ONLY)),--all,$(if $(ONLY),--only '$(ONLY)',$(if $(BASE),--base $(BASE))))

branches: setup ## branches of libinarch that its tests do not take, by gcov: at most 5 %, each with its reason (tests/branches.py)
	$(BIN)/python tests/branches.py --least 95

upgrade: setup ## the newest versions that pyproject.toml allows, into .venv and constraints.txt
	$(BIN)/python -m pip -qq install -U --upgrade-strategy eager -e '.[dev,zig]'
	{ sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --all --exclude-editable | grep -v '^pip='; } > .venv/pins
	mv .venv/pins constraints.txt

slow: setup ## tests that take minutes: models, both compilers, numerics at length
	$(PYTEST) $(PARALLEL) --durations=5 -m slow --ignore=tests/unit/house/test_wheel.py

soak: setup ## the search: what the gate leaves out, in turn, from where it was stopped (MINUTES=30 PART=programs)
	@$(BIN)/python tests/soak/soak.py --minutes $(MINUTES) $(PART:%=--part %)

soak-tools: setup ## compilers, emulators and fuzzers that the search needs: by apt-get as root, and by pip
	@$(BIN)/python tests/soak/soak_tools.py

soak-report: setup ## what the search has run and found, by part; exit code 1 where a part is old (tests/soak.jsonl)
	@$(BIN)/python tests/soak/soak.py --report

conformance: setup ## the whole of ONNX's own suite, and its networks (some minutes)
	$(BIN)/python tests/conformance/suite.py --all --jobs $(JOBS)
	$(BIN)/python tests/conformance/operators.py --check

wheel: setup ## build the wheel, install it in a clean venv, run the unit tests against it
	$(PYTEST) -m slow tests/unit/house/test_wheel.py

bridges: ## tests of bridges to frameworks, each in an environment of its own (make bridges/torch: of one)
	@$(PYTHON) tests/bridges.py $(BRIDGES)

bridges/%: bridge-%
	@true

bridge-%: .venv-bridges/%/.stamp
	.venv-bridges/$*/bin/python -m pytest -q -rfEs tests/unit/bridges/test_$*.py $(wildcard tests/unit/bridges/test_$*_*.py tests/unit/bridges/test_doors*.py)

packages: .venv-packages/.stamp ## programs of others that import onnxruntime, on Inarch: results and times
	.venv-packages/bin/python benchmarks/packages/run.py

performance: setup ## measure networks, choices and layers, and write the pages of docs/tables (benchmarks/performance.py)
	$(BIN)/python benchmarks/performance.py

bench: setup ## speed against onnxruntime, and what compiling costs (benchmarks/speed.py)
	$(BIN)/python benchmarks/speed.py

instructions: setup ## instructions of compilation and runs, against the committed counts (benchmarks/instructions.py; BEFORE=REV)
	$(BIN)/python benchmarks/instructions.py $(BEFORE)

release: setup ## build a version, try it in clean environments, write its hashes (VERSION=X.Y.Z; tests/release.py); nothing is pushed
	$(BIN)/python tests/release.py '$(VERSION)'

clean: ## remove what the above made, and nothing else
	rm -rf .venv .venv-bridges .venv-packages build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Debian has venv without ensurepip unless python3-venv is there; pip can fill such a venv from outside.
.venv/.stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "error: expected Python 3.11 or newer, '$(PYTHON)' is $$($(PYTHON) -V 2>&1); use make PYTHON=python3.12" >&2; exit 1; }
	@$(if $(CC_FOUND),,echo "no C compiler (gcc, clang) found: the ziglang package will be used")
	@echo "setting up .venv with $$($(PYTHON) -V): pip install -e '.[$(EXTRAS)]'"
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip .venv && \
	  $(PYTHON) -m pip -q --python .venv/bin/python install pip; }
	@$(BIN)/python -m pip -qq install -c constraints.txt -e '.[$(EXTRAS)]' || { \
	  echo "error: pip could not install '.[$(EXTRAS)]' in .venv, the lines above say why; it needs a package index (PIP_INDEX_URL names yours)" >&2; exit 1; }
	@touch $@

.venv-packages/.stamp: benchmarks/packages/pins.txt pyproject.toml
	@echo "setting up .venv-packages with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv .venv-packages >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip .venv-packages && \
	  $(PYTHON) -m pip -q --python .venv-packages/bin/python install pip; }
	@.venv-packages/bin/python -m pip -qq install --no-deps -r benchmarks/packages/pins.txt -e .
	@touch $@

# Of the whole of what is in it: a framework may need older versions than constraints.txt has (NumPy, say).
.venv-bridges/%/.stamp: tests/unit/bridges/%.txt pyproject.toml
	@echo "setting up .venv-bridges/$* with $$($(PYTHON) -V)"
	@mkdir -p .venv-bridges
	@$(PYTHON) -m venv .venv-bridges/$* >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip .venv-bridges/$* && \
	  $(PYTHON) -m pip -q --python .venv-bridges/$*/bin/python install pip; }
	@.venv-bridges/$*/bin/python -m pip -qq install -r tests/unit/bridges/$*.txt -e .
	@touch $@
