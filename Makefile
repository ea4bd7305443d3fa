# make run: the tour. make test: the tests. Both set themselves up in .venv; nothing else on the machine is touched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
BIN := .venv/bin

# Real data, where a developer has it beside the checkout; a value of your own wins.
ifneq ($(wildcard ../shared/data),)
export EXEMPLAR_DATA ?= $(abspath ../shared/data)
endif

.PHONY: run install test test-all check verify mutants speed speed-page house results docs trial constraints clean

run: .venv/.installed  ## the tour: every room on built-in data, as one page
	$(BIN)/exemplar tour --out tour

install: .venv/.installed  ## the package, in .venv

test: .venv/.installed-dev  ## what CI runs
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=25

test-all: .venv/.installed-all  ## with the long kill, fuzz, load and Ray tests, the wheel, and every result under five minutes
	$(BIN)/python -m pytest -n 2 --dist loadfile -m ""
	$(BIN)/exemplar results verify --every

verify: .venv/.installed  ## results of every room computed again; fails where a score moved
	$(BIN)/exemplar results verify --seconds 180

check: .venv/.installed-dev  ## style and types
	$(BIN)/ruff check src tests speed mutants release docs/*.py
	$(BIN)/ruff format --check src tests speed mutants release docs/*.py
	$(BIN)/mypy

speed: .venv/.installed-dev  ## how fast, next to a peer in the same run
	for script in $(filter-out speed/record.py speed/page.py,$(wildcard speed/*.py)); do echo "== $$script"; $(BIN)/python "$$script"; done
	$(BIN)/python speed/page.py

speed-page: .venv/.installed  ## docs/speed.md from what the scripts measured last (speed/results/)
	$(BIN)/python speed/page.py

results: .venv/.installed  ## docs/results.md and docs/leaderboards from the committed results; says what no longer matches
	$(BIN)/exemplar results leaderboards
	$(BIN)/exemplar results page

docs: .venv/.installed-dev  ## the site, in build/site: offline, and no warning
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open build/site/index.html"

house: .venv/.installed  ## docs/house.svg: who imports whom, as the source says
	$(BIN)/python docs/import_graph.py

trial: .venv/.made  ## what a newcomer gets and waits for: the wheel in a fresh environment, its size, commands cold and warm
	$(BIN)/python release/trial.py

constraints: .venv/.installed-dev  ## constraints.txt: the versions of everything here, for exact reproduction
	$(BIN)/python release/constraints.py

SAMPLE ?= 1
mutants: .venv/.installed-dev  ## break MODULE on purpose, and see whether its tests notice (mutants/modules.toml has them)
	$(BIN)/python mutants/run.py $(MODULE) --sample $(SAMPLE) $(OPTIONS)

clean:
	rm -rf .venv .mutants build .pytest_cache .ruff_cache .mypy_cache

.venv/.made:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Exemplar needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml
	$(BIN)/python -m pip install -qq --editable .
	touch $@

.venv/.installed-dev: .venv/.made pyproject.toml
	$(BIN)/python -m pip install -qq --editable '.[dev]'
	touch $@ .venv/.installed

.venv/.installed-all: .venv/.made pyproject.toml
	$(BIN)/python -m pip install -qq --editable '.[dev,cluster]'
	touch $@ .venv/.installed-dev .venv/.installed
