#!/usr/bin/env python3
"""Installs pinned programs from the Python package index into one folder, without root.

    python3 xtask/toolchain.py target/toolchain ziglang==0.15.2 typos==1.52.0

Uses pip where it is there. Without pip (Debian ships Python without it) the wheel is fetched and
unpacked here; its SHA-256 must be the one that the index states. What is already there stays.
"""

import hashlib
import importlib.util
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

# Long enough for a slow mirror, short enough that a dead one is noticed.
TIMEOUT_SECONDS = 120

# Wheels of one platform carry one of these words for the processor.
MACHINES = {
    "x86_64": ("x86_64", "amd64"),
    "amd64": ("x86_64", "amd64"),
    "aarch64": ("aarch64", "arm64"),
    "arm64": ("aarch64", "arm64"),
}


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: toolchain.py FOLDER NAME==VERSION...")
    folder = Path(sys.argv[1])
    for requirement in sys.argv[2:]:
        name, separator, version = requirement.partition("==")
        if not separator:
            sys.exit(f"error: {requirement}: write NAME==VERSION")
        if (folder / f"{distribution(name)}-{version}.dist-info").is_dir():
            continue
        print(f"installing {name} {version} into {folder}", flush=True)
        remove_other_versions(folder, name)
        if importlib.util.find_spec("pip"):
            install_with_pip(folder, requirement)
        else:
            install_wheel(folder, name, version)


def distribution(name):
    """A package's name as files carry it."""
    return name.replace("-", "_")


def remove_other_versions(folder, name):
    """An older version's files would stay beside the new ones."""
    for info in folder.glob(f"{distribution(name)}-*.dist-info"):
        shutil.rmtree(info)
    shutil.rmtree(folder / name, ignore_errors=True)


def install_with_pip(folder, requirement):
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
    command += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", folder]
    if subprocess.run([*command, requirement], check=False).returncode != 0:
        sys.exit(f"error: pip could not install {requirement}")


def install_wheel(folder, name, version):
    wheel = choose_wheel(name, version)
    data = fetch(wheel["url"])
    if hashlib.sha256(data).hexdigest() != wheel["hashes"]["sha256"]:
        sys.exit(f"error: {wheel['filename']} does not have the checksum that the index states")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # The record of the installation comes last: it says that everything else is there.
        for entry in sorted(archive.infolist(), key=lambda entry: ".dist-info/" in entry.filename):
            unpack(archive, entry, folder)


def choose_wheel(name, version):
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    page = f"{index}/{name}/"
    files = json.loads(fetch(page, "application/vnd.pypi.simple.v1+json"))["files"]
    for file in files:
        parts = file["filename"].removesuffix(".whl").split("-")
        if file["filename"].endswith(".whl") and parts[1] == version and fits(parts[-1]):
            return {**file, "url": urllib.parse.urljoin(page, file["url"])}
    sys.exit(f"error: the index has no wheel of {name} {version} for this machine")


def fits(tag):
    """Whether a wheel's platform tag is this machine's."""
    other = "musllinux" if platform.libc_ver()[0] == "glibc" else "manylinux"
    if other in tag and {"musllinux", "manylinux"} - {other} - set(re.findall("[a-z]+linux", tag)):
        return False
    system = {"linux": "linux", "darwin": "macosx", "win32": "win"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    words = MACHINES.get(machine, (machine,))
    return tag == "any" or (system in tag and any(tag.endswith(word) or f"{word}." in tag for word in words))


def fetch(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return response.read()


def unpack(archive, entry, folder):
    # Programs of a wheel lie in NAME.data/scripts/ and belong into bin/.
    parts = entry.filename.split("/")
    if len(parts) == 3 and parts[0].endswith(".data") and parts[1] == "scripts":
        parts = ["bin", parts[2]]
    if entry.is_dir() or ".." in parts or entry.filename.startswith("/"):
        return
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(archive.read(entry))
    mode = entry.external_attr >> 16
    target.chmod(0o755 if mode & 0o111 else 0o644)


main()
