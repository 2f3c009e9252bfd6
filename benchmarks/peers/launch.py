"""Start the processes of the peers, with the jars that they need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.peer_process import PeerProcess
from kafka_sql.cli import class_archive
from kafka_sql.embedded.jars import cache_folder, kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.runtime.worker_main import installed_command

OURS: Final = "kafka_sql"
SPARK: Final = "Spark's connector"
FLINK: Final = "Flink SQL"

_HERE: Final = Path(__file__).parent
_FLINK: Final = "2.2.0"
_FLINK_HASH: Final = "sha256:cbf246ea88f95066edeb720ab425f64e2149bd530d777db0f0dbf90bef2d7fdf"
# packages that Flink's scripts open on Java 17
_OPENS: Final = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.net")


def start_kafka_sql(folder: Path, cores: int = 2) -> PeerProcess:
    """Start this project on Spark."""
    return _spark(OURS, folder, cores, [])


def start_with_class_archive(folder: Path) -> PeerProcess:
    """Start this project on Spark, whose JVM maps its classes from the archive of ``kafka-sql class-archive``."""
    command = [sys.executable, "-m", "kafka_sql.cli", class_archive.COMMAND]
    options = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return _spark(OURS, folder, 2, [], {class_archive.VARIABLE: options})


def start_spark(folder: Path, cores: int = 2) -> PeerProcess:
    """Start Spark with its own Kafka source and sink, and its Avro functions."""
    return _spark(SPARK, folder, cores, kafka_jars(find_java(), _HERE / "spark.lock"))


def _spark(
    name: str, folder: Path, cores: int, jars: list[Path], variables: Mapping[str, str] = MappingProxyType({})
) -> PeerProcess:
    work_folder = folder / name.replace(" ", "_").replace("'", "")
    work_folder.mkdir(exist_ok=True)
    settings = {"cores": cores, "jars": [str(j) for j in jars], "folder": str(work_folder), "enabled": name == OURS}
    command = [sys.executable, "-m", "benchmarks.peers.spark_peer", json.dumps(settings)]
    # workers as in docs/deployment.md, with cached bytecode even if the environment disables it
    python = {"PYSPARK_PYTHON": installed_command() or sys.executable, "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **python, **variables}
    return PeerProcess(name, command, work_folder / "log", environment)


def start_flink(folder: Path, cores: int = 2, mode: str = "batch") -> PeerProcess:
    """Start Flink SQL in batch or streaming mode, in one JVM."""
    jars = [*flink_jars(), *kafka_jars(find_java(), _HERE / "flink.lock")]
    opens = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENS]
    command = [
        *(find_java(), "-Xmx4g", "-Dorg.apache.logging.log4j.level=OFF", *opens),
        *("-cp", os.pathsep.join(map(str, jars)), str(_HERE / "FlinkPeer.java"), str(cores), mode),
    ]
    return PeerProcess(FLINK, command, folder / "flink.log", os.environ)


def flink_jars() -> list[Path]:
    """Return Flink's jars, which are in its Python package (312 MB, downloaded once)."""
    folder = cache_folder() / f"flink-{_FLINK}"
    if not folder.is_dir():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "lib").mkdir(parents=True)
        requirements = partial / "requirements.txt"
        requirements.write_text(f"apache-flink-libraries=={_FLINK} --hash={_FLINK_HASH}\n")
        command = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes"]
        subprocess.run([sys.executable, *command, "--dest", partial, "--requirement", requirements], check=True)
        (archive,) = partial.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                if "/deps/lib/" in member.name and member.name.endswith(".jar"):
                    member.name = Path(member.name).name
                    tar.extract(member, partial / "lib", filter="data")
        (partial / "lib").rename(folder)
        shutil.rmtree(partial)
    return sorted(folder.glob("*.jar"))
