# Every target sets up what it needs; where nothing changed that takes a fraction of a second.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:
.NOTPARALLEL: # the look at the machine comes before anything else

VENV := .venv
BIN := $(VENV)/bin
ENGINE := .alluvium
DAYS ?= 7
HOURS ?= 6
ROUNDS ?= 3
# As many processes as cores and memory allow (tests/conftest.py); a test by its name runs alone. Files
# in the order of testpaths, so that the long ones come first and the short ones fill what is left.
PYTEST ?= $(BIN)/pytest $(if $(findstring ::,$(ARGS)),,-n auto --dist loadfile --no-loadscope-reorder)
export DBT_PROFILES_DIR := $(CURDIR)/profiles
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: machine $(VENV)/.run jars ## land DAYS (7) more days of flights, HOURS (6) of edits and the first runways, then dbt build
	$(BIN)/alluvium-replay flights --days $(DAYS) --landing $(ENGINE)/landing
	$(BIN)/alluvium-replay edits --hours $(HOURS) --landing $(ENGINE)/landing
	$(BIN)/alluvium-replay runways --from 2025-01-30 --landing $(ENGINE)/landing
	$(BIN)/dbt build; built=$$?; $(BIN)/alluvium report && exit $$built

.PHONY: run-runways
run-runways: machine $(VENV)/.run jars ## land the days of runways one by one; a bad publish is held back
	$(BIN)/python scripts/replay-runways $(ENGINE)/landing
	$(BIN)/alluvium report

.PHONY: run-kafka
run-kafka: machine $(VENV)/.dev jars ## DAYS (7) of flights through a Kafka broker of this machine, built in two parts
	$(BIN)/python scripts/run-kafka $(DAYS)

.PHONY: run-cluster
run-cluster: machine $(VENV)/.dev jars moto ## the same on a Spark cluster of this machine, with PostgreSQL and S3; `scripts/cluster stop` ends it
	$(BIN)/python scripts/cluster start
	$(BIN)/alluvium-replay flights --days $(DAYS) --landing $(ENGINE)/cluster/landing
	$(BIN)/alluvium-replay edits --hours $(HOURS) --landing $(ENGINE)/cluster/landing
	$(BIN)/alluvium-replay runways --from 2025-01-30 --landing $(ENGINE)/cluster/landing
	$(BIN)/python scripts/cluster land $(ENGINE)/cluster/landing
	@mkdir -p $(ENGINE)/cluster/home && ln -sfn ../../jars $(ENGINE)/cluster/home/jars
	eval "$$($(BIN)/python scripts/cluster env)" && $(BIN)/dbt build

.PHONY: test
test: machine $(VENV)/.dev jars databricks moto ## the tests that guard behaviour: unit and functional; ARGS='tests/functional/merge -k tombstone'
	$(PYTEST) -m "not slow" $(ARGS)

.PHONY: test-unit
test-unit: machine $(VENV)/.dev ## the tests that start no Spark: three minutes of a core; ARGS='tests/unit/ranges -k cover'
	$(PYTEST) -m "not slow" $(if $(filter tests/%,$(ARGS)),,tests/unit) $(ARGS)

.PHONY: test-full
test-full: machine $(VENV)/.dev jars databricks moto ## all tests, the long ones too; properties on new examples; SHARD=2/4 is a quarter of the long ones
	TEST_JVM=plain $(PYTEST) --hypothesis-profile=search $(if $(SHARD),--shard $(SHARD)) $(ARGS)

.PHONY: test-cluster
test-cluster: machine $(VENV)/.dev jars moto ## what a cluster must do, on master, workers, PostgreSQL and S3 of this machine; a part of test-full
	$(PYTEST) tests/functional/cluster $(ARGS)

.PHONY: test-cost
test-cost: machine $(VENV)/.dev jars databricks moto ## make test, and its CPU seconds by file into tests/cost.json; ARGS=tests/unit/ranges renews a part
	$(PYTEST) -m "not slow" --write-costs $(ARGS)

.PHONY: lint
lint: machine-python $(VENV)/.dev ## ruff, mypy, import-linter, sqlfluff, yamllint, the prose of the pages, and long functions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/sqlfluff lint --disable-progress-bar $(wildcard models macros tests/data_tests)
	$(BIN)/yamllint --strict .
	$(BIN)/python scripts/check-prose
	$(BIN)/python scripts/check-functions

.PHONY: prose
prose: machine-python $(VENV)/.dev ## the prose and the links of the pages alone; ARGS=--report for figures
	@$(BIN)/python scripts/check-prose $(ARGS)

.PHONY: reference
reference: machine-python $(VENV)/.dev ## docs/reference, from the schema of the settings and the YAML of the macros
	$(BIN)/python scripts/make-reference

.PHONY: format
format: machine-python $(VENV)/.dev ## format Python and SQL
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix --disable-progress-bar --quiet $(wildcard models tests/data_tests)

.PHONY: docs
docs: machine $(VENV)/.run jars ## dbt's documentation site, in target/
	$(BIN)/dbt docs generate

.PHONY: setup
setup: machine $(VENV)/.dev jars databricks moto ## all that the other targets need, without running anything

.PHONY: bench-run
bench-run: machine $(VENV)/.bench ## time and memory of the reference project, from a clone
	$(BIN)/python benchmarks/reference_project.py

.PHONY: bench-reuse
bench-reuse: machine $(VENV)/.bench ## CPU seconds of a build with nothing new: cold and warm, with and without reuse
	$(BIN)/python benchmarks/reuse.py $(ARGS)

.PHONY: bench-requests
bench-requests: machine $(VENV)/.bench jars moto ## what runs ask of S3, counted at a server of this machine; ARGS="--before <commit or folder>"
	PYTHONPATH=tests $(BIN)/python benchmarks/s3_requests.py $(ARGS)

.PHONY: bench-all-day
bench-all-day: machine $(VENV)/.bench jars ## heap of a warm engine over 30 builds, and how late 500 events a second are; ARGS="--case steady --minutes 2"
	$(BIN)/python benchmarks/all_day.py $(ARGS)

.PHONY: chaos-merge
chaos-merge: machine $(VENV)/.dev jars ## ROUNDS (3) of merges killed and disturbed, kept by seed
	$(BIN)/python benchmarks/chaos_merge.py --rounds $(ROUNDS)

.PHONY: chaos-compaction
chaos-compaction: machine $(VENV)/.dev jars ## ROUNDS (3) of compactions killed and disturbed, kept by seed
	$(BIN)/python benchmarks/chaos_compaction.py --rounds $(ROUNDS)

.PHONY: chaos-feeds
chaos-feeds: machine $(VENV)/.dev jars ## ROUNDS (3) of builds of two feeds, killed and disturbed, kept by seed
	PYTHONPATH=tests $(BIN)/python benchmarks/chaos_feeds.py --rounds $(ROUNDS) $(ARGS)

.PHONY: chaos-cluster
chaos-cluster: machine $(VENV)/.dev jars moto ## ROUNDS (3) of builds on a cluster whose machines fail, kept by seed; needs PostgreSQL
	PYTHONPATH=tests $(BIN)/python benchmarks/chaos_cluster.py --rounds $(ROUNDS) $(ARGS)

.PHONY: record-events
record-events: machine $(VENV)/.dev jars ## change events of tests/data, from a PostgreSQL of this machine and Debezium's engine
	PYTHONPATH=tests $(BIN)/python tests/data/record_events.py

.PHONY: bench-compaction-memory
bench-compaction-memory: machine $(VENV)/.bench jars ## peak memory of a compaction, by size of the bucket
	$(BIN)/python benchmarks/compaction_memory.py

.PHONY: bench-ranges
bench-ranges: machine $(VENV)/.bench jars ## files that each range method leaves to read, seconds of planning
	$(BIN)/python benchmarks/range_planning.py $(ARGS)

.PHONY: bench-sorted-runs
bench-sorted-runs: machine $(VENV)/.bench jars ## how a task merges sorted files fastest: Spark's sorts, and Arrow
	$(BIN)/python benchmarks/merge_sorted_runs.py

.PHONY: bench-merge-cost
bench-merge-cost: machine $(VENV)/.bench jars ## one merge of 20,000 rows: MERGE beside the one-commit merge
	$(BIN)/python benchmarks/merge_cost.py

.PHONY: bench-versions
bench-versions: machine $(VENV)/.bench jars ## merge, hook and build beside an earlier version; ARGS="--before <commit or folder>"
	$(BIN)/python benchmarks/versions.py $(ARGS)

.PHONY: bench-change-events
bench-change-events: machine $(VENV)/.bench jars ## CPU seconds of typed change events beside a plain from_json
	PYTHONPATH=tests $(BIN)/python benchmarks/change_events.py $(ARGS)

.PHONY: bench-landing
bench-landing: machine $(VENV)/.bench jars ## a streaming table over 100,000 landed files; ARGS="--before <commit or folder>"
	$(BIN)/python benchmarks/landing.py $(ARGS)

.PHONY: bench-bulk
bench-bulk: machine $(VENV)/.bench jars ## CPU seconds of a backlog in a landing folder, beside a plain append; ARGS="--case JSON"
	$(BIN)/python benchmarks/bulk.py $(ARGS)

.PHONY: bench-kafka
bench-kafka: machine $(VENV)/.bench jars ## CPU seconds of a backlog of Kafka, beside a plain append, and the memory of 5 million events; ARGS="--case append"
	PYTHONPATH=tests $(BIN)/python benchmarks/kafka.py $(ARGS)

.PHONY: bench-snapshots
bench-snapshots: machine $(VENV)/.bench jars ## tables about snapshots over 10,000 versions, and segments over 100,000 files
	PYTHONPATH=tests $(BIN)/python benchmarks/snapshots.py $(ARGS)

.PHONY: bench-status
bench-status: machine $(VENV)/.bench ## seconds and memory of alluvium status and report: the reference project as it lies here, and 200 models
	PYTHONPATH=tests $(BIN)/python benchmarks/status.py $(ARGS)

.PHONY: bench-pruning
bench-pruning: machine $(VENV)/.bench jars ## files that queries read, with bounds, Z-order, compaction and automata; ARGS="--case wikiticker"
	$(BIN)/python benchmarks/pruning.py $(ARGS)

.PHONY: bench-publish
bench-publish: machine $(VENV)/.bench jars ## a publish of one changed file beside an empty commit, by the number of files
	PYTHONPATH=tests $(BIN)/python benchmarks/publish.py $(ARGS)

.PHONY: bench-refs
bench-refs: machine $(VENV)/.bench jars ## tags, clones, checkouts and restores beside Delta's own commands
	PYTHONPATH=tests $(BIN)/python benchmarks/refs.py $(ARGS)

.PHONY: bench-merge
bench-merge: machine $(VENV)/.bench .venv-iceberg/.done jars ## merges beside dbt-spark, delta-rs and Iceberg; ARGS=--full for 100 million rows
	$(BIN)/python benchmarks/merge.py $(ARGS)

.PHONY: bench-compaction
bench-compaction: machine $(VENV)/.bench jars ## compaction beside OPTIMIZE, ZORDER, auto compaction and clustering; ARGS=--small for a look, --full for 20 million rows
	$(BIN)/python benchmarks/compaction.py $(ARGS)

.PHONY: constraints
constraints: machine-python ## renew constraints.txt: the newest versions that pyproject.toml allows
	@rm -rf $(VENV)-new
	python=$$(scripts/check-machine python) && "$$python" -m venv $(VENV)-new
	$(VENV)-new/bin/python -m pip install --quiet -e '.[demo,dev,thrift,bench]'
	@(sed '/^[^#]/d' constraints.txt; $(VENV)-new/bin/python -m pip list --format freeze \
		| grep -v -E '^(dbt-alluvium|pip|setuptools|wheel)==') > $(VENV)-new/constraints.txt
	@mv $(VENV)-new/constraints.txt constraints.txt && rm -rf $(VENV)-new

.PHONY: databricks
databricks: machine-python .venv-databricks/.done ## dbt-databricks, in .venv-databricks

.PHONY: moto
moto: machine .venv-moto/.done $(VENV)/.run ## an S3 server for tests: moto, in .venv-moto, and the jars of s3a://
	@$(BIN)/python -m alluvium.engine.jars $(ENGINE) --s3a

.PHONY: jars
jars: $(VENV)/.run
	@$(BIN)/python -m alluvium.engine.jars $(ENGINE)

.PHONY: machine machine-python
machine:
	@scripts/check-machine >/dev/null
machine-python:
	@scripts/check-machine python >/dev/null

$(VENV)/.run: pyproject.toml constraints.txt
	@test -x $(BIN)/python || { python=$$(scripts/check-machine python) && "$$python" -m venv $(VENV); }
	@echo "installing packages into $(VENV) (once; Spark alone is 430 MB)"
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing the tools of development into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo,dev,thrift]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo,dev,thrift,bench]'
	@touch $@

# Environments of their own: dbt-databricks asks for an older dbt-spark than ours (<1.11), Iceberg
# has no runtime for our Spark, and moto brings the AWS SDK of Python.
.venv-databricks/.done: PACKAGE := dbt-databricks==1.11.8
.venv-iceberg/.done: PACKAGE := pyspark==4.1.4
.venv-moto/.done: PACKAGE := moto[s3]==5.2.5 flask==3.1.3 flask-cors==6.0.5
.venv-databricks/.done .venv-iceberg/.done .venv-moto/.done: Makefile
	@test -x $(@D)/bin/python || { python=$$(scripts/check-machine python) && "$$python" -m venv $(@D); }
	@echo "installing $(PACKAGE) into $(@D) (once)"
	@$(@D)/bin/python -m pip install --quiet $(patsubst %,'%',$(PACKAGE))
	@touch $@

.PHONY: clean-data
clean-data: ## remove tables, metastore and landing files; keeps the jars
	@if [ -d $(ENGINE) ]; then find $(ENGINE) -mindepth 1 -maxdepth 1 ! -name jars -exec rm -rf {} +; fi
	@rm -rf target logs

.PHONY: clean
clean: clean-data ## remove all that make and dbt made, jars and environments too
	@rm -rf $(ENGINE) $(VENV) .venv-databricks .venv-iceberg .venv-moto dbt_packages .pytest_cache .mypy_cache .ruff_cache .hypothesis
