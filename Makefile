SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

PYTHON ?= .venv/bin/python
BUILD ?= build/dev

.PHONY: help core

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

core: ## build the compiled parts in place, beside runtime/mindtorch_v2 (incremental)
	@mkdir -p $(BUILD)
	@flock $(BUILD) cmake -S . -B $(BUILD) -G Ninja -DPython_EXECUTABLE=$(abspath $(PYTHON)) --log-level=WARNING
	@flock $(BUILD) cmake --build $(BUILD) -j 2
	@flock $(BUILD) cmake --install $(BUILD) --prefix runtime | grep -v Up-to-date
