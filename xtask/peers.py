#!/usr/bin/env python3
"""Installs what tests work with: real servers of the Model Context Protocol, the official conformance suite, and the packages
that people's Python projects use.

    python3 xtask/peers.py target/peers

Needs npm and Python's venv. Everything goes into the one folder: npm's packages into `node_modules`, Python's into one virtual
environment per line of PYTHON. What already has exactly these versions is left alone.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Raise a version on purpose; the tests say what a server answers.
NPM = {
    # The suite needs Node 22, whatever the machine has.
    "node": "22.23.3",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-github": "2025.4.8",
    "@modelcontextprotocol/server-memory": "2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking": "2026.8.31",
    "@playwright/mcp": "0.0.83",
    "@upstash/context7-mcp": "4.1.1",
    "chrome-devtools-mcp": "1.11.0",
}

# One environment each, because the old SDK and the new one exclude each other.
PYTHON = {
    "python": [
        "mcp==2.3.0",
        "mcp-server-git==2026.10.19",
        "mcp-server-fetch==2026.10.24",
        "mcp-server-time==2026.10.19",
        "fastmcp==4.2.3",
    ],
    "python-old": ["mcp==1.30.0", "mcp-server-sqlite==2025.4.25"],
    # Not for servers: for work in a sandbox.
    "python-work": [
        "pytest==9.2.0",
        "numpy==2.4.6",
        "matplotlib==3.11.2",
        "pillow==13.0.0",
        "pandas==3.1.1",
    ],
}

# Says what is there; written after each part.
STAMP = "installed.json"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: peers.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # Programs of a virtual environment name their interpreter by its whole path, so the environment must not lie behind a
    # link that another checkout does not have.
    folder = folder.resolve()
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        # Two checkouts may share the folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = read_stamp(folder)
        if installed["npm"] != NPM:
            install_npm(folder)
            installed["npm"] = NPM
            write_stamp(folder, installed)
        for name, requirements in PYTHON.items():
            if installed["python"].get(name) != requirements:
                install_python(folder / name, requirements)
                installed["python"][name] = requirements
                write_stamp(folder, installed)


def read_stamp(folder):
    """What is installed. Nothing, where the folder was moved."""
    nothing = {"npm": None, "python": {}, "folder": str(folder)}
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return nothing
    return stamp if stamp.get("folder") == str(folder) else nothing


def write_stamp(folder, installed):
    (folder / STAMP).write_text(json.dumps(installed, indent=2), encoding="utf-8")


def install_npm(folder):
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("error: npm is missing; the servers that tests talk to are Node programs")
    print(f"installing {len(NPM)} packages of npm into {folder}", flush=True)
    # npm would look for a package above the folder otherwise.
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    command = [npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "--no-package-lock"]
    command += ["--save-exact", "--loglevel=error"]
    run([*command, *(f"{name}@{version}" for name, version in NPM.items())])


def install_python(environment, requirements):
    print(f"installing {', '.join(requirements)} into {environment}", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    run([sys.executable, "-m", "venv", environment])
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *requirements])


def run(command):
    # Browsers come from the system where tests need one.
    environment = {**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}
    if subprocess.run(command, check=False, env=environment).returncode != 0:
        sys.exit(f"error: `{command[0]}` failed")


main()
