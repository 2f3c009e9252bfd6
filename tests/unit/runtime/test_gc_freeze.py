"""Loaded modules are excluded from garbage collection, in workers only."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kafka_sql.runtime import workers


@pytest.fixture(autouse=True)
def unfreeze() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_no_freeze_outside_workers() -> None:
    before = gc.get_freeze_count()  # Python 3.12 starts with a few hundred
    workers.freeze_modules()
    assert gc.get_freeze_count() == before


def test_a_worker_freezes_again_after_loading_more_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "is_worker", lambda: True)
    monkeypatch.setattr(workers, "_frozen_modules", 0)
    workers.freeze_modules()
    first = gc.get_freeze_count()
    assert first > 10_000
    created = [[] for _ in range(100)]  # type: ignore[var-annotated]
    workers.freeze_modules()
    assert gc.get_freeze_count() <= first
    monkeypatch.setitem(sys.modules, "newly_loaded", sys)
    workers.freeze_modules()
    assert gc.get_freeze_count() >= len(created) + first - 1000


def test_is_worker() -> None:
    """Run a module named like Spark's daemon as ``__main__``, as Spark does."""
    program = (
        "import runpy, sys, pathlib, tempfile\n"
        "folder = pathlib.Path(tempfile.mkdtemp()); (folder / 'pyspark').mkdir()\n"
        "(folder / 'pyspark' / '__init__.py').touch()\n"
        "(folder / 'pyspark' / 'daemon.py').write_text("
        "'import kafka_sql.runtime.worker_main as p; print(p.is_worker())')\n"
        "import kafka_sql.runtime.worker_main as p\n"
        "print(p.is_worker())\n"
        "sys.path.insert(0, str(folder))\n"
        "runpy.run_module('pyspark.daemon', run_name='__main__', alter_sys=True)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.split() == ["False", "True"]
