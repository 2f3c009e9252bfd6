"""Apache Kafka's jars in the user's cache, fetched once by the Ivy that PySpark ships."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from kafka_sql.embedded.ivy import retrieve
from kafka_sql.embedded.jar_lockfile import LOCKFILE, VERSION, differences, is_complete, ivy_module, read_lockfile
from kafka_sql.errors import EmbeddedKafkaError


def cache_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """KAFKA_SQL_CACHE itself where set, else ``kafka_sql`` in the user's cache folder of the platform."""
    if own := environ.get("KAFKA_SQL_CACHE"):
        return Path(own).expanduser().absolute()
    if xdg := environ.get("XDG_CACHE_HOME"):
        return Path(xdg, "kafka_sql").absolute()
    return Path.home() / ("Library/Caches" if platform == "darwin" else ".cache") / "kafka_sql"


def kafka_jars(java: str, lockfile: Path = LOCKFILE) -> list[Path]:
    """The jars of the lock file; downloads them (44 MB) when the cache has not exactly these.

    Processes that ask at the same time wait for the first one's download. One that was cut off is taken up
    again: the files come into ``<name>.partial``, and only a complete and checked set gets its name.

    Raises:
        EmbeddedKafkaError: they cannot be had.
    """
    jars = read_lockfile(lockfile)
    digest = hashlib.sha256(lockfile.read_bytes()).hexdigest()[:8]  # another lock file gets another folder
    folder = cache_folder() / f"kafka-{VERSION}-{digest}"
    if not is_complete(folder, jars):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with open(f"{folder}.busy", "w") as busy:
                fcntl.flock(busy, fcntl.LOCK_EX)  # the kernel lets go of it when its holder dies
                if not is_complete(folder, jars):
                    _download(java, folder, lockfile)
        except OSError as error:
            raise EmbeddedKafkaError(
                f"The jars of Apache Kafka cannot be stored in {folder.parent}: {error}. "
                "Name a folder that can be written to in the environment variable KAFKA_SQL_CACHE."
            ) from error
    return [folder / jar.file for jar in jars]


def _download(java: str, folder: Path, lockfile: Path) -> None:
    jars = read_lockfile(lockfile)
    partial = Path(f"{folder}.partial")
    shutil.rmtree(partial / "jars", ignore_errors=True)
    partial.mkdir(exist_ok=True)
    (partial / "ivy.xml").write_text(ivy_module(jars))
    retrieve(java, ivy_jar(), ivy_settings(), partial, len(jars))
    if wrong := differences(partial / "jars", jars):
        shutil.rmtree(partial)  # a wrong file must not be taken up again
        raise EmbeddedKafkaError(
            f"The download of Apache Kafka {VERSION} is not what was expected: {'; '.join(wrong[:3])}. "
            "Nothing of it was kept: try again; if it stays so, Ivy's repository has other files."
        )
    shutil.rmtree(folder, ignore_errors=True)  # one that lost files
    (partial / "jars").rename(folder)
    shutil.rmtree(partial)


def ivy_jar() -> Path:
    """The Ivy that PySpark ships."""
    spec = importlib.util.find_spec("pyspark")  # found, not imported: Spark is not needed here
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder, "jars").glob("ivy-*.jar")):
            return path
    raise EmbeddedKafkaError(
        "Apache Ivy, which fetches Apache Kafka, was not found: the installed pyspark has no jars/ivy-*.jar. "
        "Install the full package: pip install pyspark."
    )


def ivy_settings() -> Path:
    """Where Ivy looks for what it fetches."""
    own = os.environ.get("KAFKA_SQL_IVY_SETTINGS")
    if own is None:
        return Path(__file__).with_name("ivysettings.xml")
    path = Path(own).expanduser().absolute()
    if not path.is_file():
        raise EmbeddedKafkaError(
            f"KAFKA_SQL_IVY_SETTINGS names {path}, which is not a file. It must be an ivysettings.xml."
        )
    return path
