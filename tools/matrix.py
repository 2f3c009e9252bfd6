"""The tests under every supported Python and PySpark: ``python -m tools.matrix`` (make matrix).

Each pair has an environment of its own in ``build/matrix``, with the package from its wheel. Pythons are those that the
machine has as ``python3.10`` and so on, or by pyenv; what is missing is said, and is no success.

    python -m tools.matrix                      # all pairs, a sample of the tests
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
# PySpark's own: 4.3 asks for Python 3.11
IMPOSSIBLE: Final = {("3.10", "4.3")}
SAMPLE: Final = (
    "tests/unit",
    "tests/integration/test_readme.py",
    "tests/integration/sql/jobs/test_streaming.py",
    "tests/integration/sink/test_sink.py",
)


def pairs(pythons: tuple[str, ...], pysparks: tuple[str, ...]) -> list[tuple[str, str]]:
    """The pairs that there can be."""
    return [pair for pair in itertools.product(pythons, pysparks) if pair not in IMPOSSIBLE]


def interpreter(version: str) -> str | None:
    """The path of a Python that answers as this version; None where the machine has none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for path in [*([on_path] if on_path else []), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]:
        asked = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False)  # of pyenv's shims, some are empty
        if answer.stdout.strip() == version:
            return path
    return None


def run(python: str, pyspark: str, tests: list[str]) -> str:
    """Run tests under a pair; a word about how it went."""
    found = interpreter(python)
    if found is None:
        return "no such Python here"
    folder = FOLDER / f"python{python}-pyspark{pyspark}"
    inside = folder / "bin" / "python"
    installed = folder / ".installed"
    if not installed.exists():
        subprocess.run([found, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = [f"{ROOT}[dev]", f"pyspark=={pyspark}.*"]
        # uv finds versions that go together within seconds, where pip may try for an hour
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(inside), *wanted]
        done = subprocess.run(install, check=False)
        if done.returncode:
            return "cannot be installed"
        installed.touch()
    env = {**os.environ, "PYSPARK_PYTHON": str(inside)}
    quick = ["-q", "-m", "not long and not large", "--hypothesis-profile=few"]
    done = subprocess.run([str(inside), "-m", "pytest", *quick, *tests], cwd=ROOT, env=env, check=False)
    return "passed" if done.returncode == 0 else f"FAILED ({done.returncode})"


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 where all pairs passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", choices=PYTHONS)
    parser.add_argument("--pyspark", action="append", choices=PYSPARKS)
    parser.add_argument("tests", nargs="*", default=list(SAMPLE))
    given = parser.parse_args(arguments)
    outcomes = {}
    for python, pyspark in pairs(tuple(given.python or PYTHONS), tuple(given.pyspark or PYSPARKS)):
        print(f"== Python {python}, PySpark {pyspark}", flush=True)
        outcomes[python, pyspark] = run(python, pyspark, given.tests)
    print()
    for (python, pyspark), outcome in outcomes.items():
        print(f"Python {python}  PySpark {pyspark}  {outcome}")
    return 0 if set(outcomes.values()) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
