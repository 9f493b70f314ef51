# `make` lists the targets. Whatever needs Python makes .venv ready first.
BIN := .venv/bin
IMAGE := localhost/paddle-operator:dev
IMAGE_PACKAGES := python3,python3-venv,fuse3,ca-certificates
# The image's Python is its base's, so there are wheels for each one it may be.
IMAGE_PYTHONS := 3.11 3.12 3.13
MANIFESTS := deploy/v1/crd.yaml deploy/v1beta1/crd.yaml deploy/v1/operator.yaml deploy/extensions/controllers.yaml \
	deploy/chart/templates/operator.yaml deploy/chart/templates/extensions.yaml
# On every core, a file in one process. Tests wait a third of their time: one more than there are processors keeps
# these busy.
PARALLEL := --numprocesses $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder
# Those that share a cluster go one after the other, and wait most of their time: so there are three clusters, and a
# file stays on one.
# Who chooses a test gets one, and the names of the tests on the way.
ON_CLUSTERS := $(if $(ARGS),,--numprocesses 3 --dist loadfile --no-loadscope-reorder)
# It ends with 3 where Kubernetes cannot be had, and has then said why.
PREPARE = sh -c '$(BIN)/localkube prepare || [ $$? -eq 3 ]'
# Whole runs have all that is needed, made while the tests run that need no cluster; who chooses a test has what it asks
# for. What is begun here ends with the shell that began it.
PROVISIONS := env PYTHONPATH=tests $(BIN)/python -m support.provisions
PREPARE_TESTS = $(if $(ARGS),$(PREPARE),$(PROVISIONS) packages)
PROVIDE = $(if $(ARGS),true,setpriv --pdeathsig TERM -- $(PROVISIONS))
# Said of whole runs only: who chooses a test does not ask for it.
SLOWEST := $(if $(ARGS),,--durations=25)

# The tests start Python many hundred times, which must not compile everything anew each time.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help quickstart quickstart-cluster test test-unit test-engine test-cluster check check-style check-types \
	check-imports check-generated format lock manifests wheels juicefs redis image clean ready prepared

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' Makefile

quickstart: ready juicefs ## See it work, without a cluster: images cached, and PaddlePaddle trained on them
	tools/prerequisites
	tools/paddle dist/paddle
	$(BIN)/python tools/trial dist/quickstart
	$(BIN)/paddle-operator run --state-dir dist/quickstart/state --juicefs dist/juicefs/juicefs --venv dist/paddle \
		dist/quickstart/*.yaml

quickstart-cluster: ready redis ## Install on a local Kubernetes, and go through the documents' quick start of SampleSets
	$(BIN)/localkube prepare
	$(MAKE) --no-print-directory image
	PYTHONPATH=tools $(BIN)/python -m quickstart

# A failure in the first part hides nothing of the second; a part of which nothing is chosen (5) leaves it to the other.
test: ready redis juicefs ## Run every test; those that need Kubernetes skip, and say why, where it cannot be had
	$(PREPARE_TESTS)
	$(PROVIDE) & provided=$$!; \
	$(BIN)/pytest -m 'not cluster' $(PARALLEL) $(SLOWEST) $(ARGS); first=$$?; \
	wait $$provided || exit; \
	$(BIN)/pytest -m cluster $(ON_CLUSTERS) $(SLOWEST) $(ARGS); second=$$?; \
	case $$first-$$second in 5-*) exit $$second ;; *-5 | *-0) exit $$first ;; *) exit $$second ;; esac

test-unit: ready ## Run the tests that need nothing but Python: one to two minutes
	$(BIN)/pytest -m 'not cluster and not engine' $(PARALLEL) $(ARGS)

test-engine: ready redis juicefs ## Run the tests that mount a real JuiceFS
	$(BIN)/pytest -m engine $(PARALLEL) $(ARGS)

test-cluster: prepared ## Run the tests that need the real Kubernetes
	$(BIN)/pytest -m cluster $(ON_CLUSTERS) $(ARGS)

check: check-style check-types check-imports check-generated ## Lint, types, import directions, generated files

check-style: ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-types: ready
	$(BIN)/mypy

check-imports: ready
	$(BIN)/lint-imports --no-logo

check-generated: ready
	$(BIN)/python tools/generate --check

format: ready ## Format the code and repair what the linter can
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

lock: ready ## Write the locks (ours, and those of the benchmark's kopf and the tests' Paddle), keeping versions that still fit
	$(BIN)/python tools/generate requirements.lock bench/kopf.lock tests/cluster/paddlebox/requirements.lock

manifests: ready ## Write what is in deploy/ from the code
	$(BIN)/python tools/generate $(MANIFESTS)

wheels: ready ## Build the project's wheel and fetch its dependencies', checked against the lock, into dist/wheels
	tools/wheels dist/wheels $(IMAGE_PYTHONS)

juicefs: ready ## Fetch the program of JuiceFS into dist/juicefs, or take the one that JUICEFS names
	tools/juicefs dist/juicefs/juicefs

image: wheels juicefs ## Build the container image
	$(BIN)/localkube build-image -t $(IMAGE) --base-packages $(IMAGE_PACKAGES) .

clean: ## Remove .venv and the caches of this checkout, and what the quick start left in memory; clusters stay
	-[ ! -x $(BIN)/paddle-operator ] || $(BIN)/paddle-operator down --state-dir dist/quickstart/state
	rm -rf .venv dist test-artifacts .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find src tests tools -type d -name __pycache__ -prune -exec rm -rf {} +

ready:
	@tools/bootstrap

prepared: ready redis juicefs
	$(PROVISIONS) packages
	$(PREPARE)

# Tests that mount keep JuiceFS' metadata in it; where it cannot be installed they skip, and say so.
redis:
	@tools/redis
