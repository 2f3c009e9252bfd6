"""Install other stream processors, each in its own environment in the cache, and start their processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from benchmarks.peer_process import PeerProcess
from kafka_sql.embedded.jars import cache_folder

PATHWAY: Final = "Pathway"
QUIX: Final = "Quix Streams"
BYTEWAX: Final = "Bytewax"
MODULES: Final = {PATHWAY: "pathway_peer", QUIX: "quix_peer", BYTEWAX: "bytewax_peer"}

_LOCK: Final = Path(__file__).with_name("engines.lock")
_ROOT: Final = Path(__file__).parent.parent.parent


class InstallationError(Exception):
    """The packages of an engine cannot be installed."""


def pinned_packages(text: str) -> dict[str, list[str]]:
    """Return engine -> its requirements.

    Args:
        text: lines ``<name>: <requirement> ...``, and comments.
    """
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: requirements.split() for name, requirements in (line.split(": ", 1) for line in lines)}


def engine_versions() -> dict[str, str]:
    """Return engine -> its pinned version."""
    packages = pinned_packages(_LOCK.read_text())
    return {name: requirements[0].partition("==")[2] for name, requirements in packages.items()}


def start_engine(name: str, folder: Path) -> PeerProcess:
    """Start an engine's process.

    Args:
        name: its name in the lock file.
        folder: for its log and working files.

    Raises:
        InstallationError: its packages cannot be installed.
    """
    python = install_engine(name, pinned_packages(_LOCK.read_text())[name])
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "TMPDIR": str(folder)}
    command = [str(python), "-m", f"benchmarks.peers.{MODULES[name]}"]
    return PeerProcess(name, command, folder / f"{MODULES[name]}.log", environment)


def install_engine(name: str, requirements: list[str]) -> Path:
    """Return the Python of an engine's environment. Create it if it is missing or has other versions.

    Raises:
        InstallationError: pip failed, for example because there is no package for this version of Python.
    """
    folder = cache_folder() / "engines" / f"{MODULES[name]}-{sys.version_info.major}.{sys.version_info.minor}"
    installed, python = folder / "installed.txt", folder / "bin" / "python"
    content = "\n".join(requirements)
    if not installed.exists() or installed.read_text() != content:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *requirements]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise InstallationError(f"{name} cannot be installed with {sys.executable}: {done.stderr.strip()[-500:]}")
        installed.write_text(content)
    return python
