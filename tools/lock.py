"""Generate the lock files with uv: ``python -m tools.lock [--keep]`` (make lock).

``requirements.lock`` has the newest PySpark, and the extras that need no other system. Each
``requirements-pyspark-*.lock`` has another supported PySpark, for clusters and images with that Spark.
``requirements-cluster.lock`` has no PySpark, for environments that are added to an installed Spark.
``requirements-dev.lock`` also has what the tests need. All others have the versions of ``requirements.lock`` as far as
their dependencies allow. ``tools/pip-audit.lock`` has what ``tools.audit`` runs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.matrix import PYSPARKS, ROOT

BASE: Final = ROOT / "requirements.lock"
DEV: Final = ROOT / "requirements-dev.lock"
CLUSTER: Final = ROOT / "requirements-cluster.lock"
AUDIT: Final = ROOT / "tools" / "pip-audit.lock"
PYSPARK_LOCKS: Final = {version: ROOT / f"requirements-pyspark-{version}.lock" for version in PYSPARKS[:-1]}
_EXTRAS: Final = ("--extra", "shell", "--extra", "protoc", "--extra", "prometheus")
_HEADER: Final = "# Versions that were tested together, for all supported Pythons, with checksums: make lock\n"
_PYSPARK: Final = re.compile(r"^pyspark==.*\n(?: +.*\n)*", re.MULTILINE)
_SPARK: Final = re.compile(r"^(?:pyspark|py4j)==.*\n(?: +.*\n)*", re.MULTILINE)  # an installation of Spark has both


def main() -> int:
    """Generate all lock files, and return 0."""
    parser = argparse.ArgumentParser(prog="python -m tools.lock", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the versions that are still suitable")
    _compile(BASE, *_EXTRAS, *([] if parser.parse_args().keep else ["--upgrade"]))
    locked = BASE.read_text()
    CLUSTER.write_text(_SPARK.sub("", locked))
    DEV.write_text(locked)  # uv prefers the versions in the file that it writes
    _compile(DEV, "--extra", "dev")
    for version, path in PYSPARK_LOCKS.items():
        path.write_text(_PYSPARK.sub("", locked))
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
            constraints.write(f"pyspark=={version}.*\n")
            constraints.flush()
            _compile(path, *_EXTRAS, "--constraints", constraints.name)
    with tempfile.NamedTemporaryFile("w", suffix=".in") as requirements:
        requirements.write("pip-audit\n")
        requirements.flush()
        _compile(AUDIT, "--upgrade", source=requirements.name)
    return 0


def _compile(path: Path, *options: str, source: str = "pyproject.toml") -> None:
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        source,
        "--universal",
        "--python-version",
        "3.10",
    ]
    command += ["--generate-hashes", "--no-annotate", "--no-header", "--quiet", "--output-file", str(path), *options]
    subprocess.run(command, cwd=ROOT, check=True)
    path.write_text(_HEADER + path.read_text())


if __name__ == "__main__":
    sys.exit(main())
