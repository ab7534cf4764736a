# The front door of this repository. Everything here also works by hand; the recipes show how.

CARGO ?= cargo
PYTHON ?= python3
# The compiler for the WebAssembly part of pirn-vm; one version, so that the result is reproducible.
ZIG_VERSION ?= 0.15.2
# Spelling; optional for a newcomer, required in CI.
TYPOS_VERSION ?= 1.52.0

TOOLCHAIN_DIR := target/toolchain
# Real servers that tests talk to; may be shared between checkouts.
PIRN_MCP_PEERS ?= target/peers
export PIRN_MCP_PEERS := $(abspath $(PIRN_MCP_PEERS))
# Node and a browser, where the machine has none.
export PATH := $(PATH):$(PIRN_MCP_PEERS)/bin
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
NEXTEST := $(shell $(CARGO) nextest --version >/dev/null 2>&1 && echo yes)

.PHONY: help toolchain peers build demo dist test conformance check format bench vm clean typos-version

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

toolchain: ## Install the WebAssembly compiler into target/, about 90 MB, once
	@if [ "$$(zig version 2>/dev/null)" != "$(ZIG_VERSION)" ]; then \
		$(PYTHON) xtask/toolchain.py $(TOOLCHAIN_DIR) ziglang==$(ZIG_VERSION); \
	fi

peers: ## Install real MCP servers and the conformance suite into target/, about 600 MB, once
	@$(PYTHON) xtask/peers.py $(PIRN_MCP_PEERS)

build: toolchain ## Build the release binary
	$(CARGO) build --release --locked --package pirn

demo: toolchain ## Build fast, then let the agent report on this repository, with a scripted model
	$(CARGO) build --profile demo --locked --package pirn
	$(PYTHON) xtask/demo.py $(TARGET_DIR)/demo/pirn examples/repository-report.ts

dist: toolchain ## Build the binary as it is shipped, which takes half an hour of processor time
	$(CARGO) build --profile dist --locked --package pirn

test: peers toolchain ## Run all tests
ifeq ($(NEXTEST),yes)
	$(CARGO) nextest run --workspace --locked
else
	$(CARGO) test --workspace --lib --bins --tests --locked
endif
	$(CARGO) test --workspace --doc --locked

conformance: peers ## Run the official MCP conformance suite against the client
	$(CARGO) build --locked --workspace --example conformance-client
	$(PYTHON) xtask/conformance.py $(PIRN_MCP_PEERS) $(TARGET_DIR)/debug/examples/conformance-client

check: peers toolchain ## Run everything that a change must pass
	@$(PYTHON) xtask/toolchain.py $(TOOLCHAIN_DIR) typos==$(TYPOS_VERSION)
	$(CARGO) xtask check

format: ## Format the code
	$(CARGO) fmt --all

bench: toolchain ## Measure a release build
	$(CARGO) xtask bench

vm: toolchain ## Rebuild the sealed VM's WebAssembly module
	$(CARGO) xtask vm

clean: ## Remove what was built, but keep the compiler
	$(CARGO) clean --workspace

typos-version:
	@echo $(TYPOS_VERSION)
