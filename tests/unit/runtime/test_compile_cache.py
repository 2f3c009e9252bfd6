"""Test the cache of compiled loops: its location, and that a change to any source of a loop invalidates it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafka_sql
from kafka_sql.runtime.compile_cache import cache_folder

# a package with a loop, a helper and a constant in three modules
SOURCES = {
    "loops/__init__.py": "",
    "loops/constants.py": "FACTOR = 3\n",
    "loops/nested/__init__.py": "",
    "loops/nested/helpers.py": """
from kafka_sql.runtime.numba_support import helper

@helper
def double(x):
    return x * 2
""",
    "loops/kernels.py": """
from kafka_sql.runtime.numba_support import compiled
from loops.constants import FACTOR
from loops.nested import (
    helpers,
)

@compiled
def loop(x):
    return helpers.double(x) * FACTOR
""",
}
RUN_LOOP = "from loops.kernels import loop; print(loop(5), sum(loop.stats.cache_hits.values()))"


def run(program: str, folder: Path, **environment: str) -> str:
    """Run a Python program that can import the modules in ``folder``, and return its output."""
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    process = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout.strip()


def replace_without_new_mtime(file: Path, old: str, new: str) -> None:
    """Change a file but not its size and modification time, as unpacking an archive may."""
    text, status = file.read_text(), file.stat()
    assert text.count(old) == 1
    assert len(old) == len(new)
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    for bytecode in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):  # Python compares only size and time
        bytecode.unlink()


@pytest.fixture
def loops(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.sample(1)
@pytest.mark.large
@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    [
        ("loops/nested/helpers.py", "x * 2", "x * 7", "105 0"),
        ("loops/constants.py", "FACTOR = 3", "FACTOR = 4", "40 0"),
    ],
    ids=["helper", "constant"],
)
def test_a_changed_import_recompiles_the_loop(loops: Path, file: str, old: str, new: str, result: str) -> None:
    cache = loops / "loops" / "__pycache__"
    assert run(RUN_LOOP, loops) == "30 0"
    assert run(RUN_LOOP, loops) == "30 1"
    before = set(cache.glob("compiled-loops.kernels-*"))
    replace_without_new_mtime(loops / file, old, new)
    assert run(RUN_LOOP, loops) == result
    after = set(cache.glob("compiled-loops.kernels-*"))
    assert len(before) == len(after) == 1  # the stale folder is removed
    assert before != after


@pytest.mark.long
@pytest.mark.large
def test_modules_of_the_same_name_have_separate_folders(loops: Path) -> None:
    """With NUMBA_CACHE_DIR, the folders of all modules are in one folder, and must not collide."""
    (loops / "loops/nested/kernels.py").write_text((loops / "loops/kernels.py").read_text())
    environment = {"NUMBA_CACHE_DIR": str(loops / "cache")}
    for module in ("loops.kernels", "loops.nested.kernels", "loops.kernels"):
        run(RUN_LOOP.replace("loops.kernels", module), loops, **environment)
    assert sorted(p.name.split("-")[1] for p in (loops / "cache").glob("compiled-*")) == [
        "loops.kernels",
        "loops.nested.kernels",
    ]
    assert run(RUN_LOOP, loops, **environment) == "30 1"


@pytest.mark.large
def test_an_executor_without_a_home_uses_a_private_temporary_folder(loops: Path) -> None:
    (loops / "loops" / "__pycache__").touch()  # neither this nor the home is a folder
    (loops / "home").touch()
    (loops / "tmp").mkdir()
    environment = {"HOME": str(loops / "home"), "XDG_CACHE_HOME": "", "TMPDIR": str(loops / "tmp")}
    for hits in (0, 1):
        assert run(RUN_LOOP, loops, **environment) == f"30 {hits}"
    assert len(list(loops.glob(f"tmp/kafka_sql-{os.getuid()}/compiled-loops.kernels-*/**/*.nbc"))) == 1


@pytest.mark.large
def test_a_cached_loop_is_loaded_without_the_declarations_that_compiling_needs(loops: Path) -> None:
    """They take 0.5 s in each Spark worker. A loop for other types can be compiled afterwards."""
    load = f"import sys; {RUN_LOOP}; print('numba.np.linalg' in sys.modules)"
    assert run(load, loops) == "30 0\nTrue"
    assert run(load, loops) == "30 1\nFalse"
    assert run(f"{load}; print(loop(2.5), 'numba.np.linalg' in sys.modules)", loops) == "30 1\nFalse\n15.0 True"


def test_every_module_with_compiled_loops_is_named_kernels() -> None:
    """The settings of the type checker and readers rely on the name."""
    package = Path(kafka_sql.__file__).parent
    compiled = {p for p in package.rglob("*.py") if "runtime.numba_support import" in p.read_text()}
    assert compiled
    assert {p for p in compiled if not p.stem.endswith("kernels")} == set()


def test_a_configured_folder_that_other_users_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    folder = cache_folder("kafka_sql.runtime.compile_cache")
    assert folder is not None
    assert Path(folder).parent == tmp_path / "cache"
    Path(folder).chmod(0o777)
    other = cache_folder("kafka_sql.runtime.compile_cache")
    assert other is not None
    assert not other.startswith(str(tmp_path))
    Path(folder).chmod(0o700)
    (tmp_path / "cache").chmod(0o777)
    assert cache_folder("kafka_sql.runtime.compile_cache") == other
    Path(other).rmdir()
