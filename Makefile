# Two commands for people: `make run` and `make test`. The rest are their parts.
VENV   ?= .venv
PYTHON ?= python3
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip install -qq --disable-pip-version-check

.PHONY: run test lint types unit system clean
run: $(VENV)/.run
	@exec $(PY) manage.py run

test: lint types unit

lint: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.dev
	$(PY) -m mypy

unit: $(VENV)/.dev system
	$(PY) -m pytest

# Chromium for the browser tests and a Redis server beside the embedded one, where Debian's packages can be installed.
system:
	@tests/system_packages.sh

$(VENV)/.run: requirements.txt
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing requirements ..."
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements.txt requirements-dev.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements-dev.txt
	touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
