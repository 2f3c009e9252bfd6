"""The extension's jar, made in the user's cache by the Java compiler that Spark has for its own generated code."""

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

from kafka_sql.embedded.jars import cache_folder
from kafka_sql.errors import ExtensionError
from kafka_sql.options.secrets import secrets_pattern

SOURCES = Path(__file__).with_name("java")


def jar(folder: Path | None = None) -> Path:
    """The jar's path; it is compiled if it is not there yet, which takes some seconds and needs no JDK.

    Args:
        folder: where to put it. Default: the user's cache, or what KAFKA_SQL_CACHE names.

    Raises:
        ExtensionError: it cannot be made.
    """
    sources = sorted(SOURCES.glob("*.java"))
    parts = [*(path.read_bytes() for path in sources), secrets_pattern().encode()]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:8]  # other sources get another jar
    path = (folder or cache_folder()) / f"kafka-sql-extension-{digest}.jar"
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as work:
                classes = _compiled(sources, Path(work))
                os.replace(_packed(classes, Path(work, path.name)), path)  # whole or not at all
        except OSError as e:
            raise ExtensionError(
                f"The jar cannot be written to {path.parent}: {e}. Name a folder that can be written to in the "
                "environment variable KAFKA_SQL_CACHE."
            ) from e
    return path


def _compiled(sources: list[Path], work: Path) -> Path:
    """The classes, in a folder."""
    classes = work / "classes"
    classes.mkdir()
    jars = Path(_find_spark_home(), "jars")
    gateway = _java(jars)
    try:
        file = gateway.jvm.java.io.File
        compiler = gateway.jvm.org.codehaus.janino.CompilerFactory().newCompiler()
        compiler.setDestinationDirectory(file(str(classes)), False)
        compiler.setClassPath(_files(gateway, sorted(jars.glob("*.jar"))))
        compiler.compile(_files(gateway, sources))
    except Py4JJavaError as e:
        raise ExtensionError(f"The jar does not compile against the Spark in {jars.parent}: {e.java_exception}") from e
    finally:
        gateway.shutdown()
    return classes


def _java(jars: Path) -> JavaGateway:
    try:
        port, token = launch_gateway(
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            classpath=str(jars / "*"),
            die_on_exit=True,
            enable_auth=True,
            java_path=None,  # JAVA_HOME's, or the PATH's
        )
    except (OSError, ValueError) as e:
        raise ExtensionError("Java does not start. Install Java 17 or 21, or set JAVA_HOME.") from e
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))


def _files(gateway: JavaGateway, paths: list[Path]) -> JavaArray:
    array = gateway.new_array(gateway.jvm.java.io.File, len(paths))
    for i, path in enumerate(paths):
        array[i] = gateway.jvm.java.io.File(str(path))
    return array


def _packed(classes: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(classes.rglob("*.class")):
            archive.write(file, file.relative_to(classes))
        archive.writestr("kafka_sql/secrets.regex", secrets_pattern())
    return path
