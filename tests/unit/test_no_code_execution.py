"""Functions that could execute data as code are not used, except in reviewed files."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("kafka_sql", "pyspark_kafka_sql") for path in (ROOT / folder).rglob("*.py"))

MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "yaml", "code", "codeop", "runpy"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
LOADERS = {
    "kafka_sql/__init__.py",  # the public functions, from a constant table
    "kafka_sql/formats/registry.py",  # modules of this package, from a constant table
    "kafka_sql/formats/format.py",  # modules of this package, from the declarations of formats
    "kafka_sql/spark/internal.py",  # modules of this package
    "kafka_sql/options/allow_lists.py",  # 'module:callable' options, from allowed modules
}
INTERPRETER = "kafka_sql/runtime/worker_main.py"  # runs what its command line says, like python
SHELLS = {"kafka_sql/cli/script.py"}  # the '!command' of the SQL shell


def used_names(path: Path) -> dict[str, set[str]]:
    """Return category -> names that a file uses."""
    names: dict[str, set[str]] = {"modules": set(), "builtins": set(), "loaders": set(), "shells": set()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names["modules"] |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names["modules"].add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if isinstance(node.func, ast.Name):
                names["builtins"].add(name)
            if name == "import_module":
                names["loaders"].add(name)
            if name in ("system", "popen") or any(k.arg == "shell" for k in node.keywords):
                names["shells"].add(name)
    return names


def unexpected_uses(path: Path) -> list[str]:
    """Return what a file uses without being reviewed for it, and reviewed uses that it no longer has."""
    names, name = used_names(path), str(path.relative_to(ROOT))
    modules = set() if name == INTERPRETER else names["modules"] & MODULES
    found = sorted(modules | names["builtins"] & BUILTINS)
    found += ["loaders"] if bool(names["loaders"]) != (name in LOADERS) else []
    found += ["shells"] if bool(names["shells"]) != (name in SHELLS) else []
    return [f"{name}: {use}" for use in found]


def test_only_reviewed_files_load_code() -> None:
    assert not [use for path in SOURCES for use in unexpected_uses(path)]


def test_uses_are_detected(tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text("import pickle.x\nfrom yaml import y\neval('1')\nos.system('x')\nrun('x', shell=True)\n")
    assert {"pickle", "yaml"} <= used_names(source)["modules"]
    assert "eval" in used_names(source)["builtins"]
    assert used_names(source)["shells"] == {"system", "run"}
