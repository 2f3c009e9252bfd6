"""``kafka-sql-python`` runs Spark's workers with the installed pyspark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_sql.runtime import worker_main

INSTALLED = "/opt/env/lib/python3.12/site-packages"
ZIP = f"{INSTALLED}/pyspark/python/lib/pyspark.zip"
PY4J = f"{INSTALLED}/pyspark/python/lib/py4j-0.10.9.9-src.zip"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ([ZIP, "/py4j.zip", INSTALLED, "/mine"], ["/py4j.zip", INSTALLED, "/mine"]),
        ([ZIP, PY4J, INSTALLED], [PY4J, INSTALLED]),  # py4j is not installed
        ([ZIP, "/mine"], [ZIP, "/mine"]),  # pyspark is only in the zip
        (["/opt/spark/python/lib/pyspark.zip", INSTALLED], ["/opt/spark/python/lib/pyspark.zip", INSTALLED]),
        (["pyspark.zip", INSTALLED], ["pyspark.zip", INSTALLED]),
        ([INSTALLED], [INSTALLED]),
    ],
)
def test_zips_of_the_same_installation_are_removed(path: list[str], expected: list[str]) -> None:
    assert worker_main.without_zips(path) == expected


def test_zips_of_the_installed_pyspark() -> None:
    import pyspark

    (folder,) = pyspark.__path__
    zips = [str(path) for path in Path(folder, "python", "lib").glob("*.zip")]
    assert sorted(Path(path).name.partition("-")[0] for path in zips) == ["py4j", "pyspark.zip"]
    assert worker_main.without_zips([*zips, *sys.path]) == sys.path


@pytest.mark.parametrize(
    ("module", "expected"), [("pyspark.worker", True), ("pyspark.sql.worker.create_data_source", False)]
)
def test_preloaded_imports_start_no_thread(module: str, expected: bool) -> None:
    program = (
        "import json, os, runpy, sys\n"
        "def report(*_, **__):\n"
        "    tasks = '/proc/self/task'\n"
        "    threads = len(os.listdir(tasks)) if os.path.exists(tasks) else 1\n"
        "    names = ('pyspark.worker', 'numba', 'confluent_kafka', 'pyarrow')\n"
        "    print(json.dumps([threads, sys.argv, *(name in sys.modules for name in names)]))\n"
        "runpy.run_module = report\n"
        "from kafka_sql.runtime.worker_main import main\n"
        "main()\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "OMP_NUM_THREADS": "1",  # as Spark sets it
    }
    command = [sys.executable, "-c", program, "-m", "pyspark.daemon", module]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert json.loads(output) == [1, ["pyspark.daemon", module], expected, expected, expected, False]


def test_modules_are_run_and_broken_pipes_end_silently(tmp_path: Path) -> None:
    (tmp_path / "runs.py").write_text("import sys; print(sys.argv[1:], __name__)")
    (tmp_path / "breaks.py").write_text("raise BrokenPipeError")
    (tmp_path / "fails.py").write_text("raise EOFError")

    def run(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-c", "from kafka_sql.runtime.worker_main import main; main()", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr[-9:]

    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    assert run("-m", "runs", "a", "-b") == (0, "['a', '-b'] __main__\n", "")
    assert run("-m", "breaks") == (1, "", "")  # the data source of a stopped query
    assert run("-m", "fails") == (1, "", "EOFError\n")
    environment["PYTHONSAFEPATH"] = "1"  # the current folder is not searched for modules
    if sys.version_info >= (3, 11):
        assert run("-m", "runs")[:2] == (1, "")
    assert run("-c", "import sys; print(sys.argv)", "x") == (0, "['-c', 'x']\n", "")
