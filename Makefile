.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CLASSES := .venv/.classes
# Much of a test is waiting for Spark and for Kafka: four at a time keep two cores busy.
TEST_PROCESSES ?= 4

##@ First steps

.PHONY: demo
demo: setup ## Run the main job against a real Kafka broker for half a minute, and prove it
	$(BIN)/frazil dev demo

.PHONY: demo-kinesis
demo-kinesis: setup ## The same with a local stream, whose shards are split and merged meanwhile
	$(BIN)/frazil dev demo --source kinesis

.PHONY: test
test: setup $(CLASSES) ## Run the tests
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder -m "not long" $(PYTEST_ARGS)

.PHONY: setup
setup: $(READY) ## Make .venv with everything in it, .venv/bin/frazil included

$(READY): requirements.lock pyproject.toml
	@command -v java >/dev/null || { echo "frazil needs Java 17 or newer on PATH"; exit 1; }
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "frazil needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing Python packages (Spark is large: a minute or two) …"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(READY)

# Tests start some sixty JVMs, and each of them seconds sooner with an archive of their classes.
$(CLASSES): $(READY)
	@echo "Making an archive of Spark's classes (half a minute) …"
	$(BIN)/python -m frazil.tables.jvm.archiving
	touch $(CLASSES)

##@ Development

.PHONY: test-quick
test-quick: setup ## Run the tests that take seconds
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder -m "not slow and not long" $(PYTEST_ARGS)

.PHONY: test-long
test-long: setup $(CLASSES) ## Run all tests, those too that take half a minute each
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

.PHONY: test-transforms
test-transforms: setup ## Compare transforms with Kafka's own on EXAMPLES=1000 generated ones of each (docs/transforms.md)
	FRAZIL_TRANSFORM_EXAMPLES=$(or $(EXAMPLES),1000) $(BIN)/pytest -n $(TEST_PROCESSES) tests/records/smt/kafka $(PYTEST_ARGS)

.PHONY: check
check: setup ## Lint, check types, formatting and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: docs
docs: setup ## Write the generated pages anew
	$(BIN)/python -m frazil.config.reference docs/configuration.md

.PHONY: soak
soak: setup ## Kill a connector at random for MINUTES=10, judge its table (docs/how-to/soak.md), and fuzz as long
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))
	$(MAKE) fuzz MINUTES=$(or $(MINUTES),10)

.PHONY: fuzz
fuzz: setup ## Give every decoder bytes that nobody wrote, for about MINUTES=10 (docs/testing.md)
	FUZZ_TIMES=$$(( $(or $(MINUTES),10) * 15 )) $(BIN)/python -m pytest -q -n 2 --no-header --timeout 1800 tests/records/connect/test_fuzz.py

.PHONY: mutants
mutants: setup ## Take out what makes commits exactly-once, piece by piece: do tests notice? (docs/testing.md)
	$(BIN)/python -m tests.mutants

.PHONY: bench
bench: setup ## Measure throughput and latency (docs/performance.md)
	$(BIN)/python bench/throughput.py
	$(BIN)/python bench/latency.py

.PHONY: lock
lock: ## Resolve the dependencies anew into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --all-extras \
		--custom-compile-command "make lock" pyproject.toml -o requirements.lock

.PHONY: clean
clean: ## Remove what setup and runs left here
	rm -rf .venv frazil-data .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.PHONY: help
help: ## Show this
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
