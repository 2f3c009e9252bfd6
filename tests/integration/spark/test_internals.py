"""The installed Spark has each private name, class, method and text that this package uses."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from typing import Any

import pytest

from kafka_sql.spark.internal import Internal, JavaClass, PythonName, Text, internals
from kafka_sql.spark.jvm import JavaException, jvm

pytestmark = pytest.mark.integration


def test_the_installed_spark_has_everything(spark: Any) -> None:
    entries = [(module, entry) for module, entry in internals() if parse(entry.since) <= parse(spark.version)]
    assert [f"{module}: {problem}" for module, entry in entries for problem in problems(spark, entry)] == []


def parse(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2]]


def problems(spark: Any, entry: Internal) -> list[str]:
    """Return what the installed Spark does not have."""
    if isinstance(entry, PythonName):
        return python_problems(entry)
    return java_problems(spark, entry) if isinstance(entry, JavaClass) else text_problems(spark, entry)


def python_problems(entry: PythonName) -> list[str]:
    path, _, name = entry.name.rpartition(".")
    owner = pkgutil.resolve_name(path)
    if not hasattr(owner, name):  # an attribute of instances: the class or one of its bases assigns it
        classes = [base for base in inspect.getmro(owner) if base.__module__ != "builtins"]
        sources = "".join(map(inspect.getsource, classes))
        return [] if re.search(rf"\bself\.{name}\b", sources) else [f"{entry.name} is missing"]
    if not entry.parameters:
        return []
    function = inspect.unwrap(getattr(owner, name))
    parameters = [p for p in inspect.signature(function).parameters if p != "self"]
    expected = list(entry.parameters)
    return [] if parameters[: len(expected)] == expected else [f"{entry.name} has the parameters {parameters}"]


def java_problems(spark: Any, entry: JavaClass) -> list[str]:
    classes = [c for c in (find_class(spark, entry.name), find_class(spark, f"{entry.name}$")) if c is not None]
    if not classes:
        return [f"class {entry.name} is missing"]
    names = {name for java_class in classes for name in members(spark, java_class, entry.members)}
    return [f"{entry.name} has no {member}" for member in entry.members if member not in names]


def find_class(spark: Any, name: str) -> Any:
    """Return a class; None if it does not exist."""
    loader = jvm(spark).Thread.currentThread().getContextClassLoader()
    try:
        return jvm(spark).java.lang.Class.forName(name, False, loader)
    except JavaException:
        return None


def members(spark: Any, java_class: Any, expected: tuple[str, ...]) -> set[str]:
    """Return the members of a class with the numbers of their parameters.

    If the class refers to one that Spark's jars lack, as SparkEnv does, reflection fails. Those of the expected members
    are returned then whose names the class file contains.
    """
    try:
        names = {f"new/{count}" for _, count in describe(spark, java_class.getDeclaredConstructors())}
        for methods in (java_class.getMethods(), java_class.getDeclaredMethods()):
            names |= {f"{name}/{count}" for name, count in describe(spark, methods)}
        while java_class is not None:
            names |= {name for name, _ in describe(spark, java_class.getDeclaredFields())}
            java_class = java_class.getSuperclass()
    except JavaException:
        content = resource(spark, java_class.getName().replace(".", "/") + ".class")
        return {member for member in expected if member.partition("/")[0] in content}
    return names


def describe(spark: Any, array: Any) -> list[tuple[str, int]]:
    """Return names and numbers of parameters of members. They are one text, because each call to the JVM is slow."""
    signatures = str(jvm(spark).scala.runtime.ScalaRunTime.stringOf(array))[len("Array(") : -1].split(", ")
    parts = [signature.partition(" throws ")[0].rstrip(")").partition("(") for signature in signatures]
    return [(name.rpartition(".")[2], parameters.count(",") + bool(parameters)) for name, _, parameters in parts]


def text_problems(spark: Any, entry: Text) -> list[str]:
    if entry.source.startswith("pyspark."):
        content = inspect.getsource(importlib.import_module(entry.source))
    else:
        path = entry.source.replace(".", "/")  # the texts of a Scala object are in the class X$
        paths = [entry.source] if "/" in entry.source else [f"{path}.class", f"{path}$.class"]
        content = "".join(resource(spark, path) for path in paths)
    return [] if entry.name in content else [f"{entry.source} has no text '{entry.name}'"]


def resource(spark: Any, path: str) -> str:
    """Return the content of a file in Spark's jars; empty if it does not exist."""
    stream = jvm(spark).Thread.currentThread().getContextClassLoader().getResourceAsStream(path)
    return "" if stream is None else bytes(stream.readAllBytes()).decode("utf-8", errors="replace")
