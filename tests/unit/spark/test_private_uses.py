"""Only kafka_sql.spark uses private parts of Spark, and each of them has an entry."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pyspark

from kafka_sql.spark.internal import JavaClass, PythonName, Text, internals

ROOT = Path(__file__).parents[3]
PACKAGES = ("kafka_sql", "pyspark_kafka_sql", "dbt_kafka_sql")
OWNER = "kafka_sql/spark"
JAVA_NAME = re.compile(r"\b(org\.(apache\.(spark|hadoop|commons)|codehaus)|scala)\.[\w.$]+")
JAVA_METHODS = {"queryExecution", "sessionState", "sharedState"}  # of Spark's sessions and Datasets
# state stores in Spark's guide, and the connector, whose jar this package downloads
NOT_PRIVATE = ("org.apache.spark.sql.execution.streaming.state", "org.apache.spark.sql.kafka010")
NOT_SPARK = {"_exit", "_replace", "_client", "_count"}  # of os, of named tuples, and of this package


@functools.cache
def private_names() -> set[str]:
    """Return the private names in PySpark's modules for sessions and DataFrames."""
    root = Path(pyspark.__file__).parent
    files = [f for f in root.rglob("*.py") if not {"tests", "pandas", "ml", "mllib"} & set(f.relative_to(root).parts)]
    names = {name for file in files for name in re.findall(r"\b_[a-zA-Z]\w*", file.read_text())}
    return names - NOT_SPARK


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the lines and names of private parts of PySpark that a module uses."""
    nodes = list(ast.walk(tree))
    own = {n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) in ("self", "cls")}
    own |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names = private_names() - own
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if name in names:
                yield node.lineno, name
            case ast.Attribute(attr=name) if name in JAVA_METHODS:
                yield node.lineno, name
            case ast.Import(names=imports) | ast.ImportFrom(names=imports):
                module = getattr(node, "module", None) or ""
                for name in (f"{module}.{alias.name}".strip(".") for alias in imports):
                    if name.startswith("py4j") or any(part in names for part in name.split(".")):
                        yield node.lineno, name


def java_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the lines and names of Java classes that a module uses: ``jvm.org.apache.spark...`` and texts."""
    nodes = list(ast.walk(tree))
    inner = {id(node.value) for node in nodes if isinstance(node, (ast.Attribute, ast.Expr))}  # and docstrings
    for node in nodes:
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            match = JAVA_NAME.search(ast.unparse(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            match = JAVA_NAME.fullmatch(node.value)
        else:
            continue
        if match and not match[0].startswith(NOT_PRIVATE):
            yield node.lineno, match[0]


def modules(under: str = "") -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name.startswith(under):
                yield name, ast.parse(path.read_text())


def test_only_one_package_uses_private_parts_of_spark() -> None:
    found = {}
    for name, tree in modules():
        if not name.startswith(OWNER):
            uses = [f"{line}: {use}" for line, use in sorted([*private_uses(tree), *java_names(tree)])]
            if uses:
                found[name] = uses
    assert found == {}


def test_each_private_use_has_an_entry() -> None:
    entries = [entry for _, entry in internals()]
    python = {part for e in entries if isinstance(e, PythonName) for part in e.name.split(".")}
    java = {e.name for e in entries if isinstance(e, JavaClass)} | {e.source for e in entries if isinstance(e, Text)}
    missing = []
    for name, tree in modules(OWNER):
        missing += [
            f"{name}:{line}: {use}" for line, use in private_uses(tree) if is_private(use) and use not in python
        ]
        missing += [f"{name}:{n}: {use}" for n, use in java_names(tree) if not is_listed(use, java)]
    assert missing == []


def is_listed(name: str, classes: set[str]) -> bool:
    """Return whether a name is that of a class or of one of its members, or of a class's package."""
    return any(name.startswith(listed) or listed.startswith(name) for listed in classes)


def test_entries_are_complete_and_unique() -> None:
    entries = [entry for _, entry in internals()]
    assert [e.name for e in entries if not (e.why and e.if_gone)] == []
    names = [(e.name, e.why) for e in entries]
    assert sorted(names) == sorted(set(names))
