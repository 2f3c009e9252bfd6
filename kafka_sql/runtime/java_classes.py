"""Add Java classes of this package to a running Spark application.

Janino, Spark's compiler for generated code, compiles them in the session's JVM.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kafka_sql.runtime.private_files import open_private

_LOADER: Final = "org.apache.spark.util.MutableURLClassLoader"  # of the driver's jars


def driver_class_loader(context: Any) -> Any:
    """Return the class loader of the driver's jars, which all threads of the driver inherit; None if it has none.

    Args:
        context: the SparkContext.
    """
    from py4j.java_gateway import is_instance_of

    loader, found = context._jvm.Thread.currentThread().getContextClassLoader(), None
    while loader is not None:
        if is_instance_of(context._gateway, loader, _LOADER):
            found = loader
        loader = loader.getParent()
    return found


def load_class(loader: Any, name: str) -> Any:
    """Return a class; None if the loader does not have it."""
    from py4j.protocol import Py4JJavaError

    try:
        return loader.loadClass(name)
    except Py4JJavaError:
        return None


def add_classes(context: Any, loader: Any, jar_name: str, sources: Sequence[Path]) -> None:
    """Compile Java files, and add their classes to the driver, and to executors in other processes.

    Args:
        context: the SparkContext.
        loader: the class loader of the driver's jars.
        jar_name: the name of the jar with the classes, which no other jar may have.
    """
    jvm = context._jvm
    jar = write_jar(jvm.System.getProperty("java.io.tmpdir"), jar_name, _compile(context, loader, sources))
    # deletes it when the driver exits
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(str(jar.parent)))
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    if not context._jsc.sc().isLocal():
        context._jsc.addJar(str(jar))


def write_jar(parent: str, name: str, classes: Mapping[str, bytes]) -> Path:
    """Write a jar into a new folder that only this user can access, whatever the umask is.

    Args:
        parent: the folder of the new one, in which other users may create files.
        classes: the bytecode of the classes, by their paths in the jar.
    """
    jar = Path(tempfile.mkdtemp(prefix="kafka_sql-", dir=parent), name)
    with open(jar, "xb", opener=open_private) as file, zipfile.ZipFile(file, "w") as archive:
        for path, code in classes.items():
            archive.writestr(path, code)
    return jar


def compile_java(context: Any, loader: Any, source: Path) -> Any:
    """Compile a Java file in the session's JVM with Janino, and return the compiler, which has the classes.

    Args:
        loader: the class loader of the classes to which the file refers.
    """
    compiler = context._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source.read_text())
    return compiler


def _compile(context: Any, loader: Any, sources: Sequence[Path]) -> dict[str, bytes]:
    """Return the bytecode of the classes, by their paths in a jar."""
    janino, resource = context._jvm.org.codehaus.janino, context._jvm.org.codehaus.commons.compiler.util.resource
    compiler = janino.Compiler()
    compiler.setIClassLoader(janino.ClassLoaderIClassLoader(loader))
    classes = context._jvm.java.util.HashMap()
    compiler.setClassFileCreator(resource.MapResourceCreator(classes))
    units = context._gateway.new_array(resource.Resource, len(sources))
    for i, path in enumerate(sources):
        units[i] = resource.StringResource(path.name, path.read_text())
    compiler.compile(units)
    return {name: bytes(code) for name, code in classes.items()}
