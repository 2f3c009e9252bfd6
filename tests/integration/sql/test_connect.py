"""Flink's statements over Spark Connect, in separate processes: a process has one type of session."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.runtime.worker_main import installed_command
from tests.planted_secrets import find_leaks, planted_secrets
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]  # starts a server

SPARK = Path(pyspark.__file__).parent
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"

ONE_CLIENT = """
import re
import sys
import kafka_sql
from kafka_sql.errors import DecodeError, UnknownOptionError, UnsupportedSqlError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

url, folder, options, sink = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
assert "connect" in type(spark).__module__
assert kafka_sql.enable(spark) is spark
columns = "a INT, b AS a + 1, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'"
columns += ", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
assert spark.sql(f"CREATE TABLE orders ({columns}) {options}").collect() == []
spark.sql("INSERT INTO orders (a) VALUES (1), (2)")
assert [tuple(r) for r in spark.sql("SELECT a, b FROM orders WHERE a = :x", {"x": 1}).collect()] == [(1, 2)]
assert [tuple(r) for r in spark.sql("SELECT sum({t}.b) FROM {t}", t=spark.table("orders")).collect()] == [(5,)]
assert spark.sql("SELECT max(default.orders.b) FROM default.orders").first()[0] == 3
spark.sql("INSERT INTO default.orders (a) SELECT a + 1 FROM spark_catalog.default.orders WHERE a = 2")
assert spark.sql("SELECT max(b) FROM orders /*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */").first()[0] == 4
assert [r.name for r in spark.sql("DESCRIBE orders").collect()] == ["a", "b", "ts"]
assert [r.tableName for r in spark.sql("SHOW TABLES").collect()] == ["orders"]
assert [t.name for t in spark.catalog.listTables()] == ["orders"]
assert spark.sql("SHOW CREATE TABLE orders").first()[0].startswith("CREATE TABLE `default`.`orders` (")
try:
    spark.sql("CREATE TABLE x (a INT) " + options.replace("'topic'", "'topics'"))
except UnknownOptionError as e:
    assert "'topics' (did you mean 'topic'?)" in str(e)
else:
    raise AssertionError
assert spark.readStream.table("orders").isStreaming
spark.sql(f"CREATE TABLE inferred {options}")
assert spark.sql("SELECT sum(a) FROM inferred").first()[0] == 6
spark.sql("DROP TABLE inferred")
call = "read_kafka(" + re.sub(r"'([^']+)' = ", r"`\\1` => ", options.removeprefix("WITH ("))
assert spark.sql(f"SELECT sum(a) FROM {call}").first()[0] == 6
assert spark.sql(f"SELECT * FROM STREAM {call}").isStreaming
assert [t.name for t in spark.catalog.listTables()] == ["orders"]

spark.sql(f"CREATE TABLE wrong (a DATE) {options}")
writer = spark.readStream.table("wrong").writeStream.format("noop").option("checkpointLocation", folder + "/wrong")
query = writer.start()
for action in (spark.table("wrong").collect, spark.table("wrong").toPandas, lambda: query.awaitTermination(60)):
    try:
        action()
    except DecodeError as e:
        assert isinstance(e, PySparkException) and e.field == "a" and e.__cause__ is not None, repr(e)
        assert str(e).startswith("[DECODE] "), e
    else:
        raise AssertionError
assert isinstance(query.exception(), DecodeError)
spark.sql("DROP TABLE wrong")

spark.sql(f"CREATE TABLE sink (a INT, b INT) {sink}")
spark.sql("SET 'execution.runtime-mode' = 'streaming'")
spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
job = spark.sql("INSERT INTO sink SELECT a, b FROM orders").first()[0]
query = spark.streams.get(job)
query.processAllAvailable()
query.stop()
upsert = sink.replace("= 'kafka'", "= 'upsert-kafka'", 1).replace("'format'", "'key.format' = 'json', 'value.format'")
upsert = upsert.replace("'scan.startup.mode' = 'earliest-offset', ", "")
spark.sql(f"CREATE TABLE counts (a INT, n BIGINT, PRIMARY KEY (a) NOT ENFORCED) {upsert}")
insert = "INSERT INTO counts WITH c AS (SELECT a, count(*) AS n FROM orders GROUP BY a) SELECT a, n FROM c"
for attempts_left in (2, 1, 0):
    try:
        spark.streams.get(spark.sql(insert).first()[0]).stop()
        break
    except PySparkException as e:  # Spark waits for ten seconds until a worker has started: too short on a busy machine
        assert "connect back" in str(e) and attempts_left, e
try:
    spark.sql(f"{insert} WHERE n < 3")
except UnsupportedSqlError as e:
    assert "a filter (HAVING or WHERE) over a streaming aggregate is not supported over Spark Connect" in str(e), e
else:
    raise AssertionError
spark.sql("DROP TABLE counts")
spark.sql("SET 'execution.runtime-mode' = 'batch'")
try:
    spark.sql("INSERT INTO sink SELECT o.a, s.b FROM STREAM orders AS o JOIN sink AS s ON o.a = s.a")
except UnsupportedSqlError as e:
    assert "table 'default.sink' cannot be joined as of each micro-batch over Spark Connect" in str(e), e
else:
    raise AssertionError
assert sorted(map(tuple, spark.sql("SELECT * FROM sink").collect())) == [(1, 2), (2, 3), (3, 4)]
spark.sql("SELECT 4 AS a, 5 AS b").write.format("kafka.sink").mode("append").save()
assert spark.table("sink").count() == 4
try:
    spark.table("sink").write.insertInto("sink")
except AnalysisException as e:
    assert "sink" in str(e)
else:
    raise AssertionError
spark.sql("ALTER TABLE sink RENAME TO target")
spark.sql("DROP TABLE orders")
assert [r.tableName for r in spark.sql("SHOW TABLES").collect()] == ["target"]

other = kafka_sql.enable(spark.newSession())
other.sql(f"CREATE TABLE theirs (a INT) {options}")
assert other.sql("SELECT count(*) FROM theirs").first()[0] == 3
other.stop()
spark.stop()
print("passed")
"""

TWO_CLIENTS = """
import re
import sys
import kafka_sql
from kafka_sql.errors import JobNotFoundError, TableNotFoundError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

url, folder, *options = sys.argv[1:]
OPTIONS = dict(zip(("alice", "bob"), options))
SECRETS = {"alice": "alice-hunter2", "bob": "bob-hunter2"}


def connect(user):
    return kafka_sql.enable(SparkSession.builder.remote(f"{url}/;user_id={user}").create())


def with_options(user):
    return OPTIONS[user].replace("WITH (", f"WITH ('properties.ssl.key.password' = '{SECRETS[user]}', ")


def failure(spark, statement, *types):
    try:
        spark.sql(statement).collect()
    except types as e:
        return str(e)
    raise AssertionError(statement)


def names(spark):
    return [row.tableName for row in spark.sql("SHOW TABLES").collect()]


def databases(spark):
    return {row.namespace for row in spark.sql("SHOW DATABASES").collect()} - {"default"}


topic = OPTIONS["alice"].partition("'topic' = '")[2].partition("'")[0]
alice, bob = connect("alice"), connect("bob")
before = databases(bob)
alice.sql(f"CREATE TABLE orders (a INT, b AS a + 1) {with_options('alice')}")
alice.sql("INSERT INTO orders VALUES (1)")

# the other client has no such table
assert names(bob) == []
assert bob.catalog.listTables() == []
assert not bob.catalog.tableExists("orders")
errors = [
    failure(bob, statement, AnalysisException, TableNotFoundError)
    for statement in (
        "SELECT * FROM orders",
        "SELECT * FROM default.orders",
        "INSERT INTO orders VALUES (7)",
        "DESCRIBE orders",
        "SHOW CREATE TABLE orders",
        "SHOW COLUMNS IN orders",
        "ALTER TABLE orders SET ('topic' = 'x')",
        f"CREATE TABLE copy {with_options('bob')} LIKE orders",
        "DROP TABLE orders",
    )
]
bob.sql("DROP TABLE IF EXISTS orders")
assert [tuple(row) for row in alice.sql("SELECT * FROM orders").collect()] == [(1, 2)]

# both see the names and the columns of a client's tables, but only this client can read and write them
(alices_database,) = databases(bob) - before
listing = bob.sql(f"SHOW TABLE EXTENDED IN {alices_database} LIKE '*'").collect()
assert [row.tableName for row in listing] == ["orders__kafka"]
errors += [row.information for row in listing]
errors.append(failure(bob, f"SELECT * FROM {alices_database}.orders__kafka", Exception))
errors.append(failure(bob, f"INSERT INTO {alices_database}.orders__kafka VALUES (7)", Exception))
for error in errors:
    assert SECRETS["alice"] not in error, error
    assert not re.search(rf"{topic}\\b", error), error

# tables of the same names
bob.sql(f"CREATE TABLE orders (c STRING) {with_options('bob')}")
bob.sql("INSERT INTO orders VALUES ('x')")
assert [tuple(row) for row in bob.sql("SELECT * FROM orders").collect()] == [("x",)]
for spark, user in ((alice, "alice"), (bob, "bob")):
    spark.sql(f"CREATE TEMPORARY TABLE recent (c STRING) {with_options(user)}")
    assert sorted(names(spark)) == ["orders", "recent"]
    statement = spark.sql("SHOW CREATE TABLE orders").first()[0]
    assert (f"'{topic}'" in statement) == (user == "alice")
    assert "hunter2" not in statement
assert [tuple(row) for row in alice.sql("SELECT a, b FROM default.orders").collect()] == [(1, 2)]
assert [tuple(row) for row in bob.sql("SELECT c FROM default.orders").collect()] == [("x",)]
bob.sql("ALTER TABLE orders SET ('scan.startup.mode' = 'latest-offset')")
assert "latest-offset" not in alice.sql("SHOW CREATE TABLE orders").first()[0]

# jobs
alice.sql("SET 'execution.runtime-mode' = 'streaming'")
alice.sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
alice.sql(f"CREATE TABLE sink (a INT) {OPTIONS['bob']}")
job = alice.sql("INSERT INTO sink SELECT a FROM orders").first()[0]
assert bob.sql("SHOW JOBS").collect() == []
assert bob.streams.active == []
assert job in failure(bob, f"STOP JOB '{job}'", JobNotFoundError)
assert [(row[0], row["status"]) for row in alice.sql("SHOW JOBS EXTENDED").collect()] == [(job, "RUNNING")]
alice.sql(f"STOP JOB '{job}'")
assert bob.conf.get("execution.runtime-mode", "batch") == "batch"

# one client ends, and starts again
alice.stop()
(bobs_database,) = databases(bob) - before
assert bobs_database != alices_database
bob.sql("DROP TABLE orders")
alice = connect("alice")
assert names(alice) == []
alice.sql(f"CREATE TABLE orders (a INT) {with_options('alice')}")
assert [tuple(row) for row in alice.sql("SELECT * FROM orders").collect()] == [(1,)]
for spark in (alice, bob):
    spark.stop()
print("passed")
"""


@dataclass(frozen=True)
class Server:
    """A Spark Connect server.

    Attributes:
        url: its URL for clients.
        environment: environment variables of a client.
        folder: its log, event log and warehouse.
    """

    url: str
    environment: dict[str, str]
    folder: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server as the documentation says."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "events").mkdir()
    (port,) = free_ports(1)
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": str(installed_command()),
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_PID_DIR": str(folder),
        TOKEN: "secret-of-the-server",
    }
    settings = {
        "spark.connect.grpc.binding.address": "localhost",
        "spark.connect.grpc.binding.port": port,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.port": 0,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder / "events",
        "spark.eventLog.compress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts faster
    }
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [SPARK / "sbin/start-connect-server.sh", "--wait", "--master", "local[2]", *conf],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    try:
        wait_until(lambda: is_listening(port) or process.poll() is not None, "the server listens")
        assert process.poll() is None, (folder / "log").read_text()[-5000:]
        yield Server(f"sc://localhost:{port}", environment, folder)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def is_listening(port: int) -> bool:
    """Return whether a process listens on a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


def test_statements_over_connect(server: Server, topics: Topics, tmp_path: Path) -> None:
    run_program(ONE_CLIENT, server, topics, tmp_path)


def test_clients_of_a_server_do_not_see_each_others_tables(server: Server, topics: Topics, tmp_path: Path) -> None:
    run_program(TWO_CLIENTS, server, topics, tmp_path)


def run_program(program: str, server: Server, topics: Topics, folder: Path) -> None:
    """Run a program that uses the server and two topics, and check that secrets appear nowhere."""
    secrets = [s for s in planted_secrets() if s.name == s.key and s.key.startswith("properties.")]
    # the programs set one of them
    secrets = [s for s in secrets if not s.is_rejected and s.key != "properties.ssl.key.password"]
    planted = {secret.key: secret.value for secret in secrets}
    options = [topics.with_options(topics.create(), **planted) for _ in range(2)]
    done = subprocess.run(
        [sys.executable, "-c", program, server.url, str(folder / "checkpoints"), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=folder,
        env=server.environment,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["passed"]), done.stderr[-5000:]
    (folder / "output").write_text(done.stdout + done.stderr)
    (ui_port,) = re.findall(r"service 'SparkUI' on port (\d+)", (server.folder / "log").read_text())
    for path in ("SQL", "jobs", "environment", "connect", "StreamingQuery"):
        (folder / path).write_bytes(urllib.request.urlopen(f"http://{HOST}:{ui_port}/{path}/").read())
    assert "SparkListenerSQLExecutionStart" in "".join(p.read_text() for p in server.folder.rglob("events_*"))
    assert find_leaks(folder, secrets) + find_leaks(server.folder, secrets) == []
