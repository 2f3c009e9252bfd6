"""Download Apache Kafka's jars, which a lockfile pins by SHA-256, into the user's cache with PySpark's Ivy."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_sql.embedded.ivy import retrieve
from kafka_sql.errors import EmbeddedKafkaError
from kafka_sql.runtime.private_files import create_private_folder

KAFKA_VERSION = "4.3.1"
LOCKFILE = Path(__file__).with_name(f"kafka-{KAFKA_VERSION}.lock")


def cache_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder in KAFKA_SQL_CACHE if it is set, or else ``kafka_sql`` in the platform's user cache folder."""
    if folder := environ.get("KAFKA_SQL_CACHE"):
        return Path(folder).expanduser().absolute()
    if xdg := environ.get("XDG_CACHE_HOME"):
        return Path(xdg, "kafka_sql").absolute()
    return Path.home() / ("Library/Caches" if platform == "darwin" else ".cache") / "kafka_sql"


def kafka_jars(java: str, lockfile: Path = LOCKFILE) -> list[Path]:
    """Return the paths of the jars in the lockfile, downloading them (44 MB) if they are not in the cache.

    The checksums of all jars are verified each time, which takes about 0.1 s. Concurrent processes wait for the first
    one's download. An interrupted download is resumed: files are stored in ``<name>.partial``, which is renamed when it
    is complete and the checksums match.

    Raises:
        EmbeddedKafkaError: the jars could not be downloaded or stored.
    """
    jars = read_lockfile(lockfile)
    digest = hashlib.sha256(lockfile.read_bytes()).hexdigest()[:8]  # each lockfile has its own folder
    folder = cache_folder() / f"kafka-{KAFKA_VERSION}-{digest}"
    update_cache(
        folder,
        lambda: not find_differences(folder, jars),
        lambda partial: _download(java, partial, jars),
        "The jars of Apache Kafka",
    )
    return [folder / jar.file for jar in jars]


def update_cache(folder: Path, is_valid: Callable[[], bool], download: Callable[[Path], Path], content: str) -> None:
    """Download a folder of the cache if it is not valid. Concurrent processes wait for the first one's download.

    Args:
        download: takes a folder for an incomplete download, which may exist, and returns its part to keep.

    Raises:
        EmbeddedKafkaError: the folder cannot be stored.
    """
    try:
        create_private_folder(folder.parent)
        if not is_valid():
            with open(f"{folder}.busy", "w") as lock_file:
                fcntl.flock(lock_file, fcntl.LOCK_EX)  # the kernel releases it when the process exits
                if not is_valid():
                    partial = Path(f"{folder}.partial")
                    partial.mkdir(mode=0o700, exist_ok=True)
                    complete = download(partial)
                    shutil.rmtree(folder, ignore_errors=True)  # an incomplete or changed one
                    complete.rename(folder)
                    shutil.rmtree(partial)
    except OSError as error:
        message = describe_storage_failure(content, folder.parent, error)
        raise EmbeddedKafkaError(message, path=str(folder.parent)) from error


def describe_storage_failure(content: str, folder: Path, error: OSError) -> str:
    """Return the message that something cannot be stored in the cache, with what to do."""
    return (
        f"{content} cannot be stored in {folder}: {error}. To use another folder, set the environment variable "
        "KAFKA_SQL_CACHE to one that only you can write to."
    )


def _download(java: str, partial: Path, jars: list[Jar]) -> Path:
    shutil.rmtree(partial / "jars", ignore_errors=True)
    (partial / "ivy.xml").write_text(ivy_module(jars))
    retrieve(java, ivy_jar(), ivy_settings(), partial, len(jars), f"Apache Kafka {KAFKA_VERSION}")
    if errors := find_differences(partial / "jars", jars):
        shutil.rmtree(partial)  # Ivy would reuse a wrong file
        raise EmbeddedKafkaError(
            f"The download of Apache Kafka {KAFKA_VERSION} does not match the lockfile: {'; '.join(errors[:3])}. It "
            "was discarded. Try again. If the error persists, the repository in ivysettings.xml serves different files."
        )
    return partial / "jars"


def ivy_jar() -> Path:
    """Return the path of the Ivy jar that PySpark ships.

    Raises:
        EmbeddedKafkaError: the installed pyspark has no such jar.
    """
    spec = importlib.util.find_spec("pyspark")  # without importing it
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder, "jars").glob("ivy-*.jar")):
            return path
    raise EmbeddedKafkaError(
        "Apache Ivy, which downloads Apache Kafka, is missing: the installed pyspark has no jars/ivy-*.jar. "
        "Install the full package: pip install pyspark."
    )


def ivy_settings() -> Path:
    """Return the path of ``ivysettings.xml``, which names the repositories to download from.

    Raises:
        EmbeddedKafkaError: KAFKA_SQL_IVY_SETTINGS is not a file.
    """
    override = os.environ.get("KAFKA_SQL_IVY_SETTINGS")
    if override is None:
        return Path(__file__).with_name("ivysettings.xml")
    path = Path(override).expanduser().absolute()
    if not path.is_file():
        raise EmbeddedKafkaError(
            f"KAFKA_SQL_IVY_SETTINGS = {path} is not a file. Set it to the path of an ivysettings.xml.", path=str(path)
        )
    return path


class Jar(NamedTuple):
    """A Maven artifact and its checksum."""

    group: str
    artifact: str
    revision: str
    sha256: str
    classifier: str = ""  # such as tests

    @property
    def file(self) -> str:
        """Name of the file."""
        return "-".join(filter(None, (self.artifact, self.revision, self.classifier))) + ".jar"


def read_lockfile(path: Path = LOCKFILE) -> list[Jar]:
    """Return the jars of a lockfile. Lines are ``group:artifact:revision[:classifier] sha256``, or start with ``#``."""
    jars = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            group, artifact, revision, *classifier, sha256 = re.split("[: ]", line)
            jars.append(Jar(group, artifact, revision, sha256, *classifier))
    return jars


def ivy_module(jars: list[Jar]) -> str:
    """Return an ivy.xml with exactly these jars, without transitive dependencies."""
    dependencies = "\n".join(
        f'    <dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.revision}" transitive="false"/>'
        for jar in jars
    )
    return f"""<ivy-module version="2.0">
  <info organisation="kafka_sql" module="embedded"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconfmapping="default->default">
{dependencies}
  </dependencies>
</ivy-module>
"""


def find_differences(folder: Path, jars: list[Jar]) -> list[str]:
    """Return how the folder differs from the lockfile in names and content; an empty list if it does not."""
    files = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    errors = []
    for jar in jars:
        path = files.pop(jar.file, None)
        if path is None:
            errors.append(f"{jar.file} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != jar.sha256:
            errors.append(f"{jar.file} does not match the SHA-256 in the lockfile")
    return errors + [f"{name} is not in the lockfile" for name in sorted(files)]
