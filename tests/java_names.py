"""Keep the Java classes and packages that PySpark finds by name, so that it finds them faster.

py4j keeps none. Each use of ``jvm.PythonSQLUtils`` searches all jars for a class of this name in each of ten packages,
and each part of ``jvm.org.apache.spark`` for a class. This takes a fifth of a driver's CPU time in tests of streams.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView


def keep_java_names() -> None:
    """Keep what is found in attributes of the objects of py4j, for this process."""
    for owner in (JVMView, JavaPackage):
        owner.__getattr__ = _keep(owner.__getattr__)


def _keep(find: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def find_and_keep(self: Any, name: str) -> Any:
        found = find(self, name)
        # a name that is unknown is a package, and can become a class when a jar is added
        if isinstance(found, JavaClass) or (isinstance(found, JavaPackage) and name.islower()):
            self.__dict__[name] = found
        return found

    return find_and_keep
