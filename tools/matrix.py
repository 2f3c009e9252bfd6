"""Run the tests with all supported versions of Python and PySpark: ``python -m tools.matrix`` (make matrix).

Each combination has a separate environment in ``build/matrix``, with the package installed from its wheel. Python
versions are looked up as ``python3.10`` and so on, and in pyenv. Missing versions are reported, and count as failed.
Each PySpark runs all unit and integration tests with one Python, and a sample of them with the others.

    python -m tools.matrix                      # all combinations
    python -m tools.matrix --oldest             # what differs most between versions of Spark, with the oldest one
    python -m tools.matrix --python 3.13 --pyspark 4.1 -- tests/unit tests/integration
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "build" / "matrix"
PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13")
PYSPARKS: Final = ("4.1", "4.2", "4.3")
# PySpark 4.3 requires Python 3.11
IMPOSSIBLE: Final = {("3.10", "4.3")}
CURRENT_PYTHON: Final = f"{sys.version_info[0]}.{sys.version_info[1]}"
FULL_PYTHON: Final = "3.11"  # all PySparks support it
ALL: Final = ("tests/unit", "tests/integration")
SAMPLE: Final = (
    "tests/unit",
    "tests/integration/test_readme.py",
    "tests/integration/sql/jobs/micro_batch/test_streaming.py",
    "tests/integration/sink/test_sink.py",
)


# A test of each part that relies on private parts of Spark, or on what differs between its versions.
_JOBS: Final = "tests/integration/sql/jobs"
OLDEST: Final = (
    "tests/integration/spark/test_internals.py",
    f"{_JOBS}/changelog/test_changelogs.py::test_upserts_and_deletes_are_forwarded",
    f"{_JOBS}/changelog/test_streaming_temporal_joins.py::test_an_inner_join_continues_after_a_restart",
    f"{_JOBS}/changelog/test_joins.py::test_a_row_whose_join_key_changes_keeps_its_primary_key",
    f"{_JOBS}/test_shared_reads.py::test_inserts_over_one_table_read_it_once",
    f"{_JOBS}/targets/test_spark_targets.py::test_a_table_of_files_has_each_row_once_across_restarts",
    "tests/integration/state/test_operators.py::test_materialize",
    "tests/integration/state/test_over.py::test_processing_time",
    "tests/integration/catalog/test_lakehouses.py",
    "tests/integration/extension/test_extension.py",
    "tests/integration/sql/test_connect.py",
)


def pairs(pythons: tuple[str, ...], pysparks: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the possible combinations."""
    return [pair for pair in itertools.product(pythons, pysparks) if pair not in IMPOSSIBLE]


def interpreter(version: str) -> str | None:
    """Return the path of a Python of this version; None if it is not installed."""
    if version == CURRENT_PYTHON:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for path in [*([on_path] if on_path else []), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]:
        command = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)  # pyenv's shims may not work
        if result.stdout.strip() == version:
            return path
    return None


def run(python: str, pyspark: str, tests: list[str]) -> str:
    """Run tests with a combination, and return the outcome."""
    base_python = interpreter(python)
    if base_python is None:
        return "Python not installed"
    folder = FOLDER / f"python{python}-pyspark{pyspark}"
    venv_python = folder / "bin" / "python"
    installed = folder / ".installed"
    if not installed.exists():
        subprocess.run([base_python, "-m", "venv", "--clear", str(folder)], check=True)
        requirements = [f"{ROOT}[dev]", f"pyspark=={pyspark}.*"]
        # uv resolves the versions within seconds; pip may take an hour
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(venv_python), *requirements]
        done = subprocess.run(install, check=False)
        if done.returncode:
            return "could not be installed"
        installed.touch()
    env = {**os.environ, "PYSPARK_PYTHON": str(venv_python)}
    quick = ["-q", "-n", "2", "--dist", "loadfile", "-m", "not long", "--hypothesis-profile=few"]
    done = subprocess.run([str(venv_python), "-m", "pytest", *quick, *tests], cwd=ROOT, env=env, check=False)
    return "passed" if done.returncode == 0 else f"FAILED ({done.returncode})"


def main(arguments: list[str] | None = None) -> int:
    """Run all combinations. The exit code is 0 if all passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", choices=PYTHONS)
    parser.add_argument("--pyspark", action="append", choices=PYSPARKS)
    parser.add_argument("--oldest", action="store_true", help="a sample with this Python and the oldest PySpark")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args(arguments)
    if options.oldest:
        outcome = run(CURRENT_PYTHON, PYSPARKS[0], list(OLDEST))
        print(f"PySpark {PYSPARKS[0]}  {outcome}")
        return 0 if outcome == "passed" else 1
    outcomes = {}
    for python, pyspark in pairs(tuple(options.python or PYTHONS), tuple(options.pyspark or PYSPARKS)):
        print(f"== Python {python}, PySpark {pyspark}", flush=True)
        tests = options.tests or (ALL if python == FULL_PYTHON else SAMPLE)
        outcomes[python, pyspark] = run(python, pyspark, list(tests))
    print()
    for (python, pyspark), outcome in outcomes.items():
        print(f"Python {python}  PySpark {pyspark}  {outcome}")
    return 0 if set(outcomes.values()) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
