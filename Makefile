# EdgeBlue: the commands a person needs. What needs more than a line is a script in scripts/.
#
# Every target first installs the Debian packages it needs and that are not there; once they are, it needs no network.
# ADAPTERS=hci0,hci1 makes `demo`, `test` and `bench` use two real adapters instead of the radio lab.

ADAPTERS ?=
export ADAPTERS

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs api deb clean tools tools-lint tools-bench

help: ## list these commands
	@echo 'EdgeBlue: Bluetooth LE for Linux, in Swift'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14
	@echo
	@echo '  ADAPTERS=hci0,hci1 make demo    the same on two real adapters, without the lab'

demo: tools ## a phone and a central find each other over the air and talk (virtual radios, no hardware)
	@scripts/demo

test: tools ## every test: unit, contract, radio, interoperability, sanitizers
	@scripts/test

lint: tools-lint ## format, warnings, imports, contracts, scripts, documentation, public API, versions
	@scripts/lint

bench: tools-bench ## measure beside C and Python, in one run, against the bars
	@scripts/bench

docs: tools ## the reference of every library, as a web site in docs-out/
	@scripts/docs

api: tools ## the public API of every library, as api/*.txt has it; commit what changes there
	@scripts/api

deb: tools ## a Debian package of the command and the agent's service, in .build/deb/
	@scripts/deb

clean: ## remove what was built (not the installed packages)
	rm -rf .build .build-* docs-out out

tools:
	@scripts/install-packages scripts/packages.txt lab/packages.txt
	@scripts/check-swift
	@scripts/check-versions --pin

tools-lint:
	@scripts/install-packages scripts/packages.txt scripts/packages-lint.txt
	@scripts/check-swift
	@scripts/check-versions --pin

tools-bench:
	@scripts/install-packages scripts/packages.txt lab/packages.txt lab/packages-uml.txt Benchmarks/packages.txt
	@scripts/check-swift
	@scripts/check-versions --pin
