"""Run the tests with all supported versions of Python and PySpark: ``python -m tools.matrix`` (make matrix).

Each combination has a separate environment in ``build/matrix``, with the package installed from its wheel. Python
versions are looked up as ``python3.10`` and so on, and in pyenv. Missing versions are reported, and count as failed.

    python -m tools.matrix                      # all combinations, a sample of the tests
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
SAMPLE: Final = (
    "tests/unit",
    "tests/integration/test_readme.py",
    "tests/integration/sql/jobs/micro_batch/test_streaming.py",
    "tests/integration/sink/test_sink.py",
)


def pairs(pythons: tuple[str, ...], pysparks: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the possible combinations."""
    return [pair for pair in itertools.product(pythons, pysparks) if pair not in IMPOSSIBLE]


def interpreter(version: str) -> str | None:
    """Return the path of a Python of this version; None if it is not installed."""
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
    quick = ["-q", "-m", "not long and not large", "--hypothesis-profile=few"]
    done = subprocess.run([str(venv_python), "-m", "pytest", *quick, *tests], cwd=ROOT, env=env, check=False)
    return "passed" if done.returncode == 0 else f"FAILED ({done.returncode})"


def main(arguments: list[str] | None = None) -> int:
    """Run all combinations. The exit code is 0 if all passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", choices=PYTHONS)
    parser.add_argument("--pyspark", action="append", choices=PYSPARKS)
    parser.add_argument("tests", nargs="*", default=list(SAMPLE))
    options = parser.parse_args(arguments)
    outcomes = {}
    for python, pyspark in pairs(tuple(options.python or PYTHONS), tuple(options.pyspark or PYSPARKS)):
        print(f"== Python {python}, PySpark {pyspark}", flush=True)
        outcomes[python, pyspark] = run(python, pyspark, options.tests)
    print()
    for (python, pyspark), outcome in outcomes.items():
        print(f"Python {python}  PySpark {pyspark}  {outcome}")
    return 0 if set(outcomes.values()) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
