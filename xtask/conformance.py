#!/usr/bin/env python3
"""Runs the official conformance suite of the Model Context Protocol against the client.

    python3 xtask/conformance.py target/peers target/debug/examples/conformance-client

What each revision of the protocol requires must pass; what the suite reports besides does not count. The whole output is
shown where something fails.
"""

import os
import subprocess
import sys
from pathlib import Path

# The scenarios that a revision requires, and signing in as servers of March 2025 want it.
RUNS = [
    ["--requirements", "2025-11-25"],
    ["--requirements", "2026-07-28"],
    ["--suite", "backcompat"],
]

# All runs together take less than a minute on an idle machine.
TIMEOUT_SECONDS = 300


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: conformance.py PEERS CLIENT")
    peers, client = (Path(argument).resolve() for argument in sys.argv[1:])
    modules = peers / "node_modules"
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if not suite.is_file():
        sys.exit(f"error: the suite is not in {peers}: install it with `make peers`")
    if not client.is_file():
        sys.exit(f"error: {client} is not built: use `make conformance`")
    node = modules / "node" / "bin" / "node"
    # The suite prints the client's whole standard error where a scenario fails.
    environment = {**os.environ, "RUST_BACKTRACE": "0", "NO_COLOR": "1"}
    failed = 0
    for run in RUNS:
        command = [node, suite, "client", "--command", client, *run]
        result = subprocess.run(
            command,
            check=False,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        name = " ".join(run)
        if result.returncode == 0:
            print(f"conformance {name}: ok", flush=True)
        else:
            failed += 1
            print(result.stdout)
            print(f"conformance {name}: FAILED", flush=True)
    sys.exit(1 if failed else 0)


main()
