"""What data could become code by is not used, or stands where it was looked at."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("kafka_sql", "pyspark_kafka_sql") for path in (ROOT / folder).rglob("*.py"))

MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "yaml", "code", "codeop", "runpy"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
LOADERS = {
    "kafka_sql/formats/registry.py",  # modules of this package, from a table in the code
    "kafka_sql/options/callables.py",  # 'module:callable' options, which their author is trusted with
    "kafka_sql/sink/partitioner.py",
}
INTERPRETER = "kafka_sql/runtime/worker_main.py"  # runs what its command line says, as python does
SHELLS = {"kafka_sql/cli/script.py"}  # the shell's own '!command'


def looked_at(path: Path) -> dict[str, set[str]]:
    """The kinds of things that a file uses, with their names."""
    found: dict[str, set[str]] = {"modules": set(), "builtins": set(), "loaders": set(), "shells": set()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found["modules"] |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found["modules"].add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if isinstance(node.func, ast.Name):
                found["builtins"].add(name)
            if name == "import_module":
                found["loaders"].add(name)
            if name in ("system", "popen") or any(k.arg == "shell" for k in node.keywords):
                found["shells"].add(name)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file(path: Path) -> None:
    found, name = looked_at(path), str(path.relative_to(ROOT))
    assert not found["modules"] & MODULES or name == INTERPRETER
    assert not found["builtins"] & BUILTINS
    assert bool(found["loaders"]) == (name in LOADERS)
    assert bool(found["shells"]) == (name in SHELLS)


def test_that_it_looks(tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text("import pickle.x\nfrom yaml import y\neval('1')\nos.system('x')\nrun('x', shell=True)\n")
    assert {"pickle", "yaml"} <= looked_at(source)["modules"]
    assert "eval" in looked_at(source)["builtins"]
    assert looked_at(source)["shells"] == {"system", "run"}
