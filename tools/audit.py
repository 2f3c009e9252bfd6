"""Check all locked dependencies for known vulnerabilities: ``python -m tools.audit`` (make audit).

Python packages: pip-audit asks PyPI or, if PyPI does not respond, osv.dev. Jars: osv.dev. What could not be checked is
reported as an error, because it does not mean that there are no vulnerabilities.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import httpx

from kafka_sql.embedded import registry
from kafka_sql.embedded.jars import Jar, read_lockfile
from tools.lock import AUDIT
from tools.matrix import ROOT

_SERVICES: Final = ("pypi", "osv")
_OSV: Final = "https://api.osv.dev"
_TIMEOUT: Final = 60.0  # seconds
_PIN: Final = re.compile(r"(?:^|\s)([\w.-]+)(?:\[[^\]\s]*\])?==([\w.!+-]+)")
NOTHING_FOUND, FOUND, NOT_CHECKED = range(3)


def main() -> int:
    """Return 0 if there are no known vulnerabilities, 1 if there are, and 2 if something could not be checked."""
    results = (audit_packages(python_pins()), audit_jars(jars(), _OSV))
    return FOUND if FOUND in results else max(results)


def lock_files() -> dict[Path, bool]:
    """Return the lock files of the repository, and whether they list jars."""
    paths = (
        ROOT / name for name in subprocess.check_output(["git", "ls-files", "*.lock"], cwd=ROOT, text=True).split()
    )
    return {path: not _PIN.search(path.read_text()) for path in sorted(paths)}


def python_pins() -> list[dict[str, str]]:
    """Return the versions of all packages, for all Pythons and platforms, in maps with one version of each."""
    pins = sorted(
        {pin for path, is_jars in lock_files().items() if not is_jars for pin in _PIN.findall(path.read_text())}
    )
    maps: list[dict[str, str]] = []
    for name, version in pins:
        other = next((versions for versions in maps if name not in versions), None)
        if other is None:
            maps.append(other := {})
        other[name] = version
    return maps


def jars() -> list[tuple[str, str]]:
    """Return the names and versions of all jars."""
    locked = {jar for path, is_jars in lock_files().items() if is_jars for jar in read_lockfile(path)}
    locked.add(Jar("io.apicurio", "apicurio-registry-app", registry.VERSION, registry.SHA256))
    return sorted({(f"{jar.group}:{jar.artifact}", jar.revision) for jar in locked})


def audit_packages(pins: Iterable[dict[str, str]]) -> int:
    """Audit Python packages, print the result, and return the exit code."""
    pip = [sys.executable, "-m", "pip"]
    with tempfile.TemporaryDirectory() as folder:  # separate, because its dependencies are not those of the project
        install = [*pip, "install", "--quiet", "--require-hashes", "--target", folder, "--requirement", str(AUDIT)]
        if subprocess.run(install, check=False).returncode:
            print("The Python packages were NOT audited: pip-audit cannot be installed.", file=sys.stderr)
            return NOT_CHECKED
        return max(_audit(folder, versions) for versions in pins)


def _audit(folder: str, versions: dict[str, str]) -> int:
    requirements = Path(folder, "requirements.txt")
    requirements.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    for service in _SERVICES:
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--vulnerability-service", service, "--requirement", str(requirements),
             "--no-deps", "--disable-pip", "--progress-spinner", "off"],
            env={**os.environ, "PYTHONPATH": folder},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        unknown = "could not be audited" in done.stdout  # pip-audit does not treat this as an error
        if (done.returncode == 0 and not unknown) or ("vulnerabilit" in done.stderr and "Found" in done.stderr):
            print(f"{len(versions)} Python packages:", done.stdout + done.stderr, end="", flush=True)
            return FOUND if done.returncode else NOTHING_FOUND
        reason = "some packages are unknown" if unknown else " ".join(done.stderr.strip().splitlines()[-1:])
        print(f"{service} did not respond: {reason}", file=sys.stderr)
    print(f"{len(versions)} Python packages were NOT audited: no service could be reached.", file=sys.stderr)
    return NOT_CHECKED


def audit_jars(locked: Sequence[tuple[str, str]], service: str) -> int:
    """Audit jars, print the result, and return the exit code.

    Args:
        locked: the jars' names, ``group:artifact``, and versions.
        service: the URL of osv.dev.
    """
    queries = [{"package": {"ecosystem": "Maven", "name": name}, "version": version} for name, version in locked]
    try:
        response = httpx.post(f"{service}/v1/querybatch", json={"queries": queries}, timeout=_TIMEOUT)
        response.raise_for_status()
        results = [[entry["id"] for entry in result.get("vulns", ())] for result in response.json()["results"]]
        vulnerable = dict(zip(locked, results, strict=True))
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as e:
        print(f"{len(locked)} jars were NOT audited: {service} did not respond: {e}", file=sys.stderr)
        return NOT_CHECKED
    for (name, version), ids in vulnerable.items():
        if ids:
            print(f"{name} {version}: {', '.join(ids)}")
    count = sum(map(len, results))
    print(f"{len(locked)} jars: {count} known vulnerabilities")
    return FOUND if count else NOTHING_FOUND


if __name__ == "__main__":
    sys.exit(main())
