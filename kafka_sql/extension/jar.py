"""Build the extension's jar in the user's cache, with Janino, the Java compiler that Spark uses for generated code."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path

from py4j.java_collections import JavaArray
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError
from pyspark.find_spark_home import _find_spark_home

from kafka_sql.catalog.source_catalog import JAVA_SOURCES
from kafka_sql.embedded.jars import cache_folder, describe_storage_failure
from kafka_sql.errors import ExtensionError
from kafka_sql.options.masking import options_pattern, secrets_pattern
from kafka_sql.runtime.private_files import create_private_folder, is_writable_by_others, open_private
from kafka_sql.state.java_operators import JAVA_SOURCES as STATE_SOURCES

SOURCES = Path(__file__).with_name("java")


def build_jar(folder: Path | None = None) -> Path:
    """Return the jar's path; build the jar first if it is missing, which takes a few seconds and needs no JDK.

    Args:
        folder: where to create the jar. Default: KAFKA_SQL_CACHE, or the user's cache.

    Raises:
        ExtensionError: the jar cannot be built, or other users can replace it.
    """
    sources = sorted(path for folder in (SOURCES, JAVA_SOURCES, STATE_SOURCES) for path in folder.glob("*.java"))
    parts = [*(path.read_bytes() for path in sources), *(pattern.encode() for pattern in _patterns().values())]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:8]  # changed sources get another jar
    path = (folder or cache_folder()) / f"kafka-sql-extension-{digest}.jar"
    try:
        create_private_folder(path.parent)
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent) as work:
                classes = _compile(sources, Path(work))
                os.replace(_pack(classes, Path(work, path.name)), path)  # atomic
        if path.is_symlink() or is_writable_by_others(path.stat()):
            raise PermissionError(f"other users can write the existing '{path.name}' (delete it to build it again)")
    except OSError as e:
        message = describe_storage_failure("The jar", path.parent, e)
        raise ExtensionError(message, path=str(path.parent)) from e
    return path


def _compile(sources: list[Path], work: Path) -> Path:
    """Compile the sources and return the folder of the classes."""
    classes = work / "classes"
    classes.mkdir()
    jars = Path(_find_spark_home(), "jars")
    gateway = _start_java(jars)
    try:
        file = gateway.jvm.java.io.File
        compiler = gateway.jvm.org.codehaus.janino.CompilerFactory().newCompiler()
        compiler.setDestinationDirectory(file(str(classes)), False)
        compiler.setClassPath(_java_files(gateway, sorted(jars.glob("*.jar"))))
        compiler.compile(_java_files(gateway, sources))
    except Py4JJavaError as e:
        raise ExtensionError(
            f"The jar cannot be compiled with the Spark in {jars.parent}: {e.java_exception}", path=str(jars.parent)
        ) from e
    finally:
        gateway.shutdown()
    return classes


def _start_java(jars: Path) -> JavaGateway:
    try:
        port, token = launch_gateway(
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            classpath=str(jars / "*"),
            die_on_exit=True,
            enable_auth=True,
            java_path=None,  # from JAVA_HOME or the PATH
        )
    except (OSError, ValueError) as e:
        raise ExtensionError("Java cannot be started. Install Java 17 or 21, or set JAVA_HOME.") from e
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))


def _java_files(gateway: JavaGateway, paths: list[Path]) -> JavaArray:
    array = gateway.new_array(gateway.jvm.java.io.File, len(paths))
    for i, path in enumerate(paths):
        array[i] = gateway.jvm.java.io.File(str(path))
    return array


def _pack(classes: Path, path: Path) -> Path:
    with (
        open(path, "xb", opener=open_private) as stream,  # with the usual umask of a user group, others could write it
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for file in sorted(classes.rglob("*.class")):
            archive.write(file, file.relative_to(classes))
        for name, pattern in _patterns().items():
            archive.writestr(f"kafka_sql/{name}", pattern)
    return path


def _patterns() -> dict[str, str]:
    """Return the regular expressions for java/Patterns.java, by the names of their files."""
    return {"secrets.regex": secrets_pattern(), "options.regex": options_pattern()}
