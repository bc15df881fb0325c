# Every target does its own set-up in a local .venv: a fresh clone needs Python 3.11 or newer, Node.js 20 or newer with
# npm, and for the browser's tests Chromium. Stamps under .venv/.stamps remember what is set up, so a second run starts at
# once. `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
STATIC := src/toolwitness/server/static
BUNDLE := $(STATIC)/toolwitness.js
FRONT_ENDS := examples/front_ends/web/dist/ai-sdk.js

WEB_SOURCES := $(shell find web -mindepth 1 \( -name node_modules -o -name '.*' \) -prune -o -type f -print 2>/dev/null)
PIP         := $(BIN)/python -m pip --disable-pip-version-check install -qq

say = @printf '\033[2m── %s\033[0m\n' "$(1)"

# ── what a person types ──────────────────────────────────────────────────────────────────────────────────────────────

.PHONY: help
help: ## List these targets
	@printf 'toolwitness: what your users see is what happened.\n\n'
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nEach sets up what it needs in %s first.\n' '$(VENV)'

.PHONY: demo
demo: $(STAMPS)/run $(BUNDLE) ## Open a live page where an agent's tool calls run, wait for you, fail and finish (ARGS=… is passed on)
	$(call say,starting the demo; stop it with Ctrl-C)
	@exec $(BIN)/toolwitness demo $(ARGS)

.PHONY: front-ends
front-ends: $(STAMPS)/dev $(BUNDLE) $(FRONT_ENDS) ## Open two chat pages, on the AI SDK and on AG-UI, with cards beside their own parts
	$(call say,starting the pages; stop them with Ctrl-C)
	@cd examples && ../$(BIN)/python -m front_ends

.PHONY: prove
prove: $(STAMPS)/dev ## Run one script under each framework alone and with toolwitness
	@$(BIN)/toolwitness prove --all

.PHONY: test
test: $(STAMPS)/dev $(BUNDLE) $(FRONT_ENDS) tests/node/node_modules/.stamp chromium ## Run every test: the elements' own, then Python's, the browser's included
	$(call say,the elements’ own tests)
	@cd web && npm test --silent
	$(call say,Python’s tests (ARGS=… is passed on to pytest))
	@$(BIN)/python -m pytest --nothing-left-out $(ARGS)

.PHONY: coverage
coverage: $(STAMPS)/dev $(BUNDLE) $(FRONT_ENDS) tests/node/node_modules/.stamp chromium ## Run Python's tests and ask that the rooms that decide are covered whole, branches included
	@$(BIN)/python -m pytest -q --cov --cov-report= $(ARGS)
	@$(BIN)/coverage report --fail-under=100 --include='src/toolwitness/core/*,src/toolwitness/contract/*,src/toolwitness/policy/*,src/toolwitness/presentation/*'

.PHONY: check
check: $(STAMPS)/dev web/node_modules/.stamp examples/front_ends/web/node_modules/.stamp ## Lint, formatting, the stairs between rooms, and types on both sides
	$(call say,ruff: lint and formatting)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	$(call say,import-linter: imports go down only)
	@$(BIN)/lint-imports --no-cache
	$(call say,pyright: the package)
	@$(BIN)/pyright --pythonpath $(BIN)/python
	$(call say,mypy: what a user writes)
	@$(BIN)/mypy
	$(call say,TypeScript)
	@cd web && npm run check --silent
	@cd examples/front_ends/web && npm run check --silent

.PHONY: format
format: $(STAMPS)/dev ## Let ruff format the tree and mend what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: bench
bench: $(STAMPS)/dev ## Measure against raw SQLite, LangGraph's checkpointer and a bare writer, side by side
	@$(BIN)/python -m bench $(ARGS)

.PHONY: captures
captures: $(STAMPS)/dev ## Record every scenario anew with the installed packages, judge old and new, and say what changed
	@$(BIN)/python -m scripts.captures

.PHONY: web
web: $(BUNDLE) ## Build the custom elements into the package

.PHONY: docs
docs: $(STAMPS)/dev ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "site/index.html"

.PHONY: reference
reference: $(STAMPS)/dev ## Write the generated parts of the documentation anew
	@$(BIN)/python scripts/reference.py

.PHONY: screenshots
screenshots: $(STAMPS)/dev $(BUNDLE) $(FRONT_ENDS) chromium ## Take the documentation's pictures from the real page, in light and dark
	@PYTHONPATH=examples $(BIN)/python -m scripts.screenshots $(ARGS)

.PHONY: wheel
wheel: $(STAMPS)/dev ## Build the wheel and the sdist into dist/
	@$(BIN)/python -m build

.PHONY: lock
lock: $(STAMPS)/dev ## Write the requirements locks anew from pyproject.toml
	@scripts/lock.sh $(BIN)/python

.PHONY: clean
clean: ## Remove the environment and everything built
	rm -rf $(VENV) $(STATIC) web/node_modules tests/node/node_modules examples/front_ends/web/node_modules examples/front_ends/web/dist build dist site htmlcov .coverage .coverage.* \
	  .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis

# ── set-up ───────────────────────────────────────────────────────────────────────────────────────────────────────────

$(STAMPS)/python:
	@python="$$(scripts/find_python.sh)"; \
	printf '\033[2m── setting up %s with %s\033[0m\n' '$(VENV)' "$$("$$python" --version)"; \
	[ -x $(BIN)/python ] || "$$python" -m venv $(VENV) || { \
	  echo "Could not make a virtual environment. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

# What a user installs. `make demo` needs no more than this.
$(STAMPS)/run: requirements/run.txt pyproject.toml | $(STAMPS)/python
	$(call say,installing toolwitness and what it needs)
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --no-deps --editable .
	@touch $@

# What a developer needs besides: tests, linters, docs, the frameworks that adapters are tested against.
$(STAMPS)/dev: requirements/dev.txt pyproject.toml | $(STAMPS)/python
	$(call say,installing toolwitness with its tests and tools (about a minute the first time))
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(PIP) --no-deps --editable .
	@touch $@ $(STAMPS)/run

web/node_modules/.stamp: web/package.json $(wildcard web/package-lock.json)
	@command -v npm >/dev/null || { \
	  echo "The page's elements are built with Node.js 20 or newer and npm; neither was found. On Debian: apt-get install nodejs npm" >&2; \
	  exit 1; }
	$(call say,installing what builds the elements)
	@cd web && if [ -f package-lock.json ]; then npm ci --silent --no-audit --no-fund; else npm install --silent --no-audit --no-fund; fi
	@touch $@

# The front-end packages whose wires are read: tests compare our tables with their vocabulary. Only asked, never shipped.
tests/node/node_modules/.stamp: tests/node/package.json tests/node/package-lock.json
	$(call say,installing the front-end packages that the tests ask)
	@cd tests/node && npm ci --silent --no-audit --no-fund
	@touch $@

examples/front_ends/web/node_modules/.stamp: examples/front_ends/web/package.json examples/front_ends/web/package-lock.json
	$(call say,installing the front ends of the example)
	@cd examples/front_ends/web && npm ci --silent --no-audit --no-fund
	@touch $@

$(FRONT_ENDS): examples/front_ends/web/node_modules/.stamp $(wildcard examples/front_ends/web/src/*) examples/front_ends/web/build.mjs
	$(call say,building the pages of the example)
	@cd examples/front_ends/web && npm run build --silent
	@touch $@

$(BUNDLE): web/node_modules/.stamp $(WEB_SOURCES)
	$(call say,building the elements)
	@cd web && npm run build --silent
	@touch $@

.PHONY: chromium
chromium:
	@for name in "$${TOOLWITNESS_CHROMIUM:-}" chromium chromium-browser google-chrome; do \
	  [ -n "$$name" ] && command -v "$$name" >/dev/null && exit 0; \
	done; \
	echo "The browser's tests run in a real Chromium, and none was found. On Debian: apt-get install chromium fonts-noto-core" >&2; \
	echo "If it is elsewhere: TOOLWITNESS_CHROMIUM=/path/to/chromium make $(MAKECMDGOALS)" >&2; \
	exit 1
