"""Add the jar with the Java classes of this package to a running Spark application."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import JavaException

JAR: Final = Path(__file__).with_name("kafka-sql.jar")
PACKAGE: Final = "io.github.kafkasql"

_LOADER: Final = "org.apache.spark.util.MutableURLClassLoader"  # of the driver's jars
_A_CLASS: Final = f"{PACKAGE}.extension.Extensions"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        _LOADER,
        "the driver loads this package's Java classes although the application has started",
        "queries with operators in Java, real-time mode and a second session catalog are refused before they start",
        members=("addURL/1",),
    ),
)


def java_classes(context: Any) -> Any:
    """Return the package of the classes, after ``add_jar``: ``java_classes(context).state.ChangelogOperators``."""
    return context._jvm.io.github.kafkasql


def add_jar(context: Any) -> Any:
    """Add the jar to the driver, and to executors in other processes, unless the application has it.

    Returns:
        the class loader of the driver's jars; None if it does not accept any.
    """
    loader = driver_class_loader(context)
    if loader is not None and load_class(loader, _A_CLASS) is None:
        add_jar_file(context, loader, jar_path())
    return loader


def add_jar_file(context: Any, loader: Any, jar: Path) -> None:
    """Add a jar to the driver, and to executors in other processes.

    Args:
        loader: the class loader of the driver's jars.
    """
    loader.addURL(_url(context, jar))
    if not context._jsc.sc().isLocal():
        context._jsc.addJar(str(jar))


def load_driver_class(context: Any, name: str) -> Any:
    """Return a class that only the driver uses, even if the class loader of the driver's jars does not accept any."""
    loader = add_jar(context)
    if loader is None:
        urls = context._gateway.new_array(context._jvm.java.net.URL, 1)
        urls[0] = _url(context, jar_path())
        parent = context._jvm.Thread.currentThread().getContextClassLoader()
        loader = context._jvm.java.net.URLClassLoader(urls, parent)
    return loader.loadClass(name)


def driver_class_loader(context: Any) -> Any:
    """Return the class loader of the driver's jars, which all threads of the driver inherit; None if it has none."""
    from py4j.java_gateway import is_instance_of

    loader, found = context._jvm.Thread.currentThread().getContextClassLoader(), None
    while loader is not None:
        if is_instance_of(context._gateway, loader, _LOADER):
            found = loader
        loader = loader.getParent()
    return found


def load_class(loader: Any, name: str) -> Any:
    """Return a class; None if the loader does not have it."""
    try:
        return loader.loadClass(name)
    except JavaException:
        return None


def jar_path() -> Path:
    """Return the path of the jar."""
    if not JAR.exists():
        raise FileNotFoundError(f"{JAR} is missing. In a checkout, build it: python -m tools.build_jar")
    return JAR


def _url(context: Any, jar: Path) -> Any:
    return context._jvm.java.io.File(str(jar)).toURI().toURL()
