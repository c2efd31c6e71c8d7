# Each target works alone on a machine with Python 3.11 to 3.13, git, make and a package index: it
# makes .venv itself and installs what the lock files in requirements/ say.
#
#   make demo            review the bundled example, run a few kernel cases
#   make test            every test that runs on a CPU      (PYTEST_ARGS="-k protocol")
#   make lint types      ruff, the one-way doors, zizmor, mypy
#   make bench           what a review costs, beside other tools over the same files
#   make lock            write requirements/*.txt again           (UPGRADE=1)
#   make docs            the documentation site
#   make changelog       the section of a release                 (VERSION=0.2.0)
#
# PYTHON=python3.12 picks the interpreter.

VENV ?= .venv
BUILD ?= build
# The reports of `make demo` are easier to read on wider lines.
WIDE := COLUMNS=120
EXAMPLE := tests/example/variants/first-push
PYTEST_ARGS ?= -n auto --dist worksteal

# Set, it would have each of the processes that the tests start compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo "$$p" && break; done)
endif
ifeq ($(strip $(PYTHON)),)
$(error No Python 3.11, 3.12 or 3.13 found; name one with PYTHON=/path/to/python)
endif
PY_VERSION := $(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

BIN := $(VENV)/bin
# Most of what is installed is never imported: Python compiles the rest when it is.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile
# The version is in the stamps' names, so another PYTHON makes the environment anew.
STAMP := $(VENV)/.made-$(PY_VERSION)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types bench lock changelog docs clean base dev kernels

help:
	@sed -n '4,12s/^# \{0,1\}//p' Makefile

base: $(STAMP)-base
dev: $(STAMP)-dev
kernels: $(STAMP)-kernels

# The example's pull request, as a maintainer would review it; it has bugs, so do not fail on them.
demo: base kernels
	@$(BIN)/python -m tests.example.build $(BUILD)/example > /dev/null
	@echo "--- specbot review: a pull request that packs a second field into a header word"
	@$(WIDE) $(BIN)/specbot review --repo $(BUILD)/example --base base --head head \
		--title "$$(cat $(EXAMPLE)/title.txt)" --body-file $(EXAMPLE)/body.md \
		--target-branch release/1.4 --fail-on never
	@echo "--- specbot kernels run: an op on Triton's interpreter"
	@$(WIDE) $(BIN)/specbot kernels run --device cpu --ops accept -o $(BUILD)/kernels
	@$(BIN)/python -m tests.example.device $(BUILD)/device
	@echo "--- specbot device test: a device op of a change, run on the CPU"
	@$(WIDE) $(BIN)/specbot device test --repo $(BUILD)/device --base base --head head --fail-on never \
		|| test $$? -eq 2  # no compiler on this machine: it said so
	@$(BIN)/python -m tests.logprobs.widths $(BUILD)/logprobs
	@echo "--- specbot logprobs diff: fewer columns, and wrong numbers"
	@$(WIDE) $(BIN)/specbot logprobs diff $(BUILD)/logprobs/base.jsonl $(BUILD)/logprobs/broken.jsonl || test $$? -eq 1

test: dev kernels
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .

types: dev
	$(BIN)/mypy

# What a review is measured beside; in an environment of its own, its packages do not go with ours.
bench: dev $(BUILD)/semgrep/.made
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.logprobs
	$(BIN)/python -m tests.bench.ci
	$(BIN)/python -m tests.bench.pages
	$(BIN)/python -m tests.bench.device
	$(BIN)/python -m tests.bench.service
	$(BIN)/python -m tests.bench.service_review

lock: $(STAMP)
	$(PIP) uv
	UV=$(BIN)/uv UPGRADE=$(UPGRADE) requirements/lock.sh

# The documentation site, in $(BUILD)/site/html; a warning, such as a dead link, is an error.
docs: dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m tests.site $(BUILD)/site

# The section of a release, of what is in .changes/; commit it, then tag the commit v$(VERSION).
changelog: dev
	$(BIN)/python -m towncrier build --yes --version $(VERSION)

clean:
	rm -rf $(VENV) $(BUILD) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMP):
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The locks name everything, so there is nothing to resolve; but for the NVIDIA packages that a CUDA build of torch pins.
$(STAMP)-base: $(STAMP) requirements/service.txt requirements/build.txt pyproject.toml .ci/build_hook.py
	@echo "installing specbot into $(VENV) ..."
	@$(PIP) --no-deps -r requirements/service.txt -r requirements/build.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(STAMP)-dev: $(STAMP)-base requirements/dev.txt
	@echo "installing the tools for tests into $(VENV) ..."
	@$(PIP) --no-deps -r requirements/dev.txt
	@touch $@

$(BUILD)/semgrep/.made: requirements/peers.txt
	$(PYTHON) -m venv --clear $(BUILD)/semgrep
	$(BUILD)/semgrep/bin/python -m pip --disable-pip-version-check --quiet install -r requirements/peers.txt
	@touch $@

$(STAMP)-kernels: $(STAMP)-base requirements/kernels.txt requirements/interpreter.txt
	@echo "installing torch and triton into $(VENV), for some minutes ..."
	@$(PIP) -r requirements/kernels.txt
	@$(PIP) --no-deps -r requirements/interpreter.txt
	@touch $@
