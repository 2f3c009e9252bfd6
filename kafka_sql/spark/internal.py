"""Describe the private parts of Spark that this package uses.

A module of ``kafka_sql.spark`` lists those that it uses in ``INTERNALS``. ``docs/spark-internals.md`` is generated from
these lists (``make docs-options``), and a test looks up each name on the installed Spark.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Internal:
    """A part of Spark without a promise of compatibility."""

    name: str  # what the code refers to
    why: str  # what it is used for
    if_gone: str  # what happens with a Spark that does not have it
    since: str = "4.1"  # the first supported version of Spark that has it
    until: str = ""  # the version of Spark, or its ticket, that makes the use unnecessary; empty if none is known


@dataclass(frozen=True)
class PythonName(Internal):
    """A private name of PySpark, or a public function that is replaced.

    The name is qualified: ``pyspark.sql.classic.dataframe.DataFrame._jdf``. It may be an attribute of the class's
    instances.
    """

    parameters: tuple[str, ...] = ()  # the parameters that the code expects, if it replaces or calls a function


@dataclass(frozen=True)
class JavaClass(Internal):
    """A Java or Scala class that is not documented as API.

    Attributes:
        members: its members that are used: ``sql/1`` is a method with one parameter, ``new/2`` a constructor, and
            ``ds`` a field. They may be inherited, or belong to the companion object.
    """

    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Text(Internal):
    """A text of Spark in which this package finds the name, because Spark does not report the fact in another way."""

    source: str = ""  # the Python module, Java class or resource that contains the text, or a part of it


def java_classes(table: str, why: str, if_gone: str) -> tuple[JavaClass, ...]:
    """Return the classes that have one reason.

    Args:
        table: a class and its members per line; a class with many members has several lines.
    """
    members: dict[str, list[str]] = {}
    for name, *row in map(str.split, table.strip().splitlines()):
        members.setdefault(name, []).extend(row)
    return tuple(JavaClass(name, why, if_gone, members=tuple(row)) for name, row in members.items())


def internals() -> Iterator[tuple[str, Internal]]:
    """Yield the module and the entry of each private part, by module."""
    import kafka_sql.spark

    for module in pkgutil.iter_modules(kafka_sql.spark.__path__, "kafka_sql.spark."):
        for entry in getattr(importlib.import_module(module.name), "INTERNALS", ()):
            yield module.name, entry
