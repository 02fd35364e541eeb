# EdgeBlue: the commands a person needs. What needs more than a line is a script in scripts/.
#
# Every target first says which Debian packages it needs that are not there, and why, and installs them; once they are,
# it needs no network.
# ADAPTERS=hci0,hci1 makes `demo`, `test` and `bench` use two real adapters instead of the radio lab.

ADAPTERS ?=
export ADAPTERS

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs api deb clean

help: ## list these commands
	@echo 'EdgeBlue: Bluetooth LE for Linux, in Swift'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14
	@echo
	@echo '  ADAPTERS=hci0,hci1 make demo    the same on two real adapters, without the lab'

demo: tools-demo ## a phone and a central find each other over the air and talk (virtual radios, no hardware)
	@scripts/demo

test: tools-test ## every test: unit, contract, radio, interoperability, sanitizers
	@scripts/test

lint: tools-lint ## format, warnings, imports, contracts, scripts, documentation, public API, versions
	@scripts/lint

bench: tools-bench ## measure beside C and Python, in one run, against the bars
	@scripts/bench

docs: tools-docs ## the reference of every library, as a web site in docs-out/
	@scripts/docs

api: tools-api ## the public API of every library, as api/*.txt has it; commit what changes there
	@scripts/api

deb: tools-deb ## a Debian package of the command and the agent's service, in .build/deb/
	@scripts/deb

clean: ## remove what was built (not the installed packages)
	rm -rf .build .build-* docs-out out

# What a target needs and no more: `make demo` brings none of the tests' tools, and no radio lab where there are adapters.
BUILD := scripts/packages.txt
LAB := lab/packages.txt
PACKAGES_demo := $(BUILD) $(if $(ADAPTERS),,$(LAB))
PACKAGES_test := $(BUILD) scripts/packages-test.txt $(LAB) lab/packages-venv.txt
PACKAGES_lint := $(BUILD) scripts/packages-lint.txt
PACKAGES_bench := $(BUILD) $(LAB) lab/packages-venv.txt lab/packages-uml.txt Benchmarks/packages.txt
PACKAGES_docs := $(BUILD)
PACKAGES_api := $(BUILD)
PACKAGES_deb := $(BUILD) scripts/packages-deb.txt

tools-%:
	@scripts/install-packages "make $*" $(PACKAGES_$*)
	@scripts/check-swift
	@scripts/check-versions --pin
