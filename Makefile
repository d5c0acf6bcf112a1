# make lab       set up, fetch the default target, open JupyterLab on the first notebook
# make test      set up, install what the tests need, run them
# make help      the other commands

PYTHON ?= python3
VENV ?= .venv
LAB_ARGS ?=
PYTEST_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-input -c constraints.txt
QUIET := $(if $(CI),-q,)
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=300 --nbval-sanitize-with=tests/nbval.cfg
SETTINGS := pyproject.toml constraints.txt

export TOKENIZERS_PARALLELISM := false
export PYTHONUNBUFFERED := 1

.PHONY: help lab target test test-full test-gpu browser lint site pictures constraints clean
.DEFAULT_GOAL := help

help:
	@echo "make lab          open the first notebook in JupyterLab (LAB_ARGS=--no-browser on a server)"
	@echo "make test         everything that runs without a GPU, in some minutes"
	@echo "make test-full    the long matrix too"
	@echo "make test-gpu     what needs CUDA devices"
	@echo "make site         the static site, in site/"
	@echo "make pictures     draw assets/pictures anew from the recordings"
	@echo "make constraints  write constraints.txt from what is installed in $(VENV)"
	@echo "make clean        remove what these commands made here (the models' cache stays)"
	@echo "PYTHON=python3.12 chooses the Python (3.11 to 3.13) of a new $(VENV)"

lab: $(VENV)/.engine target
	@$(BIN)/amusd-viz lab $(LAB_ARGS)

target: $(VENV)/.engine
	@$(BIN)/python -m amusd_viz.models.default_target

test: $(VENV)/.dev target browser lint
	$(BIN)/python -m pytest $(NBVAL) --durations=15 $(PYTEST_ARGS) tests notebooks

test-full: $(VENV)/.dev target browser lint
	$(BIN)/python -m pytest $(NBVAL) -m "not cuda" --timeout=7200 --durations=30 $(PYTEST_ARGS) tests notebooks

test-gpu: $(VENV)/.dev target
	$(BIN)/python -m pytest -m cuda --durations=15 $(PYTEST_ARGS) tests

browser:
	@sh tests/browser/provide_chromium.sh

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

site: $(VENV)/.engine
	$(BIN)/python -m amusd_viz.site site

pictures: $(VENV)/.dev browser
	$(BIN)/python -m amusd_viz.export.gallery assets/pictures
	$(BIN)/python -m amusd_viz.lessons.pictures assets/pictures
	$(BIN)/python tests/browser/draw_widgets.py assets/pictures

constraints: $(VENV)/.dev
	@head -n 2 constraints.txt > constraints.new
	@$(BIN)/python -m pip freeze --exclude-editable | sed 's/+[a-z0-9.]*$$//' | LC_ALL=C sort -f >> constraints.new
	@mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) build dist site node_modules .pytest_cache .ruff_cache .hypothesis
	find amusd_viz tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "amusd-viz needs Python 3.11, 3.12 or 3.13, and '$(PYTHON)' is another or missing;" \
	       "name one: make lab PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

# torch goes first and alone, so that nothing else decides which build of it is taken.
$(VENV)/.engine: $(SETTINGS) | $(BIN)/python
	@echo "Installing into $(VENV); the first time takes some minutes"
	$(PIP) $(QUIET) torch
	$(PIP) $(QUIET) -e ".[engine,export]"
	@touch $@

$(VENV)/.dev: $(VENV)/.engine $(SETTINGS)
	$(PIP) $(QUIET) -e ".[engine,export,dev]"
	@touch $@
