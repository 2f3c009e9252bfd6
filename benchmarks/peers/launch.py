"""Starts the peers' processes, with the jars that they need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

from benchmarks.station import Station
from kafka_sql.embedded.jars import cache_folder, kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.runtime.worker_main import installed_command

OURS: Final = "kafka_sql"
SPARK: Final = "Spark's own"
FLINK: Final = "Flink SQL"

_HERE: Final = Path(__file__).parent
_FLINK: Final = "2.2.0"
_FLINK_HASH: Final = "sha256:cbf246ea88f95066edeb720ab425f64e2149bd530d777db0f0dbf90bef2d7fdf"
# what Flink's own scripts open to it on Java 17
_OPENS: Final = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.net")


def ours(folder: Path, cores: int = 2) -> Station:
    """This project on Spark."""
    return _spark(OURS, folder, cores, [])


def sparks(folder: Path, cores: int = 2) -> Station:
    """Spark with its own Kafka source and sink, and its Avro functions."""
    return _spark(SPARK, folder, cores, kafka_jars(find_java(), _HERE / "spark.lock"))


def _spark(name: str, folder: Path, cores: int, jars: list[Path]) -> Station:
    own = folder / name.replace(" ", "_").replace("'", "")
    own.mkdir(exist_ok=True)
    settings = {"cores": cores, "jars": [str(j) for j in jars], "folder": str(own), "enabled": name == OURS}
    command = [sys.executable, "-m", "benchmarks.peers.spark_station", json.dumps(settings)]
    # workers as docs/deployment.md has them, with compiled modules, also where the environment says otherwise
    environment = {**os.environ, "PYSPARK_PYTHON": installed_command() or sys.executable, "PYTHONDONTWRITEBYTECODE": ""}
    return Station(name, command, own / "log", environment)


def flink(folder: Path, cores: int = 2) -> Station:
    """Flink SQL in batch mode, in one JVM."""
    jars = [*flink_jars(), *kafka_jars(find_java(), _HERE / "flink.lock")]
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENS]
    command = [
        *(find_java(), "-Xmx4g", "-Dorg.apache.logging.log4j.level=OFF", *opened),
        *("-cp", os.pathsep.join(map(str, jars)), str(_HERE / "FlinkStation.java"), str(cores)),
    ]
    return Station(FLINK, command, folder / "flink.log", os.environ)


def flink_jars() -> list[Path]:
    """Flink's jars, which its Python package brings (312 MB, fetched once)."""
    folder = cache_folder() / f"flink-{_FLINK}"
    if not folder.is_dir():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "lib").mkdir(parents=True)
        wanted = partial / "requirements.txt"
        wanted.write_text(f"apache-flink-libraries=={_FLINK} --hash={_FLINK_HASH}\n")
        command = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes"]
        subprocess.run([sys.executable, *command, "--dest", partial, "--requirement", wanted], check=True)
        (archive,) = partial.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                if "/deps/lib/" in member.name and member.name.endswith(".jar"):
                    member.name = Path(member.name).name
                    tar.extract(member, partial / "lib", filter="data")
        (partial / "lib").rename(folder)
        shutil.rmtree(partial)
    return sorted(folder.glob("*.jar"))
