"""Compile the Java sources into the jar of the package: ``python -m tools.build_jar``.

Eclipse's batch compiler does this, which needs no JDK. It and the jars of Spark that the sources refer to are
downloaded once into the user's cache; their checksums are those in ``java/jars.lock``. The build of a wheel and the
Makefile call this module, so it imports only the standard library and modules that do the same.

    python -m tools.build_jar           # if sources have changed since the last build
    python -m tools.build_jar --tests   # also the jar with the tests in Java
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from kafka_sql.embedded.jars import Jar, cache_folder, ivy_settings, read_lockfile
from kafka_sql.embedded.java import find_java
from kafka_sql.errors import EmbeddedKafkaError
from kafka_sql.options.secrets import secrets_pattern
from kafka_sql.runtime.private_files import create_private_folder
from kafka_sql.sql.recognize.first_words import starts_python_pattern

ROOT: Final = Path(__file__).parents[1]
JAR: Final = ROOT / "kafka_sql" / "spark" / "kafka-sql.jar"
TEST_JAR: Final = ROOT / "build" / "kafka-sql-tests.jar"
_SOURCES: Final = ROOT / "java" / "src" / "main" / "java"
_TESTS: Final = ROOT / "java" / "src" / "test" / "java"
_LOCKFILE: Final = ROOT / "java" / "jars.lock"
_MAVEN_CENTRAL: Final = "https://repo1.maven.org/maven2"
_COMPILER: Final = "ecj"
_TEST_RUNNER: Final = "junit-platform-console-standalone"
_DIGEST: Final = "META-INF/kafka-sql-sources.sha256"  # of what a jar was built from
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_NOT_IN_SPARK: Final = ("jackson-dataformat-csv", "protobuf-java")
_SECONDS: Final = 60  # without a response
_OPTIONS: Final = ("-source", "17", "-target", "17", "-encoding", "UTF-8", "-proc:none", "-g")
# warnings of style; serialized objects are never stored; errors of values have no cause, which would only cost time
_UNCHECKED: Final = (
    "all-static-method allJavadoc boxing fallthrough hiding javadoc nls paramAssign serial static-method super "
    "switchDefault syntheticAccess unnecessaryElse unqualifiedField unusedExceptionParam"
)


class BuildError(Exception):
    """The jar cannot be built."""


def build_jar() -> Path:
    """Build the jar of the package if it does not match the sources. Concurrent processes wait for each other.

    Raises:
        BuildError: the sources have errors or warnings, or a jar that they need cannot be downloaded.
        EmbeddedKafkaError: there is no Java.
        OSError: a file cannot be written.
    """
    return _build(JAR, _SOURCES, (), _patterns())


def build_test_jar() -> Path:
    """Build the jar with the tests in Java, and the jar of the package."""
    return _build(TEST_JAR, _TESTS, (build_jar(),), {})


def java_test_command(spark_jars: Path) -> list[str]:
    """Build both jars, and return the command that runs the tests in Java.

    Args:
        spark_jars: the folder of Spark's jars.
    """
    tests, runner = build_test_jar(), _locked_jars(_TEST_RUNNER)
    class_path = os.pathsep.join(map(str, [tests, JAR, spark_jars / "*", *jars_not_in_spark(), *runner]))
    launch = ["org.junit.platform.console.ConsoleLauncher", "execute", f"--scan-classpath={tests}"]
    return [find_java(), "-cp", class_path, *launch, "--details=tree", "--disable-banner", "--disable-ansi-colors"]


def jars_not_in_spark() -> list[Path]:
    """Return the paths of the libraries that classes use and Spark does not ship."""
    return _locked_jars(*_NOT_IN_SPARK)


def download_jars(lockfile: Path) -> list[Path]:
    """Return the paths of the jars of a lockfile in the cache, after downloading those that are missing.

    Raises:
        BuildError: a jar cannot be downloaded, or does not have the checksum in the lockfile.
    """
    return _download(read_lockfile(lockfile))


def _locked_jars(*artifacts: str) -> list[Path]:
    return _download(jar for jar in read_lockfile(_LOCKFILE) if jar.artifact in artifacts)


def _build(jar: Path, sources: Path, dependencies: tuple[Path, ...], resources: Mapping[str, str]) -> Path:
    digest = _digest(sources, dependencies, resources)
    lock = ROOT / "build" / f"{jar.name}.lock"
    lock.parent.mkdir(exist_ok=True)
    with open(lock, "w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if _built_digest(jar) != digest:
            with tempfile.TemporaryDirectory(dir=lock.parent) as folder:
                classes = Path(folder, "classes")
                _compile(sources, dependencies, classes)
                _pack(Path(folder, jar.name), classes, digest, resources)
                jar.parent.mkdir(exist_ok=True)
                os.replace(Path(folder, jar.name), jar)
    return jar


def _digest(sources: Path, dependencies: Iterable[Path], resources: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for path in (*sorted(sources.rglob("*.java")), _LOCKFILE, Path(__file__), *dependencies):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    for name, text in resources.items():
        digest.update(f"{name}{text}".encode())
    return digest.hexdigest()


def _built_digest(jar: Path) -> str | None:
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(_DIGEST).decode()
    except (OSError, zipfile.BadZipFile, KeyError):
        return None


def _compile(sources: Path, dependencies: Iterable[Path], classes: Path) -> None:
    jars = read_lockfile(_LOCKFILE)
    (compiler,) = _download(jar for jar in jars if jar.artifact == _COMPILER)
    class_path = [*dependencies, *_download(jar for jar in jars if jar.artifact != _COMPILER)]
    command = [find_java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", str(compiler), *_OPTIONS]
    command += [f"-warn:+all,-{_UNCHECKED.replace(' ', ',-')}", "-failOnWarning"]
    command += ["-cp", os.pathsep.join(map(str, class_path)), "-d", str(classes), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"The Java sources in {sources} have errors:\n{done.stdout}{done.stderr}")


def _download(jars: Iterable[Jar]) -> list[Path]:
    """Return the paths of jars in the cache, after downloading those that are missing."""
    folder = cache_folder() / "java-build"
    create_private_folder(folder)
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda jar: _download_jar(jar, folder), jars))


def _download_jar(jar: Jar, folder: Path) -> Path:
    path = folder / jar.file
    if path.exists() and _has_checksum(path, jar):
        return path
    url = f"{_repository()}/{jar.group.replace('.', '/')}/{jar.artifact}/{jar.revision}/{jar.file}"
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        partial = Path(file.name)
        try:
            with urllib.request.urlopen(url, timeout=_SECONDS) as response:
                shutil.copyfileobj(response, file)
        except OSError as e:
            partial.unlink()
            raise BuildError(
                f"{url} could not be downloaded: {e}. Behind a proxy, set https_proxy; for a mirror, set "
                "KAFKA_SQL_IVY_SETTINGS to the path of an ivysettings.xml whose ibiblio resolver names it."
            ) from e
    if not _has_checksum(partial, jar):
        partial.unlink()
        raise BuildError(f"{url} does not have the SHA-256 in the lockfile.")
    os.replace(partial, path)
    return path


def _has_checksum(path: Path, jar: Jar) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def _repository() -> str:
    """Return the address of the Maven repository: that of KAFKA_SQL_IVY_SETTINGS, or else Maven Central."""
    resolvers = ElementTree.parse(ivy_settings()).iter("ibiblio")
    return next((root.rstrip("/") for resolver in resolvers if (root := resolver.get("root"))), _MAVEN_CENTRAL)


def _pack(jar: Path, classes: Path, digest: str, resources: Mapping[str, str]) -> None:
    """Write the jar. The same classes result in the same bytes."""
    files = {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    files |= {_MANIFEST: b"Manifest-Version: 1.0\n\n", _DIGEST: digest.encode()}
    files |= {name: text.encode() for name, text in resources.items()}
    with zipfile.ZipFile(jar, "w") as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name)  # with a fixed date
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def _patterns() -> dict[str, str]:
    """Return the regular expressions that ``Statements.java`` reads, by their names in the jar."""
    folder = "io/github/kafkasql/extension"
    return {
        f"{folder}/secrets.regex": secrets_pattern(),
        f"{folder}/starts_python.regex": starts_python_pattern(),
    }


def main(arguments: Sequence[str]) -> int:
    """Build the jar, and return 0, or print why it cannot be built and return 1."""
    try:
        if "--tests" in arguments:
            print(build_test_jar())
        else:
            build_jar()
    except (BuildError, EmbeddedKafkaError, OSError) as e:
        print(e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
