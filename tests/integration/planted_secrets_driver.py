"""Use tables with a secret in every option: ``python planted_secrets_driver.py FOLDER BROKER SOURCE TARGET SECRETS``.

Everything that Spark shows, logs and stores is written to the folder, stdout or stderr. ``LEAK`` is printed for each
secret in a file that Spark deletes when it ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import traceback
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import kafka_sql
from kafka_sql.observability.listener import observe
from kafka_sql.observability.prometheus import serve_metrics
from kafka_sql.sql.session.enable import session_tables
from tests.http_server import serve
from tests.planted_secrets import PlantedSecret, create_statement, find_leaks, merged_tables, sql_options

UNCOMPRESSED = ("spark.eventLog.compress", "spark.broadcast.compress", "spark.shuffle.compress", "spark.rdd.compress")
PAGES = (
    *("/jobs/", "/jobs/job/?id=0", "/stages/", "/stages/stage/?id=0&attempt=0", "/storage/", "/environment/"),
    *("/executors/", "/SQL/", "/SQL/execution/?id=0", "/StreamingQuery/", "/executors/threadDump/?executorId=driver"),
)
RESOURCES = (
    *("jobs", "stages", "executors", "environment", "sql?details=true&planDescription=true", "storage/rdd"),
    "stages?details=true",
)


def main(folder: Path, broker: str, source: str, target: str, secrets_file: str) -> None:
    """Run the statements."""
    secrets = [PlantedSecret(**fields) for fields in json.loads(Path(secrets_file).read_text())]
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.INFO)  # at DEBUG, it logs the arguments of calls: pickled tables
    spark = create_session(folder)
    with serve(Unauthorized) as registry:
        run(spark, secrets, folder, {"broker": broker, "source": source, "target": target, "registry": registry})
    for name, path in find_leaks(folder, secrets):
        print("LEAK", name, path)
    spark.stop()


class Unauthorized(BaseHTTPRequestHandler):
    """A schema registry that rejects every login."""

    def do_POST(self) -> None:
        """Reject a request."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def create_session(folder: Path) -> SparkSession:
    """Start a Spark that logs, shows and stores as much as it can."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file:{folder}/events")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.sql.planChangeLog.level", "info")
    )
    for key in UNCOMPRESSED:
        builder = builder.config(key, "false")
    return kafka_sql.enable(builder.getOrCreate())


def run(spark: SparkSession, secrets: list[PlantedSecret], folder: Path, names: Mapping[str, str]) -> None:
    """Create the tables, and use them in each way that Spark shows or stores something of."""
    tables = merged_tables(secret for secret in secrets if not secret.is_rejected)
    orders = next(options for options in tables.values() if "properties.sasl.password" in options)
    orders |= {
        "properties.bootstrap.servers": names["broker"],
        "topic": names["source"],
        "properties.default.api.timeout.ms": "60000",
        "scan.startup.mode": "earliest-offset",
    }
    temporary = {**orders, "topic": names["target"], "format": "json"}
    registry = names["registry"].removeprefix("http://")
    registered = {key: value.replace("@127.0.0.1:1", f"@{registry}") for key, value in tables["t0"].items()}
    registered |= {"properties.bootstrap.servers": names["broker"], "topic": names["target"]}
    for name, options in (("orders", orders), ("registered", registered)):
        spark.sql(create_statement(options, f"CREATE TABLE {name} (a STRING, b AS UPPER(a))"))
        show_table(spark, name)
    spark.sql(create_statement(temporary, "CREATE TEMPORARY TABLE copies (a STRING)"))
    spark.sql("INSERT INTO orders VALUES ('x')")
    run_batch_queries(spark, orders)
    run_wrong_statements(spark, orders, tables.values())
    observe(spark)
    query = run_stream(spark, folder, orders)
    save_pages(spark, query, folder)
    (folder / "processes").write_text("\n".join(command_lines()))
    for entry in session_tables(spark) or ():
        print(entry, entry.definition, entry.data_source, entry.table)
    query.stop()


def show_table(spark: SparkSession, name: str) -> None:
    """Print what statements show of a table."""
    for statement in (
        f"SHOW CREATE TABLE {name}",
        f"DESCRIBE EXTENDED {name}__kafka",
        f"EXPLAIN EXTENDED SELECT * FROM {name}",
    ):
        for row in spark.sql(statement).collect():
            print(*row)


def run_batch_queries(spark: SparkSession, orders: Mapping[str, str]) -> None:
    """Read and write batches, with SQL and with DataFrames."""
    hint = sql_options({key: value for key, value in orders.items() if key not in ("connector", "topic", "format")})
    for statement in (
        "SELECT * FROM orders",
        f"SELECT b FROM orders /*+ OPTIONS({hint}) */",
        "EXPLAIN FORMATTED SELECT count(*) FROM copies",
        f"EXPLAIN EXTENDED SELECT * FROM orders /*+ OPTIONS({hint}) */",
        "DESCRIBE EXTENDED orders",
        "SHOW TABLE EXTENDED LIKE '*'",
        "SHOW TBLPROPERTIES orders__kafka",
        f"SET {sql_options({'my.password': orders['properties.sasl.password']})}",
    ):
        for row in spark.sql(statement).collect():
            print(*row)
    frame = spark.sql("SELECT a FROM orders")
    print(frame, frame._jdf.queryExecution().toString(), spark.__dict__)
    options = {key: value for key, value in orders.items() if key != "connector"}
    read = spark.read.format("kafka_sql").schema("a STRING").options(**options).load()
    read.explain("extended")
    read.write.format("kafka_sql").options(**options).mode("append").save()
    print("count", *spark.sql("SELECT count(*) FROM orders").collect()[0])
    print(kafka_sql.check(spark, "orders", "registered"))


def run_wrong_statements(spark: SparkSession, orders: Mapping[str, str], tables: Iterable[Mapping[str, str]]) -> None:
    """Print the errors of statements, those of Spark's parser among them."""
    options = sql_options(orders)
    statements = [
        "INSERT INTO registered (a) VALUES ('x')",
        f"CREATE TABLE orders (a INT) WITH ({options})",
        f"CREATE TABLE wrong (a INTT) WITH ({options})",
        f"CREATE TABLE wrong (a INT,, b INT) WITH ({options})",
        f"CREATE TABL wrong (a INT) WITH ({options})",
        f"CREATE TABLE wrong (a INT) WIHT ({options})",
        f"CREATE TABLE wrong (a INT) WITH ({options}",
        f"SELECT * FROM orders /*+ OPTIONS({options}) */",
        f"SELECT * FROM nowhere /*+ OPTIONS({options}) */",
        f"SELECT * FORM orders /*+ OPTIONS({options}) */",
        f"ALTER TABLE nowhere SET TBLPROPERTIES ({options})",
        "SELECT raise_error(a) FROM orders",
        *(create_statement({**table, "topik": "x"}) for table in tables),
        *(create_statement(table, "CREATE TABL t (a STRING)") for table in tables),
    ]
    for statement in statements:
        try:
            spark.sql(statement).collect()
        except Exception:  # noqa: BLE001  any error is shown
            traceback.print_exc(file=sys.stdout)
        else:
            print("NO ERROR", statement)


def run_stream(spark: SparkSession, folder: Path, orders: Mapping[str, str]) -> StreamingQuery:
    """Start a continuous query, and print what Spark and this package report of it."""
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/checkpoints'")
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    hint = sql_options({"properties.sasl.password": orders["properties.sasl.password"]})
    spark.sql(f"INSERT INTO copies /*+ OPTIONS({hint}) */ SELECT a FROM orders /*+ OPTIONS({hint}) */")
    (query,) = spark.streams.active
    query.processAllAvailable()
    options = {key: value for key, value in orders.items() if key != "connector"}
    rows = spark.readStream.format("kafka_sql").schema("a STRING").options(**options).load()
    writer = rows.writeStream.format("kafka_sql").options(**options, checkpointLocation=f"{folder}/checkpoints/frame")
    writer.trigger(availableNow=True).start().awaitTermination()
    print(query.lastProgress, query.status)
    query._jsq.explain(True)  # type: ignore[attr-defined]
    for row in spark.sql("SHOW JOBS").collect():
        print(*row)
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    return query


def save_pages(spark: SparkSession, query: StreamingQuery, folder: Path) -> None:
    """Save the pages of Spark's UI, its REST API and the metrics."""
    context = spark.sparkContext
    api = f"/api/v1/applications/{context.applicationId}/"
    urls = [f"{context.uiWebUrl}{path}" for path in (*PAGES, *(api + resource for resource in RESOURCES))]
    urls.append(f"{context.uiWebUrl}/StreamingQuery/statistics/?id={query.runId}")
    urls.append(f"http://127.0.0.1:{serve_metrics(observe(spark), 0)}/metrics")
    (folder / "pages").mkdir()
    for number, url in enumerate(urls):
        with urllib.request.urlopen(url) as response:
            (folder / "pages" / str(number)).write_bytes(url.encode() + b"\n" + response.read())


def command_lines() -> Iterator[str]:
    """Yield the command lines of the processes that this one has started."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            yield " ".join(process.cmdline())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
