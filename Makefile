# Works with GNU make 3.81, the version on macOS.
PYTHON ?= python3
export PYTHON
# Workers need compiled bytecode, as in an installed package, regardless of the environment.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
PY := $(VENV)/bin/python
# Three processes, each with its own Kafka and Spark, which are often idle. All tests of a file run in the same process;
# files in the order that conftest.py sets.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder
MINUTES ?= 30
# make test LOCKED=1 tests the locked versions of all packages, otherwise the newest ones.
LOCK := $(if $(LOCKED),requirements-dev.lock)
INSTALLED := $(VENV)/.installed$(if $(LOCKED),-locked)
ARCHIVE := $(VENV)/spark.jsa
DOCUMENTED := $(VENV)/.documented

.DEFAULT_GOAL := help
.NOTPARALLEL: # check the machine before downloading anything
.PHONY: function-differences help demo test brokers test-kerberos test-clouds proofs proofs-flink chaos fuzz model soak audit test-unit test-integration bench bench-formats docs docs-options dashboard pictures recording lock matrix test-oldest-spark release mutants coverage lint format clean java bench-quick

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' Makefile

demo: java $(INSTALLED) ## Start a real Kafka and run the README's example
	$(PY) -m ddl_examples.demo

test: java $(INSTALLED) ## Run the linters, then all tests
	@$(MAKE) --no-print-directory $(ARCHIVE) & $(MAKE) --no-print-directory lint; status=$$?; wait; exit $$status
	$(PY) -m pytest $(PARALLEL) -m "not long" --hypothesis-profile=few tests/unit tests/integration

proofs: java $(INSTALLED) ## Run the long tests, which take minutes or are further variants, and property tests with all examples
	$(PY) -m pytest -m "long or hypothesis" tests
	@$(MAKE) --no-print-directory proofs-flink

proofs-flink: java $(INSTALLED) ## Compare 10,000 pairs of a generated query and a history with Flink 2.3. QUERIES='--first 15'
	$(PY) -m tests.generated_queries.against_flink $(QUERIES)

brokers: java $(INSTALLED) ## Test all supported versions of Kafka, and emulations of other vendors' brokers (about an hour)
	$(PY) -m pytest tests/integration/kafka/test_broker_versions.py tests/integration/kafka/test_broker_profiles.py

test-kerberos: java $(INSTALLED) ## Build a librdkafka with Kerberos (once) and test it with a real KDC
	@tools/kerberos.sh build $(PY)
	PATH="$$PATH:/usr/sbin:/sbin" KAFKA_SQL_LIBRDKAFKA="$$(tools/kerberos.sh library $(PY))" \
	  PYTHONPATH="$$(tools/kerberos.sh site $(PY))" $(PY) -m pytest \
	  tests/integration/kafka/config/test_kerberos.py tests/integration/sink/exactly_once/test_kerberos.py

test-clouds: $(INSTALLED) ## Install the packages for tokens of AWS, Google and Azure, and test them with stubs of these clouds
	$(PY) -m pip install --disable-pip-version-check --quiet --editable '.[aws,gcp,azure]'
	$(PY) -m pytest tests/clouds

fuzz: java $(INSTALLED) ## Fuzz all parsers with a million inputs each (hours). FUZZ='--only jaas --count 1000'
	$(PY) -m tests.fuzz $(FUZZ)

model: $(INSTALLED) ## Test the direct writer with two million random histories on a simulated cluster. MODEL='--count 1000'
	nice -n 19 $(PY) -m tests.model $(MODEL)

soak: java $(INSTALLED) ## Load and restart a continuous query for MINUTES (30); its resource usage must not grow
	$(PY) -m tests.chaos.soak --minutes $(MINUTES)

audit: $(INSTALLED) ## Check the packages and jars of all lock files for known vulnerabilities
	$(PY) -m tools.audit

test-unit: java $(INSTALLED) ## Run the tests that need no broker, with few examples per property (under a minute)
	$(PY) -m pytest $(PARALLEL) -m "not long and not large" --hypothesis-profile=few tests/unit

test-integration: java $(INSTALLED) $(ARCHIVE) ## Start a real Kafka and run the integration tests
	$(PY) -m pytest $(PARALLEL) -m "not long" tests/integration

chaos: java $(INSTALLED) ## Run all scenarios of docs/reliability.md (three to four hours)
	$(PY) -m tests.chaos

bench: java $(INSTALLED) ## Compare with Spark's own Kafka source and sink and with Flink SQL (50 minutes)
	$(PY) -m benchmarks

bench-quick: java $(INSTALLED) ## Run a sample of the benchmark with a tenth of the records
	$(PY) -m benchmarks --quick

bench-formats: $(INSTALLED) ## Compare the formats with other libraries
	$(PY) -m benchmarks.formats

docs: $(DOCUMENTED) ## Build the documentation site in build/site, and check it; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	$(PY) -m tools.site_check build/site
	$(PY) -m tools.site_browser build/site

docs-options: $(INSTALLED) ## Generate the pages of options, properties, Spark internals, Flink programs and functions
	$(PY) -m tools.options_page
	$(PY) -m tools.properties_page
	$(PY) -m tools.spark_internals_page
	$(PY) -m tools.flink_programs_page
	$(PY) -m tools.function_differences_page

function-differences: java $(INSTALLED) ## Run the functions that Flink and Spark share in both, and list those whose results differ
	$(PY) -m tests.function_differences
	$(PY) -m tools.function_differences_page

pictures: $(INSTALLED) ## Generate the pictures of the documentation
	$(PY) -m tools.pictures

recording: java $(INSTALLED) ## Record the demo as docs/demo.cast for asciinema
	$(PY) -m tools.record docs/demo.cast $(PY) -m ddl_examples.demo

lock: $(INSTALLED) ## Regenerate requirements*.lock and tools/pip-audit.lock
	$(PY) -m pip install --disable-pip-version-check --quiet uv
	$(PY) -m tools.lock

matrix: java $(INSTALLED) ## Run the tests with each supported PySpark, and a sample with each Python (hours)
	$(PY) -m pip install --disable-pip-version-check --quiet uv
	$(PY) -m tools.matrix

test-oldest-spark: java $(INSTALLED) ## Run a sample of the tests with the oldest supported PySpark
	$(PY) -m pip install --disable-pip-version-check --quiet uv
	$(PY) -m tools.matrix --oldest

release: java $(INSTALLED) ## Build and check the wheel, the source distribution and the release notes in dist
	$(PY) -m pip install --disable-pip-version-check --quiet 'twine>=6'
	$(PY) -m tools.release $(RELEASE)

mutants: java $(INSTALLED) ## Mutate the code in random places and count what the tests notice. MUTANTS='--count 200'
	$(PY) -m pip install --disable-pip-version-check --quiet 'cosmic-ray>=8.4'
	$(PY) -m tools.mutants $(MUTANTS)

coverage: java $(INSTALLED) $(ARCHIVE) ## Run all tests and report line coverage, including Spark's workers
	$(PY) -m pip install --disable-pip-version-check --quiet 'pytest-cov>=6'
	$(PY) -m pytest $(PARALLEL) -m "not long" --cov --cov-report=term-missing:skip-covered tests/unit tests/integration

dashboard: $(INSTALLED) ## Generate docs/grafana.json, the metrics dashboard
	$(PY) -m tools.dashboard

lint: $(INSTALLED) ## Check style, formatting, types and import rules
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

format: $(INSTALLED) ## Format the code and apply automatic fixes
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

clean: ## Remove the environment and all caches in this folder
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Also compiles the Java sources if they have changed.
java:
	@tools/preflight.sh java python
	@$(PYTHON) -m tools.build_jar

# Recreated when the dependencies change, so that no old ones remain. An interrupted installation leaves no stamp.
$(INSTALLED): pyproject.toml $(LOCK)
	@tools/preflight.sh python
	$(PYTHON) -m venv --clear $(VENV)
	$(if $(LOCK),tools/install.sh $(PY) --require-hashes --requirement $(LOCK))
	tools/install.sh $(PY) $(if $(LOCK),--no-deps) --editable '.[dev]'
	@touch $@

# mkdocs and its dependencies
$(DOCUMENTED): $(INSTALLED)
	$(PY) -m pip install --disable-pip-version-check --editable '.[docs]'
	@touch $@

# Class data archives of Kafka and Spark, so that they start faster in tests. They are optional.
$(ARCHIVE): $(INSTALLED)
	-$(PY) -m tools.quick_java >/dev/null 2>&1
