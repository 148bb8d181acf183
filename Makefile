# Run `make help` for a list of targets.

PYTHON   ?= python3
WORKFLOW ?= workflows/quickstart.json

VENV := $(CURDIR)/.venv
BIN  := $(VENV)/bin
INSTALL = playbooks/install.sh $(VENV)

# A step is done when the stamp named after the content of its input is there.
digest      = $(shell cat $(1) | sha256sum | cut -c 1-16)
VENV_STAMP := $(VENV)/.installed-$(call digest,pyproject.toml setup.py)
SPARK_STAMP := $(VENV)/.spark-$(call digest,playbooks/spark.pom.xml)
HOST_STAMP := $(CURDIR)/build/stamps/host-$(call digest,playbooks/host.yml)
CLOUD_STAMP := $(CURDIR)/build/stamps/openstack-$(call digest,playbooks/host.yml)

SOURCES_C = $(shell find dataplane vnfs drivers -name '*.[ch]')
ELASTICSEARCH := 8.19.0
OLDEST_KERNEL := 6.1
MERMAID := 11.14.0
LAB := $(BIN)/python -m sfcperf.playbooks.lab
OPENSTACK := $(BIN)/python -m sfcperf.playbooks.openstack
PAPERS := $(BIN)/python -m sfcperf.playbooks.papers
PROSELINT := $(BIN)/proselint check --config .proselintrc.json
FOLDERS  := dataplane drivers vnfs schemas workflows playbooks
PROSE    := README.md CONTRIBUTING.md CHANGELOG.md docs $(wildcard dataplane/*/README.md vnfs/*/README.md examples/*/README.md \
	    results/README.md tests/README.md)

# Tests start hundreds of Python processes: without bytecode each compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

Q := $(if $(V),,@)

# Five for two cores: tests wait for processes a good part of their time.
JOBS ?= 5
# ALL=1 adds the exhaustive tests to those of the gate.
PYTEST = $(BIN)/python -m pytest $(if $(ALL),-m "" --hypothesis-profile exhaustive)
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-security venv host dataplanes kafka spark servers run test test-all lint format types
.PHONY: lab-up lab-down imports bench docs papers papers-docs papers-repack mermaid clean distclean p4 p4-dpdk openstack openstack-up openstack-down openstack-enter test-openstack

help: ## Print this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: dataplanes ## Create the virtual environment, install system packages, compile data planes
	$(Q)$(BIN)/python -m sfcperf.cli.man_pages $(VENV)/share/man/man1  # editable installs have none

setup-security: setup kafka spark ## The same, and what services need: Kafka (44 MB from Maven Central) and Spark (450 MB)

# Exit code 1: the run is complete, and says which of its trials do not count.
run: setup ## Run workflows/quickstart.json (another: WORKFLOW=...)
	$(Q)$(BIN)/sfcperf run $(WORKFLOW) || { status=$$?; test $$status -eq 1 || exit $$status; \
	    echo "The run is complete, but some of its trials do not count, for the reasons above."; }

test: setup servers ## The gate; tests/README.md says how long (root: namespaces, servers); ARGS="tests/unit -k name" narrows
	$(Q)$(PYTEST) -n $(JOBS) --no-loadscope-reorder $(ARGS) </dev/null

test-all: ## Every test, also the exhaustive ones and those on OpenStack (hours)
	$(Q).ci/run ALL=1

openstack-up: openstack ## Start a real OpenStack in its own namespaces (root, Debian 12); NODES=3: three hypervisors
	$(Q)$(OPENSTACK) up $(if $(NODES),--nodes $(NODES))

openstack-down: venv ## Stop it; keeps only files for the next start (WIPE=1 removes these too)
	$(Q)$(OPENSTACK) down $(if $(WIPE),--wipe)

openstack-enter: ## Open a shell in it, as a user of the cloud
	$(Q)playbooks/openstack/enter $${SHELL:-/bin/sh}

test-openstack: openstack-up dataplanes kafka ## The gate of the OpenStack driver, in it (ALL=1: every test)
	$(Q)SFCPERF_CLOUD_REQUIRED=1 playbooks/openstack/enter $(PYTEST) $(or $(ARGS),tests/openstack) </dev/null

lab-up: setup ## Start three machines made of namespaces, for the driver machines (docs/how-to/lab.md)
	$(Q)$(LAB) up

lab-down: venv ## Stop them
	$(Q)$(LAB) down

lint: venv ## Check code (ruff, mypy, import-linter, clang-format), playbooks, spelling and style of docs
	$(Q)$(BIN)/ruff check .
	$(Q)$(BIN)/ruff format --check .
	$(Q)$(if $(SOURCES_C),$(BIN)/clang-format --dry-run -Werror $(SOURCES_C))
	$(Q)LC_ALL=C.UTF-8 $(BIN)/ansible-playbook --syntax-check -i localhost, playbooks/*.yml >/dev/null
	$(Q)$(BIN)/codespell $(PROSE)
	$(Q)$(PROSELINT) $(filter-out docs,$(PROSE)) $$(find docs -name '*.md' ! -path 'docs/papers/*')
	$(Q)sed -s '/kept runs: begin/,/kept runs: end/d' docs/papers/*.md | $(PROSELINT)  # not what papers say
	$(Q)$(MAKE) --no-print-directory types imports

format: venv ## Format Python and C, apply ruff's fixes
	$(Q)$(BIN)/ruff format .
	$(Q)$(BIN)/ruff check --fix .
	$(Q)$(if $(SOURCES_C),$(BIN)/clang-format -i $(SOURCES_C))

p4: venv ## Compile the P4 programs anew, after a change of vnfs/sfcmon/p4 (p4c)
	$(Q)$(BIN)/python -m sfcperf.vnfs.sfcmon.bmv2.compile

p4-dpdk: venv ## The same, after a change of vnfs/heavy_hitter/p4 (p4c-dpdk)
	$(Q)$(BIN)/python -m sfcperf.vnfs.heavy_hitter.compile

bench: setup servers spark ## Run the benchmarks (not those on OpenStack); prints one table
	$(Q)$(BIN)/python benchmarks

docs: venv mermaid ## Build the documentation into site/
	$(Q)NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# No part of setup: what only some of the experiments need (Spark, bmv2); those that lack it are not run.
papers: setup ## Measure the papers' experiments in full, and keep the runs: hours (ONLY=name,name MINUTES=n FORCE=1 SET=path=value)
	$(Q)$(PAPERS) run $(if $(ONLY),--only '$(ONLY)') $(if $(MINUTES),--minutes $(MINUTES)) \
	    $(if $(FORCE),--force) $(if $(SET),--set '$(SET)')

papers-docs: venv ## Write the tables of README.md and docs/papers again, from workflows and kept runs
	$(Q)$(PAPERS) docs

papers-repack: venv ## Make claims, figures and README of kept runs again from their trials, after a change of SFCPerf
	$(Q)$(PAPERS) repack

clean: ## Remove build and test output (keeps results/ and .venv)
	$(Q)test ! -e build/openstack/keeper || $(OPENSTACK) down
	$(Q)rm -rf build site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	$(Q)find sfcperf $(FOLDERS) tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## The same, and remove the virtual environment
	$(Q)rm -rf $(VENV) sfcperf.egg-info

# Steps of setup

venv: $(VENV_STAMP)

$(VENV_STAMP): | pyproject.toml setup.py
	@echo "  VENV     $(notdir $(VENV))"
	$(Q)playbooks/venv.sh $(VENV) $(PYTHON)
	$(Q)$(INSTALL) dev
	$(Q)rm -f $(VENV)/.installed-* && touch $@

# The stamp lists the packages; one that was removed since makes the playbook run again.
host: $(VENV_STAMP)
	$(Q)$(call packages,$(HOST_STAMP),all)

# No part of setup: nearly 600 MB.
openstack: $(VENV_STAMP)
	$(Q)$(call packages,$(CLOUD_STAMP),run$(comma)openstack)

comma := ,
packages = test -s $(1) && ! xargs -a $(1) \
	    dpkg-query --show --showformat='$${db:Status-Status}\n' 2>&1 | grep -qvx installed || \
	    $(MAKE) --no-print-directory STAMP=$(1) TAGS=$(2) $(1).new

$(HOST_STAMP).new $(CLOUD_STAMP).new:
	@echo "  HOST     playbooks/host.yml ($(TAGS))"
	@test "$$(id -u)" -eq 0 || { echo "setup: system packages need root: run make as root" >&2; exit 1; }
	$(Q)mkdir -p $(@D) && rm -f $(@D)/$(firstword $(subst -, ,$(notdir $(STAMP))))-*
	$(Q)LC_ALL=C.UTF-8 ANSIBLE_NOCOWS=1 ANSIBLE_LOCALHOST_WARNING=false \
	    ANSIBLE_DISPLAY_SKIPPED_HOSTS=false $(BIN)/ansible-playbook \
	    --inventory localhost, --connection local --extra-vars ansible_python_interpreter=$(BIN)/python \
	    --extra-vars stamp=$(STAMP) --tags $(TAGS) playbooks/host.yml

dataplanes: host
	$(Q)$(MAKE) --no-print-directory $(if $(V),,--silent) -f dataplane/Makefile

servers: host kafka mermaid $(if $(ALL),spark)
	$(Q)playbooks/elasticsearch.sh $(CURDIR)/build/servers $(ELASTICSEARCH)
	$(Q)playbooks/oldest-kernel.sh $(CURDIR)/build/kernels $(OLDEST_KERNEL)

mermaid:
	$(Q)playbooks/mermaid.sh $(CURDIR)/build/mermaid $(MERMAID)

kafka: host
	$(Q)playbooks/jars.sh $(CURDIR)/build/servers/kafka playbooks/kafka.pom.xml

# No part of `dev`: others of its packages have a tenth of the size.
spark: host
	$(Q)playbooks/jars.sh $(CURDIR)/build/servers/spark playbooks/spark.pom.xml
	$(Q)test -e $(SPARK_STAMP) || $(INSTALL) spark
	$(Q)touch $(SPARK_STAMP)

types: venv
	$(Q)$(BIN)/mypy --strict --cache-dir build/mypy -p sfcperf

imports: venv
	$(Q)$(BIN)/lint-imports --no-cache --no-logo
