# Targets are short names for scripts; `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup dev test lint bench bench-restart faults faults-long faults-proof failover sim fuzz scenario-gaps

# Bounds the long targets, in seconds.
LIMIT_S ?= 60

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

setup: ## Install what building and testing need (says what)
	@scripts/setup

dev: setup ## Set up, build and serve at http://127.0.0.1:8080/mcp (options: ARGS="--nodes 3 --data DIR")
	@. scripts/env && cargo run --locked --bin quorate -- dev $(ARGS)

test: setup ## Set up, then every check and test; the last line counts them
	@scripts/test

lint: ## Format, purity and clippy only
	@. scripts/env && cargo fmt --all --check && scripts/purity && cargo clippy --workspace --all-targets --locked -- -D warnings

scenario-gaps: ## Print every scenario id that no test carries; fails if there is one
	@scripts/scenario-gaps

bench: setup ## Figures of a release build, beside this disk's own; the last line is JSON (LIMIT_S a measurement)
	@. scripts/env && cargo build --locked --release -p quorate -p quorate-load && \
	  "$$CARGO_TARGET_DIR/release/quorate-bench" --binary "$$CARGO_TARGET_DIR/release/quorate" --seconds $(LIMIT_S)

bench-restart: setup ## How long a node with many runs takes until it serves again (ARGS="--open 100000 --ended 1000000")
	@. scripts/env && cargo build --locked --release -p quorate -p quorate-load && \
	  "$$CARGO_TARGET_DIR/release/quorate-bench" --binary "$$CARGO_TARGET_DIR/release/quorate" restart $(ARGS)

# A release build, and the fault harness on it.
FAULTS = . scripts/env && cargo build --locked --release -p quorate -p quorate-load && \
  "$$CARGO_TARGET_DIR/release/quorate-faults" --binary "$$CARGO_TARGET_DIR/release/quorate"

faults: setup ## Harm a loaded server, then a cluster, LIMIT_S each, and check every promise; the last line is JSON
	@$(FAULTS) --nodes 1,3 --seconds $(LIMIT_S) --agents 32

faults-long: setup ## The same with a cluster for half an hour, and then as long as it takes to check
	@$(FAULTS) --nodes 3 --seconds 1800 --agents 12 --pause-ms 100

faults-proof: setup ## The harness on servers with a seeded bug each: fails unless it finds all of them
	@scripts/faults-proof

failover: setup ## Kill the busiest leader ten times under 64 clients, beside an etcd; the last line is JSON
	@$(FAULTS) --failover 10

sim: setup ## Simulate three nodes with crashes, seed by seed, for LIMIT_S or SEEDS; the last line is JSON
	@LIMIT_S=$(LIMIT_S) SEEDS=$(SEEDS) simtests/run

fuzz: ## Fuzz each target for LIMIT_S seconds (needs a nightly compiler and cargo-fuzz)
	@. scripts/env && scripts/fuzz $(LIMIT_S)
