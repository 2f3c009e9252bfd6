# GNU make 3.81, which macOS has, is enough.
PYTHON ?= python3
export PYTHON
# Workers find compiled modules, as those of an installed package are, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
PY := $(VENV)/bin/python
# Two processes, each with a Kafka and a Spark of its own; a file stays in one.
PARALLEL := -n 2 --dist loadfile
MINUTES ?= 30
INSTALLED := $(VENV)/.installed
ARCHIVE := $(VENV)/spark.jsa
DOCUMENTED := $(VENV)/.documented

.DEFAULT_GOAL := help
.NOTPARALLEL: # the checks of the machine come before the downloads
.PHONY: help demo test test-kerberos proofs chaos fuzz soak audit test-unit test-integration bench bench-formats docs docs-options dashboard pictures recording lock matrix mutants coverage lint format clean java bench-quick

help: ## Show these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' Makefile

demo: java $(INSTALLED) ## Run the README's example on a real Kafka, started for it
	$(PY) -m ddl_examples.demo

test: java lint $(INSTALLED) $(ARCHIVE) ## Lint, types and import rules, then all tests
	$(PY) -m pytest $(PARALLEL) -m "not long" tests/unit tests/integration

proofs: java $(INSTALLED) ## The tests that take minutes each
	$(PY) -m pytest -m long tests

test-kerberos: java $(INSTALLED) ## Build a Kafka client with Kerberos, once, and test it with a real KDC
	@tools/kerberos.sh build $(PY)
	PATH="$$PATH:/usr/sbin:/sbin" PYTHONPATH="$$(tools/kerberos.sh site $(PY))" $(PY) -m pytest \
	  tests/integration/kafka/config/test_kerberos.py tests/integration/sink/exactly_once/test_kerberos.py

fuzz: java $(INSTALLED) ## A million mutated inputs for all that reads what others wrote: hours. FUZZ='--only jaas --count 1000'
	$(PY) -m tests.fuzz $(FUZZ)

soak: java $(INSTALLED) ## A continuous query under load and restarted for MINUTES (30): what it uses must stay flat
	$(PY) -m tests.chaos.soak --minutes $(MINUTES)

audit: $(INSTALLED) ## Known weaknesses of the dependencies, as the Python Packaging Advisory Database has them
	$(PY) -m tools.audit

test-unit: java $(INSTALLED) ## The tests that need no broker, with few examples of each property; under a minute
	$(PY) -m pytest $(PARALLEL) -m "not long and not large" --hypothesis-profile=few tests/unit

test-integration: java $(INSTALLED) $(ARCHIVE) ## The tests on a real Kafka, started for them
	$(PY) -m pytest $(PARALLEL) -m "not long" tests/integration

chaos: java $(INSTALLED) ## All scenarios of docs/reliability.md, and a table of what readers saw: two to three hours
	$(PY) -m tests.chaos

bench: java $(INSTALLED) ## This project beside Spark's own Kafka source and sink and Flink SQL; some 35 minutes
	$(PY) -m benchmarks

bench-quick: java $(INSTALLED) ## A sample of the same, with a tenth of the records
	$(PY) -m benchmarks --quick

bench-formats: $(INSTALLED) ## Read and write buffers of records in each format, next to its peers
	$(PY) -m benchmarks.formats

docs: $(DOCUMENTED) ## Build the documentation site into build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

docs-options: $(INSTALLED) ## Write docs/options.md and docs/properties.md from the tables
	$(PY) -m tools.options_page
	$(PY) -m tools.properties_page

pictures: $(INSTALLED) ## Draw the pictures of the documentation
	$(PY) -m tools.pictures

recording: java $(INSTALLED) ## Record the demo as docs/demo.cast, for asciinema
	$(PY) -m tools.record docs/demo.cast $(PY) -m ddl_examples.demo

lock: $(INSTALLED) ## Write requirements.lock anew
	$(PY) -m pip install --disable-pip-version-check --quiet uv
	$(VENV)/bin/uv pip compile pyproject.toml --universal --python-version 3.10 --generate-hashes --no-annotate \
	  --no-header --quiet --upgrade --output-file requirements.lock
	@sed -i.old '1i\
	# Versions that were tested together, for all supported Pythons, with the checksums of their files: make lock\
	' requirements.lock && rm requirements.lock.old

matrix: java $(INSTALLED) ## A sample of the tests under each Python and PySpark that is supported
	$(PY) -m pip install --disable-pip-version-check --quiet uv
	$(PY) -m tools.matrix

mutants: java $(INSTALLED) ## Small changes to the code, sampled: which do the tests of the same folder notice? MUTANTS='--count 200'
	$(PY) -m pip install --disable-pip-version-check --quiet 'cosmic-ray>=8.4'
	$(PY) -m tools.mutants $(MUTANTS)

coverage: java $(INSTALLED) $(ARCHIVE) ## All tests, with the lines that they reach, those in Spark's workers included
	$(PY) -m pip install --disable-pip-version-check --quiet 'pytest-cov>=6'
	$(PY) -m pytest $(PARALLEL) -m "not long" --cov --cov-report=term-missing:skip-covered tests/unit tests/integration

dashboard: $(INSTALLED) ## Write docs/grafana.json, the dashboard over the metrics
	$(PY) -m tools.dashboard

lint: $(INSTALLED) ## Style, formatting, types, import rules
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

format: $(INSTALLED) ## Put the code into its format and fix what can be fixed
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

clean: ## Remove the environment and all caches of this folder
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@tools/preflight.sh java

# Made anew when the dependencies change, so that nothing of the old ones is left. An interrupted one has no stamp.
$(INSTALLED): pyproject.toml
	@tools/preflight.sh python
	$(PYTHON) -m venv --clear $(VENV)
	$(PY) -m pip install --disable-pip-version-check --editable '.[dev]'
	@touch $@

# mkdocs and what it needs, for those who build the site
$(DOCUMENTED): $(INSTALLED)
	$(PY) -m pip install --disable-pip-version-check --editable '.[docs]'
	@touch $@

# The classes of Spark, so that the applications of the tests start sooner; they start without it, too.
$(ARCHIVE): $(INSTALLED)
	-$(PY) -m tools.quick_java >/dev/null 2>&1
