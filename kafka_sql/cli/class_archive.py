"""``kafka-sql class-archive``: create a class data archive, with which Spark's JVM starts faster (JEP 350)."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kafka_sql.cli.arguments import Arguments, submit_arguments
from kafka_sql.embedded.jars import cache_folder, describe_storage_failure
from kafka_sql.embedded.java import find_java, locate_java
from kafka_sql.errors import EmbeddedKafkaError
from kafka_sql.runtime.private_files import create_private_folder, is_writable_by_others

COMMAND: Final = "class-archive"
VARIABLE: Final = "SPARK_SUBMIT_OPTS"  # read by spark-submit, and so by pyspark, spark-sql and the Connect server
_OPTION: Final = "-XX:SharedArchiveFile="
SILENT: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")  # the JVM ignores an archive of other jars
_HELP: Final = f"""usage: export {VARIABLE}="$(kafka-sql {COMMAND})"

Create an archive of the classes of this environment's Spark in the cache folder (about 190 MB), unless it exists, and
print the Java options that use it. kafka-sql uses it without them.
"""


def run(argv: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    if {"-h", "-H", "--help"} & set(argv):
        print(_HELP, end="")
        return 0
    if argv:
        print(f"kafka-sql: {COMMAND} has no arguments. See kafka-sql {COMMAND} --help.", file=sys.stderr)
        return 2
    try:
        java = find_java()
    except EmbeddedKafkaError as e:
        print(e.message, file=sys.stderr)
        return 1
    archive = _archive_path(java)
    try:
        create_private_folder(archive.parent)
        if not archive.exists():
            print(f"Storing the classes in {archive}. This takes about half a minute.", file=sys.stderr, flush=True)
            _create(archive)
    except OSError as e:
        print(describe_storage_failure("The class data archive", archive.parent, e), file=sys.stderr)
        return 1
    if not archive.exists():
        print(
            f"Java wrote no class data archive to {archive}. Probably its own archive is missing; to create that one, "
            f"run '{java} -Xshare:dump' as the owner of Java's folder.",
            file=sys.stderr,
        )
        return 1
    print(*archive_options(archive))
    return 0


def _create(archive: Path) -> None:
    """Create the archive, and delete those of other versions."""
    for outdated in archive.parent.glob(f"{archive.name.rpartition('-')[0]}-*.jsa"):
        outdated.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        partial = Path(folder, archive.name)
        write_archive(partial, [], {})
        if partial.exists():
            partial.chmod(0o600)  # Java wrote it; with a umask such as 002, it would not be used
            os.replace(partial, archive)


def use_archive(environ: dict[str, str] | os._Environ[str] = os.environ) -> None:
    """Let the JVM that Spark starts next use the archive if it exists, and if the variable names no other one."""
    java, options = locate_java(environ), environ.get(VARIABLE, "")
    if java is None or _OPTION in options:
        return
    with suppress(OSError):  # Spark reports a Java that does not exist
        archive = _archive_path(java)
        if not any(is_writable_by_others(path.stat()) for path in (archive, archive.parent)):
            environ[VARIABLE] = " ".join([*archive_options(archive), options]).rstrip()


def archive_options(archive: Path) -> Sequence[str]:
    return [f"{_OPTION}{archive}", *SILENT]


def _archive_path(java: str) -> Path:
    """Return where the archive of a Java and of this environment's Spark is: another one for each version of them."""
    from kafka_sql.spark.processes import spark_jars

    java, jars = os.path.realpath(java), os.path.realpath(spark_jars())
    paths = hashlib.sha256(f"{java}\n{jars}".encode()).hexdigest()
    versions = hashlib.sha256(f"{os.stat(java).st_mtime_ns}\n{os.stat(jars).st_mtime_ns}".encode()).hexdigest()
    return cache_folder() / f"spark-classes-{paths[:8]}-{versions[:8]}.jsa"


def write_archive(archive: Path, java_options: Sequence[str], conf: Mapping[str, str]) -> None:
    """Write an archive of the classes that a small application loads; no file if Java cannot.

    Sets the environment of this process's next JVM. This process must not have started Spark before.
    """
    from pyspark.sql import SparkSession

    import kafka_sql
    from kafka_sql.catalog.warmup import WarmupSource
    from kafka_sql.spark.processes import end_jvm

    with tempfile.TemporaryDirectory() as folder:
        small = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
        arguments = Arguments(conf={**small, "spark.sql.warehouse.dir": folder, **conf})
        os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(submit_arguments(arguments))
        os.environ[VARIABLE] = " ".join([*java_options, f"-XX:ArchiveClassesAtExit={archive}", *SILENT])
        spark = kafka_sql.enable(SparkSession.builder.getOrCreate())
        spark.dataSource.register(WarmupSource)
        spark.read.format(WarmupSource.name()).load().groupBy().count().collect()
        spark.sql("CREATE TABLE t USING parquet AS SELECT id, CAST(id AS STRING) AS s FROM range(10)")
        spark.sql("SELECT s, count(*) FROM t GROUP BY s").toArrow()
        rows = spark.readStream.table("t").writeStream.format("noop")
        rows.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()
        end_jvm(spark)  # which writes the archive
