# `make lab` to learn, `make test` to know that everything works.  `make help` lists the rest.
# Works with GNU make 3.81 (macOS) and newer.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup lab test lint check nbval notebooks lecture html stamp coverage lock gpu extras test-colab test-newest bench results prints

# Any Python can start the set-up, which looks for one that is new enough; PYTHON=... names one.
FINDER := $(if $(PYTHON),$(PYTHON),$(shell command -v python3 || command -v python || command -v py))
VENV_PYTHON := $(if $(filter Windows_NT,$(OS)),.venv/Scripts/python.exe,.venv/bin/python)
PYTEST := $(VENV_PYTHON) -m pytest
# Two files at a time, one torch thread each: two threads on two busy cores wait for each other.
PARALLEL := -n 2 --dist loadfile
# A number behind ≈ was measured, and is not compared; the file says what exactly.
NBVAL := --nbval --nbval-current-env --nbval-sanitize-with tests/nbval.cfg
CHOSEN := notebooks/$(or $(NB),*)_*.ipynb

export PYTHON
export PYTHONUTF8 := 1

help:
	@echo "make lab         open the course in JupyterLab (sets everything up the first time)"
	@echo "make test        lint, tests, and every notebook compared with its stored outputs"
	@echo "make notebooks   run the notebooks and store their outputs     one only: NB=03"
	@echo "make nbval       compare the notebooks with their outputs      one only: NB=03"
	@echo "make lecture     run the cells tagged lecture and write them to lecture/     which: NB=03"
	@echo "make html        run the notebooks and write pages/*.html, explorers live     one only: NB=03"
	@echo "make lint        ruff over code and notebooks; the workflows' YAML is checked in make test"
	@echo "make stamp       write address and version from pyproject.toml into the notebooks"
	@echo "make coverage    which lecture items the notebooks show, by notebook"
	@echo "make bench       measure the quiz, the Transformer, and the explorer in a browser"
	@echo "make extras      fetch real data and weights, checked by hash     one only: ONLY=minilm"
	@echo "make results     train what is too long for a reader, into data/results     one only: ONLY=recall"
	@echo "make prints      the fingerprints of wrong answers, after a change of exercises     one only: ONLY=X03-1"
	@echo "make lock        write requirements.lock anew from .venv as it is"
	@echo "make test-colab  the way through Colab, acted out on this machine with its packages"
	@echo "make test-newest all tests with the newest version of every package"
	@echo "make setup       make .venv, or bring it up to date: most commands begin with it"
	@echo "make check       make test without the lint"
	@echo "make gpu         fail unless torch sees a GPU: for the GPU runner"
	@echo "Options: PYTHON=python3.12 to build with; LAB_ARGS and PYTEST_ARGS are handed on."

setup:
	@test -n "$(FINDER)" || { echo "No Python was found: install Python 3.12, then run the same command again." >&2; exit 1; }
	@"$(FINDER)" tools/setup_env.py

lab: setup
	$(VENV_PYTHON) -m jupyterlab --ServerApp.root_dir="$(CURDIR)" $(LAB_ARGS) notebooks/00_start_here.ipynb

test: setup lint check

lint: setup
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .

check: setup
	$(PYTEST) $(PARALLEL) $(NBVAL) $(PYTEST_ARGS) tests notebooks

nbval: setup
	$(PYTEST) $(PARALLEL) $(NBVAL) $(PYTEST_ARGS) $(CHOSEN)

notebooks: setup
	$(VENV_PYTHON) -m tools.notebooks $(NB)

lecture: setup
	$(VENV_PYTHON) -m tools.lecture $(NB)

html: setup
	$(VENV_PYTHON) -m nbconvert --to html --execute --output-dir=pages \
		--HTMLExporter.preprocessors=utils.explorer.notebook_export.EmbedExplorers \
		$(CHOSEN)

stamp: setup
	$(VENV_PYTHON) -m tools.stamp

coverage: setup
	$(VENV_PYTHON) -m tools.coverage

bench: setup
	$(VENV_PYTHON) -m bench

extras: setup
	$(VENV_PYTHON) -m utils.extras $(ONLY)

results: setup
	$(VENV_PYTHON) -m tools.results $(ONLY)

prints: setup
	$(VENV_PYTHON) -m tools.prints $(ONLY)

# Without the set-up, which would bring back the versions of the old lock before they are read.
lock:
	@test -x $(VENV_PYTHON) || { echo "There is no .venv to read the versions from: run \`make test-newest\` for the newest ones, then the same command again." >&2; exit 1; }
	$(VENV_PYTHON) -m tools.lock

# For the GPU runner: without a GPU its run would prove nothing.
gpu: setup
	$(VENV_PYTHON) -c "import torch; assert torch.cuda.is_available(), 'torch sees no GPU here'"

test-colab: setup
	$(PYTEST) $(PYTEST_ARGS) tests/test_colab.py

# Not for daily use.  `make lock` right afterwards keeps the newest versions; any target that needs
# `setup` brings back those of the lock.
test-newest:
	@"$(FINDER)" tools/setup_env.py --newest
	$(PYTEST) $(PARALLEL) $(NBVAL) $(PYTEST_ARGS) tests notebooks
